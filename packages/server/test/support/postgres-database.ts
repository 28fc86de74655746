/** A test database on a real PostgreSQL: its address, a connection for the test, and the store on it, which can be on Citus. */

import { loadPlacement } from '../../src/app/compose/database.ts'
import { databaseUrl } from '../../src/config/database-url.ts'
import { DISTRIBUTED } from '../../src/store/citus/distribution.ts'
import { migratePostgres as migrate, openPostgresStore as open, type PostgresAddress } from '../../src/store/postgres/index.ts'
import type { Sql } from './sql.ts'

export type PostgresDatabase = {
  name: string
  url: string
  address: PostgresAddress
  /** a connection for the test, with all rights */
  sql: Sql
  /** drops the database, even if it has connections */
  drop(): Promise<void>
}

/** The address that the parser of GRANTOR_DATABASE_URL returns. `extra`: parameters of the URL. */
export function addressOf(url: string, extra = ''): PostgresAddress {
  const parsed = databaseUrl(extra === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${extra}`)
  if ('fault' in parsed || parsed.value.kind !== 'postgres') throw new Error('not the address of a PostgreSQL database')
  return parsed.value
}

/** Opens a database as the commands do. */
export const openPostgresStore = (address: PostgresAddress, options: Parameters<typeof open>[1] = {}) =>
  open(address, { ...options, loadPlacement })

export const migratePostgres = (address: PostgresAddress, at: number, report?: (line: string) => void) =>
  migrate(address, at, { report, loadPlacement })

export const PARTS = 8

/**
 * Partitions the tables of a migrated, empty database by hash, as on several machines, with the same columns, keys and indexes.
 */
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
