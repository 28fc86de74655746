/** The store on SQLite: one file, one machine, any number of processes. */
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pendingSteps, requireWorkable, type TakenStep } from '../../domain/model/schema-steps.ts'
import { ONE_MACHINE, type OpenedStore } from '../cluster-health.ts'
import { createRecordStores } from '../record-stores.ts'
import { createApprovalStore } from './approvals.ts'
import { createAuditStore } from './audit.ts'
import { createCleaning } from './cleaning.ts'
import { SqliteConnection } from './connection.ts'
import { createDrawStore } from './draws.ts'
import { createEndingStore } from './endings.ts'
import { createGrantStore } from './grants.ts'
import { appliedMigrations, MIGRATIONS, type Migration, migrate } from './migrations.ts'
import { createPushedRequestStore } from './pushed-requests.ts'
import { createReceiptStore } from './receipts.ts'
import { createRecords } from './records.ts'
import { createRestorationStore } from './restorations.ts'
import { createRevision } from './revision.ts'
import { createSessionStore } from './sessions.ts'
import { createSpentStore, endingClients } from './spent.ts'
import { createWalletStore } from './wallets.ts'

export { SchemaMismatch } from '../../domain/model/store-errors.ts'

/**
 * Opens a migrated file. Throws `SchemaMismatch` for another schema, `StoreUnavailable` if the file cannot be opened. `now` is the time of
 * changes whose callers give none; without it, the machine's clock.
 */
export function openSqliteStore(path: string, { now = () => null }: { now?: () => number | null } = {}): OpenedStore {
  const connection = new SqliteConnection(path)
  try {
    requireWorkable(MIGRATIONS, appliedMigrations(connection))
  } catch (error) {
    void connection.close()
    throw error
  }
  const probe = connection.prepareWrite('UPDATE revision SET number = number')
  const endClient = endingClients(connection)
  const revision = createRevision(connection)
  return {
    grants: createGrantStore(connection),
    wallets: createWalletStore(connection),
    sessions: createSessionStore(connection),
    receipts: createReceiptStore(connection),
    ...createRecordStores(createRecords(connection), (hash) => endClient(hash, now())),
    spent: createSpentStore(connection),
    pushedRequests: createPushedRequestStore(connection),
    approvals: createApprovalStore(connection),
    draws: createDrawStore(connection),
    endings: createEndingStore(connection),
    cleaning: createCleaning(connection),
    restorations: createRestorationStore(connection),
    audit: createAuditStore(connection),
    placement: () => ONE_MACHINE,
    ...revision,
    checkSignIn: async () => void (await revision.readRevision()),
    checkWritable: () => connection.write(() => void probe.run()),
    // SQLite shows a commit to others only after it has synced the log, and a log that a killed process left is synced when it is opened.
    startReading: async () => async () => undefined,
    close: () => connection.close(),
  }
}

/** Migrates a file to the schema of this program, and creates the file if it is missing. Returns the steps taken. */
export async function migrateSqlite(path: string, at: number): Promise<Migration[]> {
  const connection = new SqliteConnection(path)
  try {
    return await migrate(connection, at)
  } finally {
    await connection.close()
  }
}

/** The primary result code of SQLite. */
const SQLITE_BUSY = 5

/** Whether a connection to the file is open. A connection that has read the file keeps a lock as long as it is open (SQLite, WAL mode). */
export function isOpenElsewhere(path: string): boolean {
  const probe = new DatabaseSync(resolve(path), { timeout: 0 })
  try {
    probe.exec('PRAGMA locking_mode = EXCLUSIVE')
    probe.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return true
    throw error
  } finally {
    probe.close()
  }
}

export type MigrationStatus = { applied: TakenStep[]; pending: Migration[] }

export async function sqliteMigrationStatus(path: string): Promise<MigrationStatus> {
  const connection = new SqliteConnection(path)
  try {
    const applied = appliedMigrations(connection)
    return { applied, pending: pendingSteps(MIGRATIONS, applied) }
  } finally {
    await connection.close()
  }
}
