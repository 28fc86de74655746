/** The schema of a SQLite file. Each step is taken once. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { migrateSqlite, openSqliteStore, SchemaMismatch, sqliteMigrationStatus } from '../../../src/store/sqlite/index.ts'
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts'
import { NOW } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'

const LAST = MIGRATIONS.at(-1)?.number ?? 0
const ALL = MIGRATIONS.map(({ number, name, oldest }) => ({ number, name, oldest }))

test('A new SQLite file takes every migration step in order, and records the time', async () => {
  const path = await newSqlitePath()
  const taken = await migrateSqlite(path, NOW)
  expect(taken.map(({ number, name, oldest }) => ({ number, name, oldest }))).toEqual(ALL)
  expect(await sqliteMigrationStatus(path)).toEqual({ applied: ALL.map((each) => ({ ...each, applied_at: NOW })), pending: [] })
  await openSqliteStore(path).close()
})

test('Migration steps are numbered consecutively from 26, after the numbers of versions that were never released', () => {
  expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 26))
})

test('A SQLite file that is up to date takes no migration step, and keeps its data', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  const wallet = '0x0000000000000000000000000000000000000100'
  await store.wallets.raiseEpoch(wallet)
  await store.close()
  expect(await migrateSqlite(path, NOW + 1)).toEqual([])
  const reopened = openSqliteStore(path)
  expect(await reopened.wallets.readEpoch(wallet)).toBe(1)
  await reopened.close()
})

test('A SQLite file from before the first release is refused when it is opened, inspected and migrated, and stays unchanged', async () => {
  const path = await newSqlitePath()
  const database = new DatabaseSync(path)
  database.exec(`CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
                 INSERT INTO migrations VALUES (1, 'ledger', ${NOW}), (2, 'receipts', ${NOW})`)
  expect(() => openSqliteStore(path)).toThrow(SchemaMismatch)
  await expect(sqliteMigrationStatus(path)).rejects.toThrow(SchemaMismatch)
  await expect(migrateSqlite(path, NOW)).rejects.toThrow(SchemaMismatch)
  expect(database.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'migrations' }])
  expect(database.prepare('SELECT number FROM migrations').all()).toEqual([{ number: 1 }, { number: 2 }])
  database.close()
})

test('An empty SQLite file is refused with the command to run, and stays empty', async () => {
  const path = await newSqlitePath()
  expect(() => openSqliteStore(path)).toThrow(SchemaMismatch)
  expect(() => openSqliteStore(path)).toThrow(/^The database is not up to date\. Run: grantor migrate$/)
  expect(await sqliteMigrationStatus(path)).toMatchObject({ applied: [], pending: ALL })
})

test('A SQLite file of a newer, incompatible version is refused when it is opened and migrated, and stays unchanged', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const newer = new DatabaseSync(path)
  newer.exec(`INSERT INTO migrations VALUES (${LAST + 1}, 'of tomorrow', ${NOW}, NULL)`)
  newer.close()
  const line = 'The database was made by a newer version of grantor than this one. Use that version.'
  expect(() => openSqliteStore(path)).toThrow(SchemaMismatch)
  expect(() => openSqliteStore(path)).toThrow(line)
  await expect(migrateSqlite(path, NOW)).rejects.toThrow(SchemaMismatch)
  await expect(migrateSqlite(path, NOW)).rejects.toThrow(line)
  expect((await sqliteMigrationStatus(path)).applied).toHaveLength(MIGRATIONS.length + 1)
})

test('A SQLite file with a newer step that names this version as compatible is opened, and migrating it takes no step', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const newer = new DatabaseSync(path)
  newer.exec(`INSERT INTO migrations VALUES (${LAST + 1}, 'of tomorrow', ${NOW}, ${LAST})`)
  newer.close()
  await openSqliteStore(path).close()
  expect(await migrateSqlite(path, NOW)).toEqual([])
})

test('If one migration step fails on SQLite, none is taken and the file is unchanged', async () => {
  const path = await newSqlitePath()
  const database = new DatabaseSync(path)
  // Conflicts with a table that the first step creates after other tables.
  database.exec('CREATE TABLE keys (mine TEXT)')
  await expect(migrateSqlite(path, NOW)).rejects.toThrow('table keys already exists')
  expect(database.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'keys' }])
  database.close()
})

test('After a SQLite file is migrated and closed, no file is left beside it', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  expect([path, `${path}-wal`, `${path}-shm`].map((file) => existsSync(file))).toEqual([true, false, false])
})
