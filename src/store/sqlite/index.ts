/** The store on SQLite: one file, one machine, any number of processes. */
import type { Store } from '../../domain/model/ports.ts'
import { pendingSteps, requireWorkable, type TakenStep } from '../../domain/model/schema-steps.ts'
import { createCleaning } from './cleaning.ts'
import { createClientBook } from './clients.ts'
import { Connection } from './connection.ts'
import { createGrantLedger } from './grants.ts'
import { createKeyBook } from './keys.ts'
import { appliedMigrations, MIGRATIONS, type Migration, migrate } from './migrations.ts'
import { createPushedRequestBook } from './pushed-requests.ts'
import { createReceiptBook } from './receipts.ts'
import { createRestorationBook } from './restorations.ts'
import { createRevision } from './revision.ts'
import { createSessionBook } from './sessions.ts'
import { createSpentBook } from './spent.ts'
import { createWalletBook } from './wallets.ts'

export { SchemaMismatch } from '../../domain/model/ports.ts'

/** Opens a migrated file. Throws `SchemaMismatch` for another schema, `StoreUnavailable` if the file cannot be opened. */
export function openSqliteStore(path: string): Store {
  const connection = new Connection(path)
  try {
    requireWorkable(MIGRATIONS, appliedMigrations(connection))
  } catch (error) {
    void connection.close()
    throw error
  }
  const probe = connection.prepareWrite('UPDATE revision SET number = number')
  return {
    grants: createGrantLedger(connection),
    wallets: createWalletBook(connection),
    sessions: createSessionBook(connection),
    receipts: createReceiptBook(connection),
    clients: createClientBook(connection),
    keys: createKeyBook(connection),
    spent: createSpentBook(connection),
    pushedRequests: createPushedRequestBook(connection),
    cleaning: createCleaning(connection),
    restorations: createRestorationBook(connection),
    ...createRevision(connection),
    checkWritable: () => connection.write(() => void probe.run()),
    close: () => connection.close(),
  }
}

/** Migrates a file to the schema of this program, and creates the file if it is missing. Returns the steps taken. */
export async function migrateSqlite(path: string, at: number): Promise<Migration[]> {
  const connection = new Connection(path)
  try {
    return await migrate(connection, at)
  } finally {
    await connection.close()
  }
}

export type MigrationStatus = { applied: TakenStep[]; pending: Migration[] }

export async function sqliteMigrationStatus(path: string): Promise<MigrationStatus> {
  const connection = new Connection(path)
  try {
    const applied = appliedMigrations(connection)
    return { applied, pending: pendingSteps(MIGRATIONS, applied) }
  } finally {
    await connection.close()
  }
}
