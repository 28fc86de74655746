/** Who did what to which grant, and why something was refused: one line per event, for people who look into an incident. */
import { type Logger, linesOf, ownMembers } from './logger.ts'
import { timeOfLine } from './time-of-line.ts'

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
  const lines = level === 'silent' ? undefined : linesOf(logger)
  const own = ownMembers(audit)
  return (event) => {
    const line = lines && plainLine(own, event)
    if (line !== undefined) lines?.writeSoon(line)
    else if (event.alarm) audit.error(event, 'alarm')
    else audit.info(event, 'audit')
  }
}

/**
 * The line as the logger would write it, by hand, because every exchanged code and every ending pays for it. Only where
 * each member is a word of ours or an id: nothing of a caller's choosing, so nothing that would have to be taken out.
 */
function plainLine(own: string, event: AuditEvent): string | undefined {
  let members = ''
  for (const [name, value] of Object.entries(event)) {
    const plain = typeof value === 'string' && (name.endsWith('_id') ? ID : WORD).test(value)
    if (!plain) return undefined
    members += `"${name}":"${value}",`
  }
  return `{"level":"info","time":"${timeOfLine()}",${own}${members}"msg":"audit"}\n`
}

const WORD = /^[a-z_]{1,40}$/
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
