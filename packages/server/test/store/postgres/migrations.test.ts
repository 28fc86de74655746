/** The schema of a PostgreSQL database. Each step is taken once, by one process. */
import { expect, onTestFinished, test } from 'vitest'
import { loadPlacement } from '../../../src/app/compose/database.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migratePostgres, openPostgresStore, postgresMigrationStatus, SchemaMismatch } from '../../../src/store/postgres/index.ts'
import { MIGRATIONS, type Migration } from '../../../src/store/postgres/migrations.ts'
import { MIGRATIONS as ON_SQLITE } from '../../../src/store/sqlite/migrations.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { connect } from '../../support/sql.ts'
import { livingGrant, NOW, rotationOf } from '../contract/subject.ts'
import { startStoreProcess } from '../start-process.ts'

const LAST = MIGRATIONS.at(-1)?.number ?? 0
const ALL = MIGRATIONS.map(({ number, name, oldest }) => ({ number, name, oldest }))

test('An empty PostgreSQL database takes every migration step in order, records the time, and takes no step twice', async () => {
  const { address } = await newPostgresDatabase()
  expect(await postgresMigrationStatus(address, loadPlacement)).toMatchObject({ applied: [], pending: ALL })
  expect(await migratePostgres(address, NOW)).toMatchObject(ALL)
  expect(await postgresMigrationStatus(address, loadPlacement)).toEqual({
    applied: ALL.map((each) => ({ ...each, applied_at: NOW })),
    pending: [],
  })
  expect(await migratePostgres(address, NOW + 1)).toEqual([])
  await (await openPostgresStore(address)).close()
})

test('A database that was restored from a dump of its tables gets the function of the audit trail from the next migration', async () => {
  const { address, url } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const sql = connect(url)
  onTestFinished(() => sql.end())
  await sql`DROP FUNCTION append_audit_lines`
  expect(await migratePostgres(address, NOW)).toEqual([])
  expect(await sql`SELECT to_regproc('append_audit_lines')::text AS name`).toEqual([{ name: 'append_audit_lines' }])
})

test('A step during which servers may continue rewrites no table and adds no index to one, so its time does not grow with the rows (decision 0028)', async () => {
  const { sql } = await newPostgresDatabase()
  const readFiles = async () => {
    const rows = await sql<{ table: string; file: string; indexes: number }[]>`
      SELECT relname AS table, pg_relation_filenode(oid)::text AS file,
             (SELECT count(*)::integer FROM pg_index WHERE indrelid = pg_class.oid) AS indexes
      FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`
    return new Map(rows.map(({ table, ...rest }) => [table, rest]))
  }
  for (const { number, oldest, sql: step } of MIGRATIONS) {
    const before = await readFiles()
    await sql.unsafe(step)
    const after = await readFiles()
    if (oldest < number)
      for (const [table, files] of before) expect([number, table, after.get(table)]).toEqual([number, table, files])
  }
})

test('PostgreSQL has the same migration steps as SQLite, number by number', () => {
  expect(ALL).toEqual(ON_SQLITE.map(({ number, name, oldest }) => ({ number, name, oldest })))
})

