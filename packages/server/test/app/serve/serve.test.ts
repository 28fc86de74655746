import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as base, beforeEach, describe, expect } from 'vitest'
import { soon } from '../../support/attempts.ts'
import { FILE, started } from '../../support/fixtures.ts'
import { freePorts } from '../../support/free-ports.ts'
import { recordLoadedFiles } from '../../support/loaded-files.ts'
import { send } from '../../support/send.ts'
import { beginRequest, launch, launchForTest, newFolder, type Running, run } from '../run.ts'

let env: Record<string, string>
let auth: number
let login: number
let metrics: number
let path: string
beforeEach(async () => {
  ;[auth, login, metrics] = (await freePorts(3)) as [number, number, number]
  path = join(newFolder(), 'grantor.sqlite')
  env = settingsOf({ auth, login, path })
})

function settingsOf({ auth, login, path }: { auth: number; login: number; path: string }): Record<string, string> {
  return {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${path}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_DRAIN_SECONDS: '0',
  }
}

/** A `serve` with metrics, for the tests that do not end it. */
async function startShared() {
  const [auth = 0, login = 0, metrics = 0] = await freePorts(3)
  const settings = {
    ...settingsOf({ auth, login, path: join(newFolder(), 'grantor.sqlite') }),
    GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}`,
  }
  await run(['migrate'], settings, Math.floor(Date.now() / 1000))
  const running = launch(['serve'], settings)
  await running.printed('auth service is ready')
  return { running, settings, url: `http://localhost:${auth}`, metricsUrl: `http://127.0.0.1:${metrics}` }
}

const test = base.extend(
  'service',
  FILE,
  started(startShared, ({ running }) => running.child.kill('SIGKILL')),
)

async function startServe(more: Record<string, string> = {}): Promise<Running> {
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
  const one = launchForTest(['serve'], { ...env, ...more })
  await one.printed('auth service is ready')
  return one
}

