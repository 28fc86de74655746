"""The reader of the feed of endings (docs/reference/feed.md): a thread that reads one connection, and what it holds."""

from __future__ import annotations

import base64
import hashlib
import logging
import random
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from .errors import ResourceError
from .issuer import InvalidJws, Issuer, verify_jws
from .token import AccessToken

LINE_AT_MOST = 4 * 1024 * 1024
ENTRIES_AT_MOST = 2_000_000
#: Milliseconds by which the server's clock and the monotonic clock may differ, besides a thousandth of the time; by which the clocks of two
#: nodes may differ; and for which a run of the feed must not go back.
JITTER, CLOCKS_DIFFER, USABLE_FOR = 100.0, 2000.0, 60_000.0
#: Seconds. A connection that ends earlier counts as a failure, and one on which nothing arrives for so long is closed.
WORKED_FOR, SILENCE_AT_MOST = 5.0, 5.0
_log = logging.getLogger("grantor_resource.feed")


class FeedFault(Exception):
    """The reader closes the connection. The kinds are those of `@grantor/resource`; no text has a token, a secret or an entry."""

    def __init__(self, kind: str, detail: str, retry_after: int = 0) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after


@dataclass
class Connection:
    """Times are milliseconds of the monotonic clock. The run and the offset of the server's clock are those of the first message."""

    sent_at: float
    nonce: str | None = None
    begun: tuple[str, float] | None = None


@dataclass
class _Message:
    at: int
    nonce: object
    feed: str
    begins: int | None
    until: int
    lifetime: int
    part: tuple[int, int] | None
    snapshot: object
    keys: frozenset[str]
    ended: list[tuple[int, bytes]]
    clients: list[tuple[int, bytes]]


def read_message(issuer: Issuer, text: str, audience: str) -> _Message:
    try:
        claims, _ = verify_jws(issuer, text, "endings+jwt", audience)
    except InvalidJws as error:
        raise FeedFault("message_refused", error.reason) from None
    feed, keys, part = claims.get("feed"), claims.get("keys"), claims.get("part")
    if not isinstance(feed, str) or not 0 < len(feed) <= 256:
        raise _malformed("feed")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise _malformed("keys")
    if part is not None and not (isinstance(part, list) and len(part) == 2 and all(type(each) is int for each in part)):
        raise _malformed("part")
    at, until = _time(claims, "at"), _time(claims, "until")
    begins = None if "from" in claims and claims["from"] is None else _time(claims, "from")
    # A promise about the future would keep the feed fresh without any news.
    if until > at:
        raise _malformed("until")
    if (begins is None) != ("part" in claims and part is not None):
        raise _malformed("part")
    return _Message(
        at,
        claims.get("nonce"),
        feed,
        begins,
        until,
        _time(claims, "lifetime"),
        (part[0], part[1]) if part else None,
        claims.get("snapshot"),
        frozenset(keys),
        _entries(claims, "ended"),
        _entries(claims, "clients"),
    )


def _time(claims: Mapping[str, Any], name: str) -> int:
    value = claims.get(name)
    if type(value) is not int or not 0 <= value < 2**53:
        raise _malformed(name)
    return value


def _entries(claims: Mapping[str, Any], name: str) -> list[tuple[int, bytes]]:
    value = claims.get(name, {})
    if not isinstance(value, dict):
        raise _malformed(name)
    found = []
    for forget_at, text in value.items():
        if not re.fullmatch(r"[0-9]{1,12}", forget_at) or not isinstance(text, str) or not re.fullmatch(r"[\w-]*", text, re.A):
            raise _malformed(name)
        try:
            entries = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            raise _malformed(name) from None
        if len(entries) % 16:
            raise _malformed(name)
        found.append((int(forget_at), entries))
    return found


def _malformed(claim: str) -> FeedFault:
    return FeedFault("message_refused", f"claim_{claim}")


@dataclass
class _Content:
    feed: str
    #: the name of the snapshot
    name: object
    until: int
    at: int = 0
    lifetime: int = 0
    parts: int = 0
    is_whole: bool = False
    keys: frozenset[str] = frozenset()
    #: from an entry to the time in seconds until which the entry is needed
    ended: dict[bytes, int] = field(default_factory=dict)
    clients: dict[bytes, int] = field(default_factory=dict)
    swept_at: int = 0

    def add(self, message: _Message) -> None:
        self.until, self.at, self.lifetime = message.until, max(self.at, message.at), message.lifetime
        self.keys = message.keys
        for entries, added in ((self.ended, message.ended), (self.clients, message.clients)):
            for forget_at, text in added:
                for start in range(0, len(text), 16):
                    entry = text[start : start + 16]
                    entries[entry] = max(entries.get(entry, 0), forget_at)
        if self.at - self.swept_at < 60_000:
            return
        self.swept_at = self.at
        self.ended, self.clients = (
            {entry: forget_at for entry, forget_at in entries.items() if forget_at * 1000 >= self.at}
            for entries in (self.ended, self.clients)
        )


