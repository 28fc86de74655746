/** The store on PostgreSQL: one database, any number of machines. */
import { type Store, StoreUnavailable } from '../../grants/ports.ts'
import { createCleaning } from './cleaning.ts'
import { createClientBook } from './clients.ts'
import { type Clock, Connection } from './connection.ts'
import { failureOf, unavailable } from './failures.ts'
import { createGrantLedger } from './grants.ts'
import { createKeyBook } from './keys.ts'
import {
  type AppliedMigration,
  appliedMigrations,
  MIGRATIONS,
  type Migration,
  migrate,
  requireCurrentSchema,
} from './migrations.ts'
import { createReceiptBook } from './receipts.ts'
import { createRestorationBook } from './restorations.ts'
import { PROBE, READ_REVISION } from './revision.ts'
import { findServer, type PostgresAddress, type Server, type Sql } from './server.ts'
import { createSessionBook } from './sessions.ts'
import { createWalletBook } from './wallets.ts'

export { SchemaMismatch } from '../../grants/ports.ts'
export type { PostgresAddress } from './server.ts'

/** Opens a migrated database. Throws `SchemaMismatch` for another schema, `StoreUnavailable` where it cannot be reached. */
export async function openPostgresStore(
  address: PostgresAddress,
  { clock = 'database' }: { clock?: Clock } = {},
): Promise<Store> {
  const server = await openMigrated(address)
  const connection = new Connection(address, clock, server)
  const revision = connection.prepare<{ number: number }>('read', READ_REVISION)
  const probe = connection.prepare('move', PROBE)
  return {
    grants: createGrantLedger(connection),
    wallets: createWalletBook(connection),
    sessions: createSessionBook(connection),
    receipts: createReceiptBook(connection),
    clients: createClientBook(connection),
    keys: createKeyBook(connection),
    cleaning: createCleaning(connection),
    restorations: createRestorationBook(connection),
    readRevision: async () => (await revision())[0]?.number ?? 0,
    checkWritable: async () => void (await probe()),
    close: () => connection.close(),
  }
}

/** Brings a database to the schema of this program. Returns the steps taken. */
export function migratePostgres(address: PostgresAddress, at: number): Promise<Migration[]> {
  return using(address, 'migration', (sql) => migrate(sql, at))
}

export type MigrationStatus = { applied: AppliedMigration[]; pending: Migration[] }

export async function postgresMigrationStatus(address: PostgresAddress): Promise<MigrationStatus> {
  const applied = await using(address, 'store', appliedMigrations)
  const last = applied.at(-1)?.number ?? 0
  return { applied, pending: MIGRATIONS.filter((migration) => migration.number > last) }
}

async function openMigrated(address: PostgresAddress): Promise<Server> {
  try {
    const server = await findServer(address)
    try {
      requireCurrentSchema(await appliedMigrations(server.sql))
      return server
    } catch (error) {
      await server.end()
      throw error
    }
  } catch (error) {
    throw asTold(error)
  }
}

/** Uses one server without the patience of a running service: whoever starts a program wants to know at once. */
async function using<Result>(
  address: PostgresAddress,
  purpose: 'store' | 'migration',
  use: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  try {
    const server = await findServer(address, purpose)
    try {
      return await use(server.sql)
    } finally {
      await server.end()
    }
  } catch (error) {
    throw asTold(error)
  }
}

function asTold(error: unknown): unknown {
  return error instanceof StoreUnavailable || failureOf(error) === 'defect' ? error : unavailable(error)
}
