"""Asks the wallet of a user to sign one action, through the authorization server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import (
    STATES,
    ApprovalError,
    ResourceError,
    approval_refusal,
    approval_unavailable,
    insufficient_scope,
    invalid_token,
    not_signed,
    unavailable,
)
from .issuer import Answer, Issuer, is_secure_url
from .token import AccessToken

#: The API's name of an action or of a use.
KEY = re.compile(r"[A-Za-z0-9._-]{1,64}")
#: Words of the characters of a statement (ERC-4361), except for the quotation mark, which ends the summary in the signed text.
_SUMMARY = re.compile(r"(?=.{1,120}\Z)[A-Za-z0-9._~\-!$&()*+,;=:/?#\[\]@]+(?: [A-Za-z0-9._~\-!$&()*+,;=:/?#\[\]@]+)*")


@dataclass(frozen=True)
class ApprovalReceipt:
    """What the user signed, for the API's records."""

    #: The signed text (ERC-4361), and the signature as hex with `0x`.
    message: str
    signature: str
    #: The wallet of the access token, and the chain id in the signed text.
    address: str
    chain_id: int


@dataclass(frozen=True)
class Approval:
    """An approval that this call used, and no other call can use."""

    approval_id: str
    receipt: ApprovalReceipt


def approval_form(key: str, summary: str, action: object, wait_seconds: int) -> dict[str, str]:
    """Raises ValueError for a member that is a fault of the API's program."""
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise ValueError("key must be 1 to 64 letters, digits, and characters of ._-")
    if not isinstance(summary, str) or not _SUMMARY.fullmatch(summary):
        raise ValueError("summary must be 1 to 120 letters, digits, single spaces, and characters of -._~:/?#[]@!$&()*+,;=")
    if type(wait_seconds) is not int or not 0 <= wait_seconds <= 30:
        raise ValueError("wait_seconds must be whole seconds, 0 to 30")
    form = {"key": key, "summary": summary, "digest": digest_of_action(action)}
    return {**form, "wait": str(wait_seconds)} if wait_seconds else form


def use_approval(issuer: Issuer, token: AccessToken, scope: str, form: Mapping[str, str]) -> Approval:
    """Asks for the approval, and uses it if the user signed. Raises a ResourceError."""
    try:
        endpoint = issuer.metadata().approvals_endpoint
        sent = {"token": token._text, "scope": scope, **form}
        answer = issuer.post(endpoint, sent, (200, 403, 409, 429), held_back=int(form.get("wait", 0)))
        if answer.status != 200:
            raise _refusal(answer)
        asked = _read_asked(answer.json)
        if asked["state"] != "signed":
            raise not_signed(asked["state"], asked)
        return _use(issuer, f"{endpoint}/use", asked, token.wallet)
    except ResourceError as error:
        if error.status == 503 and not isinstance(error, ApprovalError):
            raise approval_unavailable(error) from error
        raise


def _use(issuer: Issuer, url: str, asked: dict[str, Any], wallet: str) -> Approval:
    form = {"approval_id": asked["approval_id"], "attempt": str(uuid.uuid4())}
    # The approval may be used already. The same attempt gets the same answer, and no second call can pass.
    answer = issuer.post_again_if_lost(url, form, (200, 403, 409))
    if answer.status == 200:
        return _read_used(answer.json, asked["approval_id"], wallet)
    code, state = answer.json.get("error"), answer.json.get("state")
    if code == "already_used":
        raise not_signed("used", asked)
    if code == "not_approved" and isinstance(state, str) and state in STATES:
        raise not_signed(state, asked)
    raise unavailable(f"issuer_answered_{answer.status}")


def _refusal(answer: Answer) -> ResourceError:
    """Any other code is a fault between the API and the authorization server."""
    code = str(answer.json.get("error"))
    if code == "token_inactive":
        return invalid_token("inactive")
    if code == "insufficient_scope":
        return insufficient_scope()
    if code == "not_yours":
        return unavailable("approval_not_yours")
    refusal = approval_refusal(code, answer.retry_after)
    return refusal or unavailable(f"issuer_answered_{answer.status}", answer.retry_after)


def _read_asked(answer: dict[str, Any]) -> dict[str, Any]:
    is_read = (
        isinstance(answer.get("approval_id"), str)
        # The caller shows this link to the user.
        and is_secure_url(answer.get("approval_uri"))
        and isinstance(answer.get("user_code"), str)
        and type(answer.get("expires_in")) in (int, float)
        and type(answer.get("interval")) in (int, float)
        and isinstance(answer.get("state"), str)
        and (answer["state"] == "signed" or answer["state"] in STATES)
    )
    if not is_read:
        raise unavailable("approval_malformed")
    return answer


def _read_used(answer: dict[str, Any], approval_id: str, wallet: str) -> Approval:
    """The answer must be about the approval that was asked for, and the receipt that of the token's wallet."""
    found = answer.get("receipt")
    receipt: dict[str, Any] = found if isinstance(found, dict) else {}
    message, signature, chain_id = receipt.get("message"), receipt.get("signature"), receipt.get("chain_id")
    is_read = (
        answer.get("approval_id") == approval_id
        and answer.get("state") == "used"
        and receipt.get("address") == wallet
        and type(chain_id) is int
    )
    if not is_read or not isinstance(message, str) or not isinstance(signature, str) or not isinstance(chain_id, int):
        raise unavailable("approval_malformed")
    return Approval(approval_id, ApprovalReceipt(message, signature, wallet, chain_id))


def digest_of_action(action: object) -> str:
    """SHA-256 of the canonical form (RFC 8785), in base64url."""
    digest = hashlib.sha256(canonical_json(action).encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def canonical_json(value: object, path: str = "$", level: int = 1) -> str:
    """RFC 8785. Raises ValueError for a value that JSON cannot contain: a member that is missing in the digest would not be approved."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _string(value, path)
    if isinstance(value, (int, float)):
        return _number(value, path)
    if level > 64:
        raise ValueError(f"{path} is nested more than 64 levels deep")
    if isinstance(value, (list, tuple)):
        return f"[{','.join(canonical_json(each, f'{path}[{i}]', level + 1) for i, each in enumerate(value))}]"
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{path} is no JSON value")
    # §3.2.3: sorted by UTF-16 code units. `surrogatepass`: a lone surrogate is refused below, with its path.
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    members = (f"{_string(name, path)}:{canonical_json(value[name], f'{path}.{name}', level + 1)}" for name in names)
    return f"{{{','.join(members)}}}"


def _string(text: str, path: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{path} has a lone surrogate")
    return json.dumps(text, ensure_ascii=False)


def _number(value: int | float, path: str) -> str:
    """As ECMAScript writes numbers (RFC 8785 §3.2.2.3)."""
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    # An integer that a double cannot hold would be another number at the authorization server.
    if number != value or number in (float("inf"), float("-inf")):
        raise ValueError(f"{path} is no number of JSON, or one that a double cannot hold")
    if number == 0:
        return "0"
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).lstrip("0")
    # The value is 0.DIGITS times ten to the power of `point`.
    point = int(exponent or 0) + (len(whole) if whole != "0" else len(digits) - len(fraction))
    digits = digits.rstrip("0")
    sign = "-" if number < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "") + power
