/** The schema of a SQLite file: brought forward once, never guessed. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { migrateSqlite, openSqliteStore, SchemaMismatch, sqliteMigrationStatus } from '../../../src/store/sqlite/index.ts'
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts'
import { NOW, newGrant, rotationOf, someSession } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'

const ALL = MIGRATIONS.map(({ number, name, oldest }) => ({ number, name, oldest }))

test('a new file takes every step, in order, and remembers when', async () => {
  const path = await newSqlitePath()
  const taken = await migrateSqlite(path, NOW)
  expect(taken.map(({ number, name, oldest }) => ({ number, name, oldest }))).toEqual(ALL)
  expect(await sqliteMigrationStatus(path)).toEqual({ applied: ALL.map((each) => ({ ...each, applied_at: NOW })), pending: [] })
  await openSqliteStore(path).close()
})

test('steps are numbered one after the other from 1, each once', () => {
  expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 1))
})

test('a file that is up to date takes no step, and keeps what it holds', async () => {
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
  'a file of step $number takes the steps after it, and keeps its grants and sessions',
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

test('an empty file is refused with a line that says what to run, and stays empty', async () => {
  const path = await newSqlitePath()
  expect(() => openSqliteStore(path)).toThrow(SchemaMismatch)
  expect(() => openSqliteStore(path)).toThrow(/^The database is not up to date\. Run: grantor migrate$/)
  expect(await sqliteMigrationStatus(path)).toMatchObject({ applied: [], pending: ALL })
})

test('a file made by a newer version is refused, by opening and by migrating, and left as it is', async () => {
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

test('a step that only adds leaves the version before at work: it opens the file, and its migrate finds nothing to do', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const newer = new DatabaseSync(path)
  newer.exec(`INSERT INTO migrations VALUES (${MIGRATIONS.length + 1}, 'of tomorrow', ${NOW}, ${MIGRATIONS.length})`)
  newer.close()
  await openSqliteStore(path).close()
  expect(await migrateSqlite(path, NOW)).toEqual([])
})

test('steps are taken all or none: where one fails the file is as before', async () => {
  const path = await newSqlitePath()
  const database = new DatabaseSync(path)
  // In the way of a table the first step makes, after others it makes before.
  database.exec('CREATE TABLE keys (mine TEXT)')
  await expect(migrateSqlite(path, NOW)).rejects.toThrow('table keys already exists')
  expect(database.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'keys' }])
  database.close()
})

test('nothing is left beside the file once it is closed', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  expect([path, `${path}-wal`, `${path}-shm`].map((file) => existsSync(file))).toEqual([true, false, false])
})
