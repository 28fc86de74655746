/** Appends to the audit trail by nodes that are connected to a worker of the cluster. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { loadPlacement } from '../../src/app/compose/database.ts'
import { ChainWriter } from '../../src/domain/audit/chain.ts'
import { newEntry } from '../../src/domain/audit/entry.ts'
import { verifyStore } from '../../src/domain/audit/verify-store.ts'
import type { Store } from '../../src/domain/model/store.ts'
import type { OpenedStore } from '../../src/store/cluster-health.ts'
import { inspectPlacement, type PostgresAddress } from '../../src/store/postgres/index.ts'
import { NOW } from '../store/contract/subject.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
/** what a node is connected to */
let worker: PostgresAddress
/** where a node arrives that connects to the coordinator; the machines of the cluster always arrive there */
let leadsTo: 'coordinator' | 'another machine' | 'nowhere' = 'coordinator'
let network: Server

beforeAll(async () => {
  cluster = await startCluster(2, { log_statement: "'all'" })
  database = await cluster.newDatabase()
  const [first, second] = cluster.workers.map(({ port }) => port)
  network = createServer((client) => {
    client.once('data', (startup: Buffer) => {
      const to = startup.includes('\0the node\0') ? leadsTo : 'coordinator'
      if (to === 'nowhere') {
        client.destroy()
        return
      }
      const server = connect(to === 'coordinator' ? cluster.coordinator.port : (second ?? 0), '127.0.0.1')
      for (const each of [client, server]) each.on('error', () => undefined)
      server.write(startup)
      client.pipe(server).pipe(client)
    })
  })
  await once(network.listen(0, '127.0.0.1'), 'listening')
  await database.sql.unsafe(`SELECT citus_set_coordinator_host('127.0.0.1', ${(network.address() as AddressInfo).port})`)
  await migratePostgres(database.address, NOW)
  worker = { ...database.address, servers: [{ host: '127.0.0.1', port: first ?? 0 }], applicationName: 'the node' }
})
afterAll(async () => {
  network.close()
  await cluster.close()
})

/** A transaction of several messages that a worker begins at the coordinator, with or without a two-phase commit at its end. */
const TRANSACTION_OF_A_WORKER = /assign_distributed_transaction_id|PREPARE TRANSACTION/

async function openOnWorker(): Promise<OpenedStore> {
  const store = await openPostgresStore(worker)
  onTestFinished(async () => {
    leadsTo = 'coordinator'
    await store.close()
  })
  return store
}

const findCoordinatorProblem = () => inspectPlacement(worker, loadPlacement, (placement) => placement.findCoordinatorProblem())

const append = (store: Store, writer = new ChainWriter(store.audit, () => NOW)) =>
  writer.append([newEntry({ at: NOW, event: 'session_started' })])

test('A node that is connected to a worker appends to the audit trail in one message to the coordinator, without a two-phase commit', async () => {
  const store = await openOnWorker()
  cluster.forgetLog()
  for (let count = 0; count < 5; count++) await append(store)
  expect(cluster.log()).toContain('append_audit_lines')
  expect(cluster.log()).not.toMatch(TRANSACTION_OF_A_WORKER)
  expect(store.placement().coordinatorProblem).toBeNull()
  expect(await findCoordinatorProblem()).toBeNull()
  expect(await verifyStore(store.audit, { findKey: () => undefined })).toMatchObject({ fault: null, lines: 5 })
})

test.for(['nowhere', 'another machine'] as const)(
  'If the address of the coordinator leads a node to %s, the node appends over its worker and reports that, until it reaches the coordinator',
  async (elsewhere) => {
    leadsTo = elsewhere
    const store = await openOnWorker()
    const { seq } = await store.audit.readHead()
    const writer = new ChainWriter(store.audit, () => NOW)
    cluster.forgetLog()
    for (let count = 0; count < 3; count++) await append(store, writer)
    expect(cluster.log(), 'what the second connection avoids').toMatch(TRANSACTION_OF_A_WORKER)
    expect((await store.audit.readHead()).seq).toBe(seq + 3)
    expect(store.placement().coordinatorProblem).toMatch(/^127\.0\.0\.1:\d+/)
    expect(await findCoordinatorProblem()).toMatch(/^127\.0\.0\.1:\d+/)
    leadsTo = 'coordinator'
    const problem = async () => {
      await append(store, writer)
      return store.placement().coordinatorProblem
    }
    await expect.poll(problem, { timeout: 20_000, interval: 500 }).toBeNull()
    expect(await verifyStore(store.audit, { findKey: () => undefined })).toMatchObject({ fault: null })
  },
)

test('If a node loses its connection to the coordinator, each line is stored once, over the worker', async () => {
  const store = await openOnWorker()
  const writer = new ChainWriter(store.audit, () => NOW)
  await append(store, writer)
  const { seq } = await store.audit.readHead()
  leadsTo = 'nowhere'
  await database.sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'the node' AND datname = ${database.name}`
  const entry = newEntry({ at: NOW, event: 'session_started' })
  await expect.poll(() => writer.append([entry]).then(() => 'appended', String), { timeout: 20_000 }).toBe('appended')
  expect((await store.audit.readHead()).seq).toBe(seq + 1)
})
