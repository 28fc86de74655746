/** Who did what to which grant, and why something was refused: one line per event, for people who look into an incident. */
import type { Logger } from 'pino'

export type AuditEvent = {
  /** what happened, as in `code_redeemed` or `grant_ended` */
  event: string
  /** our own word for why, as in `code_replayed`; the client never reads it */
  reason?: string
  client_id?: string
  grant_id?: string
  /** already shortened */
  wallet?: string
  request_id?: string
  /** set where somebody should look at once */
  alarm?: true
}

export type AuditLog = (event: AuditEvent) => void

const LOUDER = ['warn', 'error', 'fatal']

/** Audit lines carry `"log":"audit"` and are written at every log level but `silent`. */
export function createAuditLog(logger: Logger): AuditLog {
  const level = LOUDER.includes(logger.level) ? 'info' : logger.level
  const audit = logger.child({ log: 'audit' }, { level })
  return (event) => (event.alarm ? audit.error(event, 'alarm') : audit.info(event, 'audit'))
}
