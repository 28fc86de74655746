/** Migration of databases on Citus, with and without distributed tables. */

import { expect, onTestFinished } from 'vitest'
import { loadPlacement } from '../../src/app/compose/database.ts'
import { StoreUnavailable } from '../../src/domain/model/store-errors.ts'
import { DISTRIBUTED, ON_COORDINATOR } from '../../src/store/citus/distribution.ts'
import { pack } from '../../src/store/packed.ts'
import type { PostgresAddress } from '../../src/store/postgres/index.ts'
import { tablesWithoutRights } from '../../src/store/postgres/inspect.ts'
import { MIGRATIONS, type Migration } from '../../src/store/postgres/migrations.ts'
import { run } from '../app/run.ts'
import { someApproval } from '../store/contract/approvals.ts'
import { drawOf, limitedGrant } from '../store/contract/draws.ts'
import { NOW, rotationOf } from '../store/contract/subject.ts'
import { fillOf, packed } from '../support/fill.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { connect } from '../support/sql.ts'
import { type Cluster, startCluster, using } from './cluster.ts'

const test = base.extend(
  'cluster',
  FILE,
  started(
    () => startCluster(2),
    (cluster) => cluster.close(),
  ),
)

const ROWS = 200

// Each table takes some seconds, more on a busy machine.
const PATIENCE = { timeout: 300_000 }

test('A plain database is distributed with its rows, by a role without special rights', PATIENCE, async ({ cluster }) => {
  const database = await plainDatabase(cluster)
  const role = `role_of_${database.name}`
  const create = `CREATE ROLE ${role} LOGIN PASSWORD '${database.address.password}'; ALTER DATABASE ${database.name} OWNER TO ${role}`
  for (const { urlOf } of [cluster.coordinator, ...cluster.workers]) await using(urlOf('postgres'), (sql) => sql.unsafe(create))
  await database.sql.unsafe(`
    DO $$ BEGIN EXECUTE (SELECT string_agg(format('ALTER TABLE %I OWNER TO ${role};', relname), '') FROM pg_class
                         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace); END $$`)
  const reported: string[] = []
  await migratePostgres({ ...database.address, user: role }, NOW, (line) => reported.push(line))
  expect(reported[0], 'the connections of other roles are noticed').toMatch(/^Waiting 10 seconds/)
  await expectEverything(cluster, database)
})

test('The command migrate warns about servers of other versions before tables are distributed, also if no step is pending', async ({
  cluster,
}) => {
  const database = await plainDatabase(cluster)
  const status = () => run(['migrate', '--status'], { GRANTOR_DATABASE_URL: database.url })
  expect(await status()).toMatchObject({ exit: 0, err: '' })
  const sql = connect(database.url, 'grantor 0.0.9')
  onTestFinished(() => sql.end())
  await sql`SELECT 1`
  const { exit, err } = await status()
  expect(exit).toBe(0)
  expect(err).toMatch(
    /^Warning: the database is in use by grantor 0\.0\.9 at \S+\. Stop these servers before the tables are distributed/,
  )
})

