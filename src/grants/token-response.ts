/** The answer of the token endpoint (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3). */
import { randomUUID } from 'node:crypto'
import { signAccessToken } from '../keys/access-token.ts'
import type { SigningKey } from '../keys/key-ring.ts'
import { invalidGrant, invalidScope } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import { makeIdToken } from './id-token.ts'
import type { Client, Grant } from './model.ts'
import { makeRefreshToken } from './refresh-token.ts'
import { signingKeyOf } from './signing-key.ts'

export type TokenResponse = {
  access_token: string
  token_type: 'Bearer' | 'DPoP'
  /** seconds */
  expires_in: number
  refresh_token?: string
  id_token?: string
  scope: string
}

/** What one answer is for: never more than the grant holds. */
export type Asked = {
  scopes: string[]
  resource: string | null
  /** the key that the access token is bound to (RFC 9449 §6) */
  binding: { jkt: string } | null
  /** of the authorization request, for its ID token */
  nonce: string | null
  /** from `findIdTokenKey` */
  idTokenKey: SigningKey | null
}

/** Finds the key for an ID token, which may fail; null if none of these scopes asks for an ID token. */
export function findIdTokenKey(deps: Deps, client: Client, scopes: string[]): SigningKey | null {
  return scopes.includes('openid') ? signingKeyOf(deps, client.idTokenAlgorithm) : null
}

/**
 * Mints an access token of a grant, an ID token where `openid` was granted (OpenID Connect Core §3.1.3.2, §3.1.3.3), and names
 * the grant's living refresh token.
 *
 * The token allows what was agreed and is left to the client, and the answer says so (RFC 6749 §3.3, §10.3, RFC 9700 §2.3). It
 * is for one resource: the one asked for, else the default (RFC 8707 §2, RFC 9068 §3, §5, RFC 6750 §5.2, §5.3, RFC 9700 §4.10,
 * OpenID Connect Core §16.8).
 *
 * The row has moved by now, so this function does no I/O.
 */
export function mintTokens(deps: Deps, client: Client, grant: Grant, asked: Asked): TokenResponse {
  const at = deps.now()
  // A token never outlives its grant.
  const lifetime = Math.min(deps.settings.lifetimes.accessToken, grant.expiresAt - at)
  if (lifetime <= 0) throw invalidGrant('grant_expired')
  const scopes = requireScopeLeft(client, asked.scopes)
  const scope = scopes.join(' ')
  const accessToken = signAccessToken(deps.keys, {
    iss: deps.settings.authUrl,
    sub: grant.wallet,
    // RFC 8707 §2.2: without a choice, the first of the resources that were agreed
    aud: asked.resource ?? grant.resources[0] ?? deps.settings.defaultResource,
    client_id: client.id,
    exp: at + lifetime,
    iat: at,
    jti: randomUUID(),
    scope,
    grant_id: grant.id,
    ...(asked.binding === null ? {} : { cnf: asked.binding }),
  })
  const response: TokenResponse = {
    access_token: accessToken,
    // RFC 6750 §4, RFC 9449 §5
    token_type: asked.binding === null ? 'Bearer' : 'DPoP',
    expires_in: lifetime,
    // RFC 9700 §4.14.2: the operator says which clients get one
    ...(client.grantTypes.includes('refresh_token') ? { refresh_token: refreshTokenOf(deps, grant) } : {}),
    scope,
  }
  const { nonce, idTokenKey: key } = asked
  if (!scopes.includes('openid') || key === null) return response
  return {
    ...response,
    id_token: makeIdToken(deps, client, grant, { key, scopes, nonce, accessToken, expiresAt: at + lifetime }),
  }
}

/** A scope taken from the client's registration since it was granted is no longer handed out. */
export function requireScopeLeft(client: Client, granted: string[]): string[] {
  const left = granted.filter((scope) => client.scopes.includes(scope))
  if (left.length === 0) throw invalidScope('no_scope_left')
  return left
}

/** The grant's one living refresh token. Its key may have been retired at once, because it leaked. */
function refreshTokenOf(deps: Deps, grant: Grant): string {
  const token = makeRefreshToken(deps.keys, { grantId: grant.id, generation: grant.generation }, grant.refreshKeyId)
  if (token === undefined) throw invalidGrant('refresh_key_retired')
  return token
}
