"""The requests to the authorization server: metadata (RFC 8414), keys (RFC 7517), and forms with the API's credentials."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote_plus, urlsplit

import httpx
import jwt

from .errors import ResourceError, unavailable

#: The algorithms that Grantor signs with, each with the kind of key. The header of a token cannot choose another.
ALGORITHMS = {"ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519"), "RS256": ("RSA", None)}
TIMEOUT = 5.0
#: Bytes of a response.
BODY_AT_MOST = 1024 * 1024
#: Seconds for which the JWK Set is cached, and seconds between two fetches for an unknown key: callers with invented key ids cannot make
#: this API overload the authorization server.
KEYS_KEPT_FOR = 600
KEYS_FETCHED_EVERY = 30
#: Seconds between two fetches for an unknown key if the first one failed.
FAILED_FOR = 1

_LOST = re.compile(r"issuer_(?:unreachable|answer_malformed|answered_5[0-9]{2})")

Result = TypeVar("Result")


@dataclass(frozen=True)
class IntrospectionCredentials:
    """The API's own credentials at the authorization server: `grantor clients create --resource-server`."""

    client_id: str
    client_secret: str

    def __repr__(self) -> str:
        return f"IntrospectionCredentials(client_id={self.client_id!r})"

    @property
    def authorization(self) -> str:
        """RFC 6749 §2.3.1: id and secret are each form-urlencoded before they are joined."""
        text = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
        return "Basic " + base64.b64encode(text.encode()).decode()


@dataclass(frozen=True)
class Metadata:
    jwks_uri: str
    introspection_endpoint: str | None
    endings_endpoint: str | None
    approvals_endpoint: str


@dataclass(frozen=True)
class Answer:
    status: int
    json: dict[str, Any]
    retry_after: int | None