test(
  'A distribution that was interrupted leaves every row, and the next migration completes it',
  PATIENCE,
  async ({ cluster }) => {
    const database = await plainDatabase(cluster)
    const interrupted = migratePostgres(database.address, NOW).catch((error: unknown) => error)
    const interrupt = () =>
      database.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE state = 'active' AND query LIKE 'SELECT create_distributed_table_concurrently(''sessions''%'`
    await expect.poll(interrupt, { timeout: 60_000 }).toHaveLength(1)
    expect(await interrupted).toBeInstanceOf(StoreUnavailable)
    expect(await database.sql`SELECT count(*)::integer AS rows FROM sessions`).toEqual([{ rows: ROWS }])
    await migratePostgres(database.address, NOW)
    await expectEverything(cluster, database)
  },
)

test('A step that alters distributed tables changes all their shards and keeps the rows', async ({ cluster }) => {
  const database = await distributedDatabase(cluster)
  addStep(['grants', 'wallets', 'clients'])
  expect(await migratePostgres(database.address, NOW)).toHaveLength(1)
  expect(await database.sql`SELECT DISTINCT added FROM grants`).toEqual([{ added: 'yes' }])
  await expectEverything(cluster, database)
})

test('On a database that is distributed already, the steps that add the approvals and the draws distribute them beside their grants', async ({
  cluster,
}) => {
  const database = await distributedDatabase(cluster)
  for (const statement of [
    'DROP TABLE approvals, nodes, draws',
    "DELETE FROM lists WHERE name = 'incidents'",
    'ALTER TABLE grants DROP COLUMN signed_limit, DROP COLUMN drawn_from, DROP COLUMN drawn_amount, DROP COLUMN drawn_uses, DROP COLUMN draw_count',
    'DELETE FROM migrations WHERE number >= 27',
  ])
    await database.sql.unsafe(statement)
  const steps = await migratePostgres(database.address, NOW)
  expect(steps.map(({ number }) => number)).toEqual([27, 28, 29])
  expect(
    await database.sql`SELECT DISTINCT colocationid FROM pg_dist_partition WHERE logicalrelid::text IN ('grants', 'approvals', 'draws')`,
  ).toHaveLength(1)
  const store = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => store.close())
  for (const grant of await store.grants.listGrants({ clientId: 'c', limit: 8 })) {
    const approval = someApproval(grant)
    const use = { clientId: approval.clientId, attemptId: 'attempt', signedFor: 600, at: NOW }
    expect(await store.approvals.ask(approval, NOW)).not.toBeNull()
    expect(await store.approvals.answer(approval, { receiptId: 'receipt', isLast: false, at: NOW })).toBe('answered')
    expect(await store.approvals.useApproval(approval, use)).toMatchObject({ kind: 'used' })
  }
  await expectEverything(cluster, database)
  for (let made = 0; made < 8; made++) {
    const request = drawOf(await limitedGrant(store))
    expect(await store.draws.draw(request)).toMatchObject({ kind: 'drawn', isAgain: false })
    expect(await store.draws.giveBack(request, { amount: 100, at: NOW })).toMatchObject({ kind: 'returned' })
  }
})

test('While a long read on a worker delays a step, refreshes of the rows there succeed, and the step succeeds after the read', async ({
  cluster,
}) => {
  const database = await distributedDatabase(cluster)
  const store = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => store.close())
  const [grant] = await store.grants.listGrants({ clientId: 'c', limit: 1 })
  const [shard] = await database.sql<{ table: string; port: number }[]>`
    SELECT shard_name AS table, nodeport AS port FROM citus_shards
    WHERE shardid = get_shard_id_for_distribution_column('grants', ${pack(grant?.id ?? '')}::bytea)`
  const worker = cluster.workers.find(({ port }) => port === shard?.port) as PostgresServer
  addStep(['grants'])
  await using(worker.urlOf(database.name), async (reader) => {
    await reader.unsafe(`BEGIN; SELECT count(*) FROM ${shard?.table}`)
    const migrated = migratePostgres(database.address, NOW)
    const waits = () => using(worker.urlOf(database.name), (sql) => sql`SELECT FROM pg_locks WHERE NOT granted`)
    await expect.poll(waits).not.toEqual([])
    for (let generation = 0; generation < 5; generation++)
      expect((await store.grants.rotateRefreshToken(rotationOf(grant as never, generation))).kind).toBe('rotated')
    await reader`COMMIT`
    expect(await migrated).toHaveLength(1)
  })
})

test('A step builds an index on every shard while a node refreshes. An attempt that is interrupted is repeated by the next migration', {
  timeout: 60_000,
}, async ({ cluster }) => {
  const database = await distributedDatabase(cluster)
  const store = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => store.close())
  const [grant] = await store.grants.listGrants({ clientId: 'c', limit: 1 })
  const worker = cluster.workers[0] as PostgresServer
  addStep([], { name: 'grants_by_test', on: 'grants (created_at, id)' })
  const onShards = async () => {
    const rows = await database.sql<{ result: string }[]>`
      SELECT result FROM run_command_on_shards('grants', $$
        SELECT count(*) FILTER (WHERE indisvalid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = '%s'::regclass AND relname LIKE 'grants_by_test%%' $$)`
    return new Set(rows.map(({ result }) => result))
  }
  await using(worker.urlOf(database.name), async (reader) => {
    await reader.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class')
    const interrupted = migratePostgres(database.address, NOW).catch((error: unknown) => error)
    const waits = () =>
      using(worker.urlOf(database.name), (sql) => sql`SELECT FROM pg_stat_activity WHERE wait_event = 'virtualxid'`)
    await expect.poll(waits, { timeout: 20_000 }).not.toEqual([])
    for (let generation = 0; generation < 5; generation++)
      expect((await store.grants.rotateRefreshToken(rotationOf(grant as never, generation))).kind).toBe('rotated')
    await database.sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY grants_by_test%'`
    expect(await interrupted).toBeInstanceOf(StoreUnavailable)
    await reader`COMMIT`
  })
  const migrated = () => migratePostgres(database.address, NOW).then(({ length }) => length, String)
  await expect.poll(migrated, { timeout: 20_000 }).toBe(1)
  expect(await onShards()).toEqual(new Set(['1']))
  await expectEverything(cluster, database)
})

test('A database that is up to date is not changed by a migration', async ({ cluster }) => {
  const database = await distributedDatabase(cluster)
  const places = await placesOf(database)
  expect(await migratePostgres(database.address, NOW)).toEqual([])
  expect(await placesOf(database)).toEqual(places)
})

