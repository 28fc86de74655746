/** Sockets that systemd passes: they stay open while the service restarts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net, { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { freePorts } from '../../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../support/own-environment.ts'
import { BIN, newFolder, run } from '../run.ts'

let env: Record<string, string>
let port: number
beforeEach(async () => {
  const [auth = 0, other = 0] = await freePorts(2)
  port = auth
  env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: 'http://login.localhost:9',
    // not the address of the socket
    GRANTOR_LISTEN: `127.0.0.1:${other}`,
    GRANTOR_LOGIN_LISTEN: `127.0.0.1:${other}`,
    GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_DRAIN_SECONDS: '0',
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
})

type Handle = { fd: number; close(): void }

/** SO_REUSEPORT, as Node passes it to libuv */
const REUSE_PORT = 2

/** A socket that is bound. This process never accepts a connection of the socket, as systemd does not. */
function boundSocket(flags = 0): Handle {
  const { _createServerHandle: create } = net as unknown as {
    _createServerHandle(host: string, port: number, type: 4, descriptor: undefined, flags: number): Handle | number
  }
  const handle = create('127.0.0.1', port, 4, undefined, flags)
  if (typeof handle === 'number') throw new Error(`cannot bind port ${port}: ${handle}`)
  onTestFinished(() => handle.close())
  return handle
}

type Running = { child: ChildProcess; out(): string; ended: Promise<unknown[]> }

/** Starts the service as systemd does: LISTEN_PID is the process id of the service. */
function startWith(handles: Handle[], argv = ['serve']): Running {
  const passed = { ...OWN_ENVIRONMENT, ...env, LISTEN_FDS: String(handles.length) }
  const child = spawn('sh', ['-c', 'LISTEN_PID=$$ exec "$@"', 'sh', process.execPath, BIN, ...argv], {
    env: passed,
    stdio: ['ignore', 'pipe', 'pipe', ...handles.map(({ fd }) => fd)],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (out += chunk.toString()))
  return { child, out: () => out, ended: once(child, 'close') }
}

const untilReady = ({ out }: Running) => expect.poll(out).toContain(' is ready')
const statusOf = async (path: string) =>
  (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })).status
const live = () => statusOf('/health/live')

describe('Sockets of systemd', () => {
  for (const [argv, who] of [
    [['serve'], 'auth service'],
    [['login-server'], 'login server'],
  ] as const) {
    test(`The ${who} listens on the socket that systemd passes, and not on the address of its settings`, async () => {
      const one = startWith([boundSocket()], [...argv])
      await untilReady(one)
      expect(await live()).toBe(200)
      expect(one.out()).toContain(`"port":${port}`)
    })
  }

  test('A connection that arrives while serve restarts waits for the next process, which answers', async () => {
    const socket = boundSocket()
    const first = startWith([socket])
    await untilReady(first)
    first.child.kill('SIGTERM')
    expect(await first.ended).toEqual([0, null])
    const waiting = live()
    expect(await Promise.race([waiting, pause(200, 'waits')])).toBe('waits')
    startWith([socket])
    expect(await waiting).toBe(200)
  })

  test('With one socket for each, two workers answer, and the next two after a restart', async () => {
    const sockets = [boundSocket(REUSE_PORT), boundSocket(REUSE_PORT)]
    for (let time = 0; time < 2; time++) {
      const one = startWith(sockets, ['serve', '--workers', '2'])
      await untilReady(one)
      await Promise.all(Array.from({ length: 40 }, () => statusOf('/oauth/jwks')))
      await expect.poll(() => new Set(one.out().match(/"worker":\d(?=[^\n]*"route":"\/oauth\/jwks")/g)).size).toBe(2)
      one.child.kill('SIGTERM')
      expect(await one.ended).toEqual([0, null])
    }
  })

  test('serve with fewer or more sockets than processes exits with 2, and names ListenStream=', async () => {
    const one = startWith([boundSocket()], ['serve', '--workers', '2'])
    expect(await one.ended).toEqual([2, null])
    expect(one.out()).toMatch(/systemd passed 1 socket, and the service has 2 workers\n.*ListenStream=.*ReusePort=true/)
  })

  test('serve exits with 2 if the socket that systemd passes is a connection', async () => {
    const server = net.createServer().listen(port, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const accepted = once(server, 'connection') as Promise<[net.Socket]>
    const client = connect(port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    const [connection] = await accepted
    const { _handle: handle } = connection as unknown as { _handle: Handle }
    const one = startWith([handle])
    expect(await one.ended).toEqual([2, null])
    expect(one.out()).toMatch(/cannot listen on the socket that systemd passed \(EINVAL\).*Accept=/)
    connection.destroy()
  })

  test('A process that LISTEN_PID does not name listens on the address of its settings', async () => {
    const one = spawn(process.execPath, [BIN, 'serve'], {
      env: { ...OWN_ENVIRONMENT, ...env, GRANTOR_LISTEN: `127.0.0.1:${port}`, LISTEN_FDS: '1', LISTEN_PID: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void one.kill('SIGKILL'))
    await once(one.stdout, 'data')
    await expect.poll(live).toBe(200)
  })
})
