/**
 * The lines of the audit log, and what a database must have after each of them. Lines of events that cannot be undone leave the process before the response
 * (`observability/log/audit-log.ts`), so the log has every acknowledged ending, whatever happens to the process and to the database afterwards.
 */
import { type AuditEventName, auditEvents, type LastingName } from '../model/audit-events.ts'

export type LoggedLine = {
  /** epoch seconds, by the clock of the process */
  at: number
  event: AuditEventName
  /** the id of its line in the audit trail, if it has one */
  auditId: string | undefined
  reason: string | undefined
  clientId: string | undefined
  grantId: string | undefined
  /** shortened, as `shortenAddress` does */
  wallet: string | undefined
  jti: string | undefined
  /** the line as it was logged, without a prefix */
  text: string
}

/**
 * What must be over after an event:
 * - `grant`: the grant; `client_token`: the token without a grant
 * - `allowed`: the grants and receipts of a wallet, at one client if the line names one; `sessions`: its sessions; `everything`: both
 * - `replaced_session`: as `sessions`, but only if the line is missing in the trail: with the new session, the end of the one before is lost
 * - `act`: an operator must repeat what was done, because the line does not have all of it
 * - `grants_act`: the same. It is missing if one of the grants is active, too
 */
export type Effect =
  | 'grant'
  | 'client_token'
  | 'allowed'
  | 'sessions'
  | 'everything'
  | 'replaced_session'
  | 'act'
  | 'grants_act'
  | 'none'

/** The compiler checks that every event that cannot be undone has an effect. */
const EFFECTS: Record<LastingName, Effect> & Partial<Record<AuditEventName, Effect>> = {
  grant_ended: 'grant',
  // A revoked token cannot be revoked again without its expiry, so its grant ends.
  access_token_revoked: 'grant',
  store_lost_a_write: 'grant',
  client_token_revoked: 'client_token',
  app_ended: 'allowed',
  scopes_declined: 'allowed',
  session_ended: 'sessions',
  other_sessions_ended: 'sessions',
  session_started: 'replaced_session',
  everything_ended: 'everything',
  ending_of_grants_started: 'grants_act',
  grants_ended: 'grants_act',
  client_deletion_started: 'grants_act',
  client_deleted: 'grants_act',
  // The service makes keys by itself.
  key_made: 'none',
  key_retired: 'act',
  // In a restored database the job goes on.
  job_stopped: 'act',
  keys_rewrapped: 'act',
  client_created: 'act',
  client_changed: 'act',
  client_secret_rotated: 'act',
  client_disabled: 'act',
  client_enabled: 'act',
  resource_created: 'act',
  resource_changed: 'act',
  resource_deleted: 'act',
  operator_added: 'act',
  operator_changed: 'act',
  operator_removed: 'act',
  webhook_created: 'act',
  webhook_changed: 'act',
  webhook_deleted: 'act',
  webhook_paused_by_operator: 'act',
  webhook_resumed: 'act',
  webhook_tested: 'none',
  webhook_replayed: 'none',
  restoration_begun: 'none',
  restoration_confirmed: 'none',
}

export function effectOf({ event, reason }: Pick<LoggedLine, 'event' | 'reason'>): Effect {
  // The end of a job that a user began: the line of the beginning has the same effect.
  if (event === 'grants_ended' && reason === 'user') return 'none'
  return EFFECTS[event] ?? 'none'
}

/** What `observability/log/redaction.ts` writes in place of a text. */
const CENSORED = '[redacted]'
const OF_AUDIT_LOG = '"log":"audit"'
/** The first members of a line, and the characters of a line until `OF_AUDIT_LOG` ends. */
const START = '{"level":'
const START_AT_MOST = 64

/** Reads a time such as `2026-11-26T18:59:26.123Z` as epoch milliseconds; NaN for another text. */
export type ParseTime = (text: string) => number

/**
 * Null if the text is not a line of the audit log. A prefix, as of a log collector, is skipped. `unreadable` if the text is part of such a line, or
 * may be: the line can be an ending.
 */
export function parseLogLine(text: string, parseTime: ParseTime): LoggedLine | 'unreadable' | null {
  const mark = text.indexOf(OF_AUDIT_LOG)
  if (mark === -1) return isCutEarly(text) ? 'unreadable' : null
  // The prefix can have a brace too.
  for (const start of [text.lastIndexOf('{', mark), text.indexOf('{')]) {
    const json = text.slice(start)
    const members = parseObject(json)
    if (members) return members.log === 'audit' ? (lineOf(members, json, parseTime) ?? 'unreadable') : null
  }
  return 'unreadable'
}

function isCutEarly(text: string): boolean {
  const start = text.lastIndexOf(START)
  return start !== -1 && text.length - start < START_AT_MOST && !text.trimEnd().endsWith('}')
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function lineOf(members: Record<string, unknown>, text: string, parseTime: ParseTime): LoggedLine | null {
  const at = Math.floor(parseTime(String(members.time)) / 1000)
  const event = String(members.event)
  if (Number.isNaN(at) || !Object.hasOwn(auditEvents, event)) return null
  // The log shortens what looks like a secret, such as the id of a client that registered itself. The effect is then that of a line without the member.
  const member = (name: string) => {
    const value = members[name]
    return typeof value === 'string' && !value.includes(CENSORED) ? value : undefined
  }
  return {
    at,
    event: event as AuditEventName,
    auditId: member('audit_id'),
    reason: member('reason'),
    clientId: member('client_id'),
    grantId: member('grant_id'),
    wallet: shortenedWallet(member('wallet')),
    jti: member('jti'),
    text,
  }
}

/** A collector with another character set changes the ellipsis. */
function shortenedWallet(text: string | undefined): string | undefined {
  const [, start, end] = /^(0x[0-9a-fA-F]{4})[^0-9a-zA-Z]+([0-9a-fA-F]{4})$/.exec(text ?? '') ?? []
  return start === undefined ? undefined : `${start}…${end}`
}
