/** Which events of requests and of background work are lines of the trail. */
import { type AuditEvent, COUNTED_EVENTS, LASTING_EVENTS } from '../model/deps.ts'
import { type AuditEntry, newEntry } from './entry.ts'
import { OPERATOR_EVENTS } from './operator-acts.ts'
import { HEAD_SIGNED, LINES_DELETED } from './own-events.ts'

/**
 * Sign-ins, consents and endings. Requests for tokens are not recorded, because metrics count them. Events that a caller can cause without a
 * proof of a wallet or a client are not recorded either: such a caller could fill the database.
 */
const RECORDED: ReadonlySet<string> = new Set([
  ...LASTING_EVENTS,
  ...COUNTED_EVENTS,
  'wallet_proved',
  'session_started',
  'consent_confirmed',
  'consent_declined',
  'device_allowed',
  'store_lost_a_write',
  // The job of a user's ending is done.
  'grants_ended',
])

/** Every event that a line of the trail can have. */
export const LINE_EVENTS: ReadonlySet<string> = new Set([...RECORDED, ...OPERATOR_EVENTS, HEAD_SIGNED, LINES_DELETED])

/**
 * Whether the response waits until the line is committed. A client's revocations do not wait: they are as frequent as requests for tokens, and a
 * second commit for each would halve their rate. The log has them before the response.
 */
export function isAwaited({ event, reason }: AuditEvent): boolean {
  return (
    event !== 'access_token_revoked' && event !== 'client_token_revoked' && !(event === 'grant_ended' && reason === 'revoked')
  )
}

export type Circumstances = { at: number; requestId: string | undefined; network: string | undefined }

/** The entry of an event; null if the event is not recorded. */
export function entryOfEvent(event: AuditEvent, circumstances: () => Circumstances): AuditEntry | null {
  const { client_id: clientId, grant_id: grantId, key_id: keyId, request_id: requestId } = event
  const { wallet, reason, resource, operator, details } = event
  // Every act of an operator is recorded.
  if (operator === undefined && !RECORDED.has(event.event)) return null
  const given = circumstances()
  const result = event.event === 'consent_declined' ? 'refused' : 'done'
  return newEntry({
    ...given,
    event: event.event,
    result,
    reason,
    clientId,
    grantId,
    keyId,
    wallet,
    resource,
    operator,
    details,
    requestId: requestId ?? given.requestId,
  })
}
