/** The settings of every machine of a cluster: one that acknowledges before it has stored loses acknowledged changes in a crash. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPostgresStore as openOnOnePrimary } from '../../src/store/postgres/index.ts'
import { runDoctor } from '../app/doctor/installation.ts'
import { run } from '../app/run.ts'
import { NOW, someWallet } from '../store/contract/subject.ts'
import { addressOf, type PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { type Cluster, startCluster, using } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
let worker: PostgresServer
/** the URL of the database for a role without special rights */
let url: string
beforeAll(async () => {
  cluster = await startCluster(2)
  database = await cluster.newDatabase()
  worker = cluster.workers[1] as PostgresServer
  const { password } = new URL(database.url)
  for (const server of [cluster.coordinator, ...cluster.workers])
    await using(server.urlOf(database.name), async (sql) => {
      await sql.unsafe('SET citus.enable_ddl_propagation = off')
      await sql.unsafe(`CREATE ROLE service LOGIN PASSWORD '${password}'`)
      await sql.unsafe(`ALTER DATABASE ${database.name} OWNER TO service`)
    })
  url = database.url.replace('//grantor:', '//service:')
  await migratePostgres(addressOf(url), NOW)
})
afterAll(() => cluster.close())

/** Changes settings of a running server for new connections, until the end of the test. */
async function set(server: PostgresServer, settings: Record<string, string>): Promise<() => Promise<void>> {
  const change = (statements: readonly string[]) =>
    using(server.urlOf('postgres'), async (sql) => {
      for (const statement of [...statements, 'SELECT pg_reload_conf()']) await sql.unsafe(statement)
    })
  const reset = () => change(Object.keys(settings).map((name) => `ALTER SYSTEM RESET ${name}`))
  onTestFinished(reset)
  await change(Object.entries(settings).map(([name, value]) => `ALTER SYSTEM SET ${name} = '${value}'`))
  return reset
}

async function openStore(from: PostgresServer) {
  const store = await openPostgresStore({ ...addressOf(url), servers: [{ host: '127.0.0.1', port: from.port }] })
  onTestFinished(() => store.close())
  return store
}

test('A program that was not given the placement on Citus refuses a database that has the extension', async () => {
  await expect(openOnOnePrimary(addressOf(url))).rejects.toThrow('the database has the extension Citus')
})

test.for<[string, Record<string, string>]>([
  ['fsync is off', { fsync: 'off' }],
  ['synchronous_commit is off', { synchronous_commit: 'off' }],
  ['commits do not wait for its synchronous standby', { synchronous_commit: 'local', synchronous_standby_names: 'one' }],
])('A node refuses to start if %s on a worker, also as a role without special rights', async ([, settings]) => {
  const refused = `the PostgreSQL at 127.0.0.1:${worker.port} acknowledges before it has stored`
  await set(worker, settings)
  await expect.poll(() => openStore(cluster.coordinator).catch((error: Error) => error.message)).toContain(refused)
  await expect(openStore(cluster.workers[0] as PostgresServer)).rejects.toThrow(refused)
})

test('Lists of all shards open no connection for each shard (docs/decisions/0018-citus.md)', async () => {
  // Otherwise Citus opens further connections only for statements that take longer than ten milliseconds.
  await set(cluster.coordinator, { 'citus.executor_slow_start_interval': '0ms' })
  const store = await openStore(cluster.coordinator)
  const list = () => store.grants.listUnendedGrants({ wallet: someWallet(), limit: 10 })
  const sessionsBegun = () =>
    using(worker.urlOf(database.name), async (sql) => {
      await sql`SELECT pg_stat_clear_snapshot()`
      const [row] = await sql<{ sessions: number }[]>`
        SELECT sessions::integer FROM pg_stat_database WHERE datname = ${database.name}`
      return row?.sessions ?? 0
    })
  // The first list opens the connections that are kept.
  await list()
  const before = await sessionsBegun()
  for (let each = 0; each < 20; each++) await list()
  // The node, its checks and this test have a few.
  expect((await sessionsBegun()) - before).toBeLessThan(20)
})

test('A running node stops its work while fsync is off on a worker, and continues afterwards', { timeout: 60_000 }, async () => {
  const store = await openStore(cluster.coordinator)
  const check = () =>
    store.checkWritable().then(
      () => 'writable',
      (error: Error) => error.message,
    )
  expect(await check()).toBe('writable')
  const reset = await set(worker, { fsync: 'off' })
  await expect.poll(check, { timeout: 30_000 }).toContain(`127.0.0.1:${worker.port} acknowledges before it has stored`)
  await reset()
  await expect.poll(check).toBe('writable')
})

test.for(['dead', 'silent'] as const)('A node starts while a worker is %s', async (state) => {
  if (state === 'silent') worker.freeze()
  else await worker.stop('kill')
  onTestFinished(() => (state === 'silent' ? worker.thaw() : worker.start()))
  await (await openStore(cluster.coordinator)).checkWritable()
})

const findings = async (of: 'wrong' | 'warning' = 'wrong') => {
  const settings = {
    GRANTOR_AUTH_URL: 'http://localhost:9',
    GRANTOR_LOGIN_URL: 'http://localhost:7',
    GRANTOR_DATABASE_URL: url,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
  }
  const { findings: all } = await runDoctor(settings)
  return all.filter(({ check, verdict }) => check === 'database' && verdict === of).map(({ found }) => found)
}

test('grantor doctor and grantor audit verify report audit lines that wait for the coordinator', async () => {
  const reported = '3 lines of the audit trail wait for the coordinator of the Citus cluster'
  expect(await findings('warning')).not.toContain(reported)
  await database.sql`INSERT INTO audit_waiting VALUES ('series', 1, 'writer', 1, ${NOW}, 3, '[]', '', '')`
  onTestFinished(async () => void (await database.sql`DELETE FROM audit_waiting`))
  expect(await findings('warning')).toContain(reported)
  const env = { GRANTOR_DATABASE_URL: url, GRANTOR_SECRET: 'correct-horse-battery-staple-4711' }
  const verified = await run(['audit', 'verify', '--json'], env)
  expect([verified.err, JSON.parse(verified.out)]).toMatchObject(['', { unbroken: true, waiting: 3 }])
})

test('grantor doctor checks every machine of a cluster: fsync, full_page_writes, synchronous_commit and standbys', async () => {
  expect(await findings()).toEqual([])
  await set(worker, { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', synchronous_standby_names: 'one' })
  const name = `PostgreSQL at 127.0.0.1:${worker.port}`
  await expect
    .poll(() => findings())
    .toEqual([
      `${name} has fsync off, so a crash loses acknowledged changes`,
      `${name} has full_page_writes off, so a crash can damage pages`,
      `${name} has synchronous_commit off`,
      `${name} waits for a synchronous standby, and no standby is connected`,
    ])
})

test('grantor doctor reports a machine of the cluster that does not answer', async () => {
  await worker.stop('kill')
  onTestFinished(() => worker.start())
  expect(await findings()).toEqual([expect.stringContaining(`PostgreSQL at 127.0.0.1:${worker.port} cannot be used`)])
})
