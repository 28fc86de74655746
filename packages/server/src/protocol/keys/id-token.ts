/** ID tokens (OpenID Connect Core §2): a statement to one client about the user who signed in. */
import { createHash } from 'node:crypto'
import type { KeyRing } from './key-ring.ts'
import { openJwt, signJwt } from './signed-jwt.ts'
import type { SigningAlgorithm, SigningKey } from './signing-key.ts'

/** Times in epoch seconds. */
export type IdTokenClaims = {
  iss: string
  sub: string
  /** the client's id */
  aud: string
  exp: number
  iat: number
  auth_time?: number
  nonce?: string
  at_hash: string
  acr: string
  amr?: string[]
  /** the session at this service, under an id that only this client receives (OpenID Connect Back-Channel Logout §2.1) */
  sid?: string
}

const TYPE = 'JWT'

export function signIdToken(key: SigningKey, claims: IdTokenClaims & Record<string, unknown>): string {
  return signJwt(key, TYPE, claims)
}

/**
 * The claims of an ID token that this service signed for this issuer, whether or not it has expired; undefined for any
 * other text.
 */
export function openIdToken(ring: KeyRing, issuer: string, token: string): IdTokenClaims | undefined {
  const claims = openJwt((id) => ring.verifier(id), TYPE, token) as IdTokenClaims | undefined
  return claims?.iss === issuer ? claims : undefined
}

/** §3.1.3.6: the left half of the hash; the signature's algorithm determines the hash function. */
export function accessTokenHash(algorithm: SigningAlgorithm, accessToken: string): string {
  const digest = createHash(algorithm === 'EdDSA' ? 'sha512' : 'sha256')
    .update(accessToken, 'ascii')
    .digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}
