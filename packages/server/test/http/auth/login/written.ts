/** Detects every write to a database from the database's own counters and files, also a write that leaves no lasting change. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { allRows, type Rows } from '../../../support/rows.ts'
import type { Sql } from '../../../support/sql.ts'

/** Watches a SQLite file. Two results of `look` differ if the file was written in between. */
export function watchSqlite(path: string) {
  const outside = new DatabaseSync(path, { readOnly: true })
  return {
    close: () => outside.close(),
    look: () => ({
      // Changes whenever another connection has committed a change.
      commits: outside.prepare('PRAGMA data_version').get(),
      rows: allRows(path),
      bytes: [path, `${path}-wal`].map(
        (file) => existsSync(file) && createHash('sha256').update(readFileSync(file)).digest('hex'),
      ),
    }),
  }
}

/**
 * Every row of a PostgreSQL database, and the numbers of rows ever inserted, updated and deleted. A connection reports these numbers
 * when it is closed, so close the service before.
 */
export async function lookAtPostgres(sql: Sql): Promise<{ rows: Rows; writes: unknown[] }> {
  const writes = await sql<{ relname: string }[]>`
    SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables ORDER BY relname`
  const rows: Rows = {}
  for (const { relname } of writes) rows[relname] = await sql.unsafe(`SELECT * FROM ${relname} ORDER BY 1`)
  return { rows, writes: [...writes] }
}
