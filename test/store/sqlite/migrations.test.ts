/** The schema of a SQLite file. Each step is taken once. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { migrateSqlite, openSqliteStore, SchemaMismatch, sqliteMigrationStatus } from '../../../src/store/sqlite/index.ts'
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts'
import { NOW, newGrant, rotationOf, someSession } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'

const ALL = MIGRATIONS.map(({ number, name, oldest }) => ({ number, name, oldest }))

test('A new SQLite file takes every migration step in order, and records the time', async () => {
  const path = await newSqlitePath()
  const taken = await migrateSqlite(path, NOW)
  expect(taken.map(({ number, name, oldest }) => ({ number, name, oldest }))).toEqual(ALL)
  expect(await sqliteMigrationStatus(path)).toEqual({ applied: ALL.map((each) => ({ ...each, applied_at: NOW })), pending: [] })
  await openSqliteStore(path).close()
})

test('Migration steps are numbered consecutively from 1', () => {
  expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 1))
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

test.each(MIGRATIONS.slice(0, -1))(
  'A SQLite file of step $number takes the steps after it, and keeps its grants and sessions',
  async ({ number }) => {
    const path = await newSqlitePath()
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT')
    for (const step of MIGRATIONS.slice(0, number)) {
      database.exec(step.sql)
      database.prepare('INSERT INTO migrations VALUES (?, ?, ?)').run(step.number, step.name, NOW)
    }
    const grant = newGrant()
    const { hash } = someSession()
    database
      .prepare(
        `INSERT INTO grants (id, client_id, wallet, scopes, resources, created_at, expires_at, refresh_expires_at, generation,
                           refresh_key_id, rotated_at, attempt_id)
       VALUES (?, ?, ?, '["a"]', '[]', ?, ?, ?, 3, 'aaaaaaaaaa', ?, 'attempt')`,
      )
      .run(grant.id, grant.clientId, grant.wallet, NOW, NOW + 100, NOW + 100, NOW)
    database
      .prepare(
        `INSERT INTO sessions (hash, wallet, chain_id, method, auth_time, last_seen_at, expires_at, attempt_id)
       VALUES (?, ?, 1, 'signature', ?, ?, ?, 'attempt')`,
      )
      .run(hash, grant.wallet, NOW, NOW, NOW + 100)
    database.close()

    expect(() => openSqliteStore(path)).toThrow('grantor migrate')
    expect((await migrateSqlite(path, NOW)).map((step) => step.number)).toEqual(
      MIGRATIONS.slice(number).map((step) => step.number),
    )
    const store = openSqliteStore(path)
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: 3, scopes: ['a'], endedAt: null })
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 3, { clientScopes: ['a'], at: NOW + 1 }))).kind).toBe(
      'rotated',
    )
    expect(await store.sessions.readSession(hash)).toMatchObject({ wallet: grant.wallet, endedAt: null })
    await store.close()
  },
)

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
  newer.exec(`INSERT INTO migrations VALUES (${MIGRATIONS.length + 1}, 'of tomorrow', ${NOW}, NULL)`)
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
  newer.exec(`INSERT INTO migrations VALUES (${MIGRATIONS.length + 1}, 'of tomorrow', ${NOW}, ${MIGRATIONS.length})`)
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
