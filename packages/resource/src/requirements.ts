import { isSubset } from '@grantor/protocol/scope'
import type { AccessToken } from './access-token.ts'
import { refuse } from './resource-error.ts'

/** What a call needs of a valid access token. */
export interface Requirements {
  /** Scopes that the token must have, all of them. */
  scopes?: readonly string[]
  /** Seconds since the user signed in, at most (RFC 9470 §3). A token without `auth_time` is refused. */
  maxAge?: number
  /** The token's `acr` must be one of these, the most preferred first (RFC 9470 §3). A token without `acr` is refused. */
  acrValues?: readonly string[]
}

/**
 * Checks what a call needs of a token that is valid.
 *
 * The sign-in is checked first: that challenge also has the scopes, so one new authorization request of the app is
 * enough if both are missing.
 *
 * @throws ResourceError `insufficient_user_authentication` (RFC 9470 §3) or `insufficient_scope` (RFC 6750 §3.1)
 */
export function requireOfToken(token: AccessToken, { scopes = [], maxAge, acrValues }: Requirements, now: number): void {
  const wanted = { maxAge, acrValues: acrValues?.join(' ') }
  if (acrValues && !(token.acr !== undefined && acrValues.includes(token.acr)))
    throw refuse.insufficientAuthentication('acr_unmet', wanted)
  if (maxAge !== undefined) {
    if (token.authTime === undefined) throw refuse.insufficientAuthentication('authentication_time_unknown', wanted)
    if (now - token.authTime > maxAge) throw refuse.insufficientAuthentication('authentication_too_old', wanted)
  }
  if (!isSubset(scopes, token.scopes)) throw refuse.insufficientScope()
}
