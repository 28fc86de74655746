/** The commands of docs/operating/citus.md for machines of a Citus cluster: promotion, restore points, and a new worker. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { verifyStore } from '../../src/domain/audit/verify-store.ts'
import { createLogger } from '../../src/observability/log/logger.ts'
import { newFolder, run } from '../app/run.ts'
import { startLoad } from '../support/acknowledged.ts'
import { type App, startApp } from '../support/app.ts'
import { machineIn } from '../support/operations-page.ts'
import { addressOf, type PostgresDatabase } from '../support/postgres.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { FOLLOWED, follow, giveTo, recoverServer, stopFollowing, stopWaiting } from '../support/postgres-standby.ts'
import { hangUp } from '../support/send.ts'
import { type StartOptions, TEST_SECRET } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { type Cluster, startCluster, startMachine, using } from './cluster.ts'
import { untilDirect } from './coordinator-killed.ts'

const BIN = process.env.TEST_CITUS_PG_BIN ?? ''
const page = machineIn(newFolder())

async function newCluster(settings: Record<string, string> = {}): Promise<{ cluster: Cluster; database: PostgresDatabase }> {
  const cluster = await startCluster(2, settings)
  onTestFinished(() => cluster.close())
  return { cluster, database: await cluster.newDatabase({ name: 'grantor' }) }
}

const shellFor = ({ port, urlOf }: PostgresServer): Record<string, string> => {
  const { username, password } = new URL(urlOf('grantor'))
  const path = `${BIN}:${process.env.PATH ?? ''}`
  return { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: username, PGPASSWORD: password, PATH: path }
}

/** Pastes commands of the page in the shell of a machine. */
function paste(mark: string, server: PostgresServer, variables: Record<string, string | number> = {}): void {
  const texts = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, String(value)]))
  expect([mark, page.paste(mark, { ...shellFor(server), ...texts })]).toMatchObject([mark, { exit: 0, err: '' }])
}

/**
 * Announces on the coordinator that a machine has a new address. In Citus 13.2.2 this command can end its own connection, or restart the server. The
 * page says to repeat the command then.
 */
async function move(coordinator: PostgresServer, from: PostgresServer, to: PostgresServer): Promise<void> {
  const host = '127.0.0.1'
  const variables = { OLD_HOST: host, OLD_PORT: `${from.port}`, NEW_HOST: host, NEW_PORT: `${to.port}` }
  const command = () => page.paste('move-machine', { ...shellFor(coordinator), ...variables })
  await expect.poll(command, { timeout: 60_000 }).toMatchObject({ exit: 0, err: '' })
}

/** Resolves when every machine has the addresses of all machines. */
async function waitForMetadata(coordinator: PostgresServer): Promise<void> {
  const read = () =>
    using(coordinator.urlOf('grantor'), (sql) => sql`SELECT bool_and(metadatasynced) AS synced FROM pg_dist_node`)
  await expect.poll(read, { timeout: 60_000 }).toEqual([{ synced: true }])
}

/** Starts the synchronous standby of a machine. */
async function newStandby(primary: PostgresServer): Promise<PostgresServer> {
  const standby = await startMachine()
  onTestFinished(() => standby.remove())
  await standby.stop()
  await follow(primary, standby)
  return standby
}

/** A service with a long window for retries, so that a last refresh whose response was lost may be repeated after the failure. */
async function startService(
  database: PostgresDatabase,
  servers: readonly PostgresServer[],
  options: Pick<StartOptions, 'logger'> = {},
): Promise<App> {
  const postgres = {
    ...addressOf(database.url),
    servers: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    target: 'read-write' as const,
  }
  const app = await startApp({ postgres, lifetimes: { refreshRetryWindow: 3600 }, ...options })
  onTestFinished(() => app.close())
  return app
}