describe('The command serve', () => {
  test('If five settings are wrong, serve prints one message with one line per setting, and exits with 2', async () => {
    const one = launchForTest(['serve'], {
      GRANTOR_AUTH_URL: 'http://auth.example.com',
      GRANTOR_LOGIN_URL: 'https://login.example.com/',
      GRANTOR_DATABASE_URL: 'sqlite:x',
      GRANTOR_SECRET: 'short',
      GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
      GRANTOR_LOGLEVEL: 'debug',
      GRANTOR_DEV_WALLET: 'on',
    })
    expect((await one.ended()).code).toBe(2)
    expect(one.err()).toContain('grantor: 5 settings need attention\n')
    expect(one.err().match(/^ {2}- GRANTOR_/gm)).toHaveLength(5)
    expect(one.out()).toBe('')
  })

  test('serve does not load the compilers of JSON schemas, which its routes do not use', async () => {
    const loaded = recordLoadedFiles(newFolder(), ['/node_modules/ajv/', '/fast-json-stringify/index.js', '/fastify/fastify.js'])
    await startServe(loaded.env)
    expect((await send(env.GRANTOR_AUTH_URL ?? '', { path: '/health/live' })).status).toBe(200)
    expect(loaded.read()).toMatch(/^file:.*\/fastify\.js\n$/)
  })

  test('serve does not load undici, which an import of node:http loads and no request needs', async () => {
    const list = 'process.on("exit",()=>console.error(process.moduleLoadList.join("\\n")))'
    const one = await startServe({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(list)}` })
    expect((await send(env.GRANTOR_AUTH_URL ?? '', { path: '/health/live' })).status).toBe(200)
    one.child.kill('SIGTERM')
    await one.ended()
    expect(one.err()).toMatch(/^NativeModule http$/m)
    expect(one.err()).not.toMatch(/undici/)
  })

  test('If the database is missing, cannot be read or was never migrated, serve exits with 1 and one line that names the reason or grantor migrate', async () => {
    const one = launchForTest(['serve'], env)
    expect((await one.ended()).code).toBe(1)
    expect(one.err()).toMatch(/^grantor: there is no database at .*grantor migrate.*\n$/)
    // A permission that is missing is EACCES, which root does not get.
    const loop = `${path}-loop`
    symlinkSync(loop, loop)
    const unreadable = launchForTest(['serve'], { ...env, GRANTOR_DATABASE_URL: `sqlite:${loop}` })
    expect((await unreadable.ended()).code).toBe(1)
    expect(unreadable.err()).toMatch(/^grantor: .* cannot be read \(ELOOP\).*\n$/)
    new DatabaseSync(path).close()
    const other = launchForTest(['serve'], env)
    expect((await other.ended()).code).toBe(1)
    expect(other.err()).toMatch(/^grantor: .*grantor migrate\n$/)
  })

  test('If the database has the schema of a newer version, serve exits with 1 and one error line', async () => {
    await run(['migrate'], env)
    const database = new DatabaseSync(path)
    database.exec("INSERT INTO migrations VALUES (9999, 'from the future', 0, NULL)")
    database.close()
    const one = launchForTest(['serve'], env)
    expect((await one.ended()).code).toBe(1)
    expect(one.err()).toMatch(/^grantor: .*newer version.*\n$/)
  })

  test('If GRANTOR_SECRET is not the secret that wrapped the keys, serve exits with 1 and one error line', async () => {
    const first = await startServe()
    const end = first.ended()
    first.child.kill('SIGTERM')
    await end
    const one = launchForTest(['serve'], { ...env, GRANTOR_SECRET: 'another-secret-altogether-0123456789' })
    expect((await one.ended()).code).toBe(1)
    expect(one.err()).toMatch(/^grantor: the keys in this database were made with another GRANTOR_SECRET.*\n$/)
  })

  test('On SIGTERM, serve answers a request in progress and exits with 0 within ten seconds', async () => {
    const one = await startServe()
    const socket = connect(auth, '127.0.0.1')
    await beginRequest(socket)
    const end = one.ended()
    one.child.kill('SIGTERM')
    await one.printed('stopping')
    socket.write('token=x')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /)
    const { code, ms } = await end
    expect(code).toBe(0)
    expect(ms).toBeLessThan(10_000)
    socket.destroy()
  })

  test('After SIGTERM, serve is not ready, answers requests until it has drained, and closes the connection after each response', async () => {
    // The drain takes longer than a busy machine needs for the requests below.
    const one = await startServe({ GRANTOR_DRAIN_SECONDS: '8' })
    const url = `http://localhost:${auth}`
    const check = async (path: string) => {
      const { status, headers } = await send(url, { path })
      return { status, connection: headers.connection }
    }
    expect(await check('/health/ready')).toEqual({ status: 200, connection: 'keep-alive' })
    const end = one.ended()
    one.child.kill('SIGTERM')
    await one.printed('stopping')
    expect(await check('/health/ready')).toEqual({ status: 503, connection: 'close' })
    expect((await send(url, { path: '/health/ready' })).json()).toEqual({ status: 'unavailable', problem: 'stopping' })
    expect(await check('/health/live')).toEqual({ status: 200, connection: 'close' })
    const answer = await send(url, { method: 'POST', path: '/oauth/introspect', body: 'token=x' })
    expect([answer.status, answer.headers.connection]).toEqual([415, 'close'])
    const { code, ms } = await end
    expect(code).toBe(0)
    expect(ms).toBeGreaterThan(7800)
  })
})

describe('A running serve', () => {
  const publishedKeys = async (url: string) =>
    ((await (await fetch(`${url}/oauth/jwks`)).json()) as { keys: unknown[] }).keys.length

  test('A running serve is live and ready, publishes its metadata (RFC 8414) and its keys, and logs lines of JSON', async ({
    service: { url, running },
  }) => {
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    expect(await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()).toMatchObject({ issuer: url })
    expect(await publishedKeys(url)).toBe(4)
    const lines = running
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'auth service is ready', url }))
  })

  test('A client of clients create can authenticate within a second, and no longer within a second of clients disable', async ({
    service: { url, settings },
  }) => {
    const create = ['clients', 'create', '--name', 'App', '--redirect-uri', 'https://app.example.com/cb', '--json']
    const { client_id, client_secret } = JSON.parse((await run(create, settings)).out) as {
      client_id: string
      client_secret: string
    }
    const introspect = async () => {
      const headers = { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` }
      return (await fetch(`${url}/oauth/introspect`, { method: 'POST', headers, body: new URLSearchParams({ token: 'x' }) }))
        .status
    }
    await soon(introspect, 200)
    await run(['clients', 'disable', client_id], settings)
    await soon(introspect, 401)
  })

  test('Metrics are served by a listener of their own, and not on the port of the service', async ({
    service: { url, metricsUrl },
  }) => {
    await fetch(`${url}/.well-known/oauth-authorization-server`)
    expect(await (await fetch(`${metricsUrl}/metrics`)).text()).toContain('route="/.well-known/oauth-authorization-server"')
    expect((await fetch(`${url}/metrics`)).status).toBe(404)
  })

  test('If a port is in use, serve exits with 1 and one line that names GRANTOR_LISTEN', async ({
    service: { url, settings },
  }) => {
    const second = launchForTest(['serve'], settings)
    expect((await second.ended()).code).toBe(1)
    expect(second.err()).toMatch(new RegExp(`^grantor: port ${new URL(url).port} is in use .*GRANTOR_LISTEN\n$`))
  })

  test('The successor of a rotated signing key is published within a second', async ({ service: { url, settings } }) => {
    const before = await publishedKeys(url)
    await run(['keys', 'rotate'], settings, Math.floor(Date.now() / 1000))
    await soon(() => publishedKeys(url), before + 1)
  })
})

describe('The command login-server', () => {
  test('The login server serves its own metrics on a listener of their own, and not on its port', async () => {
    const listen = `127.0.0.1:${metrics}`
    const one = launchForTest(['login-server'], { ...env, GRANTOR_LOGIN_METRICS_LISTEN: listen, GRANTOR_METRICS_LISTEN: '' })
    await one.printed('login server is ready')
    await fetch(`http://localhost:${login}/login`)
    const page = await (await fetch(`http://${listen}/metrics`)).text()
    expect(page).toContain('grantor_request_duration_seconds_count{route="/login",method="GET",status="400"} 1')
    expect((await fetch(`http://localhost:${login}/metrics`)).status).toBe(404)
    one.child.kill('SIGTERM')
    expect((await one.ended()).code).toBe(0)
  })

  test('The login server starts without store and GRANTOR_SECRET, serves its health, and on SIGTERM drains and exits with 0', async () => {
    const { GRANTOR_DATABASE_URL: _, GRANTOR_SECRET: __, ...little } = env
    const one = launchForTest(['login-server'], { ...little, GRANTOR_DRAIN_SECONDS: '1' })
    await one.printed('login server is ready')
    expect((await fetch(`http://localhost:${login}/health/live`)).status).toBe(200)
    expect((await fetch(`http://localhost:${login}/health/ready`)).status).toBe(200)
    const end = one.ended()
    one.child.kill('SIGTERM')
    await one.printed('stopping')
    const { status, headers } = await send(`http://localhost:${login}`, { path: '/health/ready' })
    expect([status, headers.connection]).toEqual([503, 'close'])
    expect((await end).code).toBe(0)
  })

  test('The login server does not start with GRANTOR_DEV_WALLET=on, and exits with 2', async () => {
    const one = launchForTest(['login-server'], { ...env, GRANTOR_DEV_WALLET: 'on' })
    expect((await one.ended()).code).toBe(2)
    expect(one.err()).toContain('GRANTOR_DEV_WALLET is on')
  })

  test('Without settings, login-server exits with 2 and reports that three settings need attention', async () => {
    const one = launchForTest(['login-server'], {})
    expect((await one.ended()).code).toBe(2)
    expect(one.err()).toContain('3 settings need attention')
  })
})
