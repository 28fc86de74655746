/** Recovery of PostgreSQL from a base backup and its write-ahead log, as docs/operating/operations.md describes it: `npm run test:backup`. */
import { chownSync, cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { startLoad } from '../../support/acknowledged.ts'
import { type App, startApp } from '../../support/app.ts'
import { freePorts } from '../../support/free-ports.ts'
import { machineIn } from '../../support/operations-page.ts'
import { addressOf } from '../../support/postgres.ts'
import { configure, type PostgresServer, serverIn, startPostgres } from '../../support/postgres-server.ts'
import { hangUp, send } from '../../support/send.ts'
import { type Grantor, startGrantor, TEST_SECRET } from '../../support/start.ts'
import { Walk } from '../../support/walk.ts'
import { run } from '../run.ts'

const REPLICATED = { wal_level: 'replica', max_wal_senders: '10', full_page_writes: 'on' }
// The last refresh of a client may be retried after the recovery, however long the recovery takes.
const PATIENT = { refreshRetryWindow: 3600 }

type Machine = ReturnType<typeof machineIn>

/** A database server, and a machine for its backups that the server's user can read. */
async function newServer(settings: Record<string, string>) {
  const server = await startPostgres({ ...REPLICATED, ...settings })
  onTestFinished(() => server.remove())
  const folder = join(server.machine.home, 'backups')
  mkdirSync(join(folder, 'var/lib/postgresql'), { recursive: true })
  return { server, folder, machine: machineIn(folder) }
}

function shellFor({ port, urlOf }: PostgresServer): Record<string, string> {
  const { username, password } = new URL(urlOf('postgres'))
  return { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: username, PGPASSWORD: password }
}

async function startOn(server: PostgresServer): Promise<App> {
  const app = await startApp({ postgres: addressOf(server.urlOf('postgres')), lifetimes: PATIENT })
  onTestFinished(() => app.close())
  return app
}

/** Runs the commands of the page, which make a data folder, and starts a server on it as the user that PostgreSQL runs as. */
async function recover(lost: PostgresServer, machine: Machine, folder: string, prepare?: (data: string) => void) {
  expect(machine.paste('recover-postgres')).toMatchObject({ exit: 0, err: '' })
  const data = join(folder, 'var/lib/postgresql/grantor')
  prepare?.(data)
  giveTo(lost, folder)
  const [port = 0] = await freePorts(1)
  configure(data, { port })
  const recovered = serverIn(lost.machine, data, port)
  onTestFinished(() => recovered.remove())
  await recovered.start()
  await ask(recovered, 'SELECT 1 WHERE NOT pg_is_in_recovery()')
  return recovered
}

function giveTo({ machine: { identity } }: PostgresServer, folder: string): void {
  const { uid, gid } = identity
  if (uid === undefined || gid === undefined) return
  for (const entry of readdirSync(folder, { recursive: true })) chownSync(join(folder, String(entry)), uid, gid)
  chownSync(folder, uid, gid)
}

/** Repeats a query until it finds a row. */
async function ask(server: PostgresServer, query: string): Promise<void> {
  const sql = postgres(server.urlOf('postgres'), { max: 1, onnotice: () => undefined, fetch_types: false })
  while ((await sql.unsafe(query)).length === 0) await pause(20)
  await sql.end()
}

/** A service on the recovered database, started without `migrate --restored`, in place of the one before. */
async function goOn({ grantor: { clock, ports } }: App, recovered: PostgresServer): Promise<Grantor> {
  const grantor = await startGrantor({ postgres: addressOf(recovered.urlOf('postgres')), clock, ports, lifetimes: PATIENT })
  onTestFinished(() => grantor.close())
  expect((await send(grantor.authUrl, { path: '/health/ready' })).status).toBe(200)
  return grantor
}

async function end(app: App): Promise<void> {
  hangUp()
  await app.close()
}

/** Starts the receiver of the write-ahead log, and lets commits wait for it. */
async function receive(server: PostgresServer, machine: Machine): Promise<() => Promise<void>> {
  const shell = shellFor(server)
  const receiver = machine.start('wal-receive', shell)
  const gone = new Promise<void>((resolve) => receiver.once('exit', () => resolve()))
  const stop = async () => {
    receiver.kill('SIGINT')
    await gone
  }
  onTestFinished(stop)
  await ask(server, "SELECT 1 FROM pg_stat_replication WHERE application_name = 'grantor_wal' AND state = 'streaming'")
  expect(machine.paste('wal-wait', shell)).toMatchObject({ exit: 0, err: '' })
  await ask(server, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
  return stop
}

test.skipIf(!process.env.TEST_BACKUP)(
  'After kill -9 of PostgreSQL under load and the loss of its disk, a recovery from a base backup and pg_receivewal has every acknowledged change, and the service goes on',
  { timeout: 300_000 },
  async () => {
    const { server, folder, machine } = await newServer({})
    const app = await startOn(server)
    const stopReceiver = await receive(server, machine)
    const load = await startLoad(app)
    await load.more(100)
    expect(machine.paste('base-backup', shellFor(server))).toMatchObject({ exit: 0 })
    await load.more(300)
    await server.stop('kill')
    await load.stop()
    await stopReceiver()
    await end(app)
    rmSync(server.folder, { recursive: true })

    const recovered = await recover(server, machine, folder)
    await load.check(await goOn(app, recovered))

    // The recovered server can be protected in the same way.
    expect(machine.paste('protect-again')).toMatchObject({ exit: 0, err: '' })
    await receive(recovered, machine)
    expect(machine.paste('base-backup', shellFor(recovered))).toMatchObject({ exit: 0 })
  },
)

test.skipIf(!process.env.TEST_BACKUP)(
  'A write-ahead log archive without the last segment is an earlier state: migrate --restored ends everything; with pg_wal of the lost server nothing is missing',
  { timeout: 300_000 },
  async () => {
    const { server, folder, machine } = await newServer({ archive_mode: 'on', archive_timeout: '0' })
    const wal = join(folder, 'var/backups/postgresql/wal')
    mkdirSync(wal, { recursive: true })
    giveTo(server, folder)
    const app = await startOn(server)
    const sql = postgres(server.urlOf('postgres'), { max: 1, onnotice: () => undefined, fetch_types: false })
    await sql.unsafe(`ALTER SYSTEM SET archive_command = 'test ! -f ${wal}/%f && cp %p ${wal}/%f'`)
    await sql.unsafe('SELECT pg_reload_conf()')
    expect(machine.paste('base-backup', shellFor(server))).toMatchObject({ exit: 0 })
    const load = await startLoad(app)
    await load.more(100)
    const early = await app.freshTokens()
    const [{ segment } = { segment: '' }] = await sql<{ segment: string }[]>`SELECT pg_walfile_name(pg_switch_wal()) AS segment`
    while (!readdirSync(wal).includes(segment)) await pause(20)
    expect((await app.walk.revoke(app.client, early.refresh_token)).status).toBe(200)
    await load.more(100)
    await sql.end()
    await server.stop('kill')
    await load.stop()
    await end(app)

    const older = await recover(server, machine, folder)
    const grantor = await goOn(app, older)
    const refresh = async () => (await new Walk(grantor).refresh(app.client, early.refresh_token)).status
    expect(await refresh(), 'without migrate --restored the revoked grant is alive again').toBe(200)
    const env = { GRANTOR_DATABASE_URL: older.urlOf('postgres'), GRANTOR_SECRET: TEST_SECRET }
    expect((await run(['migrate', '--restored', '--yes'], env)).exit).toBe(0)
    await grantor.noticeChanges()
    expect(await refresh()).toBe(400)
    hangUp()
    await grantor.close()
    await older.remove()

    const whole = await recover(server, machine, folder, (data) => {
      for (const name of readdirSync(join(server.folder, 'pg_wal')).filter((each) => /^[0-9A-F]{24}$/.test(each)))
        cpSync(join(server.folder, 'pg_wal', name), join(data, 'pg_wal', name))
    })
    const complete = await goOn(app, whole)
    await load.check(complete)
    expect((await new Walk(complete).refresh(app.client, early.refresh_token)).status).toBe(400)
  },
)
