/** The audit trail on SQLite. An append reads the head and inserts the lines in one transaction, so another process waits for its commit. */
import { placeAfter } from '../../domain/model/audit-chain.ts'
import type { AuditHead, AuditStore } from '../../domain/model/audit-store.ts'
import { LINE_COLUMNS, type LineRow, lineOf, rowOf } from '../audit-row.ts'
import { searchOf } from '../audit-search.ts'
import { pack } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'

export function createAuditStore(connection: SqliteConnection): AuditStore {
  const head = connection.prepareRead('SELECT seq, hash FROM audit_head')
  const present = connection.prepareWrite('SELECT seq, hash FROM audit_head')
  const moveHead = connection.prepareWrite('UPDATE audit_head SET seq = ?, hash = ?')
  // A repeated batch, or one that arrives after later ones of its writer, finds its number taken.
  const note = connection.prepareWrite(`
    INSERT INTO audit_writers (id, number, previous, used_at) VALUES (:writer, :number, 0, :usedAt)
    ON CONFLICT (id) DO UPDATE SET number = excluded.number, previous = number, used_at = excluded.used_at
    WHERE number < excluded.number`)
  const insert = connection.prepareWrite(`
    INSERT INTO audit_lines (${LINE_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const read = connection.prepareRead(`SELECT ${LINE_COLUMNS} FROM audit_lines WHERE seq > ? ORDER BY seq LIMIT ?`)
  const count = connection.prepareRead(`
    SELECT count(*) AS lines FROM (SELECT event FROM audit_lines WHERE seq > :after ORDER BY seq LIMIT :within)
    WHERE event IN (SELECT value FROM json_each(:events))`)
  const remove = connection.prepareWrite(`
    DELETE FROM audit_lines WHERE seq IN (SELECT seq FROM audit_lines WHERE seq <= ? ORDER BY seq LIMIT ?)`)
  return {
    readHead: () => connection.read(() => head.get() as AuditHead),
    append: ({ writer, number, at, lines }) =>
      connection.write(() => {
        // By the hour, so that an append does not change the index.
        if (note.run({ writer, number, usedAt: at - (at % 3600) }).changes === 0) return ''
        const placed = placeAfter(present.get() as AuditHead, lines)
        const last = placed.at(-1)
        if (last) moveHead.run(last.seq, last.hash)
        for (const [index, line] of lines.entries()) {
          const { seq = 0, hash = '' } = placed[index] ?? {}
          const { at, event, reason, client_id, grant_id, wallet, operator, id, request_id, network, rest } = rowOf(line)
          insert.run(seq, at, event, reason, client_id, grant_id, wallet, operator, id, request_id, network, rest, pack(hash))
        }
        return ''
      }),
    lacksBatches: () => Promise.resolve(false),
    readLines: ({ after, limit }) => connection.read(() => (read.all(after, limit) as unknown as LineRow[]).map(lineOf)),
    countLines: ({ events, ...within }) =>
      connection.read(() => Number(count.get({ ...within, events: JSON.stringify(events) })?.lines)),
    searchLines(filter, page) {
      const { sql, named } = searchOf(filter, page)
      return connection.read(() => (connection.prepareRead(sql).all(named) as unknown as LineRow[]).map(lineOf))
    },
    deleteLines: (through, limit) => connection.write(() => Number(remove.run(through, limit).changes)),
  }
}
