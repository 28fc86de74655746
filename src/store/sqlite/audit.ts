/** The audit trail on SQLite. An append compares the head and inserts the lines in one transaction. */
import type { AuditHead, AuditLine, AuditStore } from '../../domain/model/audit-store.ts'
import { LINE_COLUMNS, searchOf } from '../audit-search.ts'
import type { Connection } from './connection.ts'

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

export function createAuditStore(connection: Connection): AuditStore {
  const head = connection.prepareRead('SELECT seq, hash FROM audit_head')
  const moveHead = connection.prepareWrite('UPDATE audit_head SET seq = ?, hash = ? WHERE seq = ? AND hash = ?')
  const insert = connection.prepareWrite(`
    INSERT INTO audit_lines (${LINE_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const read = connection.prepareRead(`SELECT ${LINE_COLUMNS} FROM audit_lines WHERE seq > ? ORDER BY seq LIMIT ?`)
  const remove = connection.prepareWrite(`
    DELETE FROM audit_lines WHERE seq IN (SELECT seq FROM audit_lines WHERE seq <= ? ORDER BY seq LIMIT ?)`)
  return {
    readHead: () => connection.read(() => head.get() as AuditHead),
    append: (before, lines) =>
      connection.write(() => {
        const last = lines.at(-1)
        if (!last) return 'appended'
        if (moveHead.run(last.seq, last.hash, before.seq, before.hash).changes === 0) return 'moved'
        for (const { seq, at, event, reason, clientId, grantId, wallet, operator, line, hash } of lines)
          insert.run(seq, at, event, reason, clientId, grantId, wallet, operator, line, hash)
        return 'appended'
      }),
    readLines: ({ after, limit }) => connection.read(() => (read.all(after, limit) as unknown as LineRow[]).map(lineOf)),
    searchLines(filter, page) {
      const { sql, named } = searchOf(filter, page)
      return connection.read(() => (connection.prepareRead(sql).all(named) as unknown as LineRow[]).map(lineOf))
    },
    deleteLines: (through, limit) => connection.write(() => Number(remove.run(through, limit).changes)),
  }
}

function lineOf({ client_id: clientId, grant_id: grantId, wallet, ...row }: LineRow): AuditLine {
  return { ...row, clientId, grantId, wallet: wallet as AuditLine['wallet'] }
}
