/** The rules about a grant that is over, for the stores and for the readers of a grant. */
import type { Grant } from './records.ts'

/** Whether nothing that was issued for the grant is valid any more. */
export function isOver(grant: Pick<Grant, 'endedAt' | 'expiresAt'>, at: number): boolean {
  return grant.endedAt !== null || grant.expiresAt <= at
}

/** Why a call ended no grant. `grant` is undefined if the row does not exist; `clientId`, if the caller may end the grant of any client. */
export function explainUnended(
  grant: Pick<Grant, 'clientId'> | undefined,
  clientId: string | undefined,
): 'unknown' | 'foreign' | 'ended_before' {
  if (grant === undefined) return 'unknown'
  return clientId !== undefined && grant.clientId !== clientId ? 'foreign' : 'ended_before'
}

/** Why a call revoked no access token of a grant, if the token or the grant has ended. */
export function explainUnrevoked(
  grant: Pick<Grant, 'clientId' | 'endedAt'> | undefined,
  clientId: string,
): 'unknown' | 'foreign' | 'revoked_before' | 'grant_ended_before' {
  const ending = explainUnended(grant, clientId)
  if (ending !== 'ended_before') return ending
  return grant?.endedAt === null ? 'revoked_before' : 'grant_ended_before'
}