/** Clients change the database until the machine is killed. Every change that was acknowledged must be there afterwards. */
async function killUnderLoad(app: App, machine: PostgresServer) {
  const load = await startLoad(app)
  await load.more(100)
  await machine.stop('kill')
  await load.stop()
  return load
}

const writable = (app: App) =>
  app.grantor.store.checkWritable().then(
    () => true,
    () => false,
  )

/** Whether the node reads rows on all machines: these are likely to be on different ones. */
const readsEveryMachine = (app: App) =>
  Promise.all(Array.from({ length: 16 }, () => app.grantor.store.grants.readGrant(randomUUID()))).then(
    () => true,
    () => false,
  )

test('After a worker was lost and its synchronous standby was promoted, a running node has every acknowledged change', {
  timeout: 180_000,
}, async () => {
  const { cluster, database } = await newCluster(FOLLOWED)
  const worker = cluster.workers[0] as PostgresServer
  const app = await startService(database, [cluster.coordinator])
  const standby = await newStandby(worker)
  const load = await killUnderLoad(app, worker)
  paste('promote-standby', standby)
  await move(cluster.coordinator, worker, standby)
  await expect.poll(() => readsEveryMachine(app), { timeout: 60_000 }).toBe(true)
  await load.check(app.grantor)
  await waitForMetadata(cluster.coordinator)
  const known = await using(
    (cluster.workers[1] as PostgresServer).urlOf('grantor'),
    (sql) => sql`SELECT count(*)::integer AS count FROM pg_dist_node WHERE nodeport = ${standby.port}`,
  )
  expect(known).toEqual([{ count: 1 }])
})

test('After a worker was lost and its asynchronous standby was promoted that lacks changes, the log ends again only what that worker had lost', {
  timeout: 180_000,
}, async () => {
  const { cluster, database } = await newCluster(FOLLOWED)
  const worker = cluster.workers[0] as PostgresServer
  const standby = await newStandby(worker)
  await stopWaiting(worker)
  const began = new Date(Date.now() - 3_600_000).toISOString()
  const lines = [`{"level":"info","time":"${began}","log":"audit","event":"refused","msg":"audit"}\n`]
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  const app = await startService(database, [cluster.coordinator], { logger })
  await untilDirect(app)
  const tokens = await Promise.all(Array.from({ length: 16 }, () => app.freshTokens()))
  const [revoked, kept] = [tokens.slice(0, 8), tokens.slice(8)]
  await stopFollowing(worker, standby)
  for (const { refresh_token: token } of revoked) expect((await app.walk.revoke(app.client, token)).status).toBe(200)
  await worker.stop('kill')
  paste('promote-standby', standby)
  await move(cluster.coordinator, worker, standby)
  await expect.poll(() => readsEveryMachine(app), { timeout: 60_000 }).toBe(true)
  await waitForMetadata(cluster.coordinator)

  const areActive = () => Promise.all(revoked.map(({ access_token: token }) => app.isActive(token)))
  const revived = (await areActive()).filter(Boolean).length
  expect(revived, 'grants of the lost worker').toBeGreaterThan(0)
  expect(revived, 'grants of the other worker').toBeLessThan(revoked.length)
  const file = join(newFolder(), 'service.log')
  writeFileSync(file, lines.join(''))
  const env = { GRANTOR_DATABASE_URL: cluster.coordinator.urlOf('grantor'), GRANTOR_SECRET: TEST_SECRET }
  const compare = (...more: string[]) =>
    run(['migrate', '--restored', '--log', file, '--json', ...more], env, Math.floor(Date.now() / 1000))
  const checked = await compare('--check')
  expect([checked.err, JSON.parse(checked.out)]).toMatchObject(['', { revived: { grants: revived, sessions: 0 }, acts: [] }])
  expect((await compare()).exit).toBe(0)
  expect((await areActive()).filter(Boolean)).toEqual([])
  for (const { refresh_token: token } of kept) expect((await app.walk.refresh(app.client, token)).status).toBe(200)
  expect((await compare('--check')).exit).toBe(0)
})

