import type { PlatformClaims } from './platform-claims.ts'

/** The client that acts for the user; `act` is the client that acted before it (RFC 8693 §4.1). */
export type ActorClaim = { sub: string; act?: ActorClaim }

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
  /** when the wallet signed in (RFC 9068 §2.2.1); absent without a user */
  auth_time?: number
  /** how the wallet signed in (RFC 9068 §2.2.1); absent without a user */
  acr?: string
  /** thumbprint of the key that the token is bound to (RFC 9449 §6.1) */
  cnf?: { jkt: string }
  /** present if the token was issued in exchange for another one (RFC 8693 §4.1) */
  act?: ActorClaim
  /** for an exchanged token: the `jti` of each token that it was exchanged from, the oldest first */
  exchanged_from?: string[]
} & PlatformClaims
