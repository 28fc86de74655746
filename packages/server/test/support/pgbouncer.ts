/** Debian's PgBouncer in front of a PostgreSQL server of a test. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePorts } from './free-ports.ts'
import type { PostgresServer } from './postgres-server.ts'

export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0

/** Resolves with the URL of the server's database `postgres` behind the pooler. `settings`: lines of the section `pgbouncer`. */
export async function startPgBouncer(server: PostgresServer, settings: Record<string, string | number>): Promise<string> {
  const [port = 0] = await freePorts(1)
  const { username, password } = new URL(server.urlOf('postgres'))
  const { home, identity } = server.machine
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`)
  const to = `* = host=127.0.0.1 port=${server.port} user=${username} password=${password}`
  const file = join(home, `pgbouncer-${port}.ini`)
  writeFileSync(file, ['[databases]', to, '[pgbouncer]', ...lines, ''].join('\n'), { mode: 0o600 })
  if (identity.uid !== undefined) chownSync(file, identity.uid, identity.gid ?? identity.uid)
  const child = spawn('pgbouncer', [file], { ...identity, stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(async () => {
    const exit = once(child, 'exit')
    if (child.kill('SIGKILL')) await exit
  })
  await new Promise<void>((resolve, reject) => {
    let log = ''
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString()
      if (log.includes('process up')) resolve()
    })
    child.once('exit', () => reject(new Error(`PgBouncer does not start: ${log}`)))
  })
  return server.urlOf('postgres').replace(`:${server.port}/`, `:${port}/`)
}
