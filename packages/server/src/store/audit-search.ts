/**
 * The lines of the audit trail and the conditions of a search, the same in both engines. The statement of a search has only the conditions of the
 * filter, so that the engine can use the index of a column.
 */
import { refusedEvents } from '../domain/model/audit-events.ts'
import type { AuditFilter, AuditLine } from '../domain/model/audit-store.ts'

/** The names of the filter's members and of their columns. */
const COLUMNS = {
  wallet: 'wallet',
  clientId: 'client_id',
  grantId: 'grant_id',
  operator: 'operator',
  reason: 'reason',
  event: 'event',
} as const

/** The names are constants of this program. */
const REFUSED = refusedEvents.map((name) => `'${name}'`).join(', ')

type ColumnFilter = { [Name in keyof typeof COLUMNS]?: string | undefined } & Pick<AuditFilter, 'result' | 'since' | 'until'>
type SearchPage = { limit: number; before?: { at: number; seq: number } | undefined }

export const LINE_COLUMNS = 'seq, at, event, reason, client_id, grant_id, wallet, operator, line, hash'

/** A row with `LINE_COLUMNS`. */
export type LineRow = {
  seq: number
  at: number
  event: string
  reason: string | null
  client_id: string | null
  grant_id: string | null
  wallet: string | null
  operator: string | null
  line: string
  hash: string
}

export function lineOf({ client_id: clientId, grant_id: grantId, wallet, ...row }: LineRow): AuditLine {
  return { ...row, clientId, grantId, wallet: wallet as AuditLine['wallet'] }
}

/** The statement with named values, and the values. A page begins before `before`, and before the end of the time that is searched. */
export function searchOf(
  filter: ColumnFilter,
  { limit, before }: SearchPage,
): { sql: string; named: Record<string, string | number> } {
  const given = (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).filter((name) => filter[name] !== undefined)
  const conditions = given.map((name) => `${COLUMNS[name]} = :${name}`)
  const { result, since = 0, until = Number.MAX_SAFE_INTEGER } = filter
  if (result !== undefined) conditions.push(`event ${result === 'refused' ? 'IN' : 'NOT IN'} (${REFUSED})`)
  const start = before && before.at < until ? before : { at: until, seq: 0 }
  return {
    sql: `SELECT ${LINE_COLUMNS} FROM audit_lines
      WHERE ${[...conditions, 'at >= :since', '(at, seq) < (:beforeAt, :beforeSeq)'].join(' AND ')}
      ORDER BY at DESC, seq DESC LIMIT :limit`,
    named: {
      ...Object.fromEntries(given.map((name) => [name, filter[name] ?? ''])),
      since,
      beforeAt: start.at,
      beforeSeq: start.seq,
      limit,
    },
  }
}
