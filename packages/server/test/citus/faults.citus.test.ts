/** One worker of the cluster is dead or does not respond. Requests for its rows wait. Requests for all other rows are served. */

import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { NewGrant } from '../../src/domain/model/request-store.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { createMachineWatch } from '../../src/observability/log/machine-watch.ts'
import { createMetrics } from '../../src/observability/metrics/metrics.ts'
import { Machines, READ_SHARDS, type Shard } from '../../src/store/citus/machines.ts'
import type { OpenedStore } from '../../src/store/cluster-health.ts'
import { pack } from '../../src/store/packed.ts'
import { livingGrant, NOW, rotationOf } from '../store/contract/subject.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
let store: OpenedStore
beforeAll(async () => {
  cluster = await startCluster()
  database = await cluster.newDatabase()
  await migratePostgres(database.address, NOW)
})
afterAll(() => cluster.close())
beforeEach(async () => {
  store = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => store.close())
})

/** Reads the port of the worker that holds a grant from the tables of Citus. */
async function portOf(grantId: string): Promise<number> {
  const [row] = await database.sql<{ port: number }[]>`
    SELECT nodeport AS port FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
    WHERE shardid = get_shard_id_for_distribution_column('grants', ${pack(grantId)}::bytea)`
  return row?.port ?? 0
}

/** Creates grants whose rows are on the worker at `port`, and grants whose rows are elsewhere. */
async function grantsByWorker(port: number, count: number): Promise<{ there: NewGrant[]; elsewhere: NewGrant[] }> {
  const [there, elsewhere]: [NewGrant[], NewGrant[]] = [[], []]
  while (there.length < count || elsewhere.length < count) {
    const grant = await livingGrant(store)
    const list = (await portOf(grant.id)) === port ? there : elsewhere
    if (list.length < count) list.push(grant)
  }
  return { there, elsewhere }
}

/** Refreshes each of these grants repeatedly until `signal`. Returns the numbers of successful and of failed refreshes. */
async function refreshUntil(
  grants: readonly NewGrant[],
  signal: AbortSignal,
  store: Store,
): Promise<{ answered: number; refused: number }> {
  const counts = { answered: 0, refused: 0 }
  const chain = async (grant: NewGrant): Promise<void> => {
    for (let generation = (await store.grants.readGrant(grant.id).catch(() => null))?.generation ?? 0; !signal.aborted; ) {
      try {
        const { kind } = await store.grants.rotateRefreshToken(rotationOf(grant, generation))
        if (kind === 'rotated') generation++
        counts.answered++
      } catch {
        counts.refused++
      }
      // With a pause the rate depends on how long requests wait, and not on how fast the machine is.
      await pause(10)
    }
  }
  await Promise.all(grants.map(chain))
  return counts
}

/** Refreshes several lists of grants at the same time, each through its node. */
function during(milliseconds: number, ...loads: readonly (readonly [Store, readonly NewGrant[]])[]) {
  const signal = AbortSignal.timeout(milliseconds)
  return Promise.all(loads.map(([node, grants]) => refreshUntil(grants, signal, node)))
}

test('A node finds the machine of a row as Citus does', async () => {
  const shards = await database.sql.unsafe<Shard[]>(READ_SHARDS)
  const machines = new Machines(10)
  machines.update(shards)
  const seen = new Set<number>()
  for (let count = 0; count < 50; count++) {
    const { id } = await livingGrant(store)
    const port = await portOf(id)
    seen.add(port)
    expect(machines.nameOf('grants', id)).toBe(`127.0.0.1:${port}`)
  }
  expect(seen.size).toBe(3)
})

/** Returns a function that runs the task at its first call only. */
function once(task: () => unknown): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= Promise.resolve(task()).then(() => undefined))
}

const GRANTS = 16
type Change = (cluster: Cluster) => unknown
const rateOf = (counts: { answered: number } | undefined): number => counts?.answered ?? 0
const MEASURED_MS = 4000

