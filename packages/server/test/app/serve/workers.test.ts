import { existsSync, readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freePorts } from '../../support/free-ports.ts'
import { send } from '../../support/send.ts'
import { beginRequest, launch, newFolder, type Running, run } from '../run.ts'

const folder = newFolder()
let env: Record<string, string>
let ports: { auth: number; metrics: number }
const processes: Running[] = []

beforeAll(async () => {
  const [auth = 0, login = 0, metrics = 0] = await freePorts(3)
  ports = { auth, metrics }
  env = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${join(folder, 'grantor.sqlite')}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}`,
    GRANTOR_FAILURE_LIMIT: '20',
    GRANTOR_DRAIN_SECONDS: '0',
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
})
afterAll(() => {
  for (const { child } of processes) child.kill('SIGKILL')
})

function serve(more: Record<string, string> = {}): Running {
  const one = launch(['serve', '--workers', '2'], { ...env, ...more })
  processes.push(one)
  return one
}

type Line = Record<string, unknown> & { msg: string; worker?: number; workers?: number[] }
const linesOf = (service: Running): Line[] =>
  service
    .out()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
const workersOf = (service: Running) => linesOf(service).find(({ msg }) => msg === 'auth service is ready')?.workers ?? []

/** Sends a request on a connection of its own, so that the next worker gets the request. */
function statusOf(path: string, { method = 'GET', headers = {}, body = '' } = {}): Promise<number> {
  return send(`http://localhost:${ports.auth}`, { method, path, headers: { connection: 'close', ...headers }, body }).then(
    ({ status }) => status,
  )
}
const introspect = (secret: string, id: string) =>
  statusOf('/oauth/introspect', {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'token=x',
  })
const readMetrics = async () => (await fetch(`http://127.0.0.1:${ports.metrics}/metrics`)).text()
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return true
  }
  // The process has ended, but its parent has not taken note of that yet.
  const status = `/proc/${pid}/stat`
  return existsSync(status) && readFileSync(status, 'utf8').includes(') Z ')
}

describe('Running workers of serve', () => {
  let service: Running
  beforeAll(async () => {
    service = serve()
    await service.printed('auth service is ready')
  })

  test('The command serve --workers logs one ready line, which lists all workers, and each worker answers requests', async () => {
    for (let request = 0; request < 6; request++) expect(await statusOf('/oauth/jwks')).toBe(200)
    // The log line of a request may be written after its response.
    const answering = () => linesOf(service).flatMap(({ msg, worker }) => (msg === 'request' && worker ? [worker] : []))
    await expect.poll(() => new Set(answering())).toEqual(new Set([1, 2]))
    expect(linesOf(service).filter(({ msg }) => msg === 'auth service is ready')).toHaveLength(1)
    expect(workersOf(service)).toHaveLength(2)
  })

  test('The page /metrics is the sum over all workers', async () => {
    for (let request = 0; request < 4; request++) await statusOf('/health/live')
    const text = await readMetrics()
    expect(text).toContain('grantor_request_duration_seconds_count{route="/health/live",method="GET",status="200"} 4')
    expect(text).toContain('grantor_workers 2')
  })

  test('Failed client authentications are counted over all workers, and a correct secret is accepted beyond the limit', async () => {
    const create = ['clients', 'create', '--name', 'App', '--redirect-uri', 'https://app.example.com/cb', '--json']
    const { client_id, client_secret } = JSON.parse((await run(create, env)).out) as Record<string, string>
    await expect.poll(() => introspect(client_secret!, client_id!), { interval: 50 }).toBe(200)
    for (let failure = 0; failure < 20; failure++) expect(await introspect('wrong', client_id!)).toBe(401)
    // The primary informs the other worker asynchronously.
    await expect.poll(() => introspect('wrong', client_id!)).toBe(429)
    for (let failure = 0; failure < 6; failure++) expect(await introspect('wrong', client_id!)).toBe(429)
    for (let request = 0; request < 4; request++) expect(await introspect(client_secret!, client_id!)).toBe(200)
  })

  test('Wrong user codes of one network are counted over all workers (RFC 8628 §5.1)', async () => {
    const guess = () => statusOf('/device?user_code=BBBB-BBBB')
    for (let guesses = 0; guesses < 4; guesses++) expect(await guess()).toBe(400)
    // If each worker counted alone, each would allow five. The primary informs the other worker asynchronously.
    const statuses: number[] = []
    await expect.poll(async () => statuses.push(await guess()) && statuses.at(-1), { interval: 50 }).toBe(429)
    expect(statuses.length).toBeLessThan(5)
    for (let guesses = 0; guesses < 4; guesses++) expect(await guess()).toBe(429)
  })

  test('A worker that crashes is logged, counted and replaced, and meanwhile all requests are answered', async () => {
    const [first = 0] = workersOf(service)
    process.kill(first, 'SIGKILL')
    await service.printed('a worker ended; it will be replaced')
    const statuses = await Promise.all(Array.from({ length: 6 }, () => statusOf('/oauth/jwks')))
    expect(new Set(statuses)).toEqual(new Set([200]))
    await service.printed('a replacement worker is ready')
    const replaced = linesOf(service).find(({ msg }) => msg === 'a replacement worker is ready')
    expect(replaced).toMatchObject({ worker: linesOf(service).find(({ pid }) => pid === first)?.worker })
    const text = await readMetrics()
    expect(text).toContain('grantor_workers 2')
    expect(text).toContain('grantor_workers_ended_total 1')
  })

  test('On SIGTERM, serve --workers answers the requests in progress, exits with 0 and leaves no worker running', async () => {
    const sockets = [1, 2, 3, 4].map(() => connect(ports.auth, '127.0.0.1'))
    await Promise.all(sockets.map(beginRequest))
    const end = service.ended()
    service.child.kill('SIGTERM')
    await service.printed('"msg":"stopping')
    const answers = sockets.map((socket) => new Promise((resolve) => socket.once('data', (data) => resolve(String(data)))))
    for (const socket of sockets) socket.write('token=x')
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    const { code, ms } = await end
    expect(code).toBe(0)
    expect(ms).toBeLessThan(10_000)
    expect(workersOf(service).every(isGone)).toBe(true)
  })
})

