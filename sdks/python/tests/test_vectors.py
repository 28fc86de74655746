"""The test vectors that every package passes: sdks/vectors.json, and those of the feed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest

from grantor_resource import IntrospectionCredentials, Needs, ProtectedResource, ResourceError
from grantor_resource.approval import canonical_json, digest_of_action
from grantor_resource.feed import Connection, FeedFault, FeedState, read_message
from grantor_resource.issuer import Issuer
from grantor_resource.token import verify_token

ROOT = Path(__file__).parents[3]
VECTORS: dict[str, Any] = json.loads((ROOT / "sdks/vectors.json").read_text())
FEED: dict[str, Any] = json.loads((ROOT / "docs/reference/feed-vectors.json").read_text())


def by_name(vector: dict[str, Any]) -> str:
    return str(vector["name"])


class Answers(httpx.BaseTransport):
    """Answers as the vector says, and keeps the forms."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.sent: list[dict[str, Any]] = []
        usual = VECTORS["answers"]
        self.lists: dict[str, list[Any]] = {
            "/.well-known/oauth-authorization-server": [answers.get("metadata", usual["metadata"])] * 2,
            "/oauth/jwks": [answers.get("jwks", usual["jwks"])] * 2,
            "/oauth/introspect": [answers.get("introspection")],
            "/oauth/approvals": list(answers.get("approvals", [])),
            "/oauth/approvals/use": list(answers.get("use", [])),
            "/oauth/draw": list(answers.get("draw", [])),
            "/oauth/draw/return": list(answers.get("return", [])),
        }

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "POST":
            form = dict(parse_qsl(request.read().decode(), keep_blank_values=True))
            self.sent.append({"path": path, "authorization": request.headers["authorization"], "form": form})
        answer = self.lists[path].pop(0)
        if answer == "lost":
            raise httpx.ConnectError("lost")
        return httpx.Response(answer["status"], headers=answer.get("headers"), json=answer["json"])


def without_none(value: object) -> dict[str, Any]:
    return {name: member for name, member in vars(value).items() if member is not None}


def outcome_of(vector: dict[str, Any]) -> dict[str, Any]:
    issuer = Answers(vector.get("answers", {}))
    resource = ProtectedResource(
        issuer=VECTORS["issuer"],
        resource=VECTORS["resource"],
        introspection=IntrospectionCredentials(**VECTORS["credentials"]),
        transport=issuer,
        now=lambda: VECTORS["now"],
        **{"check": "local", **vector.get("options", {})},
    )
    try:
        _, _, query = vector["request"].get("url", "").partition("?")
        token = resource.check(vector["request"]["authorization"], Needs(**vector.get("needs", {})), query=query)
        if "approve" in vector:
            approval = resource.approve(token, **vector["approve"])
            outcome: dict[str, Any] = {
                "approval": {"approval_id": approval.approval_id, "receipt": vars(approval.receipt)},
            }
        elif "draw" in vector:
            draw = resource.draw(token, **vector["draw"])
            outcome = {"draw": {**without_none(draw), "left": without_none(draw.left)}}
        elif "give_back" in vector:
            outcome = {"given_back": vars(resource.give_back(**vector["give_back"]))}
        else:
            names = ("wallet", "client_id", "token_id", "issued_at", "expires_at", "auth_time", "acr")
            limit = {"limit": without_none(token.limit), "left": without_none(token.left)} if token.limit else {}
            outcome = {"token": {**{name: getattr(token, name) for name in names}, "scopes": list(token.scopes), **limit}}
        outcome["decision"] = "accepted"
    except ValueError:
        return {"decision": "unusable"}
    except ResourceError as error:
        headers = {**error.headers, "Content-Type": error.content_type}
        outcome = {"decision": error.reason, "status": error.status, "headers": headers, "body": error.body}
    attempts = {each["form"].pop("attempt") for each in issuer.sent if "attempt" in each["form"]}
    assert len(attempts) < 2
    for each in issuer.sent:
        if each["path"] == "/oauth/approvals/use":
            each["form"]["attempt"] = "attempt"
    return {**outcome, **({"sent": issuer.sent} if issuer.sent else {})}


@pytest.mark.parametrize("vector", VECTORS["calls"], ids=by_name)
def test_a_call_gets_the_response_of_the_vector(vector: dict[str, Any]) -> None:
    assert outcome_of(vector) == vector["outcome"]


@pytest.mark.parametrize("vector", VECTORS["actions"])
def test_an_action_has_the_canonical_form_and_the_digest_of_the_vector(vector: dict[str, Any]) -> None:
    assert canonical_json(vector["action"]) == vector["canonical"]
    assert digest_of_action(vector["action"]) == vector["digest"]


def test_the_metadata_document_and_its_address_are_those_of_the_vector() -> None:
    expected = VECTORS["metadata"]
    options = {"scopes": expected["scopes"], "name": expected["name"]}
    resource = ProtectedResource(issuer=VECTORS["issuer"], resource=VECTORS["resource"], **options)
    assert resource.metadata == expected["document"]
    assert (resource.metadata_path, resource.metadata_url) == (expected["path"], expected["url"])


def feed_issuer() -> Issuer:
    def answer(request: httpx.Request) -> httpx.Response:
        jwks = request.url.path.endswith("jwks")
        return httpx.Response(200, json=FEED["jwks"] if jwks else {"issuer": FEED["issuer"], "jwks_uri": f"{FEED['issuer']}/jwks"})

    return Issuer(FEED["issuer"], transport=httpx.MockTransport(answer))


FEED_ISSUER = feed_issuer()


@pytest.mark.parametrize("vector", FEED["cases"], ids=by_name)
def test_the_reader_of_the_feed_decides_as_in_the_vector(vector: dict[str, Any]) -> None:
    state, connection = FeedState(), Connection(0)
    for step in vector["steps"]:
        if "connect" in step:
            connection = state.connect(step["connect"], step.get("nonce"))
        elif "message" in step:
            assert {**step, "expect": take(state, connection, step)} == step
        else:
            # The vectors are not about `exp`.
            token = verify_token(FEED_ISSUER, FEED["tokens"][step["token"]], FEED["resource"], 1_800_000_000, 0)
            assert {**step, "expect": state.decide(token, state.age_at(step["at"]), 3000)} == step


def take(state: FeedState, connection: Connection, step: dict[str, Any]) -> str:
    try:
        message = read_message(FEED_ISSUER, FEED["messages"][step["message"]], FEED["resource"])
        return "complete" if state.accept(message, connection, step["at"]) else "more_parts"
    except FeedFault as fault:
        return {"message_refused": "refuse", "message_missing": "snapshot"}.get(fault.kind, "stale")
