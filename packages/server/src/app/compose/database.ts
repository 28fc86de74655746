/** The database that the settings name, on either engine: opened, migrated, inspected. */
import { statSync } from 'node:fs'
import type { Settings } from '../../config/settings.ts'
import type { SchemaStep, TakenStep } from '../../domain/model/schema-steps.ts'
import type { StoreClock } from '../../domain/model/store-clock.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import { version } from './version.ts'

type DatabaseUrl = Settings<'migrate'>['databaseUrl']
type SchemaStepName = Pick<SchemaStep, 'number' | 'name'>
export type DatabaseStatus = { applied: TakenStep[]; pending: SchemaStep[] }

// An engine is imported only if it is used.
const sqlite = () => import('../../store/sqlite/index.ts')
const postgres = () => import('../../store/postgres/index.ts')
/** The store on PostgreSQL calls it when a connection finds the extension Citus. */
export const loadPlacement = async () => (await import('../../store/citus/index.ts')).citus

/**
 * Opens the database without changing it. A database with its own clock reports it to `storeClock`. `failureOf` handles
 * the errors.
 */
export async function openDatabase(url: DatabaseUrl, storeClock?: StoreClock): Promise<OpenedStore> {
  if (url.kind === 'postgres') return (await postgres()).openPostgresStore(withVersion(url), { storeClock, loadPlacement })
  // Opening would create the file, and a mistyped path would then look like an empty database.
  if (!fileExists(url.path)) throw new CommandError(`there is no database at ${url.path}; grantor migrate creates one`)
  return (await sqlite()).openSqliteStore(url.path, storeClock && { now: storeClock.now })
}

/**
 * Migrates the database to this version's schema; a missing SQLite file is created. Returns the steps taken. `report` receives lines for the
 * operator while rows are distributed on Citus.
 */
export async function migrateDatabase(url: DatabaseUrl, at: number, report?: (line: string) => void): Promise<SchemaStepName[]> {
  return url.kind === 'postgres'
    ? (await postgres()).migratePostgres(withVersion(url), at, { report, loadPlacement })
    : (await sqlite()).migrateSqlite(url.path, at)
}

/** The applied and the pending steps; null if the file does not exist. The file is not created. */
export async function databaseStatus(url: DatabaseUrl): Promise<DatabaseStatus | null> {
  if (url.kind === 'postgres') return (await postgres()).postgresMigrationStatus(withVersion(url), loadPlacement)
  return fileExists(url.path) ? (await sqlite()).sqliteMigrationStatus(url.path) : null
}

/** The number of tables that `grantor migrate` would distribute on Citus. */
export async function tablesToDistribute(url: DatabaseUrl): Promise<number> {
  return url.kind === 'postgres' ? (await postgres()).tablesToDistribute(withVersion(url), loadPlacement) : 0
}

/**
 * The processes of other versions that use the database: `grantor 0.1.0 at 192.0.2.7`. On SQLite, the version of a process is unknown, so
 * every process counts.
 */
export async function findOtherVersions(url: DatabaseUrl): Promise<string[]> {
  if (url.kind === 'postgres') return (await postgres()).otherVersionsOnPostgres(withVersion(url), loadPlacement)
  return (await sqlite()).isOpenElsewhere(url.path) ? ['another process on this machine'] : []
}

type PostgresUrl = Extract<DatabaseUrl, { kind: 'postgres' }>

/** `pg_stat_activity` shows the version of each server, unless the operator chose another name. */
function withVersion(url: PostgresUrl): PostgresUrl {
  return url.applicationName === 'grantor' ? { ...url, applicationName: `grantor ${version()}` } : url
}

/** What each PostgreSQL server of the settings reports about itself, also if the store would refuse it. */
export async function inspectServers(url: PostgresUrl) {
  return (await postgres()).inspectPostgres(url, loadPlacement)
}

/** Why a node cannot use the coordinator of its Citus cluster directly; null if it can, and without Citus. */
export async function findCoordinatorProblem(url: PostgresUrl) {
  return (await postgres()).inspectPlacement(url, loadPlacement, (placement) => placement.findCoordinatorProblem())
}

/** The machines of a Citus cluster that are not reached directly from here, each with the reason; none without Citus. */
export async function findDirectProblems(url: PostgresUrl) {
  return (await postgres()).inspectPlacement(url, loadPlacement, (placement) => placement.findDirectProblems())
}

/** The tables that the role of the settings may not read or change. */
export async function findTablesWithoutRights(url: PostgresUrl) {
  return (await postgres()).tablesWithoutRights(url, loadPlacement)
}

/** The number of audit lines that wait for the coordinator of a Citus cluster; 0 without Citus. */
export async function countWaitingAuditLines(url: PostgresUrl) {
  return (await postgres()).inspectPlacement(
    url,
    loadPlacement,
    async ({ waitingBatches }) => (await waitingBatches?.countLines()) ?? 0,
  )
}

/** The statements that reach PostgreSQL, as a page in Markdown and as a list. Opens no database. */
export async function readStatements() {
  const { listStatements, statementsPage } = await import('../../store/citus/statements-page.ts')
  return { page: await statementsPage(), list: await listStatements() }
}

/** Whether a database exists that may have been restored from a backup. */
export function isThere(url: DatabaseUrl): boolean {
  return url.kind === 'postgres' || fileExists(url.path)
}

/** The database's location, without a password. */
export function databaseName(url: DatabaseUrl): string {
  if (url.kind === 'sqlite') return url.path
  return `${url.servers.map(({ host, port }) => `${host}:${port}`).join(',')}/${url.database}`
}

/** Throws if the file may exist, but this user may not look. */
function fileExists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(`${path} cannot be read (${code}); run the command as the user of the service`)
  }
}