test('After the coordinator was lost and its synchronous standby was promoted, nodes find it, and it has every acknowledged change', {
  timeout: 180_000,
}, async () => {
  const { cluster, database } = await newCluster(FOLLOWED)
  const { coordinator } = cluster
  const standby = await newStandby(coordinator)
  const app = await startService(database, [coordinator, standby])
  const load = await killUnderLoad(app, coordinator)
  paste('promote-standby', standby)
  await move(standby, coordinator, standby)
  await expect.poll(() => writable(app)).toBe(true)
  await load.check(app.grantor)
  await waitForMetadata(standby)
  // A node that is connected to a worker finds the tables of the new coordinator.
  const other = await startService(database, [cluster.workers[0] as PostgresServer])
  expect(await writable(other)).toBe(true)
})

/** Users who sign in one after the other. A sign-in that is refused is tried again. */
function startSignIns(app: App) {
  const state = { count: 0, stopped: false, done: Promise.resolve() as Promise<unknown> }
  const signIn = async (): Promise<void> => {
    while (!state.stopped) {
      const succeeds = await new Walk(app.grantor, testWallet(1)).signIn(requestOf(app.client)).then(
        () => true,
        () => false,
      )
      if (succeeds) state.count++
      else await pause(50)
    }
  }
  state.done = Promise.all([signIn(), signIn()])
  return {
    async more(count: number) {
      const enough = state.count + count
      await expect.poll(() => state.count, { timeout: 60_000 }).toBeGreaterThanOrEqual(enough)
    },
    async stop() {
      state.stopped = true
      await state.done
    },
  }
}

test('While users sign in and clients refresh, the coordinator is lost and its standby is promoted: sign-ins go on, and every audit line is in the chain once', {
  timeout: 180_000,
}, async () => {
  const { cluster, database } = await newCluster(FOLLOWED)
  const { coordinator } = cluster
  const standby = await newStandby(coordinator)
  const app = await startService(database, [coordinator, standby])
  const { grantor } = app
  await untilDirect(app)
  const load = await startLoad(app)
  const signIns = startSignIns(app)
  await load.more(50)
  await signIns.more(2)
  await coordinator.stop('kill')
  await signIns.more(10)
  await load.more(50)
  paste('promote-standby', standby)
  await move(standby, coordinator, standby)
  await expect.poll(() => writable(app)).toBe(true)
  await signIns.more(5)
  await signIns.stop()
  await load.stop()
  await expect.poll(() => grantor.moveWaiting().then(() => 'moved', String), { timeout: 20_000 }).toBe('moved')
  const logged = grantor.events.flatMap(({ audit_id: id }) => id ?? [])
  const missing = async () => {
    const lines = await grantor.store.audit.readLines({ after: 0, limit: 10_000 })
    const stored = lines.map(({ line }) => (JSON.parse(line) as { id: string }).id)
    expect(new Set(stored).size, 'each line is there once').toBe(stored.length)
    return logged.filter((id) => !stored.includes(id))
  }
  await expect.poll(missing, { timeout: 20_000 }).toEqual([])
  expect(await verifyStore(grantor.store.audit, { findKey: () => undefined })).toMatchObject({ fault: null })
  await load.check(grantor)
})

