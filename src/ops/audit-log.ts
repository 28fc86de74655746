/**
 * Who did what to which grant, and why a request was refused: one line per event, for the investigation of an incident.
 * If a request caused the line, the line has the request's id.
 */
import type { Logger } from './logger.ts'
import { currentRequestId } from './request-log.ts'

export type AuditEvent = {
  /** the event, such as `code_redeemed` or `grant_ended` */
  event: string
  /** the line is of level `error`, so that an operator is alerted */
  alarm?: true
  [member: string]: string | true | undefined
}

const LOUDER = ['warn', 'error', 'fatal']

/**
 * Audit lines contain `"log":"audit"` and are written at every log level except `silent`. Lines of the `lasting` events
 * have left the process when the call returns, so a crash cannot lose them.
 */
export function createAuditLog(logger: Logger, lasting: ReadonlySet<string>): (event: AuditEvent) => void {
  const level = LOUDER.includes(logger.level) ? 'info' : logger.level
  const audit = logger.child({ log: 'audit' }, { level })
  return (named) => {
    const event = { ...named, request_id: named.request_id ?? currentRequestId() }
    if (event.alarm) audit.error(event, 'alarm')
    else audit.info(event, 'audit')
    // What an operator did cannot be undone either.
    if (lasting.has(event.event) || named.operator !== undefined) audit.flush()
  }
}