@dataclass
class _Reached:
    """How far a run had come when its latest message arrived. `ahead`: the server's clock minus the monotonic clock, at least."""

    feed: str
    until: int
    ahead: float
    arrived_at: float


class FeedState:
    """Every time is an argument, so that the test vectors decide the same in every language."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._content: _Content | None = None
        #: is not complete, or has not come as far as the content
        self._snapshot: _Content | None = None
        self._reached: _Reached | None = None
        #: The feed is complete up to this time of the monotonic clock.
        self._complete_until = float("-inf")

    def age_at(self, now: float) -> float:
        """Milliseconds. Infinite before the first snapshot is complete, and after `distrust`."""
        return now - self._complete_until

    def distrust(self) -> None:
        """The feed counts as old until the next message of another connection."""
        with self._lock:
            self._complete_until = float("-inf")
            self._snapshot = None

    def forget(self) -> None:
        """Only a snapshot can follow."""
        with self._lock:
            self.distrust()
            self._content = None

    def connect(self, sent_at: float, nonce: str | None) -> Connection:
        with self._lock:
            self._snapshot = None
        return Connection(sent_at, nonce)

    def accept(self, message: _Message, connection: Connection, now: float) -> bool:
        """Whether the reader may continue from here. Raises FeedFault if the message does not follow the state."""
        with self._lock:
            if connection.begun is None:
                connection.begun = self._begin(message, connection, now)
            feed, offset = connection.begun
            slack = JITTER + (now - connection.sent_at) / 1000
            if message.at > offset + now + slack:
                self.distrust()
                raise FeedFault("clock_set", "of the authorization server")
            if message.feed != feed:
                raise self._missing("feed")
            content = self._add_part(message, now) if message.begins is None else self._follow(message, message.begins)
            content.add(message)
            if len(content.ended) + len(content.clients) > ENTRIES_AT_MOST:
                self.forget()
                raise FeedFault("too_large", "entries")
            reached = self._reached_in(feed, now)
            if not content.is_whole or (reached and message.until < reached.until):
                return False
            self._content, self._snapshot = content, None
            self._reached = _Reached(feed, message.until, message.at - now, now)
            self._complete_until = message.until - offset - slack
            return True

    def _begin(self, message: _Message, connection: Connection, now: float) -> tuple[str, float]:
        """Refuses a recording: the nonce is of another request, or the server's clock goes back within the run."""
        if connection.nonce is not None and message.nonce != connection.nonce:
            raise _malformed("nonce")
        offset = message.at - connection.sent_at
        reached = self._reached_in(message.feed, now)
        if reached and offset < reached.ahead - CLOCKS_DIFFER:
            raise _malformed("at")
        return message.feed, offset

    def _reached_in(self, feed: str, now: float) -> _Reached | None:
        """The name of a run can stay when the clock is set back and the server starts again, so the run counts for a minute."""
        reached = self._reached
        return reached if reached and reached.feed == feed and now - reached.arrived_at <= USABLE_FOR else None

    def _follow(self, message: _Message, begins: int) -> _Content:
        content = self._snapshot or self._content
        if content is None or not content.is_whole:
            raise self._missing("a part of the snapshot")
        if message.feed != content.feed or begins > content.until or message.until < content.until:
            raise self._missing("from or until")
        return content

    def _add_part(self, message: _Message, now: float) -> _Content:
        index, of = message.part or (0, 0)
        if index == 1:
            self._snapshot = _Content(message.feed, message.snapshot, message.until)
            # Nothing may use a state that is older, so it need not be held beside the snapshot.
            if self.age_at(now) > USABLE_FOR:
                self._content = None
        snapshot = self._snapshot
        # The parts of two snapshots must not be mixed: entries could be missing.
        if (
            snapshot is None
            or snapshot.parts != index - 1
            or index > of
            or (snapshot.name, snapshot.until) != (message.snapshot, message.until)
        ):
            raise self._missing("a part of the snapshot")
        snapshot.parts, snapshot.is_whole = index, index == of
        return snapshot

    def _missing(self, detail: str) -> FeedFault:
        self.forget()
        return FeedFault("message_missing", detail)

    def decide(self, token: AccessToken, age: float, max_age: float) -> str:
        """`valid`, `ended`, or `ask`: then only introspection can decide. The signature and the claims of the token are valid."""
        with self._lock:
            content = self._content
            # Written so that a time that is not a number is never fresh.
            if content is None or not age <= max_age:
                return "ask"
            if token._key_id not in content.keys or token.expires_at - token.issued_at > content.lifetime:
                return "ask"
            # The entries of tokens that have expired may be forgotten already, if the clock of this machine is behind.
            if token.expires_at * 1000 < content.at:
                return "ask"
            clients, ended = _clients_of(token), _ended_ids_of(token)
            if clients is None or ended is None or any(entry in content.clients for entry in clients):
                return "ask"
            return "ended" if any(entry in content.ended for entry in ended) else "valid"


