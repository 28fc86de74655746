"""Why a call was refused, with the status and the headers of the response (RFC 6750 §3, RFC 9068 §4)."""

from __future__ import annotations

from typing import Any

INVALID_TOKEN = "The access token is expired, revoked, malformed or not meant for this API."


class ResourceError(Exception):
    """Everything except `reason` and the cause may be sent to the caller; these two are for the API's log. No member has the token."""

    def __init__(
        self,
        status: int,
        error: str | None,
        description: str,
        reason: str,
        *,
        max_age: int | None = None,
        acr_values: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(description)
        #: 400, 401, 403, or 503 if the token could not be checked. An `ApprovalError` can have 409 or 429. `draw` and `give_back` can have 409,
        #: and 500 for a fault of the API.
        self.status = status
        #: The OAuth error code; None if the call had no credentials (RFC 6750 §3.1).
        self.error = error
        #: One sentence in plain words, fixed for each code, or for each `reason` of a limit that is used up.
        self.description = description
        #: For the log: the exact fault, such as `expired` or `claim_aud`. docs/reference/errors.md lists all of them.
        self.reason = reason
        #: Only with `insufficient_user_authentication` (RFC 9470 §3).
        self.max_age = max_age
        self.acr_values = acr_values
        #: Seconds until the next attempt; only with 429 and 503.
        self.retry_after = retry_after
        #: The scopes that the call needs, and the header with the challenge; None with 409, 500 and 503.
        self.scope: str | None = None
        self.www_authenticate: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Cache-Control": "no-store"}
        if self.www_authenticate is not None:
            headers["WWW-Authenticate"] = self.www_authenticate
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        return headers

    @property
    def content_type(self) -> str:
        return "application/json"

    @property
    def body(self) -> dict[str, Any]:
        """The body of the response, as JSON."""
        return {**({"error": self.error} if self.error else {}), "error_description": self.description}


def no_credentials() -> ResourceError:
    return ResourceError(401, None, "This call needs an access token.", "no_credentials")


def invalid_request(reason: str) -> ResourceError:
    return ResourceError(400, "invalid_request", "Send the access token once, in one well-formed header.", reason)


def invalid_token(reason: str) -> ResourceError:
    # One wording for all faults: only the log names the failed check, because the name would help an attacker.
    return ResourceError(401, "invalid_token", INVALID_TOKEN, reason)


def insufficient_scope() -> ResourceError:
    return ResourceError(403, "insufficient_scope", "The access token does not allow this call.", "scope_missing")


def insufficient_authentication(reason: str, max_age: int | None, acr_values: str | None) -> ResourceError:
    description = "This call needs a more recent or a different sign-in of the user."
    # RFC 9470 §3: 401, because another sign-in can make the call possible
    return ResourceError(
        401, "insufficient_user_authentication", description, reason, max_age=max_age, acr_values=acr_values
    )


def unavailable(reason: str, retry_after: int | None = None) -> ResourceError:
    """The authorization server gave no usable response, so the token is neither accepted nor reported as bad."""
    description = "The access token cannot be checked at the moment. Try again shortly."
    return ResourceError(
        503, "temporarily_unavailable", description, reason, retry_after=5 if retry_after is None else retry_after
    )


#: What the caller reads if the limit is used up, or was never signed.
EXCEEDED = {
    "limit_not_signed": "The user has not signed a limit for this scope yet.",
    "uses_exceeded": "The user signed a limit for this scope, and no use is left.",
    "amount_exceeded": "The user signed a limit for this scope, and less is left than this call costs.",
    "each_exceeded": "The user signed a limit for this scope, and this call costs more than one use may cost.",
}

#: What the log of the API reads if its settings or its program are wrong.
_FAULTS = {
    "draw_not_yours": "draw: register the client of this API as the resource server of the audience of its tokens",
    "draw_no_limit": "draw: no scope of the token has a limit at this API. Give the scope a limit at the authorization server, and require this scope "
    "of the call before draw",
    "draw_amount_unfit": "draw: the limit has an amount and the draw has none, or the limit has none and the draw has one",
    "return_unknown": "give_back: this client has no draw with this grant and this key",
    "return_above_draw": "give_back: the amount is larger than the amount of the draw",
    "return_differs": "give_back: this draw was given back before, with another amount",
}


def exceeded(reason: str) -> ResourceError:
    # RFC 6750 §3.1: a client that receives this error asks the user again, and so the wallet signs a new limit.
    return ResourceError(403, "insufficient_scope", EXCEEDED[reason], reason)


def draw_key_used() -> ResourceError:
    # 409 and not 500: many APIs take the key from the call, and the caller can choose another.
    return ResourceError(409, "draw_key_used", "The key of this call was used for another amount. Choose another key.", "draw_key_used")


def fault(reason: str) -> ResourceError:
    """A fault of the API. The caller cannot change it, and the log has the words, which are those of the cause."""
    description = "This API cannot count its calls, because of a fault in its settings or its program."
    error = ResourceError(500, "server_error", description, reason)
    error.__cause__ = RuntimeError(_FAULTS[reason])
    return error


def draw_unavailable(error: ResourceError) -> ResourceError:
    """The same refusal about a draw instead of a token."""
    description = "It is not known whether this call was counted. Try again shortly."
    return ResourceError(503, "temporarily_unavailable", description, error.reason, retry_after=error.retry_after)


_DETAILS = {
    "waiting": "The user has not signed this action yet. Open the link, compare the letters, and repeat the call after the "
    "signature.",
    "declined": "The user declined this action.",
    "expired": "The user did not sign this action in time, or the signed action was not done in time. Start the action again.",
    "used": "The signature of the user was used by an earlier call. Start the action again if it was not done.",
    "ended": "The user ended the access of the app, so the signature cannot be used.",
}
STATES = frozenset(_DETAILS)
#: RFC 9457 §3.1.3: the title is the same for each occurrence.
_TITLES = {
    "approval_required": "The user must sign this action.",
    "approval_key_used": "The key of this action was used for another action.",
    "approvals_declined": "The user wants no more questions from this app.",
    "too_many_approvals": "The user was asked too often.",
    "temporarily_unavailable": "The approval of the user cannot be checked at the moment.",
}


class ApprovalError(ResourceError):
    """Why `approve` did not let a call pass: 403, 409, 429 or 503."""

    #: Only with the code `approval_required`: waiting, declined, expired, used or ended.
    state: str | None = None
    #: Only with the state `waiting`: the page on which the user signs, the letters that the user compares, and the seconds that are left.
    approval_uri: str | None = None
    user_code: str | None = None
    expires_in: float | None = None

    @property
    def content_type(self) -> str:
        return "application/problem+json"

    @property
    def body(self) -> dict[str, Any]:
        """RFC 9457."""
        code = self.error or "approval_required"
        more = {name: getattr(self, name) for name in ("state", "approval_uri", "user_code", "expires_in")}
        # Seconds until the caller repeats the call, as in `Retry-After`.
        more["interval"] = self.retry_after if self.state else None
        return {
            "type": f"urn:grantor:problem:{code}",
            "title": _TITLES[code],
            "status": self.status,
            "detail": self.description,
            **{name: value for name, value in more.items() if value is not None},
        }


def not_signed(state: str, asked: dict[str, Any]) -> ApprovalError:
    error = ApprovalError(403, "approval_required", _DETAILS[state], f"approval_{state}")
    error.state = state
    if state == "waiting":
        names = ("approval_uri", "user_code", "expires_in", "interval")
        error.approval_uri, error.user_code, error.expires_in, error.retry_after = (asked[name] for name in names)
    return error


def approval_refusal(code: str, retry_after: int | None) -> ApprovalError | None:
    """The refusal for an error code of the approvals endpoint that the caller can act on."""
    if code == "key_used":
        # 409 and not 500: many APIs take the key from the call, and the caller can choose another.
        detail = "The user was already asked about another action with this key. Choose another key."
        return ApprovalError(409, "approval_key_used", detail, "approval_key_used")
    if code == "approvals_declined":
        detail = "The user does not want to be asked to sign actions of this app."
        return ApprovalError(403, "approvals_declined", detail, "approvals_declined")
    if code == "too_many_approvals":
        detail = "Let the user answer the open questions first, or try again later."
        seconds = 60 if retry_after is None else retry_after
        return ApprovalError(429, "too_many_approvals", detail, "too_many_approvals", retry_after=seconds)
    return None


def approval_unavailable(error: ResourceError) -> ApprovalError:
    detail = "It is not known whether the user signed this action. Try again shortly."
    return ApprovalError(503, "temporarily_unavailable", detail, error.reason, retry_after=error.retry_after)
