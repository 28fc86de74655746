/**
 * The statement of a search in the audit trail, the same in both engines. The statement has only the conditions of the filter, so that the engine
 * can use the index of a column.
 *
 * Each index has the time of a line in units of 16 seconds. PostgreSQL stores equal keys of an index once: at one line a second, the indexes of a line
 * take 157 bytes, and 330 with the second. The lines of one unit are sorted by the search.
 */
import { refusedEvents } from '../domain/model/audit-events.ts'
import type { AuditFilter } from '../domain/model/audit-store.ts'
import { LINE_COLUMNS } from './audit-row.ts'
import { pack } from './packed.ts'

/** The names of the filter's members and of their columns. */
const COLUMNS = {
  wallet: 'wallet',
  clientId: 'client_id',
  grantId: 'grant_id',
  operator: 'operator',
  reason: 'reason',
  event: 'event',
} as const

const PACKED: readonly string[] = ['wallet', 'clientId', 'grantId']

/** The names are constants of this program. */
const REFUSED = refusedEvents.map((name) => `'${name}'`).join(', ')

/** The expression of the indexes. */
const UNIT_SECONDS = 16
const UNIT = `at / ${UNIT_SECONDS}`
const unitOf = (at: number): number => Math.floor(at / UNIT_SECONDS)

type ColumnFilter = { [Name in keyof typeof COLUMNS]?: string | undefined } & Pick<AuditFilter, 'result' | 'since' | 'until'>
type SearchPage = { limit: number; before?: { at: number; seq: number } | undefined }
type Search = { sql: string; named: Record<string, string | number | Uint8Array> }

/** The statement with named values, and the values. A page begins before `before`, and before the end of the time that is searched. */
export function searchOf(filter: ColumnFilter, { limit, before }: SearchPage): Search {
  const given = (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).filter((name) => filter[name] !== undefined)
  const conditions = given.map((name) => `${COLUMNS[name]} = :${name}`)
  const { result, since = 0, until = Number.MAX_SAFE_INTEGER } = filter
  if (result !== undefined) conditions.push(`event ${result === 'refused' ? 'IN' : 'NOT IN'} (${REFUSED})`)
  const start = before && before.at < until ? before : { at: until, seq: 0 }
  return {
    sql: `SELECT ${LINE_COLUMNS} FROM audit_lines
      WHERE ${[...conditions, `${UNIT} BETWEEN :sinceUnit AND :beforeUnit`, 'at >= :since', '(at, seq) < (:beforeAt, :beforeSeq)'].join(' AND ')}
      ORDER BY ${UNIT} DESC, at DESC, seq DESC LIMIT :limit`,
    named: {
      ...Object.fromEntries(given.map((name) => [name, valueOf(name, filter[name] ?? '')])),
      since,
      sinceUnit: unitOf(since),
      beforeAt: start.at,
      beforeUnit: unitOf(start.at),
      beforeSeq: start.seq,
      limit,
    },
  }
}

function valueOf(name: keyof typeof COLUMNS, value: string): string | Uint8Array {
  return PACKED.includes(name) ? pack(value) : value
}
