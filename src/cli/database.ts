/** The database that the settings name, on whichever engine: opened, migrated, looked at. */
import { existsSync } from 'node:fs'
import type { Settings } from '../config/settings.ts'
import type { Store } from '../grants/ports.ts'
import type { SchemaStep, TakenStep } from '../grants/schema-steps.ts'
import type { StoreClock } from '../grants/store-clock.ts'
import { Failure } from './command.ts'

type DatabaseUrl = Settings<'migrate'>['databaseUrl']
type Step = Pick<SchemaStep, 'number' | 'name'>
export type DatabaseStatus = { applied: TakenStep[]; pending: SchemaStep[] }

// An engine is loaded where it is used.
const sqlite = () => import('../store/sqlite/index.ts')
const postgres = () => import('../store/postgres/index.ts')

/** Opens the database as it is; one that tells its own time tells it to `storeClock`. Throws what `failureOf` makes one line of. */
export async function openDatabase(url: DatabaseUrl, storeClock?: StoreClock): Promise<Store> {
  if (url.kind === 'postgres') return (await postgres()).openPostgresStore(url, { storeClock })
  // Opening would make the file, and a mistyped path would then look like a database that lost everything.
  if (!existsSync(url.path)) throw new Failure(`there is no database at ${url.path}; grantor migrate makes one`)
  return (await sqlite()).openSqliteStore(url.path)
}

/** Brings it to this version's schema; a SQLite file is made where there is none. Returns the steps taken. */
export async function migrateDatabase(url: DatabaseUrl, at: number): Promise<Step[]> {
  return url.kind === 'postgres' ? (await postgres()).migratePostgres(url, at) : (await sqlite()).migrateSqlite(url.path, at)
}

/** Which steps were taken and which are pending; null where there is no file, which looking does not make. */
export async function databaseStatus(url: DatabaseUrl): Promise<DatabaseStatus | null> {
  if (url.kind === 'postgres') return (await postgres()).postgresMigrationStatus(url)
  return existsSync(url.path) ? (await sqlite()).sqliteMigrationStatus(url.path) : null
}

/** Whether something is there that could have been put back from a backup. */
export function isThere(url: DatabaseUrl): boolean {
  return url.kind === 'postgres' || existsSync(url.path)
}

/** Where it is, in words without a password. */
export function placeOf(url: DatabaseUrl): string {
  if (url.kind === 'sqlite') return url.path
  return `${url.servers.map(({ host, port }) => `${host}:${port}`).join(',')}/${url.database}`
}
