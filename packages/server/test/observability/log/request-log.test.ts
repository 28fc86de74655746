import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { createLogger } from '../../../src/observability/log/logger.ts'
import { logRequests, newRequestId, noteClient } from '../../../src/observability/log/request-log.ts'
import { createMetrics } from '../../../src/observability/metrics/metrics.ts'
import { capturedLog } from './captured-log.ts'

let server: FastifyInstance
afterEach(() => server.close())

async function serverWith(log: ReturnType<typeof capturedLog>, metrics = createMetrics()): Promise<string> {
  const logger: FastifyBaseLogger = createLogger({ level: 'info', destination: log.destination })
  server = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    requestIdHeader: false,
  })
  logRequests(server, metrics)
  server.post('/grants/:id', () => 'fine')
  server.get('/health/live', () => 'fine')
  return server.listen({ host: '127.0.0.1', port: 0 })
}

test('A request is logged as one line with method, route pattern, status, duration and request id, and without path, query, body or cookie', async () => {
  const log = capturedLog()
  const url = await serverWith(log)
  await fetch(`${url}/grants/secret-id?code=c0de`, {
    method: 'POST',
    body: 'token=t0ken',
    headers: { cookie: 'session=s3ssion' },
  })
  const lines = log.lines().filter(({ msg }) => msg === 'request')
  expect(lines).toEqual([
    expect.objectContaining({
      method: 'POST',
      route: '/grants/:id',
      status: 200,
      ms: expect.any(Number),
      reqId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    }),
  ])
  expect(log.text()).not.toMatch(/secret-id|c0de|t0ken|s3ssion/)
})

test('The line of a request has the first part of the caller address and the client that the request is of, and never the complete address', async () => {
  const log = capturedLog()
  const logger: FastifyBaseLogger = createLogger({ level: 'info', destination: log.destination })
  server = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: '127.0.0.1',
  })
  logRequests(server)
  server.get('/', () => {
    noteClient('the-client')
    return 'fine'
  })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.77' } })
  await fetch(`${url}/nowhere`, { headers: { 'x-forwarded-for': '2001:db8:aa:bb:cc::1' } })
  const [first, second] = log.lines().filter(({ msg }) => msg === 'request')
  expect(first).toMatchObject({ network: '203.0.113', client_id: 'the-client' })
  expect(second).toMatchObject({ network: '2001:db8:aa' })
  expect(second).not.toHaveProperty('client_id')
  expect(log.text()).not.toMatch(/203\.0\.113\.77|2001:db8:aa:bb/)
})

test('The client in the line of a request is redacted and escaped as in every other line', async () => {
  const log = capturedLog()
  const logger: FastifyBaseLogger = createLogger({ level: 'info', destination: log.destination, secrets: ['the-secret'] })
  server = fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) })
  logRequests(server)
  const ids = ['https://app.example/client?code=c0de', 'a "quoted"\nid of the-secret', 'eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ.c2ln']
  server.get('/:index', ({ params }) => {
    noteClient(ids[Number((params as { index: string }).index)] ?? '')
    return 'fine'
  })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  for (const index of [...ids.keys(), ...ids.keys()]) await fetch(`${url}/${index}`)
  const written = ['https://app.example/client?[redacted]', 'a "quoted"\nid of [redacted]', '[redacted]']
  expect(log.lines().flatMap((line) => (line.msg === 'request' ? [line.client_id] : []))).toEqual([...written, ...written])
})

test('The line of a request names its own caller and client, however many others there were', async () => {
  const log = capturedLog()
  const logger: FastifyBaseLogger = createLogger({ level: 'info', destination: log.destination })
  server = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: '127.0.0.1',
  })
  logRequests(server)
  server.get('/', ({ headers }) => {
    noteClient(String(headers['x-client']))
    return 'fine'
  })
  const callers = Array.from({ length: 1100 }, (_, index) => ({ ip: `203.${index % 7}.${index % 250}.9`, client: `c${index}` }))
  for (const { ip, client } of callers) await server.inject({ url: '/', headers: { 'x-forwarded-for': ip, 'x-client': client } })
  const lines = log.lines().filter(({ msg }) => msg === 'request')
  expect(lines.map(({ network, client_id: id }) => `${network} ${id}`)).toEqual(
    callers.map(({ ip, client }) => `${ip.replace(/\.9$/, '')} ${client}`),
  )
})

