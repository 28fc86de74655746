/** The store on PostgreSQL: one database, any number of machines. */
import { changesAfter } from '../../domain/model/changes.ts'
import { pendingSteps, requireWorkable, type TakenStep } from '../../domain/model/schema-steps.ts'
import type { StoreClock } from '../../domain/model/store-clock.ts'
import type { OpenedStore } from '../cluster-health.ts'
import { createRecordStores } from '../record-stores.ts'
import type { PostgresAddress } from './address.ts'
import { createApprovalStore } from './approvals.ts'
import { createAuditStore } from './audit.ts'
import { createCleaning } from './cleaning.ts'
import { toStoreError } from './connection/errors.ts'
import type { PostgresSession } from './connection/server.ts'
import { createDrawStore } from './draws.ts'
import { createEndingStore } from './endings.ts'
import { createGrantStore } from './grants.ts'
import { appliedMigrations, MIGRATIONS, type Migrating, type Migration, migrate } from './migrations.ts'
import type { LoadPlacement, Placement } from './placement.ts'
import { createPushedRequestStore } from './pushed-requests.ts'
import { createReceiptStore } from './receipts.ts'
import { createRecords } from './records.ts'
import { createRestorationStore } from './restorations.ts'
import { PROBE, READ_CHANGES, READ_REVISION } from './revision.ts'
import { createSessionStore } from './sessions.ts'
import { createSpentStore, endingClients } from './spent.ts'
import { type ConnectionOptions, PostgresConnection } from './statements/connection.ts'
import type { Clock } from './statements/statement.ts'
import { createWalletStore } from './wallets.ts'

export { SchemaMismatch } from '../../domain/model/store-errors.ts'
export type { PostgresAddress } from './address.ts'
export { inspectPlacement, inspectPostgres, type PostgresFacts, tablesWithoutRights } from './inspect.ts'

/**
 * Opens a migrated database. Each `readRevision` synchronises `storeClock` with the database's clock. Throws `SchemaMismatch` if the
 * database has another schema, and `StoreUnavailable` if it cannot be reached.
 */
export async function openPostgresStore(
  address: PostgresAddress,
  { clock = 'database', loadPlacement, ...clocks }: { clock?: Clock; loadPlacement?: LoadPlacement } & Clocks = {},
): Promise<OpenedStore> {
  const connection = new PostgresConnection(address, { clock, loadPlacement })
  try {
    requireWorkable(MIGRATIONS, await connection.use(appliedMigrations))
    return storeOn(connection, clocks)
  } catch (error) {
    await connection.close()
    throw toStoreError(error)
  }
}

/** `now`: for tests with a fake clock, the time of changes whose callers give none. */
type Clocks = { storeClock?: StoreClock | undefined; now?: () => number }

/** The store over one connection, which `close` closes. Prepares the statements and sends none. */
export function storeOn(connection: PostgresConnection, { storeClock, now = () => 0 }: Clocks = {}): OpenedStore {
  const revision = connection.prepare<{ number: number; now: number; replicated: boolean; hasShards: boolean }>(
    'read',
    READ_REVISION,
  )
  const changes = connection.prepare<{ number: number; recent: string }>('read', READ_CHANGES)
  const probe = connection.prepare('move', PROBE)
  const endClient = endingClients(connection)
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
    placement: () => connection.placement,
    async readRevision() {
      const sentAt = storeClock?.elapsed() ?? 0
      const [row] = await revision()
      if (!row) return 0
      storeClock?.correct(row.now, sentAt)
      await connection.noteState({ isReplicated: row.replicated, hasShards: row.hasShards })
      return row.number
    },
    async readChanges(seen) {
      const [row] = await changes()
      return changesAfter(seen, row?.number ?? 0, row?.recent ?? '')
    },
    async checkSignIn() {
      try {
        await revision()
      } catch (error) {
        // A sign-in changes rows of the other machines only, and its audit lines can wait there.
        await connection.placement.checkRows(error)
      }
    },
    checkWritable: async () => void (await probe()),
    async startReading() {
      const instance = await connection.readInstance()
      return () => connection.confirm(instance)
    },
    close: () => connection.close(),
  }
}

/**
 * Brings a database to the schema of this program, and distributes the tables if the placement has several machines. Returns the steps taken.
 */
export function migratePostgres(
  address: PostgresAddress,
  at: number,
  { report, loadPlacement }: MigrateOptions = {},
): Promise<Migration[]> {
  const useAnother: Migrating['useAnother'] = (task) => useServer(address, { purpose: 'migration', loadPlacement }, task)
  return useServer(address, { purpose: 'migration', loadPlacement }, (session, placement) =>
    migrate(session, { at, report, useAnother, placement }),
  )
}

/** `report` receives lines for the operator while rows are distributed. */
type MigrateOptions = { report?: ((line: string) => void) | undefined; loadPlacement?: LoadPlacement }

export type MigrationStatus = { applied: TakenStep[]; pending: Migration[] }

export async function postgresMigrationStatus(address: PostgresAddress, loadPlacement: LoadPlacement): Promise<MigrationStatus> {
  const applied = await useServer(address, { loadPlacement }, appliedMigrations)
  return { applied, pending: pendingSteps(MIGRATIONS, applied) }
}

/** The number of tables that a migration would distribute; 0 on one machine. */
export const tablesToDistribute = (address: PostgresAddress, loadPlacement: LoadPlacement): Promise<number> =>
  useServer(address, { loadPlacement }, (session, placement) => placement.countUndistributed(session))

const OTHERS_AT_MOST = 20

/** The other names of this program in the connections to the database, each with the address of its machine. */
export async function otherVersionsOnPostgres(address: PostgresAddress, loadPlacement: LoadPlacement): Promise<string[]> {
  const rows = await useServer(address, { loadPlacement }, (session) =>
    session.query<{ other: string }>(
      `SELECT DISTINCT application_name || ' at ' || coalesce(host(client_addr), 'a local socket') AS other
       FROM pg_stat_activity
       WHERE datname = current_database() AND application_name ~ '^grantor( |$)' AND application_name <> $1
       ORDER BY other LIMIT ${OTHERS_AT_MOST}`,
      [address.applicationName],
    ),
  )
  return rows.map(({ other }) => other)
}

/** Uses a server without the retries of a running service, so that an operator sees an error at once. */
async function useServer<Result>(
  address: PostgresAddress,
  options: Pick<ConnectionOptions, 'purpose' | 'loadPlacement'>,
  use: (session: PostgresSession, placement: Placement) => Promise<Result>,
): Promise<Result> {
  const connection = new PostgresConnection(address, { clock: 'database', ...options })
  try {
    return await connection.use((session) => use(session, connection.placement))
  } catch (error) {
    throw toStoreError(error)
  } finally {
    await connection.close()
  }
}
