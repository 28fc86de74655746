/**
 * Revokes a token (RFC 7009).
 *
 * A refresh token of any generation ends its grant with all access tokens. An access token is revoked alone. §2.2: "invalid tokens do
 * not cause an error response", so the only error is for a valid token of another client.
 */
import { randomUUID } from 'node:crypto'
import { type AccessTokenClaims, openAccessToken } from '../../keys/access-token.ts'
import { invalidGrant } from '../../oauth/oauth-error.ts'
import { hashOfUse } from '../clients/client-assertion.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { openRefreshToken } from './refresh-token.ts'

/**
 * Seconds for which a revoked access token is remembered after the expiry. A node whose clock is ahead sees the expiry before other
 * nodes do. Even then that node must store the revocation, and must not delete an entry.
 */
const REMEMBERED_AFTER_EXPIRY = 3600

export async function revoke(deps: Deps, client: Client, token: string): Promise<void> {
  const outcome = await endToken(deps, client, token)
  // §2.1: "verifies [...] whether the token was issued to the client making the revocation request"
  if (outcome === 'foreign') throw invalidGrant('token_of_another_client')
}

async function endToken(deps: Deps, client: Client, token: string): Promise<'done' | 'foreign'> {
  const at = deps.now()
  const refreshToken = openRefreshToken(deps.keys, token)
  if (refreshToken) {
    const outcome = await deps.store.grants.endGrant(refreshToken.grantId, 'revoked', at, client.id)
    if (outcome === 'ended')
      deps.audit({ event: 'grant_ended', reason: 'revoked', client_id: client.id, grant_id: refreshToken.grantId })
    return outcome === 'foreign' ? 'foreign' : 'done'
  }
  const claims = openAccessToken(deps.keys, deps.settings.authUrl, token)
  if (!claims) return 'done'
  const rememberedUntil = claims.exp + REMEMBERED_AFTER_EXPIRY
  if (rememberedUntil <= at) return 'done'
  if (claims.client_id !== client.id) return 'foreign'
  if (claims.grant_id === undefined) return endClientToken(deps, client, claims)
  const outcome = await deps.store.grants.revokeAccessToken({
    grantId: claims.grant_id,
    clientId: await clientOfGrant(deps, claims, claims.grant_id),
    jti: claims.jti,
    expiresAt: rememberedUntil,
    at,
  })
  deps.audit({ event: 'access_token_revoked', reason: outcome, client_id: client.id, grant_id: claims.grant_id })
  return 'done'
}

/** An exchanged token (RFC 8693) was issued to one client, and belongs to a grant of another client. */
async function clientOfGrant(deps: Deps, claims: AccessTokenClaims, grantId: string): Promise<string> {
  if (claims.act === undefined) return claims.client_id
  const grant = await deps.store.grants.readGrant(grantId)
  return grant?.clientId ?? claims.client_id
}

/** A token of the client credentials grant has no grant row. The revocation is stored separately, until one hour after the expiry. */
async function endClientToken(deps: Deps, client: Client, { jti, exp }: AccessTokenClaims): Promise<'done'> {
  const hash = hashOfUse(client.id, jti)
  const reason = await deps.store.spent.spend({ kind: 'access_token', hash, expiresAt: exp, attemptId: randomUUID() })
  deps.audit({ event: 'client_token_revoked', reason, client_id: client.id })
  return 'done'
}
