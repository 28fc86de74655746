/**
 * The database grows while three nodes serve users (docs/decisions/0019-citus-growth-and-outages.md). Each run lasts `TEST_CHAOS_SECONDS`, 30 seconds if
 * it is not set, and longer if the growth needs more time.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DISTRIBUTED } from '../../src/store/citus/distribution.ts'
import { run } from '../app/run.ts'
import { prove } from '../chaos/prove.ts'
import type { Fault, Scene } from '../chaos/run.ts'
import { NOW } from '../store/contract/subject.ts'
import { addressOf, type PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { TEST_SECRET } from '../support/start.ts'
import { type Cluster, startCluster, startMachine, using } from './cluster.ts'

const seconds = Number(process.env.TEST_CHAOS_SECONDS ?? 30)
/** The milliseconds for which a statement can run after its node has given up. */
const SETTLING = 5000
const PATIENCE = { timeout: (seconds + 240) * 1000 }

let cluster: Cluster
let added: PostgresServer
beforeAll(async () => {
  ;[cluster, added] = await Promise.all([startCluster(2), startMachine()])
})
afterAll(() => Promise.all([cluster.close(), added.remove()]))

/** Growth that happens once in a run. The run calls it again until its time is over. */
function once(name: string, inject: (scene: Scene) => Promise<void>): Fault {
  let injected: Promise<void> | null = null
  return { name, inject: (scene) => (injected ??= inject(scene)) }
}

test(
  'A plain database is distributed while nodes that started on it serve requests: every acknowledged change is there, no token forks, and no request fails except with 503',
  PATIENCE,
  async ({ annotate }) => {
    const database = await cluster.newDatabase({ joined: false })
    const grow = once('the tables distributed', async ({ mark, nodes }) => {
      await cluster.join(database.name)
      const env = { GRANTOR_DATABASE_URL: database.url, GRANTOR_SECRET: TEST_SECRET }
      const migrated = await run(['migrate'], env, Math.floor(Date.now() / 1000))
      mark('the distribution')
      expect(migrated).toMatchObject({ exit: 0, out: expect.stringContaining('up to date') })
      expect(migrated.err.match(/^Distributed \w+/gm)).toHaveLength(Object.keys(DISTRIBUTED).length)
      await expectDirect(database, cluster.workers, nodes.length)
    })
    await prove(
      { name: 'Citus, a plain database distributed', nodes: 3, databaseUrl: database.url, faults: [grow], settling: SETTLING },
      annotate,
    )
    await database.drop()
  },
)

test('An operation that began before the node noticed the extension is confirmed on the cluster', async () => {
  const database = await cluster.newDatabase({ joined: false })
  await migratePostgres(addressOf(database.url), NOW)
  const store = await openPostgresStore(addressOf(database.url))
  const confirm = await store.startReading()
  await cluster.join(database.name)
  await store.readRevision()
  await confirm()
  await store.close()
  await database.drop()
})

test(
  'A worker is added and gets its share of the shards while nodes serve requests: every acknowledged change is there, no token forks, no request fails except with 503, and every node uses the new machine directly',
  PATIENCE,
  async ({ annotate }) => {
    const database = await cluster.newDatabase()
    // Citus moves one shard at a time, and takes some seconds for each.
    await database.sql.unsafe(`ALTER DATABASE ${database.name} SET citus.shard_count = 3`)
    await using(added.urlOf('postgres'), (sql) => sql.unsafe(`CREATE DATABASE ${database.name}`))
    await using(added.urlOf(database.name), (sql) => sql.unsafe('CREATE EXTENSION citus'))
    const grow = once('a worker added', async ({ mark, nodes }) => {
      await using(database.url, async (sql) => {
        await sql`SELECT citus_add_node('127.0.0.1', ${added.port})`
        await sql`SELECT citus_rebalance_start()`
        await sql`SELECT citus_rebalance_wait()`
      })
      mark('the rebalancing')
      const shards = await database.sql`
      SELECT table_name::text AS table, count(*)::integer AS shards FROM citus_shards WHERE nodeport = ${added.port} GROUP BY 1`
      expect(Object.fromEntries(shards.map(({ table, shards: count }) => [table, count]))).toMatchObject({
        grants: 1,
        sessions: 1,
      })
      await expectDirect(database, [added], nodes.length)
    })
    await prove(
      { name: 'Citus, a worker added', nodes: 3, databaseUrl: database.url, faults: [grow], settling: SETTLING },
      annotate,
    )
    await database.drop()
  },
)

/** Resolves when each machine has direct connections of every node. Citus names its own connections differently. */
async function expectDirect({ name }: PostgresDatabase, machines: readonly PostgresServer[], nodes: number): Promise<void> {
  for (const machine of machines) {
    const connected = () =>
      using(machine.urlOf(name), async (sql) => {
        const [row] = await sql<{ count: number }[]>`
          SELECT count(*)::integer AS count FROM pg_stat_activity WHERE datname = ${name} AND application_name LIKE 'grantor%'`
        return row?.count
      })
    // A connection for reads and one for changes at least.
    await expect.poll(connected, { timeout: 20_000 }).toBeGreaterThanOrEqual(2 * nodes)
  }
}