test.for<[string, Change, Change]>([
  ['dead', (cluster: Cluster) => cluster.workers[0]?.stop('kill'), (cluster: Cluster) => cluster.workers[0]?.start()],
  ['silent', (cluster: Cluster) => cluster.workers[0]?.freeze(), (cluster: Cluster) => cluster.workers[0]?.thaw()],
])(
  'While one worker is %s, grants on the others keep at least 80 percent of their rate, and afterwards all are served again',
  { timeout: 120_000 },
  async ([, disable, repair], { annotate }) => {
    const { there, elsewhere } = await grantsByWorker(cluster.workers[0]?.port ?? 0, 2 * GRANTS)
    // The second node gets no request for the failed worker. Both nodes run at the same time, so other load affects both equally.
    const undisturbed = await openPostgresStore(database.address, { clock: 'given' })
    onTestFinished(() => undisturbed.close())
    const loads = [
      [store, there.slice(GRANTS)],
      [store, elsewhere.slice(GRANTS)],
      [undisturbed, elsewhere.slice(0, GRANTS)],
    ] as const
    await during(1500, ...loads)
    await disable(cluster)
    const repairOnce = once(() => repair(cluster))
    onTestFinished(repairOnce)
    // Until the node has noticed that the worker does not respond, statements for the worker occupy their share of the pool.
    const [, first, firstUndisturbed] = await during(MEASURED_MS, ...loads)
    const [lost, after, afterUndisturbed] = await during(MEASURED_MS, ...loads)
    await expect(store.checkWritable()).resolves.toBeUndefined()
    const name = `127.0.0.1:${cluster.workers[0]?.port}`
    expect(store.placement().machinesAway).toEqual([name])
    const lines: unknown[] = []
    const logger = { warn: (...line: unknown[]) => void lines.push(line), info: (...line: unknown[]) => void lines.push(line) }
    const metrics = createMetrics()
    const watch = createMachineWatch({ machines: store.placement, logger: logger as never, metrics })
    await watch()
    await watch()
    expect(lines).toEqual([[{ machine: name }, 'a machine of the database does not answer']])
    expect(await metrics.render()).toContain(`grantor_database_machines_away{machine="${name}"} 1`)
    await repairOnce()
    await expect.poll(async () => (await during(500, [store, there]))[0]?.answered).toBeGreaterThan(0)
    await expect.poll(() => store.placement().machinesAway).toEqual([])
    await watch()
    expect(lines.slice(1)).toEqual([[{ machine: name }, 'a machine of the database answers again']])
    expect(await metrics.render()).not.toContain('grantor_database_machines_away{')
    const shares = [rateOf(first) / rateOf(firstUndisturbed), rateOf(after) / rateOf(afterUndisturbed)]
    await annotate(`healthy grants, share of their rate: ${shares.map((share) => share.toFixed(2)).join(', then ')}`)
    expect(after?.refused).toBe(0)
    for (const share of shares) expect(share).toBeGreaterThan(0.8)
    expect(lost?.refused).toBeGreaterThan(0)
  },
)

test('A worker that does not respond does not make a node unready', async () => {
  await cluster.workers[1]?.stop('kill')
  onTestFinished(() => cluster.workers[1]?.start())
  for (let count = 0; count < 20; count++) {
    await store.checkWritable()
    await store.readRevision()
  }
})

test('Nodes reconnect to a coordinator that was killed, and report only lost connections meanwhile', async () => {
  const { elsewhere } = await grantsByWorker(cluster.workers[0]?.port ?? 0, GRANTS)
  const failures = new Set<string>()
  const signal = AbortSignal.timeout(6000)
  const readers = elsewhere.map(async ({ id }) => {
    while (!signal.aborted) await store.grants.readGrant(id).catch((error: Error) => failures.add(error.name))
  })
  await pause(500)
  await cluster.coordinator.stop('kill')
  await pause(300)
  await cluster.coordinator.start()
  await Promise.all(readers)
  expect([...failures].filter((name) => name !== 'StoreUnavailable')).toEqual([])
  expect((await during(1000, [store, elsewhere]))[0]?.answered).toBeGreaterThan(0)
})
