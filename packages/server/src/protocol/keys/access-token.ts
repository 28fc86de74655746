/**
 * Access tokens as signed JWTs (RFC 9068 §2.1). Only this service can make or change one (RFC 6749 §10.3, RFC 6750
 * §5.2), and no token is stored.
 */
import type { AccessTokenClaims } from './access-token-claims.ts'
import type { KeyRing } from './key-ring.ts'
import { claimsOf, openJwt, signJwt, TOKEN_AT_MOST } from './signed-jwt.ts'

const TYPE = 'at+jwt'

export function signAccessToken(ring: KeyRing, claims: AccessTokenClaims): string {
  const token = signJwt(ring.maker('sign'), TYPE, claims)
  ring.known.add(ring.known.nameOf(token))
  return token
}

/**
 * The claims of a token that this service signed for this issuer, whether or not it has expired; undefined for any
 * other text.
 */
export function openAccessToken(ring: KeyRing, issuer: string, token: string): AccessTokenClaims | undefined {
  return openToken(ring, token, ({ iss }) => iss === issuer)
}

/** The same, and undefined for a token that has expired at `now` (epoch seconds). */
export function openLiveAccessToken(
  ring: KeyRing,
  token: string,
  { issuer, now }: { issuer: string; now: number },
): AccessTokenClaims | undefined {
  // Any caller can send an object as `exp`, and a comparison with an object can throw.
  return openToken(ring, token, ({ iss, exp }) => iss === issuer && typeof exp === 'number' && exp > now)
}

type Unverified = { [Name in keyof AccessTokenClaims]?: unknown }

/** `isMeant` may be called before the signature is checked: any caller can present any number of old tokens. */
function openToken(ring: KeyRing, token: string, isMeant: (claims: Unverified) => boolean): AccessTokenClaims | undefined {
  if (token.length > TOKEN_AT_MOST) return undefined
  const name = ring.known.nameOf(token)
  let claims = ring.decoded.find(name)
  if (!claims) {
    const opened = ring.known.has(name) ? claimsOf(token) : openJwt((id) => ring.opener('sign', id), TYPE, token, isMeant)
    claims = opened as AccessTokenClaims | undefined
    if (!claims) return undefined
    ring.known.add(name)
    ring.decoded.remember(name, claims)
  }
  return isMeant(claims) ? claims : undefined
}
