/**
 * Which events have a line of their own in the audit trail, and which are only counted. A caller that can repeat a request at any rate must not
 * fill the database, or the memory in which lines wait (docs/decisions/0013-bounds-of-wallets-and-clients.md).
 */
import { type AuditEvent, auditEvents } from '../../domain/model/audit-events.ts'
import type { Limited } from '../../http/auth/service.ts'
import type { RateLimit } from '../../http/rate-limit.ts'

/** Lines per minute. */
export const LINE_LIMITS = {
  /** revocations of single tokens, of one client: a client with a grant or with `client_credentials` gets such tokens without a user */
  token_lines: 60,
  /** endings of grants, of one client: each of these grants was a consent of a user */
  ending_lines: 6000,
  /** what one wallet does: a person causes a few lines */
  wallet_lines: 60,
} as const

/** For each sign-in that a network may have, the lines of persons in this network. A sign-in with a consent and an ending has four. */
export const LINES_PER_SIGN_IN = 10

type Limits = Pick<RateLimit<Limited>, 'count'>

/** Counts the event towards the limits of who caused it. `network` is empty in background work. */
export function hasOwnLine(limits: Limits, { event, client_id: clientId, wallet, operator }: AuditEvent, network: string) {
  const { counted, alarm } = auditEvents[event]
  if (counted) return false
  if (operator !== undefined || alarm) return true
  if (wallet !== undefined) {
    const isOfWallet = limits.count('wallet_lines', wallet).allowed
    return isOfWallet && (network === '' || limits.count('network_lines', network).allowed)
  }
  if (clientId === undefined) return true
  return limits.count(event === 'grant_ended' ? 'ending_lines' : 'token_lines', clientId).allowed
}