test('Machines that are recovered to one restore point have every change before this point and none after it', {
  timeout: 240_000,
}, async () => {
  const { cluster, database } = await newCluster({ ...FOLLOWED, archive_mode: 'on' })
  const servers = [cluster.coordinator, ...cluster.workers]
  const machines = await Promise.all(servers.map(archived))
  const app = await startService(database, [cluster.coordinator])
  for (const { server, machine } of machines) expect(machine.paste('base-backup', shellFor(server))).toMatchObject({ exit: 0 })
  const before = await Promise.all(Array.from({ length: 8 }, () => app.freshTokens()))
  paste('restore-point', cluster.coordinator, { RESTORE_POINT: 'grantor_noon' })
  for (let count = 0; count < 4; count++) await app.freshTokens()
  await Promise.all(machines.map(({ flush }) => flush()))
  hangUp()
  await app.close()
  for (const server of servers) await server.stop('kill')

  const recovered = await Promise.all(
    machines.map(({ server, machine, folder }) =>
      recoverServer(server, {
        machine,
        folder,
        prepare: () => expect(machine.paste('recover-to-point', { RESTORE_POINT: 'grantor_noon' })).toMatchObject({ exit: 0 }),
      }),
    ),
  )
  const [coordinator, ...workers] = recovered as [PostgresServer]
  for (const [index, worker] of workers.entries()) await move(coordinator, cluster.workers[index] as PostgresServer, worker)
  await move(coordinator, cluster.coordinator, coordinator)
  await waitForMetadata(coordinator)
  const env = { GRANTOR_DATABASE_URL: coordinator.urlOf('grantor'), GRANTOR_SECRET: TEST_SECRET }
  const restored = await run(['migrate', '--restored', '--yes', '--json'], env)
  expect([restored.err, JSON.parse(restored.out)]).toMatchObject(['', { ended: { grants: before.length, sessions: 1 } }])
})

/** A machine whose log is archived. `flush` resolves when everything is in the archive. */
async function archived(server: PostgresServer) {
  const folder = join(server.machine.home, 'backups')
  const wal = join(folder, 'var/backups/postgresql/wal')
  mkdirSync(join(folder, 'var/lib/postgresql'), { recursive: true })
  mkdirSync(wal, { recursive: true })
  const machine = machineIn(folder)
  giveTo(server, folder)
  await using(server.urlOf('postgres'), async (sql) => {
    await sql.unsafe(`ALTER SYSTEM SET archive_command = 'test ! -f ${wal}/%f && cp %p ${wal}/%f'`)
    await sql`SELECT pg_reload_conf()`
  })
  const flush = async () => {
    const [row] = await using(
      server.urlOf('postgres'),
      (sql) => sql<{ segment: string }[]>`SELECT pg_walfile_name(pg_switch_wal()) AS segment`,
    )
    while (!readdirSync(wal).includes(row?.segment ?? '')) await pause(20)
  }
  return { server, machine, folder, flush }
}

test('A worker that is added gets its share of the rows, and every grant is served afterwards', {
  timeout: 240_000,
}, async () => {
  const { cluster, database } = await newCluster()
  // Citus moves one shard at a time, and takes some seconds for each.
  await database.sql`ALTER DATABASE grantor SET citus.shard_count = 3`
  const app = await startService(database, [cluster.coordinator])
  const grants = await Promise.all(Array.from({ length: 8 }, () => app.freshTokens()))
  const added = await startMachine()
  onTestFinished(() => added.remove())
  await using(added.urlOf('postgres'), (sql) => sql`CREATE DATABASE grantor`)
  await using(added.urlOf('grantor'), (sql) => sql`CREATE EXTENSION citus`)
  const env = { ...shellFor(cluster.coordinator), NEW_HOST: '127.0.0.1', NEW_PORT: String(added.port) }
  expect(page.paste('add-worker', env)).toMatchObject({ exit: 0 })
  const places = await database.sql`
    SELECT nodeport AS port, count(*)::integer AS shards FROM citus_shards WHERE table_name = 'grants'::regclass GROUP BY 1`
  expect(Object.fromEntries(places.map(({ port, shards }) => [String(port), shards]))).toEqual({
    [String(cluster.workers[0]?.port)]: 1,
    [String(cluster.workers[1]?.port)]: 1,
    [String(added.port)]: 1,
  })
  for (const { refresh_token: token } of grants) expect((await app.walk.refresh(app.client, token)).status).toBe(200)
})
