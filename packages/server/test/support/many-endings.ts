/** Endings of tokens without a grant in the store, as many as a large service has. */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { revokedTokenRow } from '../../src/store/revoked-token.ts'
import type { PostgresDatabase } from './postgres.ts'
import type { Grantor } from './start.ts'

/** Seconds. The endings are at most this old. */
const OLDEST = 100
const DAY = 86_400

/** `count` endings of the tokens of a client, or of a hundred clients. Without a resource, every reader sees the endings. */
export type ManyEndings = { count: number; clientId?: string; resource?: string }

/** Without a database, the rows are in the SQLite file of the service. */
export async function insertEndings(grantor: Grantor, endings: ManyEndings, database?: PostgresDatabase): Promise<void> {
  if (database) await insertOnPostgres(database, endings)
  else insertOnSqlite(grantor, endings)
}

function insertOnSqlite({ databasePath, clock }: Grantor, endings: ManyEndings): void {
  const database = new DatabaseSync(databasePath)
  const insert = database.prepare(
    `INSERT INTO spent (kind, attempt_id, hash, expires_at) VALUES ('access_token', ?, ?, ? + ${DAY})`,
  )
  const attempts = attemptsOf(endings)
  database.exec('BEGIN')
  for (let row = 0; row < endings.count; row++)
    insert.run(attempts[row % attempts.length] ?? '', randomBytes(32).toString('base64url'), clock.now() - (row % OLDEST))
  database.exec('COMMIT')
  database.close()
}

async function insertOnPostgres({ sql }: PostgresDatabase, endings: ManyEndings): Promise<void> {
  const attempts = attemptsOf(endings)
  await sql.unsafe(
    `INSERT INTO spent (hash, kind, expires_at, attempt_id)
     SELECT translate(encode(sha256(convert_to(row || '${endings.clientId}', 'UTF8')), 'base64'), '+/=', '-_'), 'access_token',
            floor(extract(epoch FROM now())) + ${DAY} - row % ${OLDEST}, ($1::text[])[1 + row % ${attempts.length}]
     FROM generate_series(1, ${endings.count}) AS row`,
    [attempts],
  )
  // As autovacuum does, which comes later than the test.
  await sql.unsafe('ANALYZE spent')
}

function attemptsOf({ clientId, resource }: ManyEndings): string[] {
  const clients = clientId === undefined ? Array.from({ length: 100 }, (_, index) => `client-${index}`) : [clientId]
  const revocation = { hash: '', attemptId: '', at: 0, ...(resource !== undefined && { resource }) }
  return clients.map((each) => revokedTokenRow({ ...revocation, clientId: each }).attemptId)
}
