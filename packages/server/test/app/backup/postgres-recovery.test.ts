/** Recovery of PostgreSQL from a base backup and its write-ahead log, as docs/operating/recover.md describes: `npm run test:backup`. */
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startLoad } from '../../support/acknowledged.ts'
import { type App, startApp } from '../../support/app.ts'
import { machineIn } from '../../support/operations-page.ts'
import { addressOf } from '../../support/postgres.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { giveTo, recoverServer, waitForRow } from '../../support/postgres-standby.ts'
import { hangUp, send } from '../../support/send.ts'
import { connect } from '../../support/sql.ts'
import { type Grantor, startGrantor, TEST_SECRET } from '../../support/start.ts'
import { Walk } from '../../support/walk.ts'
import { run } from '../run.ts'

const REPLICATED = { wal_level: 'replica', max_wal_senders: '10', full_page_writes: 'on' }
// The last refresh of a client may be retried after the recovery, however long the recovery takes.
const PATIENT = { refreshRetryWindow: 3600 }

type Machine = ReturnType<typeof machineIn>

/** A database server and a folder for its backups. The server's user can read the folder. */
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

/** Starts a service on the recovered database, without `migrate --restored`, at the ports of the earlier service. */
async function startAgain({ grantor: { clock, ports } }: App, recovered: PostgresServer): Promise<Grantor> {
  const grantor = await startGrantor({ postgres: addressOf(recovered.urlOf('postgres')), clock, ports, lifetimes: PATIENT })
  onTestFinished(() => grantor.close())
  expect((await send(grantor.authUrl, { path: '/health/ready' })).status).toBe(200)
  return grantor
}

async function closeApp(app: App): Promise<void> {
  hangUp()
  await app.close()
}

/** Starts the receiver of the write-ahead log, and makes commits wait for the receiver. */
async function receive(server: PostgresServer, machine: Machine): Promise<() => Promise<void>> {
  const shell = shellFor(server)
  const receiver = machine.start('wal-receive', shell)
  const exited = new Promise<void>((resolve) => receiver.once('exit', () => resolve()))
  const stop = async () => {
    receiver.kill('SIGINT')
    await exited
  }
  onTestFinished(stop)
  await waitForRow(server, "SELECT 1 FROM pg_stat_replication WHERE application_name = 'grantor_wal' AND state = 'streaming'")
  expect(machine.paste('wal-wait', shell)).toMatchObject({ exit: 0, err: '' })
  await waitForRow(server, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
  return stop
}

test.skipIf(!process.env.TEST_BACKUP)(
  'After PostgreSQL is killed under load and its disk is lost, a base backup and pg_receivewal restore every acknowledged change',
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
    await closeApp(app)
    rmSync(server.folder, { recursive: true })

    const recovered = await recoverServer(server, { machine, folder })
    await load.check(await startAgain(app, recovered))

    // The recovered server can be protected in the same way.
    expect(machine.paste('protect-again')).toMatchObject({ exit: 0, err: '' })
    await receive(recovered, machine)
    expect(machine.paste('base-backup', shellFor(recovered))).toMatchObject({ exit: 0 })
  },
)

test.skipIf(!process.env.TEST_BACKUP)(
  'Without the last WAL segment, a revoked grant is valid again until migrate --restored; with pg_wal of the lost server, no change is lost',
  { timeout: 300_000 },
  async () => {
    const { server, folder, machine } = await newServer({ archive_mode: 'on', archive_timeout: '0' })
    const wal = join(folder, 'var/backups/postgresql/wal')
    mkdirSync(wal, { recursive: true })
    giveTo(server, folder)
    const app = await startOn(server)
    const sql = connect(server.urlOf('postgres'))
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
    await closeApp(app)

    const older = await recoverServer(server, { machine, folder })
    const grantor = await startAgain(app, older)
    const refresh = async () => (await new Walk(grantor).refresh(app.client, early.refresh_token)).status
    expect(await refresh(), 'without migrate --restored the revoked grant is valid again').toBe(200)
    const env = { GRANTOR_DATABASE_URL: older.urlOf('postgres'), GRANTOR_SECRET: TEST_SECRET }
    expect((await run(['migrate', '--restored', '--yes'], env)).exit).toBe(0)
    await grantor.noticeChanges()
    expect(await refresh()).toBe(400)
    hangUp()
    await grantor.close()
    await older.remove()

    const whole = await recoverServer(server, {
      machine,
      folder,
      prepare(data) {
        for (const name of readdirSync(join(server.folder, 'pg_wal')).filter((each) => /^[0-9A-F]{24}$/.test(each)))
          cpSync(join(server.folder, 'pg_wal', name), join(data, 'pg_wal', name))
      },
    })
    const complete = await startAgain(app, whole)
    await load.check(complete)
    expect((await new Walk(complete).refresh(app.client, early.refresh_token)).status).toBe(400)
  },
)
