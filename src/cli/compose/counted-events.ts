/** Counts the events of the audit log that are metrics. */
import { countedClient } from '../../domain/model/counted-client.ts'
import type { AuditEvent } from '../../ops/audit-log.ts'
import type { Metrics } from '../../ops/metrics.ts'

type Count = (metrics: Metrics, event: AuditEvent & { reason: string }, client: string) => void

const countEnding: Count = (metrics, { event, reason }, client) => metrics.countEnding({ event, reason, client })
const countDeclined: Count = (metrics, _event, client) => metrics.countConsent('declined', client)

const COUNTS: Readonly<Record<string, Count>> = {
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

/** The same log, which also counts its events. */
export function countEvents(log: (event: AuditEvent) => void, metrics: Metrics): (event: AuditEvent) => void {
  return (event) => {
    log(event)
    if (event.alarm) metrics.countAlarm()
    const { client_id: clientId, reason = 'none' } = event
    const client = countedClient(typeof clientId === 'string' ? clientId : undefined)
    COUNTS[event.event]?.(metrics, { ...event, reason: String(reason) }, client)
  }
}
