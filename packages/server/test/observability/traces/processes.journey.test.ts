/** Traces of `grantor serve` as processes: workers, shutdown, and a collector that is away or slow. */
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchForTest, newFolder, type Running, run } from '../../app/run.ts'
import { type Collector, startCollector } from '../../support/collector.ts'
import { freePorts } from '../../support/free-ports.ts'
import { recordLoadedFiles } from '../../support/loaded-files.ts'
import { send } from '../../support/send.ts'

const folder = newFolder()
const database = { GRANTOR_DATABASE_URL: `sqlite:${join(folder, 'grantor.sqlite')}` }
beforeAll(() => run(['migrate'], database, Math.floor(Date.now() / 1000)))

type Service = { running: Running; authUrl: string; metrics(): Promise<string> }

async function serve(more: Record<string, string>, argv: string[] = []): Promise<Service> {
  const [auth = 0, login = 0, metrics = 0] = await freePorts(3)
  const authUrl = `http://localhost:${auth}`
  const running = launchForTest(['serve', ...argv], {
    ...database,
    GRANTOR_AUTH_URL: authUrl,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}`,
    GRANTOR_DRAIN_SECONDS: '0',
    ...more,
  })
  await running.printed('auth service is ready')
  return { running, authUrl, metrics: async () => (await send(`http://127.0.0.1:${metrics}`, { path: '/metrics' })).body }
}

/** A refused request, which reads no client. Each request uses a new connection, so that the next worker gets it. */
function request(authUrl: string): Promise<{ status: number }> {
  return send(authUrl, { method: 'POST', path: '/oauth/token', headers: { connection: 'close' }, body: '' })
}

async function collectorForTest(): Promise<Collector> {
  const collector = await startCollector()
  onTestFinished(() => collector.close())
  return collector
}

async function stop({ running }: Service): Promise<{ code: number | null; ms: number }> {
  running.child.kill('SIGTERM')
  return running.ended()
}

const OPENTELEMETRY = ['opentelemetry', 'packages/server/src/observability/traces']

test('Without a collector, serve loads no file of OpenTelemetry and none of packages/server/src/observability/traces', async () => {
  const loaded = recordLoadedFiles(folder, OPENTELEMETRY)
  // `prom-client` itself loads `@opentelemetry/api`.
  const service = await serve({ ...loaded.env, GRANTOR_METRICS_LISTEN: '' })
  await request(service.authUrl)
  await stop(service)
  expect(loaded.read()).toBe('')
})

test('With a collector, serve loads OpenTelemetry, and all worker processes send their spans', async () => {
  const collector = await collectorForTest()
  const loaded = recordLoadedFiles(folder, OPENTELEMETRY)
  const service = await serve({ ...loaded.env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, ['--workers', '2'])
  for (let sent = 0; sent < 6; sent++) await request(service.authUrl)
  expect((await stop(service)).code).toBe(0)
  const spans = collector.spans.filter(({ name }) => name === 'POST /oauth/token')
  expect(spans).toHaveLength(6)
  expect(new Set(spans.map(({ instance }) => instance)).size).toBe(2)
  expect(new Set(spans.map(({ service: name }) => name))).toEqual(new Set(['grantor']))
  expect(loaded.read()).toContain('@opentelemetry/sdk-trace')
  // The audit line and the request line of each request.
  for (const { traceId } of spans) expect(service.running.out().split(`"trace_id":"${traceId}"`)).toHaveLength(3)
})

test('The page /metrics of several workers has the sum of the spans that were exported', async () => {
  const collector = await collectorForTest()
  const service = await serve({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, ['--workers', '2'])
  for (let sent = 0; sent < 6; sent++) await request(service.authUrl)
  await expect.poll(service.metrics).toContain('grantor_trace_spans_total{result="exported"} 6')
})

test('If no collector listens, requests are answered, the lost spans are counted, and the process stops in time', async () => {
  const [port] = await freePorts(1)
  const service = await serve({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
  for (let sent = 0; sent < 5; sent++) expect((await request(service.authUrl)).status).toBe(415)
  await expect.poll(service.metrics).toContain('grantor_trace_spans_total{result="failed"} 5')
  expect(service.running.out()).toContain('the collector does not accept traces')
  const { code, ms } = await stop(service)
  expect(code).toBe(0)
  expect(ms).toBeLessThan(8000)
})

test('A collector that never answers delays no request, and the process stops in time', async () => {
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as { port: number }
  const service = await serve({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/traces` })
  expect((await request(service.authUrl)).status).toBe(415)
  await expect.poll(service.metrics).toContain('grantor_trace_spans_total{result="failed"} 1')
  await request(service.authUrl)
  const { code, ms } = await stop(service)
  expect(code).toBe(0)
  expect(ms).toBeLessThan(8000)
})
