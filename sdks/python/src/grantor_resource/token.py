"""An access token (RFC 9068): how a request presents it, its claims, and what a call needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs

from .errors import insufficient_authentication, insufficient_scope, invalid_request, invalid_token, no_credentials
from .issuer import InvalidJws, Issuer, verify_jws

#: RFC 6750 §2.1: b64token
_B64TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
#: RFC 6749 §3.3
_SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*")

#: Of a limit.
USES_AT_MOST = 10_000
LARGEST_AMOUNT = 999_999_999_999_999


@dataclass(frozen=True)
class SignedLimit:
    """How much the user allowed. Amounts are whole numbers of the smallest step of the unit: with two decimals, 5000 is 50.00."""

    #: The scope that has the limit.
    scope: str
    #: The number of uses in each period, or in all without a period.
    uses: int
    #: None for the whole time of the grant.
    per: Literal["day", "week"] | None = None
    #: These four are all present or all None.
    unit: str | None = None
    decimals: int | None = None
    #: The sum of all uses in each period, and the most of one use.
    amount: int | None = None
    each: int | None = None


@dataclass(frozen=True)
class LimitLeft:
    """What is left of a limit."""

    #: 0 to 10,000 uses in this period, or in all without a period.
    uses: int
    #: In the smallest step of the unit; None if the limit has no amount.
    amount: int | None = None
    #: Seconds since the epoch: the end of the period; None without a period.
    until: int | None = None


@dataclass(frozen=True)
class AccessToken:
    """A token that passed the check."""

    #: The address of the wallet in EIP-55 form. Empty if a client acts for itself, which happens only with `client_tokens`.
    wallet: str
    #: The app that calls.
    client_id: str
    scopes: tuple[str, ...]
    #: `jti`
    token_id: str
    #: `iat` and `exp`, in seconds since the epoch
    issued_at: float
    expires_at: float
    #: When and how the user last signed in (RFC 9470 §6.1); None if the token does not have the claim.
    auth_time: float | None
    acr: str | None
    #: Every claim as it was signed.
    claims: Mapping[str, Any] = field(repr=False)
    _text: str = field(repr=False)
    _key_id: str = field(repr=False)
    #: Every scope that the API has required of this token.
    _required: frozenset[str] = field(default=frozenset(), repr=False)
    #: The limit that the user signed for one scope, and what is left; only if the token was introspected and the grant has a limit at this
    #: API. `left` reserves nothing: `draw` decides.
    limit: SignedLimit | None = None
    left: LimitLeft | None = None


@dataclass(frozen=True)
class Needs:
    """What a call needs of a token: scopes, and how recent (seconds) and of which kind the sign-in is (RFC 9470 §3)."""

    scopes: Sequence[str] = ()
    max_age: int | None = None
    acr_values: Sequence[str] | None = None


def read_presented_token(authorization: Sequence[str], query: str) -> str:
    """The token of a request. A token in the query is no token: it appears in logs and histories (RFC 6750 §5.3)."""
    if len(authorization) > 1:
        raise invalid_request("header_repeated")
    scheme, _, rest = (authorization[0] if authorization else "").partition(" ")
    if scheme.lower() != "bearer":
        raise no_credentials()
    text = rest.strip()
    if not _B64TOKEN.fullmatch(text):
        raise invalid_request("header_malformed")
    # RFC 6750 §2: "Clients MUST NOT use more than one method"
    if "access_token" in parse_qs(query, keep_blank_values=True):
        raise invalid_request("two_methods")
    return text


def verify_token(issuer: Issuer, text: str, audience: str, now: float, tolerance: float) -> AccessToken:
    """Checks signature, type, issuer, audience, times and claims, without a request for each token. Raises a ResourceError."""
    try:
        claims, key_id = verify_jws(issuer, text, "at+jwt", audience)
    except InvalidJws as error:
        raise invalid_token(error.reason) from None

    def member(name: str, kinds: tuple[type, ...], is_required: bool = True) -> Any:
        value = claims.get(name)
        if (name in claims or is_required) and (type(value) not in kinds or (value == "" and is_required)):
            raise invalid_token(f"claim_{name}")
        return value

    number, string = (int, float), (str,)
    sub, client_id, jti = member("sub", string), member("client_id", string), member("jti", string)
    iat, exp, nbf = member("iat", number), member("exp", number), member("nbf", number, False)
    auth_time, acr = member("auth_time", number, False), member("acr", string, False)
    if nbf is not None and nbf > now + tolerance:
        raise invalid_token("claim_nbf")
    if exp <= now - tolerance:
        raise invalid_token("expired")
    if "cnf" in claims:
        cnf = claims["cnf"]
        # RFC 9449 §7.2: a bound token that is "received as a bearer token" MUST be rejected.
        is_key = isinstance(cnf, dict) and isinstance(cnf.get("jkt"), str) and cnf["jkt"] != ""
        raise invalid_token("sender_constrained" if is_key else "claim_cnf")
    # RFC 9068 §2.2: if no user is involved, `sub` is the client. An address is never a client id.
    wallet = "" if sub == client_id else sub
    scopes = read_scopes(claims.get("scope"))
    return AccessToken(wallet, client_id, scopes, jti, iat, exp, auth_time, acr, claims, text, key_id)


def read_scopes(scope: object) -> tuple[str, ...]:
    """A text outside the grammar gives no scopes."""
    if not isinstance(scope, str) or not _SCOPE.fullmatch(scope):
        return ()
    return tuple(dict.fromkeys(scope.split(" ")))


def is_scope(value: object) -> bool:
    """Whether a value is one scope."""
    return isinstance(value, str) and " " not in value and _SCOPE.fullmatch(value) is not None


def is_amount(value: int | None) -> bool:
    return value is not None and 1 <= value <= LARGEST_AMOUNT


def whole(value: object) -> int | None:
    """A whole number, 0 or more, of JSON, where 1.0 is 1. Otherwise None."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= 2**53 - 1 else None


