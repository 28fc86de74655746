/**
 * The audit trail on PostgreSQL. The function `append_audit_lines` of the schema locks the head, computes the chain from there and inserts the
 * lines (`append-audit-lines.ts`). Simultaneous appends wait for the row of the head, in the order in which they came.
 */
import type { AuditHead, AuditStore, UnplacedLine } from '../../domain/model/audit-store.ts'
import { LINE_COLUMNS, type LineRow, lineOf, rowOf } from '../audit-row.ts'
import { searchOf } from '../audit-search.ts'
import type { PostgresConnection } from './statements/connection.ts'

// The numbers have no gaps.
const DELETE = `
  WITH removed AS (
    DELETE FROM audit_lines
    WHERE seq <= :through::bigint AND seq < (SELECT min(seq) FROM audit_lines) + :limit::bigint RETURNING 1
  )
  SELECT count(*)::integer AS rows FROM removed`

/** Lines are appended at the coordinator if the database is on Citus. */
export function createAuditStore(connection: PostgresConnection): AuditStore {
  const head = connection.prepare<AuditHead>('read', 'SELECT seq, hash FROM audit_head WHERE id = 1')
  const append = connection.prepare('move', 'SELECT append_audit_lines(:writer, :number::bigint, :at, :lines::jsonb)', {
    table: 'audit_head',
  })
  const readWriter = connection.prepare<{ number: number; previous: number }>(
    'read',
    'SELECT number, previous FROM audit_writers WHERE id = :writer',
  )
  const read = connection.prepare<LineRow>(
    'read',
    `SELECT ${LINE_COLUMNS} FROM audit_lines WHERE seq > :after ORDER BY seq LIMIT :limit`,
  )
  const count = connection.prepare<{ lines: number }>(
    'read',
    `SELECT count(*)::integer AS lines FROM (SELECT event FROM audit_lines WHERE seq > :after ORDER BY seq LIMIT :within) AS next
     WHERE event IN (SELECT jsonb_array_elements_text(:events::jsonb))`,
  )
  const remove = connection.prepare<{ rows: number }>('move', DELETE)
  return {
    async readHead() {
      const [row] = await head()
      if (!row) throw new Error('the audit trail has no head')
      return row
    },
    async append({ lines, ...batch }) {
      await append({ ...batch, lines: lines.map(parameterOf) })
      return connection.readInstance()
    },
    async lacksBatches({ writer, number }) {
      const [row] = await readWriter({ writer })
      return row === undefined || row.number < number || row.previous < number - 1
    },
    readLines: async (page) => (await read(page)).map(lineOf),
    async countLines(of) {
      const [counted] = await count(of)
      return counted?.lines ?? 0
    },
    async searchLines(filter, page) {
      const { sql, named } = searchOf(filter, page)
      return (await connection.prepare<LineRow>('read', sql)(named)).map(lineOf)
    },
    async deleteLines(through, limit) {
      const [removed] = await remove({ through, limit })
      return removed?.rows ?? 0
    },
  }
}

/** A line as the function reads it: bytes in the notation of `bytea`, because JSON has no bytes. */
function parameterOf(line: UnplacedLine): Record<string, unknown> {
  const row = Object.entries(rowOf(line)).map(([name, value]) => [name, value instanceof Uint8Array ? writeBytes(value) : value])
  return { ...(Object.fromEntries(row) as Record<string, unknown>), text: line.rest }
}

const writeBytes = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`
