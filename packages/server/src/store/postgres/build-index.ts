/** Builds an index while servers change the table. `CREATE INDEX CONCURRENTLY` cannot run in the transaction of the other steps of the schema. */
import type { PostgresSession } from './connection/server.ts'

/** `on`: the table and its columns, such as `grants (created_at)`. */
export type IndexToBuild = { name: string; on: string }

/**
 * Builds the index, unless it exists and is valid. An attempt that was interrupted leaves an index that is not valid: it costs each change and serves
 * no read. It is dropped first. On Citus both statements apply to every shard, and the index of the table becomes valid after those of all shards.
 *
 * The session must have no open transaction. Only one program may call this at a time.
 */
export async function buildIndex(session: PostgresSession, { name, on }: IndexToBuild): Promise<void> {
  // PostgreSQL waits until every transaction has ended that began before. No other statement waits behind this one.
  await session.query('SET lock_timeout = 0')
  const [found] = await session.query<{ isValid: boolean }>(
    `SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass('${name}')`,
  )
  if (found?.isValid) return
  // `IF EXISTS`: on Citus some shards may have none.
  if (found) await session.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
  await session.query(`CREATE INDEX CONCURRENTLY ${name} ON ${on}`)
}
