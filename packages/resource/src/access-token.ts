import { parseScope } from '@grantor/protocol/scope'
import type { JWTPayload } from 'jose'
import type { LimitLeft, SignedLimit } from './limit.ts'

/** An access token that passed every check (RFC 9068 §2.2). */
export interface AccessToken {
  /**
   * `sub`: the wallet's address in its EIP-55 form. A wallet always has this one spelling, so the address can be a key.
   * Empty if a client acts for itself (RFC 6749 §4.4), which happens only if the API sets `clientTokens`.
   */
  wallet: string
  /** `client_id`: the app that calls, for the wallet's user or, without a wallet, for itself. */
  clientId: string
  /** `scope`, split at its spaces. */
  scopes: readonly string[]
  /** `jti`: a UUID, different for every token. */
  tokenId: string
  /** `iat`, epoch seconds. */
  issuedAt: number
  /** `exp`, epoch seconds; the token is invalid from this second. */
  expiresAt: number
  /**
   * `cnf.jkt`: thumbprint (RFC 7638) of the key that the token is bound to, which the caller has proved (RFC 9449);
   * absent for a bearer token.
   */
  keyThumbprint?: string
  /** `auth_time`, epoch seconds: when the user last signed in (RFC 9068 §2.2.1, RFC 9470 §6.1); absent if the token does not have the claim. */
  authTime?: number
  /** `acr`: how the user signed in (RFC 9068 §2.2.1); absent if the token does not have the claim. */
  acr?: string
  /** The limit that the user signed for one scope; only if the token was introspected (RFC 7662) and the grant has a limit at this API. */
  limit?: SignedLimit
  /** What is left of the limit at the time of the introspection; present with `limit`. Nothing is reserved: `draw` decides. */
  left?: LimitLeft
  /** Every claim as it was signed. */
  claims: Readonly<Record<string, unknown>>
}

/** The claims as a typed token, or the name of the first claim that is missing or of the wrong type. */
export function readAccessToken(
  claims: JWTPayload,
): { kind: 'token'; token: AccessToken } | { kind: 'malformed'; claim: string } {
  const { sub, client_id: clientId, jti, iat, exp, scope, auth_time: authTime, acr } = claims
  if (typeof sub !== 'string' || sub === '') return { kind: 'malformed', claim: 'sub' }
  if (typeof clientId !== 'string' || clientId === '') return { kind: 'malformed', claim: 'client_id' }
  if (typeof jti !== 'string' || jti === '') return { kind: 'malformed', claim: 'jti' }
  if (typeof iat !== 'number') return { kind: 'malformed', claim: 'iat' }
  if (typeof exp !== 'number') return { kind: 'malformed', claim: 'exp' }
  if (authTime !== undefined && typeof authTime !== 'number') return { kind: 'malformed', claim: 'auth_time' }
  if (acr !== undefined && typeof acr !== 'string') return { kind: 'malformed', claim: 'acr' }
  // RFC 9068 §2.2: if no user is involved, `sub` is the client. An address is never a client id.
  const wallet = sub === clientId ? '' : sub
  const token: AccessToken = {
    wallet,
    clientId,
    scopes: readScopes(scope),
    tokenId: jti,
    issuedAt: iat,
    expiresAt: exp,
    ...(authTime === undefined ? {} : { authTime }),
    ...(acr === undefined ? {} : { acr }),
    claims,
  }
  if (claims.cnf === undefined) return { kind: 'token', token }
  const keyThumbprint = readKeyThumbprint(claims.cnf)
  // Bound to something else, such as a certificate (RFC 8705), which this check does not support.
  return keyThumbprint === undefined ? { kind: 'malformed', claim: 'cnf' } : { kind: 'token', token: { ...token, keyThumbprint } }
}

/** RFC 6749 §3.3; a text outside the grammar gives no scopes. */
export function readScopes(scope: unknown): string[] {
  return typeof scope === 'string' ? (parseScope(scope) ?? []) : []
}

/** RFC 9449 §6.1; `undefined` for any other confirmation method. */
export function readKeyThumbprint(cnf: unknown): string | undefined {
  const jkt = typeof cnf === 'object' && cnf !== null && 'jkt' in cnf ? cnf.jkt : undefined
  return typeof jkt === 'string' && jkt !== '' ? jkt : undefined
}
