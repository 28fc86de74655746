/** Replication and restore of SQLite with Litestream, as docs/operating/recover.md describes: `TEST_LITESTREAM=… npm run test:backup`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startLoad } from '../../support/acknowledged.ts'
import { type App, startApp } from '../../support/app.ts'
import { machineIn } from '../../support/operations-page.ts'
import { hangUp, send } from '../../support/send.ts'
import { type Grantor, startGrantor, TEST_SECRET } from '../../support/start.ts'
import { newFolder, run } from '../run.ts'

const program = process.env.TEST_LITESTREAM ?? ''
const shell = { PATH: `${dirname(program)}:${process.env.PATH}` }
// The last refresh of a client may be retried after the restore, however long the restore takes.
const PATIENT = { refreshRetryWindow: 3600 }

/** A folder that stands for a machine, with a running service and Litestream's settings. */
async function newMachine() {
  const folder = newFolder()
  const machine = machineIn(folder)
  const settings = join(folder, 'etc/grantor/litestream.yml')
  writeFileSync(settings, machine.settings('litestream'))
  const app = await startApp({ databasePath: machine.databasePath, lifetimes: PATIENT })
  onTestFinished(() => app.close())
  return { folder, machine, settings, app }
}

/** Starts Litestream and resolves when its first snapshot is stored. */
async function replicate(folder: string, settings: string): Promise<ChildProcess> {
  const child = spawn(program, ['replicate', '-config', settings], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const replica = join(folder, 'var/backups/grantor/litestream')
  while (child.exitCode === null && !hasFiles(replica)) await pause(20)
  return child
}

function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder, { recursive: true }).some((name) => String(name).endsWith('.ltx'))
  } catch {
    return false
  }
}

async function stop(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
  const exited = once(child, 'exit') as Promise<[number | null]>
  child.kill(signal)
  return (await exited)[0]
}

async function closeApp(app: App): Promise<void> {
  hangUp()
  await app.close()
}

/** Deletes the database, its log and Litestream's files beside them, then runs the restore command of the page. */
function restore(machine: ReturnType<typeof machineIn>): void {
  const folder = dirname(machine.databasePath)
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
  const restored = machine.paste('restore-litestream', shell)
  expect(restored).toMatchObject({ exit: 0, err: '' })
  expect(restored.out).toContain('integrity check passed')
  expect(statSync(machine.databasePath).mode & 0o777, 'readable by its owner only').toBe(0o600)
}

async function startAgain({ grantor: { clock, ports, databasePath } }: App): Promise<Grantor> {
  const grantor = await startGrantor({ databasePath, clock, ports, lifetimes: PATIENT })
  onTestFinished(() => grantor.close())
  expect((await send(grantor.authUrl, { path: '/health/ready' })).status).toBe(200)
  return grantor
}

test.skipIf(program === '')(
  'A Litestream replica that is completed after Grantor stopped has every acknowledged change, also of the time without Litestream',
  async () => {
    const { folder, machine, settings, app } = await newMachine()
    const first = await replicate(folder, settings)
    const load = await startLoad(app)
    await load.more(100)
    expect(await stop(first, 'SIGTERM')).toBe(0)
    await load.more(100)
    const second = await replicate(folder, settings)
    await load.more(300)
    await load.stop()
    await closeApp(app)
    await stop(second, 'SIGKILL')
    expect(machine.paste('complete-replica', shell)).toMatchObject({ exit: 0, err: '' })

    restore(machine)
    await load.check(await startAgain(app))
  },
)

test.skipIf(program === '')(
  'After kill -9 of Litestream under load, its replica restores to an intact database, which is ready after migrate --restored',
  async () => {
    const { folder, machine, settings, app } = await newMachine()
    const child = await replicate(folder, settings)
    const load = await startLoad(app)
    await load.more(300)
    await stop(child, 'SIGKILL')
    await load.stop()
    await closeApp(app)

    restore(machine)
    const env = { GRANTOR_DATABASE_URL: `sqlite:${machine.databasePath}`, GRANTOR_SECRET: TEST_SECRET }
    expect((await run(['migrate', '--restored', '--yes'], env, app.grantor.clock.now())).exit).toBe(0)
    await startAgain(app)
  },
)
