/** Endings of tokens without a grant in the store, as many as a large service has. */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { PostgresDatabase } from './postgres.ts'
import type { Grantor } from './start.ts'

/** Seconds. The endings are at most this old. */
const OLDEST = 100

/** Without a database, the rows are in the SQLite file of the service. Rows as an earlier version wrote them: every reader sees the endings. */
export async function insertEndings(grantor: Grantor, count: number, database?: PostgresDatabase): Promise<void> {
  if (database) await insertOnPostgres(database, count)
  else insertOnSqlite(grantor, count)
}

function insertOnSqlite({ databasePath, clock }: Grantor, count: number): void {
  const database = new DatabaseSync(databasePath)
  const insert = database.prepare("INSERT INTO endings (at, kind, key) VALUES (?, 'client_token', ?)")
  database.exec('BEGIN')
  for (let row = 0; row < count; row++) insert.run(clock.now() - (row % OLDEST), randomBytes(32).toString('base64url'))
  database.exec('COMMIT')
  database.close()
}

async function insertOnPostgres({ sql }: PostgresDatabase, count: number): Promise<void> {
  await sql.unsafe(
    `INSERT INTO spent (hash, kind, expires_at, attempt_id)
     SELECT translate(encode(sha256(convert_to(row::text, 'UTF8')), 'base64'), '+/=', '-_'), 'access_token',
            floor(extract(epoch FROM now())) + 86400 - row % ${OLDEST}, ''
     FROM generate_series(1, ${count}) AS row`,
  )
}
