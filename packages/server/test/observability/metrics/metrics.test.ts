import { afterEach, expect, test } from 'vitest'
import { createMetricsServer } from '../../../src/http/metrics-server.ts'
import { createMetrics } from '../../../src/observability/metrics/metrics.ts'

let server: ReturnType<typeof createMetricsServer> | undefined
afterEach(() => server?.close())

async function listen(metrics = createMetrics()): Promise<string> {
  const created = createMetricsServer(metrics)
  server = created
  await new Promise<void>((resolve) => created.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(created.address() as { port: number }).port}`
}

test('The page /metrics has request times and refusals in the text format of Prometheus', async () => {
  const metrics = createMetrics()
  metrics.observeRequest({ route: '/oauth/token', method: 'POST', status: 200, seconds: 0.003, isClientAway: false })
  metrics.countRefusal('invalid_grant', 'code_replayed')
  const answer = await fetch(`${await listen(metrics)}/metrics`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const text = await answer.text()
  expect(text).toContain('grantor_request_duration_seconds_bucket{le="0.005",route="/oauth/token",method="POST",status="200"} 1')
  expect(text).toContain('grantor_refusals_total{error="invalid_grant",reason="code_replayed"} 1')
  expect(text).toContain('process_resident_memory_bytes')
})

test('The metrics listener serves only GET and HEAD of /metrics', async () => {
  const url = await listen()
  expect((await fetch(`${url}/`)).status).toBe(404)
  expect((await fetch(`${url}/oauth/token`)).status).toBe(404)
  const posted = await fetch(`${url}/metrics`, { method: 'POST' })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

test('Unknown HTTP methods are counted as one time series, so that clients cannot exhaust the memory', async () => {
  const metrics = createMetrics()
  const request = { route: 'unmatched', status: 404, seconds: 0.001, isClientAway: false }
  for (const method of ['BREW', 'PROPFIND']) metrics.observeRequest({ ...request, method })
  expect(await metrics.render()).toContain('count{route="unmatched",method="other",status="404"} 2')
})

test('Two services in one process have separate metrics', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.countRefusal('invalid_grant', 'code_replayed')
  expect(await other.render()).not.toContain('error="invalid_grant"')
})

test('The responses are counted by their result, and health checks are not counted', async () => {
  const metrics = createMetrics()
  const request = { route: '/oauth/token', method: 'POST', seconds: 0.001, isClientAway: false }
  metrics.observeRequest({ ...request, status: 400 })
  metrics.observeRequest({ ...request, status: 503 })
  metrics.observeRequest({ ...request, status: 503, isClientAway: true })
  metrics.observeRequest({ ...request, route: '/health/ready', status: 503 })
  const text = await metrics.render()
  for (const result of ['ok', 'failed', 'client_unavailable']) {
    expect(text).toContain(`grantor_responses_total{result="${result}"} 1`)
  }
})