describe('Start and stop of workers of serve', () => {
  let service: Running | undefined
  afterEach(() => service?.child.kill('SIGKILL'))

  test('If all processes get SIGTERM at once, serve --workers answers requests while it drains, and exits with 0', async () => {
    // The drain takes longer than a busy machine needs for the requests below.
    service = serve({ GRANTOR_DRAIN_SECONDS: '8' })
    await service.printed('auth service is ready')
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const checkReady = () =>
      new Promise<{ status?: number | undefined; connection?: string | undefined }>((resolve, reject) => {
        const { auth: port } = ports
        get({ host: '127.0.0.1', port, path: '/health/ready', agent }, (answer) => {
          answer.resume().on('end', () => resolve({ status: answer.statusCode, connection: answer.headers.connection }))
        }).on('error', reject)
      })
    expect(await checkReady()).toEqual({ status: 200, connection: 'keep-alive' })
    const end = service.ended()
    for (const pid of [service.child.pid ?? 0, ...workersOf(service)]) process.kill(pid, 'SIGTERM')
    const countStopping = () => linesOf(service!).filter(({ msg }) => msg.startsWith('stopping')).length
    await expect.poll(countStopping).toBe(3)
    expect(await checkReady()).toEqual({ status: 503, connection: 'close' })
    for (let request = 0; request < 4; request++) expect(await statusOf('/oauth/jwks')).toBe(200)
    expect((await end).code).toBe(0)
    const stopped = linesOf(service).filter(({ msg }) => msg === 'stopped')
    expect(new Set(stopped.map(({ worker }) => worker))).toEqual(new Set([1, 2, undefined]))
    expect(linesOf(service).filter(({ level }) => level !== 'info')).toEqual([])
    agent.destroy()
  })

  test('A port in use is one error line of serve --workers, and after kill -9 of the primary no worker is left', async () => {
    service = serve()
    await service.printed('auth service is ready')
    const [free = 0] = await freePorts(1)
    const [both, metrics] = [serve({ GRANTOR_METRICS_LISTEN: '' }), serve({ GRANTOR_LISTEN: `127.0.0.1:${free}` })]
    expect((await both.ended()).code).toBe(1)
    expect(both.err()).toMatch(new RegExp(`^grantor: port ${ports.auth} is in use .*GRANTOR_LISTEN\n$`))
    expect((await metrics.ended()).code).toBe(1)
    expect(metrics.err()).toMatch(new RegExp(`^grantor: port ${ports.metrics} is in use .*GRANTOR_METRICS_LISTEN\n$`))

    const workers = workersOf(service)
    expect(workers.some(isGone)).toBe(false)
    service.child.kill('SIGKILL')
    await expect.poll(() => workers.every(isGone)).toBe(true)
  })

  test('If a worker cannot start, serve --workers exits with 1 and one error line, as without workers', async () => {
    const wrongSecret = serve({ GRANTOR_SECRET: 'another-secret-altogether-0123456789' })
    expect((await wrongSecret.ended()).code).toBe(1)
    expect(wrongSecret.err()).toMatch(/^grantor: the keys in this database were made with another GRANTOR_SECRET.*\n$/)
    expect(wrongSecret.out()).toBe('')
  })

  test('A wrong setting of serve --workers is reported once, with exit code 2', async () => {
    const { exit, err } = await run(['serve', '--workers', '2'], { ...env, GRANTOR_RATE_LIMIT: 'maybe' })
    expect([exit, err]).toEqual([2, expect.stringContaining('grantor: one setting needs attention\n')])
  })

  test.each(['0', '1.5', 'all', '257', '-1', ''])('The option --workers=%s is refused with exit code 2', async (value) => {
    const { exit, out, err } = await run(['serve', `--workers=${value}`], env)
    expect([exit, out]).toEqual([2, ''])
    expect(err).toMatch(/^grantor: --workers (must be a number from 1 to 256|needs a value)/)
  })
})