def _clients_of(token: AccessToken) -> list[bytes] | None:
    """The client, and those of the chain of `act` (RFC 8693 §4.1). None if the chain is malformed."""
    found = [_hash(token.client_id)]
    claims: Mapping[str, Any] = token.claims
    while "act" in claims:
        claims = claims["act"]
        if not isinstance(claims, dict) or not isinstance(claims.get("sub"), str):
            return None
        found.append(_hash(claims["sub"]))
    return found


def _ended_ids_of(token: AccessToken) -> list[bytes] | None:
    """None if the token names something that cannot be an entry."""
    if "grant_id" not in token.claims:
        return [_hash(f"{token.client_id}\0{token.token_id}")]
    exchanged_from = token.claims.get("exchanged_from", [])
    if not isinstance(exchanged_from, list):
        return None
    ids = [token.claims["grant_id"], token.token_id, *exchanged_from]
    if not all(isinstance(each, str) and re.fullmatch(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", each) for each in ids):
        return None
    return [bytes.fromhex(each.replace("-", "")) for each in ids]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def _monotonic() -> float:
    return time.monotonic() * 1000


def _clock_ahead() -> float:
    """By how much the machine's clock is ahead of the monotonic clock, which may not run while the machine is suspended."""
    return time.time() * 1000 - _monotonic()


class FeedReader:
    """Starts with the first decision, or with `ready`. The thread does not keep the process alive."""

    def __init__(self, issuer: Issuer, audience: str, on_problem: Callable[[FeedFault], None] | None = None) -> None:
        self._issuer = issuer
        self._audience = audience
        self._on_problem = on_problem
        self._state = FeedState()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._news = threading.Condition()
        self._closing = threading.Event()
        self._hurry = threading.Event()
        #: whether the next answer to another request may shorten the wait: once in an outage
        self._may_hurry = True
        self._reported: set[str] = set()
        self._cursor: str | None = None
        self._failures = 0
        self._ahead = float("inf")
        self._is_clock_set = False

    def decide(self, token: AccessToken, max_age: float) -> str:
        """`max_age` is in milliseconds."""
        self._start()
        self._notice_set_clock()
        return self._state.decide(token, self._state.age_at(_monotonic()), max_age)

    def ready(self, max_age: float, timeout: float | None) -> bool:
        self._start()
        with self._news:
            self._news.wait_for(lambda: self._closing.is_set() or self._state.age_at(_monotonic()) <= max_age, timeout)
        return self._state.age_at(_monotonic()) <= max_age

    def note_answer(self, is_good: bool) -> None:
        """How the authorization server responded to another request. The first answer after an outage shortens the wait."""
        if not is_good:
            self._may_hurry = True
        elif self._may_hurry and self._failures:
            self._may_hurry = False
            self._failures = 0
            self._hurry.set()

    def close(self) -> None:
        self._closing.set()
        self._hurry.set()
        self._state.forget()
        with self._news:
            self._news.notify_all()

    def _start(self) -> None:
        if self._closing.is_set() or (self._thread and self._thread.is_alive()):
            return
        with self._starting:
            # A process that was forked has the reader, but not its thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="grantor-feed", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            begun = time.monotonic()
            try:
                self._read_stream()
                fault = FeedFault("unreachable", "the connection ended")
                is_failure = time.monotonic() - begun < WORKED_FOR
            except FeedFault as error:
                fault, is_failure = error, True
            except Exception as error:
                # The name only: the text of an error may have an address with credentials of a proxy.
                detail = error.reason if isinstance(error, ResourceError) else type(error).__name__
                fault, is_failure = FeedFault("unreachable", detail), True
            if not self._closing.is_set():
                self._pause(fault, is_failure, time.monotonic() - begun)
        # The last message may have arrived after `close`.
        self._state.forget()

    def _pause(self, fault: FeedFault, is_failure: bool, lasted: float) -> None:
        at_least, spread = 0.0, 0.5
        if is_failure:
            if fault.kind in ("message_missing", "too_large") or fault.detail == "status 400":
                self._cursor = None
            self._failures = 1 if lasted > WORKED_FOR else self._failures + 1
            self._report(fault)
            at_least, spread = float(fault.retry_after), min(30.0, 2.0 ** (min(self._failures, 6) - 1))
            if fault.kind == "too_large":
                # The next snapshot would be as large.
                at_least, spread = 15.0, 30.0
        self._closing.wait(at_least)
        self._hurry.clear()
        if self._failures == 0:
            spread = min(spread, 1.0)
        if self._hurry.wait(random.uniform(0, spread)):
            self._closing.wait(random.uniform(0, 1))

    def _report(self, fault: FeedFault) -> None:
        """Each kind once until the feed works again. The restart of a server is no problem."""
        if fault.kind in self._reported or (fault.kind == "unreachable" and self._failures <= 2):
            return
        self._reported.add(fault.kind)
        try:
            if self._on_problem:
                self._on_problem(fault)
            else:
                _log.warning("The feed of endings cannot be used, and tokens are introspected: %s", fault)
        except Exception:
            _log.exception("on_problem failed")

    def _read_stream(self) -> None:
        endpoint = self._issuer.metadata().endings_endpoint
        if endpoint is None:
            # The next version of the server may have one, so the metadata are read again.
            self._issuer.forget_metadata()
            raise FeedFault("not_offered", "endings_endpoint")
        nonce = secrets.token_urlsafe(16)
        headers = {"authorization": self._issuer.authorization, "accept": "text/event-stream"}
        if self._cursor is not None:
            headers["last-event-id"] = self._cursor
        self._is_clock_set, self._ahead = False, _clock_ahead()
        connection = self._state.connect(_monotonic(), nonce)
        client, timeout = self._issuer.client, httpx.Timeout(SILENCE_AT_MOST)
        with client.stream("GET", endpoint, params={"nonce": nonce}, headers=headers, timeout=timeout) as response:
            if response.status_code != 200:
                text = response.headers.get("retry-after", "")
                seconds = int(text) if re.fullmatch(r"[0-9]{1,2}", text) and int(text) <= 60 else 0
                kind = "refused" if response.status_code in (400, 401, 403, 404, 429) else "unreachable"
                raise FeedFault(kind, f"status {response.status_code}", seconds)
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                raise FeedFault("unreachable", "the response is no stream of events")
            for event_id, data in read_events(response.iter_bytes()):
                if self._closing.is_set():
                    return
                self._take(event_id, data, connection)

    def _take(self, event_id: str | None, data: str, connection: Connection) -> None:
        message = read_message(self._issuer, data, self._audience)
        self._notice_set_clock()
        if self._is_clock_set:
            raise FeedFault("clock_set", "of this machine, or the machine was suspended")
        now = _monotonic()
        if not self._state.accept(message, connection, now):
            return
        if event_id is not None and re.fullmatch(r"[\x21-\x7e]{1,1024}", event_id):
            self._cursor = event_id
        if now - connection.sent_at > WORKED_FOR * 1000:
            self._failures = 0
            self._may_hurry = True
        self._reported.clear()
        with self._news:
            self._news.notify_all()

    def _notice_set_clock(self) -> None:
        ahead = _clock_ahead()
        if ahead > self._ahead + 1000:
            self._state.distrust()
            self._is_clock_set = True
        self._ahead = min(self._ahead, ahead)


def read_events(chunks: Iterator[bytes]) -> Iterator[tuple[str | None, str]]:
    """The id and the data of each event of a stream (HTML, "Server-sent events"), as far as the feed uses them: one `data` line."""
    rest = b""
    event_id: str | None = None
    data: str | None = None
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LINE_AT_MOST or any(len(line) > LINE_AT_MOST for line in lines):
            raise FeedFault("message_refused", "a line is too long")
        for line in lines:
            name, _, value = line.decode(errors="replace").rstrip("\r").partition(":")
            if name == "id":
                event_id = value.removeprefix(" ")
            elif name == "data":
                if data is not None:
                    raise FeedFault("message_refused", "two data lines")
                data = value.removeprefix(" ")
            elif name == "" and value == "":
                if data is not None:
                    yield event_id, data
                event_id, data = None, None
