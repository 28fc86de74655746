/** The audit trail on PostgreSQL. One statement compares the head and inserts the lines, so a repeated attempt changes nothing more. */
import type { AuditHead, AuditLine, AuditStore } from '../../domain/model/audit-store.ts'
import { LINE_COLUMNS, searchOf } from '../audit-search.ts'
import type { Connection } from './connection/connection.ts'

type LineRow = {
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

// The row of the head is locked until the commit, so simultaneous appends wait for each other, and only the first one finds the head.
const APPEND = `
  WITH moved AS (
    UPDATE audit_head SET seq = :lastSeq::bigint, hash = :lastHash
    WHERE id = 1 AND seq = :headSeq::bigint AND hash = :headHash RETURNING id
  )
  INSERT INTO audit_lines (${LINE_COLUMNS})
  SELECT ${LINE_COLUMNS} FROM jsonb_to_recordset(:lines::jsonb) AS line(
    seq bigint, at bigint, event text, reason text, client_id text, grant_id text, wallet text, operator text, line text, hash text)
  WHERE EXISTS (SELECT FROM moved)
  RETURNING seq`

// The numbers have no gaps.
const DELETE = `
  WITH removed AS (
    DELETE FROM audit_lines
    WHERE seq <= :through::bigint AND seq < (SELECT min(seq) FROM audit_lines) + :limit::bigint RETURNING 1
  )
  SELECT count(*)::integer AS rows FROM removed`

export function createAuditStore(connection: Connection): AuditStore {
  const head = connection.prepare<AuditHead>('read', 'SELECT seq, hash FROM audit_head WHERE id = 1')
  const append = connection.prepare('move', APPEND)
  const read = connection.prepare<LineRow>(
    'read',
    `SELECT ${LINE_COLUMNS} FROM audit_lines WHERE seq > :after ORDER BY seq LIMIT :limit`,
  )
  const remove = connection.prepare<{ rows: number }>('move', DELETE)
  return {
    async readHead() {
      const [row] = await head()
      if (!row) throw new Error('the audit trail has no head')
      return row
    },
    async append(before, lines) {
      const last = lines.at(-1)
      if (!last) return 'appended'
      const appended = await append({
        lastSeq: last.seq,
        lastHash: last.hash,
        headSeq: before.seq,
        headHash: before.hash,
        lines: lines.map(rowOf),
      })
      return appended.length > 0 ? 'appended' : 'moved'
    },
    readLines: async (page) => (await read(page)).map(lineOf),
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

function lineOf({ client_id: clientId, grant_id: grantId, wallet, ...row }: LineRow): AuditLine {
  return { ...row, clientId, grantId, wallet: wallet as AuditLine['wallet'] }
}

function rowOf({ clientId, grantId, ...line }: AuditLine): LineRow {
  return { ...line, client_id: clientId, grant_id: grantId }
}