test('PostgreSQL and SQLite have the same tables with the same columns', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const rows = await sql.unsafe(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'public'`,
  )
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(':memory:')
  for (const { sql: step } of ON_SQLITE) database.exec(step)
  const names = database
    .prepare(
      "SELECT t.name || '.' || c.name AS name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
    )
    .all()
    .map(({ name }) => String(name))
    // Only SQLite writes a row for each ending.
    .filter((name) => !name.startsWith('endings.'))
  const onPostgres = rows
    .map(({ name }) => String(name))
    // On SQLite no answer to a change can be lost, so no change needs an id.
    .filter((name) => !name.startsWith('migrations.') && name !== 'revision.id' && !name.endsWith('.attempts'))
  expect(onPostgres.sort()).toEqual(names.filter((name) => !name.startsWith('sqlite_')).sort())
})

test('A PostgreSQL database that was not migrated is refused with the command to run, and stays unchanged', async () => {
  const { address, sql } = await newPostgresDatabase()
  await expect(openPostgresStore(address)).rejects.toBeInstanceOf(SchemaMismatch)
  await expect(openPostgresStore(address)).rejects.toThrow(/^The database is not up to date\. Run: grantor migrate$/)
  expect(await sql.unsafe(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toHaveLength(0)
})

test('A PostgreSQL database of a newer, incompatible version is refused when it is opened and migrated, and stays unchanged', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  await sql.unsafe(`INSERT INTO migrations VALUES (${LAST + 1}, 'of tomorrow', ${NOW})`)
  const line = 'The database was made by a newer version of grantor than this one. Use that version.'
  await expect(openPostgresStore(address)).rejects.toThrow(line)
  await expect(migratePostgres(address, NOW)).rejects.toThrow(line)
  expect((await postgresMigrationStatus(address, loadPlacement)).applied).toHaveLength(MIGRATIONS.length + 1)
})

test('A PostgreSQL database with a newer step that names this version as compatible is opened, and migrating it takes no step', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  await sql.unsafe(`INSERT INTO migrations VALUES (${LAST + 1}, 'of tomorrow', ${NOW}, ${LAST})`)
  await (await openPostgresStore(address)).close()
  expect(await migratePostgres(address, NOW)).toEqual([])
  expect(await postgresMigrationStatus(address, loadPlacement)).toMatchObject({ pending: [] })
})

test('A PostgreSQL database from before the first release is refused when it is opened, inspected and migrated, and stays unchanged', async () => {
  const { address, sql } = await newPostgresDatabase()
  await sql.unsafe('CREATE TABLE migrations (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)')
  await sql.unsafe(`INSERT INTO migrations VALUES (1, 'ledger', ${NOW}), (2, 'receipts', ${NOW})`)
  await expect(openPostgresStore(address)).rejects.toThrow(SchemaMismatch)
  await expect(postgresMigrationStatus(address, loadPlacement)).rejects.toThrow(SchemaMismatch)
  await expect(migratePostgres(address, NOW)).rejects.toThrow(SchemaMismatch)
  expect(await sql.unsafe(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).toEqual([{ tablename: 'migrations' }])
  expect(await sql.unsafe('SELECT number FROM migrations ORDER BY number')).toEqual([{ number: 1 }, { number: 2 }])
})

test('A migration step that waits for a lock delays other statements by less than 1.4 seconds, and is taken in the end', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const store = await openPostgresStore(address)
  onTestFinished(() => store.close())
  const steps = MIGRATIONS as Migration[]
  steps.push({ number: LAST + 1, name: 'of tomorrow', oldest: LAST, sql: 'ALTER TABLE grants ADD COLUMN added text' })
  onTestFinished(() => void steps.pop())
  // A long-running read of the table that the step alters, such as a dump.
  await sql.unsafe('BEGIN; SELECT FROM grants')
  const migrated = migratePostgres(address, NOW)
  const longest = await longestRead(store, 3000)
  await sql.unsafe('COMMIT')
  expect(await migrated).toHaveLength(1)
  expect(longest, 'a node’s statement times out after 1,500').toBeLessThan(1400)
})

/** Reads the table of grants again and again. Returns the longest duration of a read in milliseconds. */
async function longestRead(store: Store, forMs: number): Promise<number> {
  const until = performance.now() + forMs
  let longest = 0
  while (performance.now() < until) {
    const before = performance.now()
    await store.grants.readGrant('none')
    longest = Math.max(longest, performance.now() - before)
  }
  return longest
}

test('If one migration step fails on PostgreSQL, none is taken and the database is unchanged', async () => {
  const { address, sql } = await newPostgresDatabase()
  await sql.unsafe('CREATE TABLE keys (mine text)')
  await expect(migratePostgres(address, NOW)).rejects.toThrow('relation "keys" already exists')
  const tables = await sql.unsafe(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
  expect(tables.map(({ tablename }) => String(tablename))).toEqual(['keys'])
})

test('Of eight concurrent migrations in one process, one takes the steps and the others find them taken', async () => {
  const { address } = await newPostgresDatabase()
  const taken = await Promise.all(Array.from({ length: 8 }, () => migratePostgres(address, NOW)))
  expect(taken.map((steps) => steps.length).sort((one, other) => one - other)).toEqual([0, 0, 0, 0, 0, 0, 0, MIGRATIONS.length])
})

test('Of five processes that migrate one database at once, one takes the steps and the others find them taken', async () => {
  const { address, url } = await newPostgresDatabase()
  const processes = await Promise.all([1, 2, 3, 4, 5].map(() => startStoreProcess('migrate', url)))
  for (const each of processes) each.goOn()
  const taken = await Promise.all(processes.map((each) => each.line()))
  expect(taken.map(Number).sort((one, other) => one - other)).toEqual([0, 0, 0, 0, MIGRATIONS.length])
  expect((await postgresMigrationStatus(address, loadPlacement)).pending).toEqual([])
})

test('Migrating an unreachable server fails with StoreUnavailable, and the error contains no password', async () => {
  const { address } = await newPostgresDatabase()
  const nowhere = { ...address, servers: [{ host: '127.0.0.1', port: 1 }] }
  const error: unknown = await migratePostgres(nowhere, NOW).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StoreUnavailable)
  expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain(address.password)
})

test('A step builds an index while a node refreshes. An attempt that is interrupted leaves an index that is not valid, and the next one builds it again', {
  timeout: 60_000,
}, async () => {
  const { address, url } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const store = await openPostgresStore(address, { clock: 'given' })
  const grant = await livingGrant(store)
  const [sql, reader] = [connect(url), connect(url)]
  onTestFinished(async () => void (await Promise.all([store.close(), sql.end(), reader.end()])))
  addIndexStep()
  const readIndex = () =>
    sql`SELECT indisvalid AS valid, indexrelid::text AS file FROM pg_index WHERE indexrelid = to_regclass('grants_by_test')`

  await reader.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM grants')
  const interrupted = migratePostgres(address, NOW).catch((error: unknown) => error)
  const waiting = () =>
    sql`SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event = 'virtualxid'`
  await expect.poll(waiting).toHaveLength(1)
  for (let generation = 0; generation < 5; generation++)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, generation))).kind).toBe('rotated')
  for (const { pid } of await waiting()) await sql`SELECT pg_terminate_backend(${pid})`
  expect(await interrupted).toBeInstanceOf(StoreUnavailable)
  const [broken] = await readIndex()
  expect(broken).toMatchObject({ valid: false })
  expect((await postgresMigrationStatus(address, loadPlacement)).pending).toHaveLength(1)
  await reader`COMMIT`

  // Several programs: one builds the index, the others wait.
  const taken = await Promise.all([migratePostgres(address, NOW), migratePostgres(address, NOW), migratePostgres(address, NOW)])
  expect(taken.flat()).toMatchObject([{ name: 'an index of tomorrow' }])
  const [built] = await readIndex()
  expect(built).toMatchObject({ valid: true })
  expect(built?.file).not.toBe(broken?.file)
  expect((await store.grants.rotateRefreshToken(rotationOf(grant, 5))).kind).toBe('rotated')
})

/** Adds a step that builds an index, until the end of the test. */
function addIndexStep(): void {
  const steps = MIGRATIONS as Migration[]
  const index = { name: 'grants_by_test', on: 'grants (created_at, id)' }
  steps.push({ number: LAST + 1, name: 'an index of tomorrow', oldest: LAST, sql: '', index })
  onTestFinished(() => void steps.pop())
}