class _Once(Generic[Result]):
    """One call of a function for all concurrent callers."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._running: Future[Result] | None = None

    def __call__(self) -> Result:
        with self._lock:
            running = self._running
            if running is None:
                self._running = Future()
                mine = self._running
        if running is not None:
            return running.result()
        try:
            mine.set_result(self._function())
        except BaseException as error:
            mine.set_exception(error)
        with self._lock:
            self._running = None
        return mine.result()


def is_secure_url(text: object) -> bool:
    """https, or plain http to this machine only: keys and credentials are sent to this address."""
    if not isinstance(text, str):
        return False
    try:
        url = urlsplit(text)
        host = url.hostname
    except ValueError:
        return False
    return bool(host) and (url.scheme == "https" or (url.scheme == "http" and host in ("localhost", "127.0.0.1", "::1")))


class Issuer:
    def __init__(
        self,
        url: str,
        credentials: IntrospectionCredentials | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url
        self.credentials = credentials
        # A redirect would send the token and the credentials to an address that the operator did not configure.
        self.client = httpx.Client(transport=transport, timeout=TIMEOUT, follow_redirects=False)
        self._metadata: Metadata | None = None
        self._keys: list[dict[str, Any]] = []
        self._opened: dict[str, jwt.PyJWK] = {}
        self._keys_fetched_at = float("-inf")
        self._keys_failed_at = float("-inf")
        self._read_metadata_once = _Once(self._read_metadata)
        self._read_keys_once = _Once(self._read_keys)

    @property
    def authorization(self) -> str:
        return self.credentials.authorization if self.credentials else ""

    def post(
        self, url: str, form: Mapping[str, str], statuses: tuple[int, ...] = (200,), held_back: int = 0
    ) -> Answer:
        """Sends a form with the API's credentials. `held_back`: seconds for which the server may delay the response."""
        return self._ask(url, statuses, data=form, headers={"authorization": self.authorization}, timeout=TIMEOUT + held_back)

    def post_again_if_lost(self, url: str, form: Mapping[str, str], statuses: tuple[int, ...]) -> Answer:
        """Sends a form once more if the answer was lost. The authorization server must answer a repeat as the first request."""
        try:
            return self.post(url, form, statuses)
        except ResourceError as error:
            if not _LOST.fullmatch(error.reason):
                raise
            return self.post(url, form, statuses)

    def _ask(
        self,
        url: str,
        statuses: tuple[int, ...] = (200,),
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> Answer:
        """Reads the JSON object of a response with one of `statuses`. Every other response raises 503."""
        method = "GET" if data is None else "POST"
        sent = {"accept": "application/json", **(headers or {})}
        begun = time.monotonic()
        body = bytearray()
        try:
            with self.client.stream(method, url, data=data, headers=sent, timeout=timeout) as response:
                for chunk in response.iter_bytes() if response.status_code in statuses else ():
                    body += chunk
                    if len(body) > BODY_AT_MOST:
                        raise unavailable("issuer_answer_malformed")
                    # The timeout of httpx begins again with each part of the body.
                    if time.monotonic() - begun > timeout:
                        raise unavailable("issuer_unreachable")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise unavailable("issuer_unreachable") from error
        text = response.headers.get("retry-after", "")
        retry_after = int(text) if re.fullmatch(r"[0-9]{1,4}", text) and int(text) <= 3600 else None
        if response.status_code not in statuses:
            raise unavailable(f"issuer_answered_{response.status_code}", retry_after)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise unavailable("issuer_unreachable") from error
        if not isinstance(answer, dict):
            raise unavailable("issuer_answer_malformed")
        return Answer(response.status_code, answer, retry_after)

    def metadata(self) -> Metadata:
        """Fetched for the first token and cached. A failure is not cached, so an API may start before the issuer."""
        return self._metadata or self._read_metadata_once()

    def forget_metadata(self) -> None:
        self._metadata = None

    def _read_metadata(self) -> Metadata:
        url = urlsplit(self.url)
        # RFC 8414 §3.1: the well-known path is inserted between the host and the path of the issuer.
        found = self._ask(f"{url.scheme}://{url.netloc}/.well-known/oauth-authorization-server{url.path.rstrip('/')}").json
        # RFC 8414 §3.3: otherwise another server could impersonate this issuer.
        if found.get("issuer") != self.url:
            raise unavailable("issuer_mismatch")

        def endpoint(name: str) -> str | None:
            value = found.get(name)
            return value if is_secure_url(value) else None

        jwks_uri = endpoint("jwks_uri")
        if jwks_uri is None:
            raise unavailable("jwks_uri_unusable")
        approvals = endpoint("approvals_endpoint") or f"{self.url}/oauth/approvals"
        self._metadata = Metadata(jwks_uri, endpoint("introspection_endpoint"), endpoint("endings_endpoint"), approvals)
        return self._metadata

    def find_key(self, kid: object, algorithm: str) -> jwt.PyJWK | None:
        """The key with this id for this algorithm. Raises 503 if the JWK Set cannot be fetched."""
        if self._keys_age() > KEYS_KEPT_FOR:
            self._read_keys_once()
        key = self._opened_key(kid, algorithm)
        if key is None and self._keys_age() > KEYS_FETCHED_EVERY:
            if time.monotonic() - self._keys_failed_at < FAILED_FOR:
                raise unavailable("jwks_unreachable")
            self._read_keys_once()
            key = self._opened_key(kid, algorithm)
        return key

    def _keys_age(self) -> float:
        return time.monotonic() - self._keys_fetched_at

    def _opened_key(self, kid: object, algorithm: str) -> jwt.PyJWK | None:
        kty, crv = ALGORITHMS[algorithm]
        opened, keys = self._opened, self._keys
        for key in keys:
            if not isinstance(kid, str) or key.get("kid") != kid or key.get("kty") != kty or key.get("crv") != crv:
                continue
            if key.get("alg", algorithm) != algorithm or key.get("use", "sig") != "sig":
                continue
            if kid not in opened:
                try:
                    opened[kid] = jwt.PyJWK(key, algorithm)
                except jwt.PyJWTError:
                    continue
            return opened[kid]
        return None

    def _read_keys(self) -> None:
        jwks_uri = self.metadata().jwks_uri
        try:
            keys = self._ask(jwks_uri).json.get("keys")
        except ResourceError as error:
            self._keys_failed_at = time.monotonic()
            raise unavailable("jwks_unreachable") from error
        if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
            raise unavailable("jwks_unreachable")
        self._opened, self._keys = {}, keys
        self._keys_fetched_at = time.monotonic()


class InvalidJws(Exception):
    """`reason` is that of an `invalid_token`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def verify_jws(issuer: Issuer, text: str, typ: str, audience: str) -> tuple[dict[str, Any], str]:
    """The claims of a JWS of this type, issuer and audience, and the id of the key. The caller checks times and other claims."""
    try:
        header = jwt.get_unverified_header(text)
        signature = text.rsplit(".", 1)[1]
        decoded = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise InvalidJws("malformed") from None
    # A decoder ignores stray bits at the end, so one signature would have several spellings.
    if base64.urlsafe_b64encode(decoded).rstrip(b"=").decode() != signature or "crit" in header:
        raise InvalidJws("malformed")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise InvalidJws("algorithm")
    key = issuer.find_key(header.get("kid"), algorithm)
    if key is None:
        raise InvalidJws("unknown_key")
    try:
        claims = json.loads(jwt.PyJWS().decode(text, key, algorithms=[algorithm]), parse_constant=_refuse_constant)
    except jwt.InvalidSignatureError:
        raise InvalidJws("signature") from None
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise InvalidJws("malformed") from None
    if not isinstance(claims, dict):
        raise InvalidJws("malformed")
    # RFC 9068 §4: "The resource server MUST verify that the typ header value is at+jwt or application/at+jwt"
    named = header.get("typ")
    if not isinstance(named, str) or named.lower().removeprefix("application/") != typ:
        raise InvalidJws("claim_typ")
    if claims.get("iss") != issuer.url:
        raise InvalidJws("claim_iss")
    found = claims.get("aud")
    # RFC 8707 §3: a token that leaked from another API is refused here
    if found != audience and not (isinstance(found, list) and audience in found):
        raise InvalidJws("claim_aud")
    return claims, str(header["kid"])


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
