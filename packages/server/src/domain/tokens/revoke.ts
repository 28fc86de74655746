/**
 * Revokes a token (RFC 7009).
 *
 * A refresh token of any generation ends its grant with all access tokens. An access token is revoked alone. §2.2: "invalid tokens do
 * not cause an error response", so the only error is for a valid token of another client.
 *
 * A revocation that is repeated writes nothing. It is only counted, and one line of the audit trail a minute has the
 * number: a client that repeats the revocation of one token must not fill the database.
 */
import { randomUUID } from 'node:crypto'
import { openAccessToken } from '../../protocol/keys/access-token.ts'
import type { AccessTokenClaims } from '../../protocol/keys/access-token-claims.ts'
import { invalidGrant } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import { hashOfUse } from '../model/hash-of-use.ts'
import type { Client } from '../model/records.ts'
import { openRefreshToken } from './refresh-token.ts'

/**
 * Seconds for which a revoked access token is remembered after the expiry. A node whose clock is ahead sees the expiry before other
 * nodes do. Even then that node must store the revocation, and must not delete an entry.
 */
const REMEMBERED_AFTER_EXPIRY = 3600

/** `repeated`: the token was revoked before, or its grant has ended. */
type RevocationOutcome = 'revoked' | 'repeated' | 'not_a_token' | 'foreign'

/** `admitClientToken` throws if the client has revoked too many tokens without a grant: each of them is a row. */
export async function revoke(deps: Deps, client: Client, token: string, admitClientToken: () => void): Promise<void> {
  const outcome = await endToken(deps, client, token, admitClientToken)
  // §2.1: "verifies [...] whether the token was issued to the client making the revocation request"
  if (outcome === 'foreign') throw invalidGrant('token_of_another_client')
  if (outcome === 'repeated') deps.audit({ event: 'revocation_repeated', client_id: client.id })
}

async function endToken(deps: Deps, client: Client, token: string, admitClientToken: () => void): Promise<RevocationOutcome> {
  const refreshToken = openRefreshToken(deps.keys, token)
  if (refreshToken) return endGrant(deps, client, refreshToken.grantId)
  const claims = openAccessToken(deps.keys, deps.settings.authUrl, token)
  if (!claims || claims.exp + REMEMBERED_AFTER_EXPIRY <= deps.now()) return 'not_a_token'
  if (claims.client_id !== client.id) return 'foreign'
  const { grant_id: grantId } = claims
  if (grantId === undefined) return endClientToken(deps, client, claims, admitClientToken)
  return endAccessToken(deps, client, { ...claims, grant_id: grantId })
}

async function endGrant(deps: Deps, client: Client, grantId: string): Promise<RevocationOutcome> {
  const outcome = await deps.store.grants.endGrant(grantId, 'revoked', deps.now(), client.id)
  if (outcome === 'foreign') return 'foreign'
  if (outcome !== 'ended') return 'repeated'
  deps.audit({ event: 'grant_ended', reason: 'revoked', client_id: client.id, grant_id: grantId })
  return 'revoked'
}

async function endAccessToken(
  deps: Deps,
  client: Client,
  claims: AccessTokenClaims & { grant_id: string },
): Promise<RevocationOutcome> {
  const { grant_id: grantId, jti, exp } = claims
  const outcome = await deps.store.grants.revokeAccessToken({
    grantId,
    clientId: await clientOfGrant(deps, claims, grantId),
    jti,
    expiresAt: exp + REMEMBERED_AFTER_EXPIRY,
    at: deps.now(),
  })
  if (outcome !== 'revoked' && outcome !== 'grant_ended') return 'repeated'
  deps.audit({ event: 'access_token_revoked', reason: outcome, client_id: client.id, grant_id: grantId })
  return 'revoked'
}

/** An exchanged token (RFC 8693) was issued to one client, and belongs to a grant of another client. */
async function clientOfGrant(deps: Deps, claims: AccessTokenClaims, grantId: string): Promise<string> {
  if (claims.act === undefined) return claims.client_id
  const grant = await deps.store.grants.readGrant(grantId)
  return grant?.clientId ?? claims.client_id
}

/** A token of the client credentials grant has no grant row. The revocation is stored separately, for the longest lifetime of a token. */
async function endClientToken(
  { store, audit, now }: Deps,
  client: Client,
  { jti, aud }: AccessTokenClaims,
  admit: () => void,
): Promise<RevocationOutcome> {
  const hash = hashOfUse(client.id, jti)
  // A second insert of the row would lock the row, which is a write.
  if (await store.spent.readSpent('access_token', hash)) {
    await store.spent.confirmSpent(hash)
    return 'repeated'
  }
  admit()
  const reason = await store.spent.revokeClientToken({
    hash,
    attemptId: randomUUID(),
    at: now(),
    clientId: client.id,
    resource: aud,
  })
  if (reason === 'spent_before') return 'repeated'
  audit({ event: 'client_token_revoked', reason, client_id: client.id, details: { jti } })
  return 'revoked'
}
