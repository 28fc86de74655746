"""With an issuer on a real socket: how often the keys are fetched, what arbitrary headers get, and the adapter for Starlette."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any
from urllib.parse import parse_qsl

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import Depends, FastAPI
from starlette.testclient import TestClient

from grantor_resource import AccessToken, FeedOptions, IntrospectionCredentials, Needs, ProtectedResource, ResourceError
from grantor_resource.feed import FeedFault, read_events
from grantor_resource.issuer import Issuer
from grantor_resource.starlette import answer_refusals, require_token, serve_metadata

RESOURCE = "https://api.example.com/notes"
NOW = 1_800_000_000
ENDLESS = b""


class LittleIssuer:
    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.paths: list[str] = []
        self.is_closed = threading.Event()
        #: the answer of each path; None is a connection that breaks
        self.answers: dict[str, dict[str, Any] | bytes | None] = {}
        #: the function that answers a form at a path, with a status and a body; None is a connection that breaks
        self.forms: dict[str, Callable[[dict[str, str]], tuple[int, dict[str, Any]] | None]] = {}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                issuer.paths.append(self.path)
                form = dict(parse_qsl(self.rfile.read(int(self.headers.get("content-length", 0))).decode()))
                served: tuple[int, dict[str, Any] | bytes] | None
                if self.path in issuer.forms:
                    served = issuer.forms[self.path](form)
                else:
                    kept = issuer.answers.get(self.path)
                    served = None if kept is None else (200, kept)
                if served is None:
                    self.connection.close()
                    return
                status, answer = served
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if answer is ENDLESS:
                    self.end_headers()
                    while not issuer.is_closed.wait(0.01):
                        self.wfile.write(b" ")
                    return
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = respond

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        self.answers["/oauth/jwks"] = {"keys": [{**jwk, "kid": "es", "alg": "ES256", "use": "sig"}]}
        self.answers["/.well-known/oauth-authorization-server"] = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/oauth/jwks",
            "introspection_endpoint": f"{self.url}/oauth/introspect",
        }
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, kid: str = "es", **changes: Any) -> str:
        claims = {"iss": self.url, "aud": RESOURCE, "sub": "0xWallet", "client_id": "app", "jti": "1", "iat": NOW, "exp": NOW + 600}
        return jwt.encode({**claims, "scope": "notes.read", **changes}, self.key, "ES256", {"typ": "at+jwt", "kid": kid})

    def resource(self, **options: Any) -> ProtectedResource:
        return ProtectedResource(**{"issuer": self.url, "resource": RESOURCE, "now": lambda: NOW, **options})


@pytest.fixture
def issuer() -> Iterator[LittleIssuer]:
    little = LittleIssuer()
    yield little
    little.is_closed.set()
    little.server.shutdown()
    little.server.server_close()


def reason_of(resource: ProtectedResource, authorization: str) -> str:
    with pytest.raises(ResourceError) as caught:
        resource.check(authorization)
    return caught.value.reason


def test_the_keys_are_fetched_once_for_all_threads_and_not_again_for_unknown_key_ids(issuer: LittleIssuer) -> None:
    resource = issuer.resource()
    with ThreadPoolExecutor(16) as threads:
        tokens = list(threads.map(lambda _: resource.check(f"Bearer {issuer.token()}"), range(64)))
    assert {token.wallet for token in tokens} == {"0xWallet"}
    for number in range(20):
        assert reason_of(resource, f"Bearer {issuer.token(kid=f'made-up-{number}')}") == "unknown_key"
    assert sorted(issuer.paths) == ["/.well-known/oauth-authorization-server", "/oauth/jwks"]


def test_an_api_may_start_before_its_issuer(issuer: LittleIssuer) -> None:
    metadata = issuer.answers.pop("/.well-known/oauth-authorization-server")
    resource = issuer.resource()
    assert reason_of(resource, f"Bearer {issuer.token()}") == "issuer_unreachable"
    issuer.answers["/.well-known/oauth-authorization-server"] = metadata
    assert resource.check(f"Bearer {issuer.token()}").client_id == "app"


def test_an_issuer_whose_answers_stop_gets_503_and_never_401(issuer: LittleIssuer) -> None:
    resource = issuer.resource(introspection=IntrospectionCredentials("api", "secret"))
    with pytest.raises(ResourceError) as caught:
        resource.check(f"Bearer {issuer.token()}")
    assert (caught.value.status, caught.value.reason, caught.value.headers["Retry-After"]) == (503, "issuer_unreachable", "5")


def test_an_answer_that_is_too_long_gets_503(issuer: LittleIssuer) -> None:
    issuer.answers["/oauth/introspect"] = b'{"active": true, "more": "' + b"a" * 2**20 + b'"}'
    resource = issuer.resource(introspection=IntrospectionCredentials("api", "secret"))
    with pytest.raises(ResourceError) as caught:
        resource.check(f"Bearer {issuer.token()}")
    assert (caught.value.status, caught.value.reason) == (503, "issuer_answer_malformed")


def test_an_answer_whose_parts_never_end_gets_503(issuer: LittleIssuer) -> None:
    issuer.answers["/slow"] = ENDLESS
    with pytest.raises(ResourceError) as caught:
        Issuer(issuer.url)._ask(f"{issuer.url}/slow", timeout=0.3)
    assert (caught.value.status, caught.value.reason) == (503, "issuer_unreachable")


def test_made_up_key_ids_cause_few_requests_to_an_issuer_that_fails(issuer: LittleIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = issuer.resource()
    resource.check(f"Bearer {issuer.token()}")
    monkeypatch.setattr("grantor_resource.issuer.KEYS_FETCHED_EVERY", 0)
    issuer.answers["/oauth/jwks"] = None
    for number in range(20):
        assert reason_of(resource, f"Bearer {issuer.token(kid=f'made-up-{number}')}") == "jwks_unreachable"
    assert issuer.paths.count("/oauth/jwks") < 10
    assert resource.check(f"Bearer {issuer.token()}").client_id == "app"


@pytest.mark.parametrize(
    "value", ["Bearer " + "W1" * 20_000, "Bearer " + jwt.utils.base64url_encode(b"[" * 20_000).decode() + ".e30.AAAA", "Bearer é", "Bearer a.b.c", "\x00"]
)
def test_an_arbitrary_header_gets_400_or_401(issuer: LittleIssuer, value: str) -> None:
    with pytest.raises(ResourceError) as caught:
        issuer.resource().check(value)
    assert caught.value.status in (400, 401)


def test_no_error_and_no_representation_has_a_part_of_the_token_or_the_secret(issuer: LittleIssuer) -> None:
    text = issuer.token(exp=NOW)
    with pytest.raises(ResourceError) as caught:
        issuer.resource().check(f"Bearer {text}")
    token = issuer.resource().check(f"Bearer {issuer.token()}")
    written = f"{caught.value!r} {caught.value.headers} {token!r} {IntrospectionCredentials('api', 'hidden')!r}"
    assert not any(part in written for part in [*text.split("."), *token._text.split("."), "hidden"])


@pytest.mark.parametrize(
    "options",
    [
        {"issuer": "http://auth.example.com"},
        {"issuer": "https://auth.example.com/"},
        {"resource": "https://api.example.com/?a"},
        {"check": "feed"},
        {"check": "never"},
        {"introspection": IntrospectionCredentials("api", "")},
        {"clock_tolerance": -1},
    ],
)
def test_an_unusable_option_is_refused_when_the_api_starts(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ProtectedResource(**{"issuer": "https://auth.example.com", "resource": RESOURCE, **options})


def api_with(resource: ProtectedResource) -> TestClient:
    app = FastAPI()
    answer_refusals(app, resource)
    serve_metadata(app, resource)

    @app.get("/notes")
    def read(token: Annotated[AccessToken, Depends(require_token(resource, ["notes.read"]))]) -> dict[str, str]:
        return {"of": token.wallet}

    @app.delete("/notes")
    def delete(token: Annotated[AccessToken, Depends(require_token(resource, ["notes.read"]))]) -> None:
        resource.require(token, Needs(["notes.write"]))

    return TestClient(app)


def test_fastapi_answers_with_the_token_or_with_the_refusal(issuer: LittleIssuer) -> None:
    reasons: list[str] = []
    api = api_with(issuer.resource(on_refusal=lambda error: reasons.append(error.reason)))
    good = {"authorization": f"Bearer {issuer.token()}"}
    assert api.get("/notes", headers=good).json() == {"of": "0xWallet"}
    metadata = 'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/notes"'
    answer = api.get("/notes")
    assert (answer.status_code, answer.headers["cache-control"]) == (401, "no-store")
    assert answer.headers["www-authenticate"] == f'Bearer realm="{RESOURCE}", scope="notes.read", {metadata}'
    assert api.delete("/notes", headers=good).status_code == 403
    assert api.get("/notes", headers=[("authorization", "Bearer a"), ("authorization", "Bearer b")]).status_code == 400
    assert api.get("/notes?access_token=x", headers=good).json()["error"] == "invalid_request"
    assert reasons == ["no_credentials", "scope_missing", "header_repeated", "two_methods"]


def test_fastapi_serves_the_metadata_document_to_every_origin(issuer: LittleIssuer) -> None:
    resource = issuer.resource()
    api = api_with(resource)
    answer = api.get("/.well-known/oauth-protected-resource/notes")
    assert (answer.json(), answer.headers["access-control-allow-origin"]) == (resource.metadata, "*")
    assert api.options("/.well-known/oauth-protected-resource/notes").status_code == 204


def test_the_events_of_a_stream_are_read_whatever_its_chunks_are() -> None:
    text = b": hello\n\nid: one\r\ndata: first\r\n\r\ndata:second\n\nid: lost\n\ndata: third"
    expected = [("one", "first"), (None, "second")]
    assert list(read_events(iter([text]))) == expected
    assert list(read_events(bytes([byte]) for byte in text)) == expected


def test_a_line_that_is_too_long_and_a_second_data_line_are_refused() -> None:
    for chunks in ([b"data: "] + [b"a" * 2**20] * 5, [b"data: a\ndata: b\n\n"]):
        with pytest.raises(FeedFault) as caught:
            list(read_events(iter(chunks)))
        assert caught.value.kind == "message_refused"


def test_a_feed_that_the_issuer_does_not_offer_is_reported_and_tokens_are_introspected(issuer: LittleIssuer) -> None:
    claims = {"sub": "0xWallet", "client_id": "app", "jti": "1", "scope": "notes.read"}
    issuer.answers["/oauth/introspect"] = {"active": True, **claims}
    reported = threading.Event()
    kinds: list[str] = []

    def on_problem(fault: FeedFault) -> None:
        kinds.append(fault.kind)
        reported.set()

    options = {"check": "feed", "introspection": IntrospectionCredentials("api", "secret"), "feed": FeedOptions(on_problem=on_problem)}
    resource = issuer.resource(**options)
    assert resource.check(f"Bearer {issuer.token()}").scopes == ("notes.read",)
    assert reported.wait(30) and kinds == ["not_offered"]
    resource.close()
    assert resource.check(f"Bearer {issuer.token()}").scopes == ("notes.read",)


GRANT = "01a2259d-eae0-8000-a4f7-a07ae0b707ef"
#: the limit of the little issuer: uses, the sum and the most of one use
USES, AMOUNT, EACH = 2, 10_000, 5_000


class LittleDraws:
    """The limit of one grant, in memory. `lose` is the number of answers that are lost after the request was served."""

    def __init__(self, issuer: LittleIssuer) -> None:
        self.lock = threading.Lock()
        self.uses, self.amount, self.lose = USES, AMOUNT, 0
        self.refuse: tuple[int, dict[str, Any]] | None = None
        self.drawn: dict[str, tuple[int, dict[str, Any]]] = {}
        self.returned: dict[str, int] = {}
        issuer.forms["/oauth/draw"] = lambda form: self.answer(form, self.draw)
        issuer.forms["/oauth/draw/return"] = lambda form: self.answer(form, self.give_back)

    def answer(
        self, form: dict[str, str], serve: Callable[[str, int], tuple[int, dict[str, Any]]]
    ) -> tuple[int, dict[str, Any]] | None:
        with self.lock:
            answer = self.refuse or serve(form["key"], int(form["amount"]))
            self.lose -= 1
            return None if self.lose >= 0 else answer

    def draw(self, key: str, amount: int) -> tuple[int, dict[str, Any]]:
        if key in self.drawn:
            before, first = self.drawn[key]
            return (200, first) if before == amount else (409, {"error": "key_used"})
        refused = "each_exceeded" if amount > EACH else "uses_exceeded" if self.uses == 0 else "amount_exceeded" if amount > self.amount else None
        if refused:
            return 403, {"error": refused, "scope": "pay"}
        self.uses, self.amount = self.uses - 1, self.amount - amount
        first = {"draw": len(self.drawn) + 1, "left": {"uses": self.uses, "amount": self.amount}, "until": NOW + 604_800}
        self.drawn[key] = amount, first
        return 200, first

    def give_back(self, key: str, amount: int) -> tuple[int, dict[str, Any]]:
        if key not in self.drawn:
            return 403, {"error": "unknown_draw"}
        drawn, first = self.drawn[key]
        if amount > drawn or self.returned.get(key, amount) != amount:
            return 409, {"error": "above_draw" if amount > drawn else "already_returned"}
        if key not in self.returned:
            self.returned[key], self.amount, self.uses = amount, self.amount + amount, self.uses + (amount == drawn)
        return 200, {"draw": first["draw"], "returned": amount}


def limited_api(issuer: LittleIssuer, **options: Any) -> tuple[ProtectedResource, TestClient, dict[str, str]]:
    resource = issuer.resource(check="local", introspection=IntrospectionCredentials("api", "secret"), **options)
    app = FastAPI()
    answer_refusals(app, resource)

    @app.post("/pictures/{key}")
    def enhance(key: str, amount: int, token: Annotated[AccessToken, Depends(require_token(resource, ["pay"]))]) -> dict[str, Any]:
        draw = resource.draw(token, key=key, amount=amount)
        return {"grant": draw.grant_id, "number": draw.draw, "uses": draw.left.uses, "amount": draw.left.amount, "until": draw.until}

    headers = {"authorization": f"Bearer {issuer.token(scope='notes.read pay', grant_id=GRANT)}"}
    return resource, TestClient(app, raise_server_exceptions=False), headers


def test_a_call_is_counted_once_for_each_key_also_after_a_lost_answer_and_given_back_once(issuer: LittleIssuer) -> None:
    draws = LittleDraws(issuer)
    resource, api, headers = limited_api(issuer)
    draws.lose = 1
    first = {"grant": GRANT, "number": 1, "uses": 1, "amount": 6000, "until": NOW + 604_800}
    for _ in range(2):
        assert api.post("/pictures/p-1?amount=4000", headers=headers).json() == first
    assert api.post("/pictures/p-1?amount=1", headers=headers).status_code == 409
    draws.lose = 1
    for _ in range(2):
        given = resource.give_back(grant_id=GRANT, key="p-1", amount=4000)
        assert (given.draw, given.returned) == (1, 4000)
    assert (draws.uses, draws.amount) == (USES, AMOUNT)
    for key, amount, reason in (("p-1", 1, "return_differs"), ("p-1", 4001, "return_above_draw"), ("p-2", 1, "return_unknown")):
        with pytest.raises(ResourceError) as caught:
            resource.give_back(grant_id=GRANT, key=key, amount=amount)
        assert (caught.value.status, caught.value.reason) == (500, reason)


def test_of_calls_that_race_for_the_last_uses_as_many_pass_as_are_left(issuer: LittleIssuer) -> None:
    LittleDraws(issuer)
    _, api, headers = limited_api(issuer)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: api.post(f"/pictures/p-{n}?amount=1", headers=headers).status_code, range(8)))
    assert sorted(answers) == [200] * USES + [403] * (8 - USES)


def test_a_limit_that_is_used_up_gets_403_and_the_scope_to_ask_for(issuer: LittleIssuer) -> None:
    LittleDraws(issuer)
    reasons: list[str] = []
    _, api, headers = limited_api(issuer, on_refusal=lambda error: reasons.append(error.reason))
    answer = api.post(f"/pictures/p-1?amount={EACH + 1}", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")
    challenge = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge and 'scope="pay"' in challenge
    assert reasons == ["each_exceeded"]


def test_a_fault_of_the_api_gets_500_and_is_logged_and_an_issuer_without_an_answer_gets_503(
    issuer: LittleIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    draws = LittleDraws(issuer)
    _, api, headers = limited_api(issuer)
    draws.refuse = 403, {"error": "no_limit"}
    with caplog.at_level(logging.ERROR, "grantor_resource"):
        answer = api.post("/pictures/p-1?amount=1", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (500, "server_error")
    assert "www-authenticate" not in answer.headers and "a limit at this API" not in answer.text
    assert "draw_no_limit: draw: no scope of the token has a limit at this API" in caplog.text
    draws.refuse, draws.lose = None, 2
    answer = api.post("/pictures/p-2?amount=1", headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_an_unusable_key_or_amount_is_a_value_error(issuer: LittleIssuer) -> None:
    resource, _, _ = limited_api(issuer)
    token = resource.check(f"Bearer {issuer.token(scope='pay', grant_id=GRANT)}")
    wrong: list[dict[str, Any]] = [{"key": ""}, {"key": None}, {"key": "a\n"}]
    wrong += [{"amount": amount} for amount in (0, -1, 1.0, True, "1", 10**15)]
    for change in wrong:
        with pytest.raises(ValueError):
            resource.draw(token, **{"key": "p-1", "amount": 1, **change})
        with pytest.raises(ValueError):
            resource.give_back(**{"grant_id": GRANT, "key": "p-1", "amount": 1, **change})
    with pytest.raises(ValueError):
        resource.give_back(grant_id="another", key="p-1")
    assert "/oauth/draw" not in issuer.paths
