/** An administrator's own connection to a PostgreSQL server of a test. */

import { onTestFinished } from 'vitest'
import type { PostgresServer } from './postgres-server.ts'
import { connect, type Sql } from './sql.ts'

/** Opens a connection whose changes do not wait for a standby. The end of the test closes the connection. */
export async function administrator(server: PostgresServer): Promise<Sql> {
  const sql = connect(server.urlOf('postgres'))
  onTestFinished(() => sql.end())
  await sql`SET synchronous_commit = local`
  return sql
}
