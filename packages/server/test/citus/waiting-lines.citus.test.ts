/** Sign-ins while the coordinator of the cluster is away: their audit lines wait on the other machines, and come into the chain once. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { lineOf, newEntry } from '../../src/domain/audit/entry.ts'
import { verifyStore } from '../../src/domain/audit/verify-store.ts'
import { WaitingBatches } from '../../src/domain/audit/waiting-batches.ts'
import type { WaitingBatchStore } from '../../src/domain/model/audit-store.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { BESIDE, DISTRIBUTED } from '../../src/store/citus/distribution.ts'
import type { OpenedStore } from '../../src/store/cluster-health.ts'
import { run } from '../app/run.ts'
import { NOW } from '../store/contract/subject.ts'
import { type App, startApp } from '../support/app.ts'
import { addressOf, type PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import { endEverything, signedClient } from '../support/signed-app.ts'
import { TEST_SECRET } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { killCoordinator, untilDirect } from './coordinator-killed.ts'

let cluster: Cluster
let database: PostgresDatabase
let app: App
beforeAll(async () => {
  cluster = await startCluster(2)
  database = await cluster.newDatabase()
  await migratePostgres(database.address, NOW)
  app = await startApp({ postgres: addressOf(database.url) })
})
afterAll(async () => {
  await app.close()
  await cluster.close()
})

const waitingOf = (store: OpenedStore) => store.placement().waitingBatches as WaitingBatchStore

/** The ids of the audit lines that the log names, since an earlier number of events. */
const loggedIds = (since: number, { grantor } = app) => grantor.events.slice(since).flatMap(({ audit_id: id }) => id ?? [])

/** The ids of all lines of the chain, which must be unbroken. */
async function chainIds({ audit }: Store): Promise<string[]> {
  expect(await verifyStore(audit, { findKey: () => undefined })).toMatchObject({ fault: null })
  return (await audit.readLines({ after: 0, limit: 10_000 })).map(({ line }) => (JSON.parse(line) as { id: string }).id)
}

test('While the coordinator is killed, users sign in, sign consents and end everything, and each of their audit lines is durable before the response and in the chain once afterwards', {
  timeout: 120_000,
}, async () => {
  const { grantor } = app
  const signed = await signedClient(grantor)
  await new Walk(grantor).signIn(requestOf(signed))
  await untilDirect(app)
  const since = grantor.events.length
  const restart = await killCoordinator(cluster)
  for (const client of [app.client, signed]) {
    const walk = new Walk(grantor, testWallet(1))
    const { code } = await walk.signIn(requestOf(client))
    expect((await walk.exchange(client, code)).status).toBe(200)
    const again = await walk.authorize(requestOf(client))
    expect([again.status, again.location.includes('code=')]).toEqual([302, true])
    expect(await waitingOf(grantor.store).countLines()).toBe(loggedIds(since).length)
  }
  expect((await endEverything(new Walk(grantor, testWallet(1)))).status).toBe(200)
  const ids = loggedIds(since)
  expect(await waitingOf(grantor.store).countLines()).toBe(ids.length)
  expect(ids.length).toBeGreaterThanOrEqual(6)
  await restart()
  await expect.poll(() => grantor.moveWaiting().then(() => 'moved', String), { timeout: 20_000 }).toBe('moved')
  const stored = await chainIds(grantor.store)
  expect(stored.filter((id) => ids.includes(id)).sort()).toEqual(ids.sort())
  expect(await waitingOf(grantor.store).countLines()).toBe(0)
  await new Walk(grantor).signIn(requestOf(app.client))
})

test('Lines of a node that was killed while they waited are moved into the chain by another node within a minute', async () => {
  const { grantor } = app
  await untilDirect(app)
  const node = await openPostgresStore(addressOf(database.url))
  onTestFinished(() => node.close())
  const batches = new WaitingBatches(waitingOf(node))
  const entries = Array.from({ length: 3 }, () => newEntry({ at: NOW, event: 'session_started' }))
  for (const [index, entry] of entries.entries())
    await batches.add({ writer: `killed-${index}`, number: 1, at: NOW, lines: [lineOf(entry)] })
  await node.close()
  grantor.clock.advance(60)
  await grantor.moveWaiting()
  const ids = entries.map(({ id }) => id)
  expect((await chainIds(grantor.store)).filter((id) => ids.includes(id))).toEqual(ids)
  expect(await waitingOf(grantor.store).countLines()).toBe(0)
})

test('Lines that wait on a worker survive the end of the worker', { timeout: 60_000 }, async () => {
  const { grantor } = app
  await untilDirect(app)
  const batches = Array.from({ length: 8 }, () => new WaitingBatches(waitingOf(grantor.store)))
  const entries = batches.map(() => newEntry({ at: NOW, event: 'session_started' }))
  for (const [index, each] of batches.entries())
    await each.add({ writer: `on-a-worker-${index}`, number: 1, at: NOW, lines: [lineOf(entries[index] as never)] })
  for (const worker of cluster.workers) {
    await worker.stop('kill')
    // The processes of a killed server may still hold its memory for a moment.
    await expect.poll(() => worker.start().then(() => 'started', String)).toBe('started')
  }
  grantor.clock.advance(60)
  await expect.poll(() => grantor.moveWaiting().then(() => 'moved', String), { timeout: 20_000 }).toBe('moved')
  const ids = entries.map(({ id }) => id)
  expect((await chainIds(grantor.store)).filter((id) => ids.includes(id)).sort()).toEqual(ids.sort())
})

test('While a worker is away, the chain is checked, and the number of waiting lines is unknown', {
  timeout: 60_000,
}, async () => {
  const env = { GRANTOR_DATABASE_URL: database.url, GRANTOR_SECRET: TEST_SECRET }
  expect(JSON.parse((await run(['audit', 'verify', '--json'], env)).out)).toMatchObject({ unbroken: true, waiting: 0 })
  const [worker] = cluster.workers
  await worker?.stop('kill')
  try {
    expect(JSON.parse((await run(['audit', 'verify', '--json'], env)).out)).toMatchObject({ unbroken: true, waiting: null })
    expect(await run(['audit', 'verify'], env)).toMatchObject({ exit: 0, out: expect.stringContaining('cannot be counted') })
  } finally {
    await worker?.start()
  }
})

test('A node that started before the database was distributed has a place for lines while the coordinator is killed', {
  timeout: 120_000,
}, async () => {
  const plain = await cluster.newDatabase({ joined: false })
  const grown = await startApp({ postgres: addressOf(plain.url) })
  onTestFinished(() => grown.close())
  const { grantor } = grown
  expect(grantor.store.placement().waitingBatches).toBeNull()
  await cluster.join(plain.name)
  // `grantor migrate` would need some seconds for each table (`growth.test.ts`).
  for (const [table, column] of Object.entries(DISTRIBUTED)) {
    const beside = BESIDE[table as keyof typeof DISTRIBUTED] ?? 'none'
    await plain.sql`SELECT create_distributed_table(${table}, ${column}, colocate_with => ${beside})`
  }
  await migratePostgres(plain.address, NOW)
  await grantor.store.readRevision()
  await untilDirect(grown)
  const since = grantor.events.length
  await killCoordinator(cluster)
  await new Walk(grantor, testWallet(1)).signIn(requestOf(grown.client))
  const lines = loggedIds(since, grown).length
  expect(lines).toBeGreaterThanOrEqual(2)
  expect(await waitingOf(grantor.store).countLines()).toBe(lines)
})
