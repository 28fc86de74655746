"""With an issuer on a real socket: how often the keys are fetched, what arbitrary headers get, and the adapter for Starlette."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any

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
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                issuer.paths.append(self.path)
                self.rfile.read(int(self.headers.get("content-length", 0)))
                answer = issuer.answers.get(self.path)
                if answer is None:
                    self.connection.close()
                    return
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(200)
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
