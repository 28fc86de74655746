/** Partitions the tables of a database by hash, as on several machines, with the same columns, keys and indexes. */
import { DISTRIBUTED } from '../../src/store/citus/distribution.ts'
import type { PostgresDatabase } from './postgres.ts'

export const PARTS = 8

/** The database must be migrated and empty. */
export async function partitionTables({ sql }: PostgresDatabase): Promise<void> {
  for (const [table, column] of Object.entries(DISTRIBUTED)) {
    const [options] = await sql.unsafe(
      `SELECT array_to_string(reloptions, ', ') AS text FROM pg_class WHERE oid = '${table}'::regclass`,
    )
    const parts = Array.from(
      { length: PARTS },
      (_, part) => `CREATE TABLE ${table}_${part} PARTITION OF ${table} FOR VALUES WITH (MODULUS ${PARTS}, REMAINDER ${part})
                    ${options?.text ? `WITH (${options.text})` : ''};`,
    )
    await sql.unsafe(`
      ALTER TABLE ${table} RENAME TO whole;
      CREATE TABLE ${table} (LIKE whole INCLUDING ALL) PARTITION BY HASH (${column});
      DROP TABLE whole;
      ${parts.join('\n')}`)
  }
}
