/** The schema of a PostgreSQL database: brought forward once, by one, never guessed. */
import { expect, test } from 'vitest'
import { StoreUnavailable } from '../../src/grants/ports.ts'
import { migratePostgres, openPostgresStore, postgresMigrationStatus, SchemaMismatch } from '../../src/store/postgres/index.ts'
import { MIGRATIONS } from '../../src/store/postgres/migrations.ts'
import { MIGRATIONS as ON_SQLITE } from '../../src/store/sqlite/migrations.ts'
import { newPostgresDatabase } from '../support/postgres.ts'
import { NOW } from './contract/subject.ts'
import { startStoreProcess } from './start-process.ts'

const ALL = MIGRATIONS.map(({ number, name }) => ({ number, name }))

test('an empty database takes every step, in order, remembers when, and takes none twice', async () => {
  const { address } = await newPostgresDatabase()
  expect(await postgresMigrationStatus(address)).toMatchObject({ applied: [], pending: ALL })
  expect(await migratePostgres(address, NOW)).toMatchObject(ALL)
  expect(await postgresMigrationStatus(address)).toEqual({
    applied: ALL.map((each) => ({ ...each, applied_at: NOW })),
    pending: [],
  })
  expect(await migratePostgres(address, NOW + 1)).toEqual([])
  await (await openPostgresStore(address)).close()
})

test('the steps are SQLite’s, number by number', () => {
  expect(ALL).toEqual(ON_SQLITE.map(({ number, name }) => ({ number, name })))
})

test('both engines have the same tables with the same columns', async () => {
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
  const onPostgres = rows
    .map(({ name }) => String(name))
    .filter((name) => !name.startsWith('migrations.') && name !== 'revision.id')
  expect(onPostgres.sort()).toEqual(names.filter((name) => !name.startsWith('sqlite_')).sort())
})

test('a database that was not migrated is refused with a line that says what to run, and stays as it is', async () => {
  const { address, sql } = await newPostgresDatabase()
  await expect(openPostgresStore(address)).rejects.toBeInstanceOf(SchemaMismatch)
  await expect(openPostgresStore(address)).rejects.toThrow(/^The database is not up to date\. Run: grantor migrate$/)
  expect(await sql.unsafe(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toHaveLength(0)
})

test('a database made by a newer version is refused, by opening and by migrating, and left as it is', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  await sql.unsafe(`INSERT INTO migrations VALUES (${MIGRATIONS.length + 1}, 'of tomorrow', ${NOW})`)
  const line = 'The database was made by a newer version of grantor than this one. Use that version.'
  await expect(openPostgresStore(address)).rejects.toThrow(line)
  await expect(migratePostgres(address, NOW)).rejects.toThrow(line)
  expect((await postgresMigrationStatus(address)).applied).toHaveLength(MIGRATIONS.length + 1)
})

test('steps are taken all or none: where one fails the database is as before', async () => {
  const { address, sql } = await newPostgresDatabase()
  await sql.unsafe('CREATE TABLE keys (mine text)')
  await expect(migratePostgres(address, NOW)).rejects.toThrow('relation "keys" already exists')
  const tables = await sql.unsafe(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
  expect(tables.map(({ tablename }) => String(tablename))).toEqual(['keys'])
})

test('of several that migrate at once one takes the steps; the others find them taken', async () => {
  const { address } = await newPostgresDatabase()
  const taken = await Promise.all(Array.from({ length: 8 }, () => migratePostgres(address, NOW)))
  expect(taken.map((steps) => steps.length).sort((one, other) => one - other)).toEqual([0, 0, 0, 0, 0, 0, 0, MIGRATIONS.length])
})

test('the same from several processes', { timeout: 60_000 }, async () => {
  const { address, url } = await newPostgresDatabase()
  const processes = await Promise.all([1, 2, 3].map(() => startStoreProcess('migrate', url)))
  for (const each of processes) each.goOn()
  const taken = await Promise.all(processes.map((each) => each.line()))
  expect(taken.map(Number).sort((one, other) => one - other)).toEqual([0, 0, MIGRATIONS.length])
  expect((await postgresMigrationStatus(address)).pending).toEqual([])
})

test('a server that is not there is StoreUnavailable, in words without the password', async () => {
  const { address } = await newPostgresDatabase()
  const nowhere = { ...address, servers: [{ host: '127.0.0.1', port: 1 }] }
  const error: unknown = await migratePostgres(nowhere, NOW).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StoreUnavailable)
  expect(`${(error as Error).stack} ${JSON.stringify(error)}`).not.toContain(address.password)
})
