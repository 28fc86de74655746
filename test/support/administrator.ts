/** An administrator's own connection to a PostgreSQL server of a test. */
import postgres from 'postgres'
import { onTestFinished } from 'vitest'
import type { PostgresServer } from './postgres-server.ts'

/** Opens a connection whose changes do not wait for a standby. The end of the test closes the connection. */
export async function administrator(server: PostgresServer): Promise<postgres.Sql> {
  const sql = postgres(server.urlOf('postgres'), { max: 1, onnotice: () => undefined, fetch_types: false })
  onTestFinished(() => sql.end())
  await sql`SET synchronous_commit = local`
  return sql
}
