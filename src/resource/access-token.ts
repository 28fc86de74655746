import type { JWTPayload } from 'jose'
import { parseScope } from '../oauth/scope.ts'

/** An access token that passed every check (RFC 9068 §2.2). */
export interface AccessToken {
  /** `sub`: the wallet's address in its EIP-55 form. One wallet always has this one spelling, so it can be a key. */
  wallet: string
  /** `client_id`: the app that calls on the wallet's behalf. */
  clientId: string
  /** `scope`, split at its spaces. */
  scopes: readonly string[]
  /** `jti`: a UUID, different for every token. */
  tokenId: string
  /** `iat`, epoch seconds. */
  issuedAt: number
  /** `exp`, epoch seconds; the token stops at this second. */
  expiresAt: number
  /** Every claim as it was signed. */
  claims: Readonly<Record<string, unknown>>
}

/** The claims as a typed token, or the name of the first claim that is missing or of the wrong type. */
export function readAccessToken(
  claims: JWTPayload,
): { kind: 'token'; token: AccessToken } | { kind: 'malformed'; claim: string } {
  const { sub, client_id: clientId, jti, iat, exp, scope } = claims
  if (typeof sub !== 'string' || sub === '') return { kind: 'malformed', claim: 'sub' }
  if (typeof clientId !== 'string' || clientId === '') return { kind: 'malformed', claim: 'client_id' }
  if (typeof jti !== 'string' || jti === '') return { kind: 'malformed', claim: 'jti' }
  if (typeof iat !== 'number') return { kind: 'malformed', claim: 'iat' }
  if (typeof exp !== 'number') return { kind: 'malformed', claim: 'exp' }
  const token = { wallet: sub, clientId, scopes: readScopes(scope), tokenId: jti, issuedAt: iat, expiresAt: exp, claims }
  return { kind: 'token', token }
}

/** RFC 6749 §3.3; text outside its grammar allows nothing. */
export function readScopes(scope: unknown): string[] {
  return typeof scope === 'string' ? (parseScope(scope) ?? []) : []
}
