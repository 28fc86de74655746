import type { JWTPayload } from 'jose'
import { parseScope } from '../oauth/scope.ts'

/** An access token that passed every check (RFC 9068 §2.2). */
export interface AccessToken {
  /**
   * `sub`: the wallet's address in its EIP-55 form. One wallet always has this one spelling, so it can be a key. Empty where
   * a client asks for itself (RFC 6749 §4.4), which only an API with `clientTokens` ever sees.
   */
  wallet: string
  /** `client_id`: the app that calls, on the wallet's behalf or, without one, on its own. */
  clientId: string
  /** `scope`, split at its spaces. */
  scopes: readonly string[]
  /** `jti`: a UUID, different for every token. */
  tokenId: string
  /** `iat`, epoch seconds. */
  issuedAt: number
  /** `exp`, epoch seconds; the token stops at this second. */
  expiresAt: number
  /** `cnf.jkt`: thumbprint (RFC 7638) of the key it is bound to, which the caller has proved (RFC 9449); absent for a bearer token. */
  keyThumbprint?: string
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
  // RFC 9068 §2.2: where no user is involved, `sub` is the client. An address is never a client's id.
  const wallet = sub === clientId ? '' : sub
  const token = { wallet, clientId, scopes: readScopes(scope), tokenId: jti, issuedAt: iat, expiresAt: exp, claims }
  if (claims.cnf === undefined) return { kind: 'token', token }
  const keyThumbprint = readKeyThumbprint(claims.cnf)
  // Bound to something else, such as a certificate (RFC 8705): nothing that can be checked here.
  return keyThumbprint === undefined ? { kind: 'malformed', claim: 'cnf' } : { kind: 'token', token: { ...token, keyThumbprint } }
}

/** RFC 6749 §3.3; text outside its grammar allows nothing. */
export function readScopes(scope: unknown): string[] {
  return typeof scope === 'string' ? (parseScope(scope) ?? []) : []
}

/** RFC 9449 §6.1; `undefined` for any other confirmation. */
export function readKeyThumbprint(cnf: unknown): string | undefined {
  const jkt = typeof cnf === 'object' && cnf !== null && 'jkt' in cnf ? cnf.jkt : undefined
  return typeof jkt === 'string' && jkt !== '' ? jkt : undefined
}
