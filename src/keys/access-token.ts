/**
 * Access tokens as signed JWTs (RFC 9068 §2.1). Only this service can make or change one (RFC 6749 §10.3, RFC 6750
 * §5.2), and no token is stored.
 */
import type { KeyRing } from './key-ring.ts'
import { claimsOf, openJwt, signJwt, TOKEN_AT_MOST } from './signed-jwt.ts'

/** The client that acts for the user; `act` is the client that acted before it (RFC 8693 §4.1). */
export type Actor = { sub: string; act?: Actor }

/**
 * RFC 9068 §2.2, §2.2.2, §2.2.3, and the grant that the token belongs to; a client's own token belongs to no grant.
 * Times in epoch seconds.
 */
export type AccessTokenClaims = {
  iss: string
  sub: string
  aud: string
  client_id: string
  exp: number
  iat: number
  jti: string
  scope: string
  grant_id?: string
  /** when the wallet signed in (RFC 9068 §2.2.1); absent without a user, and in grants of a version before OpenID Connect */
  auth_time?: number
  /** how the wallet signed in (RFC 9068 §2.2.1); absent without a user */
  acr?: string
  /** thumbprint of the key that the token is bound to (RFC 9449 §6.1) */
  cnf?: { jkt: string }
  /** present if the token was issued in exchange for another one (RFC 8693 §4.1) */
  act?: Actor
  /** for an exchanged token: the `jti` of each token that it was exchanged from, the oldest first */
  exchanged_from?: string[]
}

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
  if (token.length > TOKEN_AT_MOST) return undefined
  const name = ring.known.nameOf(token)
  let claims = ring.decoded.find(name)
  if (!claims) {
    claims = decodeOrVerify(ring, name, token)
    if (!claims) return undefined
    ring.known.add(name)
    ring.decoded.remember(name, claims)
  }
  return claims.iss === issuer ? claims : undefined
}

function decodeOrVerify(ring: KeyRing, name: string, token: string): AccessTokenClaims | undefined {
  const claims = ring.known.has(name) ? claimsOf(token) : openJwt((id) => ring.opener('sign', id), TYPE, token)
  return claims as AccessTokenClaims | undefined
}
