import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { soon } from '../../support/attempts.ts'
import { freePorts } from '../../support/free-ports.ts'
import { send } from '../../support/send.ts'
import { beginRequest, launched, newFolder, type Running, run } from '../run.ts'

let env: Record<string, string>
let auth: number
let login: number
let metrics: number
let path: string
beforeEach(async () => {
  ;[auth, login, metrics] = (await freePorts(3)) as [number, number, number]
  path = join(newFolder(), 'grantor.sqlite')
  env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${path}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_DRAIN_SECONDS: '0',
  }
})

async function serving(more: Record<string, string> = {}): Promise<Running> {
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
  const one = launched(['serve'], { ...env, ...more })
  await one.printed('auth service is ready')
  return one
}

describe('grantor serve', () => {
  test('five faults are five lines of one message, and the exit code is 2', async () => {
    const one = launched(['serve'], {
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

  test('a database that was never migrated stops it with one line, and stays as it was', async () => {
    const one = launched(['serve'], env)
    expect((await one.ended()).code).toBe(1)
    expect(one.err()).toMatch(/^grantor: there is no database at .*grantor migrate.*\n$/)
    new DatabaseSync(path).close()
    const other = launched(['serve'], env)
    expect((await other.ended()).code).toBe(1)
    expect(other.err()).toMatch(/^grantor: .*grantor migrate\n$/)
  })

  test('a database of a newer version stops it with one line', async () => {
    await run(['migrate'], env)
    const database = new DatabaseSync(path)
    database.exec("INSERT INTO migrations VALUES (9999, 'from the future', 0, NULL)")
    database.close()
    const one = launched(['serve'], env)
    expect((await one.ended()).code).toBe(1)
    expect(one.err()).toMatch(/^grantor: .*newer version.*\n$/)
  })

  test("a GRANTOR_SECRET that is not the keys' own stops it with one line", async () => {
    const first = await serving()
    const end = first.ended()
    first.child.kill('SIGTERM')
    await end
    const one = launched(['serve'], { ...env, GRANTOR_SECRET: 'another-secret-altogether-0123456789' })
    expect((await one.ended()).code).toBe(1)
    expect(one.err()).toMatch(/^grantor: the keys in this database were made with another GRANTOR_SECRET.*\n$/)
  })

  test('it is live and ready, publishes its metadata (RFC 8414) and its keys, and logs JSON lines', async () => {
    const one = await serving()
    const get = async (where: string) => fetch(`http://localhost:${auth}${where}`)
    expect((await get('/health/live')).status).toBe(200)
    expect((await get('/health/ready')).status).toBe(200)
    expect(await (await get('/.well-known/oauth-authorization-server')).json()).toMatchObject({
      issuer: `http://localhost:${auth}`,
    })
    expect(((await (await get('/oauth/jwks')).json()) as { keys: unknown[] }).keys).toHaveLength(4)
    const lines = one
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'auth service is ready', url: `http://localhost:${auth}` }))
  })

  test('a client registered by the command line works within a second, and stops within a second of being disabled', async () => {
    await serving()
    const create = ['clients', 'create', '--name', 'App', '--redirect-uri', 'https://app.example.com/cb', '--json']
    const { client_id, client_secret } = JSON.parse((await run(create, env)).out) as { client_id: string; client_secret: string }
    const introspect = async () => {
      const headers = { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` }
      return (
        await fetch(`http://localhost:${auth}/oauth/introspect`, {
          method: 'POST',
          headers,
          body: new URLSearchParams({ token: 'x' }),
        })
      ).status
    }
    await soon(introspect, 200)
    await run(['clients', 'disable', client_id], env)
    await soon(introspect, 401)
  })

  test('a rotated signing key is announced within a second', async () => {
    await serving()
    await run(['keys', 'rotate'], env, Math.floor(Date.now() / 1000))
    const published = async () =>
      ((await (await fetch(`http://localhost:${auth}/oauth/jwks`)).json()) as { keys: unknown[] }).keys.length
    await soon(published, 5)
  })

  test('on SIGTERM a request under way is answered, and the process ends with 0 within ten seconds', async () => {
    const one = await serving()
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

  test('told to stop, it is not ready at once, and takes requests as long as it drains; each answer ends its connection', async () => {
    // Longer than a busy machine needs for the requests below.
    const one = await serving({ GRANTOR_DRAIN_SECONDS: '8' })
    const url = `http://localhost:${auth}`
    const seen = async (path: string) => {
      const { status, headers } = await send(url, { path })
      return { status, connection: headers.connection }
    }
    expect(await seen('/health/ready')).toEqual({ status: 200, connection: 'keep-alive' })
    const end = one.ended()
    one.child.kill('SIGTERM')
    await one.printed('stopping')
    expect(await seen('/health/ready')).toEqual({ status: 503, connection: 'close' })
    expect((await send(url, { path: '/health/ready' })).json()).toEqual({ status: 'unavailable', problem: 'stopping' })
    expect(await seen('/health/live')).toEqual({ status: 200, connection: 'close' })
    const told = await send(url, { method: 'POST', path: '/oauth/introspect', body: 'token=x' })
    expect([told.status, told.headers.connection]).toEqual([415, 'close'])
    const { code, ms } = await end
    expect(code).toBe(0)
    expect(ms).toBeGreaterThan(7800)
  })

  test('metrics have a listener of their own, and only where one is set', async () => {
    await serving({ GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}` })
    await fetch(`http://localhost:${auth}/.well-known/oauth-authorization-server`)
    expect(await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()).toContain(
      'route="/.well-known/oauth-authorization-server"',
    )
    expect((await fetch(`http://localhost:${auth}/metrics`)).status).toBe(404)
  })

  test('a port in use stops it with one line that names the setting', async () => {
    await serving({ GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}` })
    const second = launched(['serve'], { ...env, GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}` })
    expect((await second.ended()).code).toBe(1)
    expect(second.err()).toMatch(new RegExp(`^grantor: port ${auth} is in use .*GRANTOR_LISTEN\n$`))
  })
})

describe('grantor login-server', () => {
  test('needs neither store nor GRANTOR_SECRET, serves its health, and on SIGTERM drains and ends with 0', async () => {
    const { GRANTOR_DATABASE_URL: _, GRANTOR_SECRET: __, ...little } = env
    const one = launched(['login-server'], { ...little, GRANTOR_DRAIN_SECONDS: '1' })
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

  test('with the development wallet switched on it does not start', async () => {
    const one = launched(['login-server'], { ...env, GRANTOR_DEV_WALLET: 'on' })
    expect((await one.ended()).code).toBe(2)
    expect(one.err()).toContain('GRANTOR_DEV_WALLET is on')
  })

  test('started without any setting it says what it needs', async () => {
    const one = launched(['login-server'], {})
    expect((await one.ended()).code).toBe(2)
    expect(one.err()).toContain('3 settings need attention')
  })
})
