import { afterEach, expect, test } from 'vitest'
import { createMetrics, createMetricsServer } from '../../src/ops/metrics.ts'

let server: ReturnType<typeof createMetricsServer> | undefined
afterEach(() => server?.close())

async function listening(metrics = createMetrics()): Promise<string> {
  const made = createMetricsServer(metrics)
  server = made
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(made.address() as { port: number }).port}`
}

test('/metrics tells request times and refusals in the text format of Prometheus', async () => {
  const metrics = createMetrics()
  metrics.observeRequest({ route: '/oauth/token', method: 'POST', status: 200, seconds: 0.003 })
  metrics.countRefusal('invalid_grant', 'code_replayed')
  const answer = await fetch(`${await listening(metrics)}/metrics`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const text = await answer.text()
  expect(text).toContain('grantor_request_duration_seconds_bucket{le="0.005",route="/oauth/token",method="POST",status="200"} 1')
  expect(text).toContain('grantor_refusals_total{error="invalid_grant",reason="code_replayed"} 1')
  expect(text).toContain('process_resident_memory_bytes')
})

test('the listener serves nothing but GET /metrics', async () => {
  const url = await listening()
  expect((await fetch(`${url}/`)).status).toBe(404)
  expect((await fetch(`${url}/oauth/token`)).status).toBe(404)
  const posted = await fetch(`${url}/metrics`, { method: 'POST' })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

test('invented methods do not make new time series, so a stranger cannot fill the memory', async () => {
  const metrics = createMetrics()
  for (const method of ['BREW', 'PROPFIND']) metrics.observeRequest({ route: 'unmatched', method, status: 404, seconds: 0.001 })
  expect(await metrics.render()).toContain('count{route="unmatched",method="other",status="404"} 2')
})

test('two services in one process count apart', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.countRefusal('invalid_grant', 'code_replayed')
  expect(await other.render()).not.toContain('code_replayed')
})
