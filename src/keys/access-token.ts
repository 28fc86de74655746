/**
 * Access tokens as signed JWTs (RFC 9068 §2.1). Nobody else can make or change one (RFC 6749 §10.3, RFC 6750 §5.2), and they are
 * kept nowhere.
 */
import type { KeyRing } from './key-ring.ts'
import { openJwt, signJwt, TOKEN_AT_MOST } from './signed-jwt.ts'

/** RFC 9068 §2.2, §2.2.2, §2.2.3, and the grant the token belongs to; a client's own token belongs to none. Times in epoch seconds. */
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
  /** thumbprint of the key it is bound to (RFC 9449 §6.1) */
  cnf?: { jkt: string }
}

const TYPE = 'at+jwt'

export function signAccessToken(ring: KeyRing, claims: AccessTokenClaims): string {
  return signJwt(ring.maker('sign'), TYPE, claims)
}

/** The claims of a token this service signed for this issuer, whatever its age; undefined for anything else. */
export function openAccessToken(ring: KeyRing, issuer: string, token: string): AccessTokenClaims | undefined {
  if (token.length > TOKEN_AT_MOST) return undefined
  const name = ring.verified.nameOf(token)
  const known = ring.verified.find(name)
  const claims = known ?? (openJwt((id) => ring.opener('sign', id), TYPE, token) as AccessTokenClaims | undefined)
  if (!claims) return undefined
  if (!known) ring.verified.remember(name, claims)
  return claims.iss === issuer ? claims : undefined
}
