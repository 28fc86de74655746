/** Gives a wallet many grants at once, so that one request of the user ends them all. */

import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { pack } from '../../../src/store/packed.ts'
import { connect } from '../../support/sql.ts'

export type GrantCopies = {
  /** Stores copies of a grant, and returns their ids. */
  copyGrant(grantId: string, count: number): Promise<string[]>
  close(): Promise<void>
}

export function openCopies(databaseUrl: string): GrantCopies {
  return databaseUrl.startsWith('sqlite:') ? onSqlite(databaseUrl.slice('sqlite:'.length)) : onPostgres(databaseUrl)
}

const newIds = (count: number) => Array.from({ length: count }, () => randomUUID())

function onPostgres(url: string): GrantCopies {
  const sql = connect(url)
  let columns: string[] = []
  return {
    async copyGrant(grantId, count) {
      const ids = newIds(count)
      if (columns.length === 0)
        columns = (
          await sql`SELECT attname FROM pg_attribute WHERE attrelid = 'grants'::regclass AND attnum > 0 AND NOT attisdropped`
        ).map(({ attname }) => String(attname))
      await sql.unsafe(copying(columns, 'SELECT unnest($1::bytea[]) AS value', '$2'), [ids.map(pack), pack(grantId)])
      return ids
    },
    close: () => sql.end(),
  }
}

function onSqlite(path: string): GrantCopies {
  // SQLite's own wait would block this process, which also sends the requests.
  const database = new DatabaseSync(path, { timeout: 0 })
  const columns = database
    .prepare("SELECT name FROM pragma_table_info('grants')")
    .all()
    .map(({ name }) => String(name))
  return {
    async copyGrant(grantId, count) {
      const ids = newIds(count)
      database
        .prepare(copying(columns, "SELECT unhex(value, '-') AS value FROM json_each(?)", '?'))
        .run(JSON.stringify(ids), pack(grantId))
      return await Promise.resolve(ids)
    },
    close: async () => await Promise.resolve(database.close()),
  }
}

const copying = (columns: readonly string[], ids: string, id: string) =>
  `INSERT INTO grants (${columns.join(', ')})
   SELECT ${columns.map((name) => (name === 'id' ? 'copy.value' : `grants.${name}`)).join(', ')}
   FROM (${ids}) AS copy, grants WHERE grants.id = ${id}`
