/**
 * The grant of an access token. The signature only proves that the token was issued; the grant shows whether the token is still valid.
 *
 * An exchanged token (RFC 8693) is never valid longer than the tokens that it was exchanged from: it becomes inactive when one of them is
 * revoked, and when a client of the chain is disabled.
 */
import type { AccessTokenClaims, ActorClaim } from '../../protocol/keys/access-token-claims.ts'
import type { Deps } from '../model/deps.ts'
import { isOver } from '../model/ended-grants.ts'
import type { Grant } from '../model/records.ts'
import type { GrantValidity } from '../model/request-store.ts'

export type GrantFault = 'grant_ended' | 'access_token_revoked' | 'client_unknown_or_disabled'

/** The grant, or why the token is no longer valid. The caller checks the token's signature, its expiry and its own client. */
export async function readGrantOfToken(deps: Deps, claims: AccessTokenClaims, grantId: string): Promise<Grant | GrantFault> {
  const grant = await deps.store.grants.readGrant(grantId)
  if (!grant) return 'grant_ended'
  return (await findFault(deps, claims, grant)) ?? grant
}

/** As `readGrantOfToken`, for callers that need a third of the row. */
export async function readValidityOfToken(
  deps: Deps,
  claims: AccessTokenClaims,
  grantId: string,
): Promise<GrantValidity | GrantFault> {
  const grant = await deps.store.grants.readGrantValidity(grantId)
  if (!grant) return 'grant_ended'
  return (await findFault(deps, claims, grant)) ?? grant
}

async function findFault(deps: Deps, claims: AccessTokenClaims, grant: GrantValidity): Promise<GrantFault | null> {
  if (isOver(grant, deps.now())) return 'grant_ended'
  if (claims.jti in grant.revokedTokens) return 'access_token_revoked'
  return claims.act === undefined ? null : findFaultOfChain(deps, claims, grant)
}

/** All revocations of one grant are in its row, so the chain costs no query. */
async function findFaultOfChain({ clients }: Deps, claims: AccessTokenClaims, grant: GrantValidity): Promise<GrantFault | null> {
  if (claims.exchanged_from?.some((jti) => jti in grant.revokedTokens)) return 'access_token_revoked'
  for (const clientId of [grant.clientId, ...clientsOf(claims.act)])
    if (!(await clients.isEnabled(clientId))) return 'client_unknown_or_disabled'
  return null
}

function clientsOf(actor: ActorClaim | undefined): string[] {
  return actor === undefined ? [] : [actor.sub, ...clientsOf(actor.act)]
}