test('At level warn, no request is logged, and at level debug also health checks are', async () => {
  for (const [level, count] of [
    ['warn', 0],
    ['debug', 1],
  ] as const) {
    const log = capturedLog()
    const logger: FastifyBaseLogger = createLogger({ level, destination: log.destination })
    server = fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) })
    logRequests(server)
    server.get('/health/live', () => 'fine')
    await server.inject('/health/live')
    expect(log.lines().filter(({ msg }) => msg === 'request')).toHaveLength(count)
  }
})

test('A request id that a client sends is not used, so that clients cannot write to the log', async () => {
  const log = capturedLog()
  const url = await serverWith(log)
  await fetch(`${url}/grants/1`, {
    method: 'POST',
    headers: { 'x-request-id': 'chosen-by-caller', 'request-id': 'chosen-by-caller' },
  })
  expect(log.text()).not.toContain('chosen-by-caller')
})

test('A request to an unknown path is logged with the route "unmatched", without its path', async () => {
  const log = capturedLog()
  const url = await serverWith(log)
  await fetch(`${url}/nowhere/at/all`)
  expect(log.lines().at(-1)).toMatchObject({ route: 'unmatched', status: 404 })
  expect(log.text()).not.toContain('/nowhere/at/all')
})

test('A health check is not logged at level info', async () => {
  const log = capturedLog()
  const url = await serverWith(log)
  await fetch(`${url}/health/live`)
  expect(log.text()).not.toContain('/health/live')
})

test('Requests are counted in the metrics by route pattern, method and status', async () => {
  const metrics = createMetrics()
  const url = await serverWith(capturedLog(), metrics)
  await fetch(`${url}/grants/1`, { method: 'POST' })
  await fetch(`${url}/grants/2`, { method: 'POST' })
  expect(await metrics.render()).toContain(
    'grantor_request_duration_seconds_count{route="/grants/:id",method="POST",status="200"} 2',
  )
})

test('Each line of the logger of a request has the request id, at every level and in child loggers', async () => {
  const log = capturedLog()
  const logger: FastifyBaseLogger = createLogger({ level: 'trace', destination: log.destination })
  server = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => 'the-request',
  })
  server.get('/', (request) => {
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) request.log[level]({ n: 1 }, 'said')
    request.log.child({ more: true }).info('said')
    request.log.silent('not said')
    request.log.level = 'error'
    request.log.info('not said')
    return request.log.level
  })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  expect(await (await fetch(url)).text()).toBe('error')
  expect(log.text()).not.toContain('not said')
  const lines = log.lines().filter(({ msg }) => msg === 'said')
  expect(lines.map(({ level }) => level)).toEqual(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'info'])
  for (const line of lines.slice(0, 6)) expect(line).toMatchObject({ reqId: 'the-request', n: 1 })
  expect(lines.at(-1)).toMatchObject({ reqId: 'the-request', more: true })
})

test('An idle connection does not keep its last request in memory', async () => {
  const logger: FastifyBaseLogger = createLogger({ level: 'info', destination: capturedLog().destination })
  server = fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) })
  logRequests(server)
  const requests: WeakRef<object>[] = []
  server.get('/', (request) => {
    requests.push(new WeakRef(request))
    return 'fine'
  })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true })
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
  await once(response.resume(), 'close')
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  await expect.poll(() => (collectGarbage(), requests.map((request) => request.deref() === undefined))).toEqual([true])
  expect(Object.values(agent.freeSockets)).toHaveLength(1)
  agent.destroy()
})
