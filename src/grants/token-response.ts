/** The answer of the token endpoint (RFC 6749 §5.1). */
import { randomUUID } from 'node:crypto'
import { signAccessToken } from '../keys/access-token.ts'
import { invalidGrant, invalidScope } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import type { Client, Grant } from './model.ts'
import { makeRefreshToken } from './refresh-token.ts'

export type TokenResponse = {
  access_token: string
  token_type: 'Bearer'
  /** seconds */
  expires_in: number
  refresh_token?: string
  scope: string
}

/**
 * Mints an access token of a grant and names the grant's living refresh token.
 *
 * `scopes` and `resource` are what this one token is for: never more than the grant holds.
 */
export function mintTokens(deps: Deps, client: Client, grant: Grant, scopes: string[], resource: string | null): TokenResponse {
  const at = deps.now()
  // A token never outlives its grant.
  const lifetime = Math.min(deps.settings.lifetimes.accessToken, grant.expiresAt - at)
  if (lifetime <= 0) throw invalidGrant('grant_expired')
  const scope = requireScopeLeft(client, scopes).join(' ')
  const accessToken = signAccessToken(deps.keys, {
    iss: deps.settings.authUrl,
    sub: grant.wallet,
    // RFC 8707 §2.2: without a choice, the first of the resources that were agreed
    aud: resource ?? grant.resources[0] ?? deps.settings.defaultResource,
    client_id: client.id,
    exp: at + lifetime,
    iat: at,
    jti: randomUUID(),
    scope,
    grant_id: grant.id,
  })
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: lifetime,
    ...(client.grantTypes.includes('refresh_token') ? { refresh_token: refreshTokenOf(deps, grant) } : {}),
    scope,
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
