/** What is recorded in the audit trail, before the line has a number and a hash. */
import { randomUUID } from 'node:crypto'
import type { Address } from '../../protocol/wallet/address.ts'
import { type AuditEvent, type AuditEventName, auditEvents } from '../model/audit-events.ts'
import type { UnplacedLine } from '../model/audit-store.ts'
import { textAfterNumber } from '../model/audit-text.ts'
import { textIdOf } from '../model/text-id.ts'

export type AuditEntry = {
  /** unique, so that two equal events have different lines; the log line of the event has the same id */
  id: string
  /** epoch seconds */
  at: number
  event: AuditEventName
  result: 'done' | 'refused'
  reason?: string | undefined
  /** the operator who acted: a wallet or a client id of the admin API, or `cli:NAME` */
  operator?: string | undefined
  clientId?: string | undefined
  grantId?: string | undefined
  wallet?: Address | undefined
  keyId?: string | undefined
  resource?: string | undefined
  requestId?: string | undefined
  /** the first part of the caller's address, such as `203.0.113` */
  network?: string | undefined
  /** further facts, such as how many grants ended; never a secret */
  details?: Readonly<Record<string, string | number>> | undefined
}

/** `result` is `done` unless given. */
export type NewEntry = Omit<AuditEntry, 'id' | 'result'> & { result?: AuditEntry['result'] | undefined }

/** In characters. Longer values are cut. Only the URI of a resource or of a client's document can be nearly as long. */
const VALUE_AT_MOST = 2048

/** Writes one entry: `AuditTrail.record` in a server, `appendEntry` in a command. */
export type WriteEntry = (entry: AuditEntry) => Promise<unknown>

export function newEntry(entry: NewEntry): AuditEntry {
  return { ...entry, id: randomUUID(), result: entry.result ?? 'done' }
}

type Circumstances = Pick<AuditEntry, 'at' | 'requestId' | 'network'>

/** The entry of an event; null if the event is not recorded. */
export function entryOfEvent(audited: AuditEvent, circumstances: () => Circumstances): AuditEntry | null {
  if (!auditEvents[audited.event].recorded) return null
  const { event, client_id: clientId, grant_id: grantId, key_id: keyId, request_id: requestId, ...others } = audited
  const given = circumstances()
  const result = auditEvents[event].isRefused ? 'refused' : 'done'
  return newEntry({ ...given, ...others, event, result, clientId, grantId, keyId, requestId: requestId ?? given.requestId })
}

/** The line of an entry, still without its place in the chain. */
export function lineOf(entry: AuditEntry): UnplacedLine {
  const { id, at, event, result, wallet, details } = entry
  const reason = boundText(entry.reason)
  const operator = boundText(entry.operator)
  const clientId = boundText(entry.clientId === undefined ? undefined : textIdOf(entry.clientId))
  const grantId = boundText(entry.grantId)
  const text = textAfterNumber({
    id,
    at,
    event,
    result,
    reason,
    operator,
    clientId,
    grantId,
    wallet,
    keyId: boundText(entry.keyId),
    resource: boundText(entry.resource),
    requestId: boundText(entry.requestId),
    network: boundText(entry.network) || undefined,
    details: details && boundedDetails(details),
  })
  return {
    at,
    event,
    reason: reason ?? null,
    clientId: clientId ?? null,
    grantId: grantId ?? null,
    wallet: wallet ?? null,
    operator: operator ?? null,
    rest: text,
  }
}

function boundedDetails(details: NonNullable<AuditEntry['details']>): Record<string, string | number | undefined> | undefined {
  const facts = Object.entries(details).map(([name, value]) => [name, typeof value === 'number' ? value : boundText(value)])
  return facts.length === 0 ? undefined : (Object.fromEntries(facts) as Record<string, string | number | undefined>)
}

/** Shortens the text, and replaces control characters, which not every database can store. */
function boundText(text: string | undefined): string | undefined {
  return text
    ?.slice(0, VALUE_AT_MOST)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '?')
}
