/**
 * Three nodes on a Citus cluster of three workers, under load, while machines fail, connections are cut and shards move. Each run lasts
 * `TEST_CHAOS_SECONDS`, 30 seconds if it is not set: docs/evidence/reliability.md.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, test } from 'vitest'
import { type CuttingProxy, startCuttingProxy } from '../chaos/cutting-proxy.ts'
import { cutConnections, killNode } from '../chaos/faults.ts'
import { prove } from '../chaos/prove.ts'
import type { Fault, Scene } from '../chaos/run.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { type Cluster, startCluster, using } from './cluster.ts'

const seconds = Number(process.env.TEST_CHAOS_SECONDS ?? 30)
/** The longest time for which a statement can run after its node has given up: the time of a frozen worker, and a margin. */
const MAX_FREEZE_MS = 3000
const SETTLING = MAX_FREEZE_MS + 2000

let cluster: Cluster
/** from the nodes to the coordinator, and from the coordinator to the workers */
let proxies: { coordinator: CuttingProxy; workers: CuttingProxy[] }
let database: PostgresDatabase
beforeAll(async () => {
  cluster = await startCluster(3)
  const [coordinator, ...workers] = await Promise.all(
    [cluster.coordinator, ...cluster.workers].map(({ port }) => startCuttingProxy({ port })),
  )
  proxies = { coordinator: coordinator as CuttingProxy, workers }
})
afterAll(async () => {
  await Promise.all([proxies.coordinator, ...proxies.workers].map((proxy) => proxy.close()))
  await cluster.close()
})

const killAndRestart = async (server: PostgresServer, { random, mark }: Scene, what: string): Promise<void> => {
  await server.stop('kill')
  mark(what)
  await pause(random.below(500))
  await server.start()
}

const killWorker: Fault = {
  name: 'kill -9 of a worker',
  inject: (scene) => killAndRestart(scene.random.pick(cluster.workers), scene, 'kill -9 of a worker'),
}

const killCoordinator: Fault = {
  name: 'kill -9 of the coordinator',
  inject: (scene) => killAndRestart(cluster.coordinator, scene, 'kill -9 of the coordinator'),
}

const freezeWorker: Fault = {
  name: 'a worker stopped for up to three seconds',
  async inject({ random, mark }) {
    const worker = random.pick(cluster.workers)
    worker.freeze()
    await pause(500 + random.below(MAX_FREEZE_MS - 500))
    worker.thaw()
    mark('a stopped worker')
  },
}

const cutStatements: Fault = {
  name: 'one to eight connections to PostgreSQL cut',
  async inject({ random }) {
    for (let count = 1 + random.below(8); count > 0; count--) {
      const proxy = random.pick([proxies.coordinator, ...proxies.workers])
      proxy.cutNext(random.pick(['before', 'after']))
      await pause(random.below(30))
    }
  },
}

const moveShard: Fault = {
  name: 'a shard moved',
  async inject({ random }) {
    await using(database.url, async (sql) => {
      const shards = await sql<{ id: number; port: number }[]>`
        SELECT shardid AS id, nodeport AS port FROM citus_shards WHERE table_name = 'grants'::regclass ORDER BY shardid`
      const { id, port } = random.pick([...shards])
      const to = random.pick(proxies.workers.map((proxy) => proxy.port).filter((each) => each !== port))
      const mode = random.pick(['force_logical', 'block_writes'])
      await sql`SELECT citus_move_shard_placement(${id}::bigint, '127.0.0.1', ${port}, '127.0.0.1', ${to}, ${mode}::citus.shard_transfer_mode)`
    })
  },
}

test.for<[string, Fault[]]>([
  ['Citus, races', []],
  ['Citus, crashes of workers', [killWorker, killWorker, killNode, cutConnections]],
  ['Citus, crashes of the coordinator', [killCoordinator]],
  ['Citus, frozen workers', [freezeWorker]],
  ['Citus, statements cut', [cutStatements]],
  ['Citus, shards moved', [moveShard, moveShard, killNode]],
])('Load and failures on Citus: %s', { timeout: (seconds + 120) * 1000 }, async ([name, faults], { annotate }) => {
  database = await cluster.newDatabase({ ports: proxies.workers.map(({ port }) => port) })
  const databaseUrl = database.url.replace(`:${cluster.coordinator.port}/`, `:${proxies.coordinator.port}/`)
  await prove({ name, nodes: 3, databaseUrl, faults, settling: SETTLING }, annotate)
  await database.drop()
})
