"""Counts a call in the limit that a user signed, through the authorization server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .approval import KEY
from .errors import EXCEEDED, ResourceError, draw_key_used, draw_unavailable, exceeded, fault, invalid_token, unavailable
from .issuer import Answer, Issuer
from .token import AccessToken, LimitLeft, is_amount, is_scope, read_left, whole

_GRANT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FAULTS = {
    "not_yours": "draw_not_yours",
    "no_limit": "draw_no_limit",
    # The rest of the request was checked before.
    "invalid_request": "draw_amount_unfit",
}
_FAULTS_OF_RETURN = {
    "unknown_draw": "return_unknown",
    "above_draw": "return_above_draw",
    "already_returned": "return_differs",
    "invalid_request": "draw_amount_unfit",
}


@dataclass(frozen=True)
class Draw:
    """A use that was counted."""

    #: The grant of the token, for `give_back`.
    grant_id: str
    #: The number of the draw in the grant; the first has 1.
    draw: int
    #: What was left after the draw. The end of the period is `until`, not `left.until`.
    left: LimitLeft
    #: Seconds since the epoch: the end of the period of the draw; None without a period.
    until: int | None = None


@dataclass(frozen=True)
class GivenBack:
    """What was given back."""

    #: The number of the draw in the grant.
    draw: int
    #: The amount in the smallest step of the unit; 0 if the limit has no amount.
    returned: int


class LimitUsedUp(Exception):
    """The refusal, and the scope of the limit. The resource adds the challenge."""

    def __init__(self, refusal: ResourceError, scope: str) -> None:
        super().__init__(scope)
        self.refusal = refusal
        self.scope = scope


def draw_form(key: str, amount: int | None) -> dict[str, str]:
    """Raises ValueError for a member that is a fault of the API's program."""
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise ValueError("key must be 1 to 64 letters, digits, and characters of ._-")
    if amount is None:
        return {"key": key}
    if type(amount) is not int or not is_amount(amount):
        raise ValueError("amount must be a whole number of the smallest step of the unit, 1 to 999999999999999")
    return {"key": key, "amount": str(amount)}


def give_back_form(grant_id: str, key: str, amount: int | None) -> dict[str, str]:
    """Raises ValueError for a member that is a fault of the API's program."""
    if not isinstance(grant_id, str) or not _GRANT.fullmatch(grant_id):
        raise ValueError("grant_id must be the grant_id of a draw")
    return {"grant_id": grant_id, **draw_form(key, amount)}


def send_draw(issuer: Issuer, token: AccessToken, form: dict[str, str]) -> Draw:
    """Raises a ResourceError, or LimitUsedUp."""
    answer = _post(issuer, f"{issuer.url}/oauth/draw", {"token": token._text, **form})
    code, scope = str(answer.json.get("error")), answer.json.get("scope")
    if answer.status == 200:
        return _read_draw(answer.json, token.claims.get("grant_id"), "amount" in form)
    if code in EXCEEDED:
        if not is_scope(scope):
            raise draw_unavailable(unavailable("draw_malformed"))
        raise LimitUsedUp(exceeded(code), str(scope))
    if code == "token_inactive":
        raise invalid_token("inactive")
    if code == "key_used":
        raise draw_key_used()
    raise _unexpected(answer, _FAULTS)


def send_give_back(issuer: Issuer, form: dict[str, str]) -> GivenBack:
    """Raises a ResourceError."""
    answer = _post(issuer, f"{issuer.url}/oauth/draw/return", form)
    if answer.status != 200:
        raise _unexpected(answer, _FAULTS_OF_RETURN)
    draw, returned = whole(answer.json.get("draw")), whole(answer.json.get("returned"))
    if not draw or returned is None or returned != int(form.get("amount", 0)):
        raise draw_unavailable(unavailable("draw_malformed"))
    return GivenBack(draw, returned)


def _post(issuer: Issuer, url: str, form: dict[str, str]) -> Answer:
    """The key makes a repeat safe: nothing is drawn twice if the first request was served."""
    try:
        return issuer.post_again_if_lost(url, form, (200, 400, 403, 409))
    except ResourceError as error:
        raise draw_unavailable(error) from error


def _unexpected(answer: Answer, faults: dict[str, str]) -> ResourceError:
    reason = faults.get(str(answer.json.get("error")))
    if reason:
        return fault(reason)
    return draw_unavailable(unavailable(f"issuer_answered_{answer.status}", answer.retry_after))


def _read_draw(answer: dict[str, Any], grant_id: object, has_amount: bool) -> Draw:
    """The answer has an amount exactly if the request has one."""
    left, number = read_left(answer.get("left")), whole(answer.get("draw"))
    until = whole(answer.get("until"))
    is_read = left is not None and (left.amount is not None) == has_amount
    if not isinstance(grant_id, str) or not number or left is None or not is_read or ("until" in answer and until is None):
        raise draw_unavailable(unavailable("draw_malformed"))
    return Draw(grant_id, number, LimitLeft(left.uses, left.amount), until)
