/** A machine of a cluster whose address leads the other machines to it, and not the nodes. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createMachineWatch } from '../../src/observability/log/machine-watch.ts'
import { runDoctor } from '../app/doctor/installation.ts'
import { livingGrant, NOW } from '../store/contract/subject.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
let network: Server
/** whether a node reaches the second worker */
let isReached = false

beforeAll(async () => {
  cluster = await startCluster(2)
  const [first = 0, second = 0] = cluster.workers.map(({ port }) => port)
  network = createServer((client) => {
    client.once('data', (startup: Buffer) => {
      if (startup.includes('\0the node\0') && !isReached) {
        client.destroy()
        return
      }
      const server = connect(second, '127.0.0.1')
      for (const each of [client, server]) each.on('error', () => undefined)
      server.write(startup)
      client.pipe(server).pipe(client)
    })
  })
  await once(network.listen(0, '127.0.0.1'), 'listening')
  database = await cluster.newDatabase({ ports: [first, (network.address() as AddressInfo).port] })
  await migratePostgres(database.address, NOW)
})
afterAll(async () => {
  network.close()
  await cluster.close()
})

test('The log and grantor doctor name a machine that a node does not reach directly, and the log says when it is reached again', {
  timeout: 60_000,
}, async () => {
  const machine = `127.0.0.1:${(network.address() as AddressInfo).port}`
  const store = await openPostgresStore({ ...database.address, applicationName: 'the node' })
  onTestFinished(() => store.close())
  const lines: unknown[][] = []
  const note = (...line: unknown[]) => void lines.push(line)
  const watch = createMachineWatch({ machines: store.placement, logger: { warn: note, info: note } as never, metrics: undefined })
  /** Uses rows of both workers, and then watches. */
  const logged = async () => {
    for (let count = 0; count < 16; count++) await livingGrant(store)
    await watch()
    return lines
  }
  const indirect = 'a machine of the database is not reached directly, so its rows are reached over another machine'
  const reported = [{ machine, problem: expect.any(String) }, indirect]
  await expect.poll(logged, { timeout: 20_000, interval: 500 }).toEqual([reported])
  await logged()
  expect(lines).toHaveLength(1)

  const { findings } = await runDoctor({
    GRANTOR_AUTH_URL: 'http://localhost:9',
    GRANTOR_LOGIN_URL: 'http://localhost:7',
    GRANTOR_DATABASE_URL: `${database.url}?application_name=the%20node`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
  })
  expect(findings.filter(({ verdict, check }) => check === 'database' && verdict === 'warning')).toMatchObject([
    { found: expect.stringContaining(`the machine ${machine} of the Citus cluster is not reached directly from here`) },
  ])

  isReached = true
  await expect
    .poll(logged, { timeout: 20_000, interval: 500 })
    .toEqual([reported, [{ machine }, 'a machine of the database is reached directly again']])
})