def read_limit(found: object) -> SignedLimit | None:
    """None if a member is missing or wrong."""
    limit = found if isinstance(found, dict) else {}
    scope, per, unit = limit.get("scope"), limit.get("per"), limit.get("unit")
    uses, decimals, amount, each = (whole(limit.get(name)) for name in ("uses", "decimals", "amount", "each"))
    if not isinstance(scope, str) or not is_scope(scope) or uses is None or not 1 <= uses <= USES_AT_MOST:
        return None
    if per not in ("day", "week") and "per" in limit:
        return None
    if not {"unit", "decimals", "amount", "each"} & limit.keys():
        return SignedLimit(scope, uses, per)
    if not isinstance(unit, str) or not re.fullmatch(r"[A-Z0-9]{1,10}", unit) or decimals is None or decimals > 6:
        return None
    if amount is None or each is None or not is_amount(amount) or not 1 <= each <= amount:
        return None
    return SignedLimit(scope, uses, per, unit, decimals, amount, each)


def read_left(found: object) -> LimitLeft | None:
    """None if a member is missing or wrong."""
    left = found if isinstance(found, dict) else {}
    uses, amount, until = (whole(left.get(name)) for name in ("uses", "amount", "until"))
    if uses is None or uses > USES_AT_MOST or ("until" in left and until is None):
        return None
    if "amount" in left and (amount is None or amount > LARGEST_AMOUNT):
        return None
    return LimitLeft(uses, amount, until)


def require_of_token(token: AccessToken, needs: Needs, now: float) -> None:
    """The sign-in first: that challenge also has the scopes, so one new authorization request is enough if both are missing."""
    wanted = needs.max_age, None if needs.acr_values is None else " ".join(needs.acr_values)
    if needs.acr_values is not None and token.acr not in needs.acr_values:
        raise insufficient_authentication("acr_unmet", *wanted)
    if needs.max_age is not None:
        if token.auth_time is None:
            raise insufficient_authentication("authentication_time_unknown", *wanted)
        if now - token.auth_time > needs.max_age:
            raise insufficient_authentication("authentication_too_old", *wanted)
    if not set(needs.scopes) <= set(token.scopes):
        raise insufficient_scope()
