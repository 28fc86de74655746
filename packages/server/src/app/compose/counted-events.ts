/** Counts the events of the audit log that are metrics. */
import { type AuditEventName, auditEvents } from '../../domain/model/audit-events.ts'
import { countedClient } from '../../domain/model/client-id.ts'
import type { LoggedEvent } from '../../observability/log/audit-log.ts'
import { currentNetwork } from '../../observability/log/request-log.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { RefusedSenders } from '../../observability/metrics/refused-senders.ts'

type Event = LoggedEvent<AuditEventName>
type CountEvent = (metrics: Metrics, event: Event & { reason: string }, client: string) => void

const countEnding: CountEvent = (metrics, { event, reason }, client) => metrics.countEnding({ event, reason, client })
const countDeclined: CountEvent = (metrics, _event, client) => metrics.countConsent('declined', client)

const COUNTS: Readonly<Partial<Record<AuditEventName, CountEvent>>> = {
  session_started(metrics, { reason, client_id: clientId }, client) {
    metrics.countSignIn(reason, client)
    // A sign-in for an app is the consent to its request. A sign-in without a client is for the account page.
    if (clientId !== undefined) metrics.countConsent('signed', client)
  },
  consent_confirmed: (metrics, _event, client) => metrics.countConsent('confirmed', client),
  consent_declined: countDeclined,
  device_denied: countDeclined,
  authorize_refused(metrics, event, client) {
    if (event.reason === 'user_declined') countDeclined(metrics, event, client)
  },
  code_redeemed: (metrics, _event, client) => metrics.countGrant(client),
  grant_ended: countEnding,
  app_ended: countEnding,
  everything_ended: countEnding,
  session_ended: countEnding,
  other_sessions_ended: countEnding,
  access_token_revoked: countEnding,
  client_token_revoked: countEnding,
  // An operator ended the grants of a client.
  grants_ended: countEnding,
  client_deleted: countEnding,
  logout_notice_delivered: (metrics) => metrics.countNotice('delivered'),
  logout_notice_lost: (metrics) => metrics.countNotice('lost'),
}

/** The same log, which also counts who sent the refused requests. */
export function countSenders(log: (event: Event) => void, senders: Pick<RefusedSenders, 'count'>): (event: Event) => void {
  return (event) => {
    log(event)
    const { event: name, reason = 'none', client_id: clientId, network = currentNetwork() ?? 'unknown' } = event
    if (auditEvents[name].refusal) senders.count({ network, client: countedClient(clientId), reason })
  }
}

/** The same log, which also notes the events that an operator must look at. */
export function noteAlarms(log: (event: Event) => void, note: (event: AuditEventName) => void): (event: Event) => void {
  return (event) => {
    log(event)
    if (auditEvents[event.event].alarm) note(event.event)
  }
}

/** The same log, which also counts its events. */
export function countEvents(log: (event: Event) => void, metrics: Metrics): (event: Event) => void {
  return (event) => {
    log(event)
    if (auditEvents[event.event].alarm) metrics.countAlarm()
    const { client_id: clientId, reason = 'none' } = event
    COUNTS[event.event]?.(metrics, { ...event, reason }, countedClient(clientId))
  }
}