test('Several programs that migrate at once distribute each table once', async ({ cluster }) => {
  const database = await cluster.newDatabase()
  onTestFinished(() => database.drop())
  await Promise.all(Array.from({ length: 5 }, () => migratePostgres(database.address, NOW)))
  expect((await placesOf(database)).map(({ table }) => table)).toEqual([...ON_COORDINATOR, ...Object.keys(DISTRIBUTED)].sort())
})

test('The check of rights reads a distributed database', async ({ cluster }) => {
  const database = await cluster.newDatabase()
  onTestFinished(() => database.drop())
  await migratePostgres(database.address, NOW)
  expect(await tablesWithoutRights(database.address, loadPlacement)).toEqual([])
})

/** Adds a step of tomorrow's version, which adds a column to each table. */
function addStep(tables: readonly string[], index?: Migration['index']): void {
  const steps = MIGRATIONS as Migration[]
  const last = steps.at(-1)?.number ?? 0
  const sql = tables.map((table) => `ALTER TABLE ${table} ADD COLUMN added text NOT NULL DEFAULT 'yes';`).join('\n')
  steps.push({ number: last + 1, name: 'of tomorrow', oldest: last, sql, ...(index && { index }) })
  onTestFinished(() => void steps.pop())
}

/** A database whose tables are not distributed, with rows in them. */
async function plainDatabase(cluster: Cluster): Promise<PostgresDatabase> {
  const database = await cluster.newDatabase()
  onTestFinished(() => database.drop())
  const { sql } = database
  await sql.unsafe(
    'CREATE TABLE migrations (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL, oldest bigint)',
  )
  for (const { number, name, oldest, sql: step } of MIGRATIONS) {
    await sql.unsafe(step)
    await sql`INSERT INTO migrations VALUES (${number}, ${name}, ${NOW}, ${oldest})`
  }
  await fill(database)
  return database
}

async function distributedDatabase(cluster: Cluster): Promise<PostgresDatabase> {
  const database = await cluster.newDatabase()
  onTestFinished(() => database.drop())
  await migratePostgres(database.address, NOW)
  await fill(database)
  return database
}

async function fill({ sql }: PostgresDatabase): Promise<void> {
  const later = { expires_at: `${NOW} + 9000` }
  const grants = fillOf('grants', ROWS, {
    ...later,
    client_id: packed("'c'"),
    refresh_expires_at: `${NOW} + 8000`,
    scopes: "'enhancement'",
  })
  await sql.unsafe(`${grants}; ${fillOf('wallets', ROWS)}; ${fillOf('sessions', ROWS, later)};
    UPDATE revision SET number = 7`)
}

async function expectEverything(cluster: Cluster, database: PostgresDatabase): Promise<void> {
  const places = await placesOf(database)
  expect(places.map(({ table }) => table)).toEqual([...ON_COORDINATOR, ...Object.keys(DISTRIBUTED)].sort())
  for (const { table, machines } of places) expect(machines, `of ${table}`).toBe(table in DISTRIBUTED ? 2 : 1)
  const { sql } = database
  for (const table of ['grants', 'wallets', 'sessions'])
    expect(await sql.unsafe(`SELECT count(*)::integer AS rows FROM ${table}`), `of ${table}`).toEqual([{ rows: ROWS }])
  // No row is left in the coordinator's own table, where no statement would find the row.
  await sql.unsafe(`SET citus.override_table_visibility = off`)
  for (const table of Object.keys(DISTRIBUTED))
    expect(await sql.unsafe(`SELECT pg_relation_size('public.${table}') AS bytes`), `of ${table}`).toEqual([{ bytes: 0 }])
  await expectUsable(database.address)
  // A connection to a worker reads the same rows.
  await expectUsable({ ...database.address, servers: [{ host: '127.0.0.1', port: cluster.workers[0]?.port ?? 0 }] })
}

async function expectUsable(address: PostgresAddress): Promise<void> {
  const store = await openPostgresStore(address, { clock: 'given' })
  onTestFinished(() => store.close())
  expect(await store.readRevision()).toBe(7)
  const [grant] = await store.grants.listGrants({ clientId: 'c', limit: 1 })
  expect((await store.grants.rotateRefreshToken(rotationOf(grant as never, grant?.generation ?? 0))).kind).toBe('rotated')
  await store.checkWritable()
}

async function placesOf({ sql }: PostgresDatabase): Promise<{ table: string; machines: number }[]> {
  const rows = await sql<{ table: string; machines: number }[]>`
    SELECT table_name::text AS table, count(DISTINCT nodeport)::integer AS machines FROM citus_shards GROUP BY 1 ORDER BY 1`
  return [...rows]
}
