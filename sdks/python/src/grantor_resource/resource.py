"""One API: the check of its tokens, approvals, draws from limits, and the metadata document (RFC 9728)."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

from .approval import Approval, approval_form, use_approval
from .draw import Draw, GivenBack, LimitUsedUp, draw_form, give_back_form, send_draw, send_give_back
from .errors import ApprovalError, ResourceError, insufficient_scope, invalid_token, no_credentials, unavailable
from .feed import FeedFault, FeedReader
from .issuer import IntrospectionCredentials, Issuer, is_secure_url
from .token import AccessToken, Needs, read_left, read_limit, read_presented_token, read_scopes, require_of_token, verify_token

_LOG = logging.getLogger("grantor_resource")
_WELL_KNOWN = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True)
class FeedOptions:
    #: Seconds, 1 to 60: the greatest age of the feed. If the feed is older, tokens are introspected.
    max_age: float = 3.0
    #: Called by the thread of the feed, once for each kind of problem until the feed works again. Default: a warning in the log.
    on_problem: Callable[[FeedFault], None] | None = None


class ProtectedResource:
    """
    Checks access tokens (RFC 9068, RFC 6750). Make one for each API. All threads can share one.

    `issuer`: the authorization server, exactly as in `iss`. `resource`: the URL under which clients call this API, and the `aud` of its
    tokens. `check`: how an ended token is found. `local`: not at all, a token works until its `exp`. `introspection`: by a request for every
    call. `feed`: from the list of ended tokens that a thread of this process reads. Default: `introspection` with credentials, otherwise
    `local`. `scopes`: what every call needs. `client_tokens`: whether apps may call for themselves. `clock_tolerance`: seconds by which the
    clock of this machine may be wrong. `on_refusal` gets each refusal, for the API's log. Without this function, a fault of the
    API (500) is logged as an error.
    """

    def __init__(
        self,
        *,
        issuer: str,
        resource: str,
        check: Literal["local", "introspection", "feed"] | None = None,
        introspection: IntrospectionCredentials | None = None,
        feed: FeedOptions | None = None,
        scopes: Sequence[str] = (),
        scopes_supported: Sequence[str] | None = None,
        client_tokens: bool = False,
        clock_tolerance: float = 0,
        name: str | None = None,
        documentation: str | None = None,
        on_refusal: Callable[[ResourceError], None] | None = None,
        transport: httpx.BaseTransport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        for option, value in (("issuer", issuer), ("resource", resource)):
            if not is_secure_url(value) or re.search(r"[?#]", value):
                raise ValueError(f"{option} must be an https URL (http only on this machine) without query and fragment")
        if issuer.endswith("/"):
            raise ValueError("issuer must have no final slash, as in https://auth.example.com")
        self._kind = check or ("introspection" if introspection else "local")
        if self._kind not in ("local", "introspection", "feed"):
            raise ValueError("check must be 'local', 'introspection' or 'feed'")
        if self._kind != "local" and not introspection:
            raise ValueError(f"check={self._kind!r} needs introspection, with client_id and client_secret")
        if introspection and not (introspection.client_id and introspection.client_secret):
            raise ValueError("introspection needs client_id and client_secret")
        if feed and self._kind != "feed":
            raise ValueError("feed needs check='feed'")
        feed = feed or FeedOptions()
        if not 1 <= feed.max_age <= 60:
            raise ValueError("feed.max_age must be seconds, 1 to 60")
        if not 0 <= clock_tolerance < float("inf"):
            raise ValueError("clock_tolerance must be seconds, 0 or more")
        self.resource = resource
        self._issuer = Issuer(issuer, introspection, transport)
        self._scopes = tuple(scopes)
        self._client_tokens = client_tokens
        self._on_refusal = on_refusal
        self._now = now
        self._clock_tolerance = clock_tolerance
        self._max_age = feed.max_age * 1000
        self._reader = FeedReader(self._issuer, resource, feed.on_problem) if self._kind == "feed" else None
        url = urlsplit(resource)
        #: RFC 9728 §3.1: the well-known path is inserted between the host and the path of the resource.
        self.metadata_path = _WELL_KNOWN + ("" if url.path == "/" else url.path)
        self.metadata_url = f"{url.scheme}://{url.netloc}{self.metadata_path}"
        self.metadata: dict[str, Any] = {"resource": resource, "authorization_servers": [issuer]}
        supported = list(self._scopes if scopes_supported is None else scopes_supported)
        if supported:
            self.metadata["scopes_supported"] = supported
        self.metadata["bearer_methods_supported"] = ["header"]
        if name is not None:
            self.metadata["resource_name"] = name
        if documentation is not None:
            self.metadata["resource_documentation"] = documentation

    def check(self, authorization: Sequence[str] | str | None, needs: Needs = Needs(), *, query: str = "") -> AccessToken:
        """
        The token of a request. `authorization`: the value of each `Authorization` header. `query`: that of the request, in which a second
        token is refused. Raises a ResourceError with status 400, 401, 403 or 503. May wait for the authorization server.
        """
        values = [authorization] if isinstance(authorization, str) else list(authorization or ())
        needs = replace(needs, scopes=(*self._scopes, *needs.scopes))
        try:
            text = read_presented_token(values, query)
            # The signature first: a forged token causes no request to the authorization server.
            token = verify_token(self._issuer, text, self.resource, self._now(), self._clock_tolerance)
            if token.wallet == "" and not self._client_tokens:
                raise invalid_token("no_wallet")
            token = replace(self._confirm(token), _required=frozenset(needs.scopes))
            require_of_token(token, needs, self._now() - self._clock_tolerance)
            return token
        except ResourceError as error:
            raise self._challenged(error, needs.scopes)

    def require(self, token: AccessToken, needs: Needs) -> AccessToken:
        """Checks what an operation needs of a token that was already checked."""
        try:
            require_of_token(token, needs, self._now() - self._clock_tolerance)
        except ResourceError as error:
            raise self._challenged(error, (*self._scopes, *needs.scopes))
        return replace(token, _required=token._required.union(needs.scopes))

    def approve(
        self,
        token: AccessToken,
        *,
        key: str,
        summary: str,
        action: object,
        scope: str | None = None,
        wait_seconds: int = 0,
    ) -> Approval:
        """
        Lets a call pass only if the user of the token has signed this one action, and uses the signature. The first call with a key asks the
        user; the caller shows the link of the refusal to the user and repeats the call. Call `approve` last, directly before the action.

        Raises an ApprovalError (403, 409, 429 or 503), a ResourceError if the token does not allow the action, and ValueError for an unusable
        value, or if the scope is not named and the call needs more than one.
        """
        if self._issuer.credentials is None:
            raise ValueError("introspection must have the credentials of this API, which approvals need")
        form = approval_form(key, summary, action, wait_seconds)
        if scope is None:
            # One scope of several would be a guess, and the user could sign for less than the action needs.
            if len(token._required) != 1:
                raise ValueError(f"scope must name the scope of the approval: this call needs {len(token._required)} scopes")
            (scope,) = token._required
        try:
            if token.wallet == "":
                raise invalid_token("no_wallet")
            if scope not in token.scopes:
                raise insufficient_scope()
            return use_approval(self._issuer, token, scope, form)
        except ApprovalError:
            # No challenge: the action lacks a signature, and another token would not change that.
            raise
        except ResourceError as error:
            raise self._challenged(error, (*sorted(token._required), scope))

    def draw(self, token: AccessToken, *, key: str, amount: int | None = None) -> Draw:
        """
        Counts a call in the limit that the user signed, exactly once for each key. Call `draw` before the work, with the most that the call may
        cost, and give back the rest. A repeated draw with the same key succeeds and counts nothing, so store the result of the work by the key,
        and look there first: otherwise a caller that repeats a key gets the work again.

        `key`: the API's name of this use, 1 to 64 characters of `[A-Za-z0-9._-]`. `amount`: in the smallest step of the unit, required if the
        limit has an amount, and otherwise None.

        Raises a ResourceError: 403 `insufficient_scope` with a challenge if the limit is used up, 401 if the token has ended, 409 if the key was
        used for another amount, 500 if the API or its registration has a fault, 503 if the authorization server gives no usable answer. In none
        of these cases the call may go on. Raises ValueError for an unusable `key` or `amount`, and without credentials of the API.
        """
        if self._issuer.credentials is None:
            raise ValueError("introspection must have the credentials of this API, which limits need")
        form = draw_form(key, amount)
        scopes = sorted(token._required)
        try:
            # A client itself has no limit: only a user signs one.
            if token.wallet == "":
                raise invalid_token("no_wallet")
            return send_draw(self._issuer, token, form)
        except LimitUsedUp as used_up:
            raise self._challenged(used_up.refusal, (*scopes, used_up.scope)) from None
        except ResourceError as error:
            raise self._challenged(error, scopes)

    def give_back(self, *, grant_id: str, key: str, amount: int | None = None) -> GivenBack:
        """
        Gives back a part of a draw, or all of it, once. No token is needed, so the API can give back after the end of the call. A repeat with the
        same amount returns the same values. The use returns only with the whole amount.

        `grant_id` and `key`: those of the draw. `amount`: in the smallest step of the unit, up to that of the draw; None if the limit has none.

        Raises a ResourceError: 500 if the draw is unknown, was given back with another amount, or was smaller; 503 if the authorization server
        gives no usable answer, so repeat the call later. Raises ValueError for an unusable value, and without credentials of the API.
        """
        if self._issuer.credentials is None:
            raise ValueError("introspection must have the credentials of this API, which limits need")
        return send_give_back(self._issuer, give_back_form(grant_id, key, amount))

    def ready(self, timeout: float | None = None) -> bool:
        """With the feed, waits until it can be used; returns whether it can. An API need not wait: until then, tokens are introspected."""
        return self._reader.ready(self._max_age, timeout) if self._reader else True

    def close(self) -> None:
        """Ends the thread of the feed. Later calls introspect their tokens."""
        if self._reader:
            self._reader.close()

    def report(self, error: ResourceError) -> None:
        """Passes a refusal to `on_refusal`. For adapters."""
        if self._on_refusal:
            self._on_refusal(error)
        elif error.status == 500:
            _LOG.error("%s: %s", error.reason, error.__cause__)

    def _confirm(self, token: AccessToken) -> AccessToken:
        """Checks that the token did not end."""
        if self._kind == "local":
            return token
        if self._reader is None:
            return self._introspect(token)
        verdict = self._reader.decide(token, self._max_age)
        if verdict == "ended":
            raise invalid_token("ended")
        if verdict == "valid":
            return token
        try:
            introspected = self._introspect(token)
        except ResourceError as error:
            # A refused token is an answer too.
            self._reader.note_answer(error.status != 503)
            raise
        self._reader.note_answer(True)
        return introspected

    def _introspect(self, token: AccessToken) -> AccessToken:
        """RFC 7662. The response must be about the token that was verified."""
        endpoint = self._issuer.metadata().introspection_endpoint
        if endpoint is None:
            raise unavailable("introspection_endpoint_unusable")
        answer = self._issuer.post(endpoint, {"token": token._text, "token_type_hint": "access_token"}).json
        # §2.2: `active` is a boolean. A string "true" or a missing member is not a valid response.
        if type(answer.get("active")) is not bool:
            raise unavailable("introspection_malformed")
        if not answer["active"]:
            raise invalid_token("inactive")
        for claim in ("sub", "client_id", "jti"):
            if answer.get(claim) != token.claims[claim]:
                raise invalid_token(f"introspection_{claim}")
        if "cnf" in answer:
            raise invalid_token("sender_constrained")
        # The server may have removed scopes since the token was signed, and cannot add any.
        current = read_scopes(answer.get("scope"))
        scopes = tuple(scope for scope in token.scopes if scope in current)
        limit, left = read_limit(answer.get("limit")), read_left(answer.get("left"))
        # A limit that cannot be read is left out: only `draw` decides.
        return replace(token, scopes=scopes, limit=limit, left=left) if limit and left else replace(token, scopes=scopes)

    def _challenged(self, error: ResourceError, scopes: Sequence[str]) -> ResourceError:
        """Adds `WWW-Authenticate` (RFC 6750 §3, RFC 9470 §3, RFC 9728 §5.1)."""
        # Another token would not change these.
        if error.status == 409 or error.status >= 500 or isinstance(error, ApprovalError):
            return error
        # RFC 6750 §3: the scope describes "the required scope of the access token". A malformed request needs no other token.
        error.scope = " ".join(dict.fromkeys(scopes)) if error.status != 400 and scopes else None
        parameters = {
            "realm": self.resource,
            "error": error.error,
            # §3.1: no error information for a call without credentials
            "error_description": error.error and error.description,
            "scope": error.scope,
            "max_age": error.max_age,
            "acr_values": error.acr_values,
            "resource_metadata": self.metadata_url,
        }
        # Only characters of a quoted-string of RFC 6750 §3, so that a value cannot break out of the header.
        found = {name: re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "", str(value)) for name, value in parameters.items() if value is not None}
        error.www_authenticate = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in found.items())
        return error
