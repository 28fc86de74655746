import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/observability/metrics/metrics.ts'
import { createSummedMetrics } from '../../../src/observability/metrics/summed-metrics.ts'

/** The metrics of a worker after their serialization for the channel between processes. */
async function transfer(metrics: ReturnType<typeof createMetrics>) {
  return JSON.parse(JSON.stringify(await metrics.snapshot())) as Awaited<ReturnType<typeof metrics.snapshot>>
}

const request = { route: '/oauth/token', method: 'POST', status: 200, isClientAway: false }
const COUNT = 'grantor_request_duration_seconds_count{route="/oauth/token",method="POST",status="200"}'

test('The metrics of all workers are added up, and the number of workers is a metric', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.observeRequest({ ...request, seconds: 0.003 })
  other.observeRequest({ ...request, seconds: 0.3 })
  other.countRefusal('invalid_grant', 'code_replayed')
  const sum = createSummedMetrics(() => 2)
  sum.keep(1, await transfer(one))
  sum.keep(2, await transfer(other))
  const text = await sum.render()
  expect(text).toContain(`${COUNT} 2`)
  expect(text).toContain('seconds_bucket{le="0.005",route="/oauth/token",method="POST",status="200"} 1')
  expect(text).toContain('grantor_refusals_total{error="invalid_grant",reason="code_replayed"} 1')
  expect(text).toContain('grantor_workers 2')
  expect(text).toContain('grantor_workers_ended_total 0')
})

test('When a worker ends, its counts are kept in the sum, and its memory is removed from the sum', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  for (const each of [one, other]) each.observeRequest({ ...request, seconds: 0.003 })
  const sum = createSummedMetrics(() => 1)
  sum.keep(1, await transfer(one))
  sum.keep(2, await transfer(other))
  const memory = async () => Number(/^process_resident_memory_bytes (\S+)$/m.exec(await sum.render())?.[1])
  const both = await memory()
  sum.retire(1)
  sum.retire(2)
  const next = createMetrics()
  next.observeRequest({ ...request, seconds: 0.003 })
  sum.keep(3, await transfer(next))
  const text = await sum.render()
  expect(text).toContain(`${COUNT} 3`)
  expect(text).toContain('grantor_workers_ended_total 2')
  expect(await memory()).toBeLessThan(both * 0.75)
})

test('Metrics that arrive from a worker after its end are not counted again', async () => {
  const one = createMetrics()
  one.observeRequest({ ...request, seconds: 0.003 })
  const sum = createSummedMetrics(() => 0)
  sum.keep(1, await transfer(one))
  sum.retire(1)
  sum.keep(1, await transfer(one))
  const text = await sum.render()
  expect(text).toContain(`${COUNT} 1`)
  expect(text).not.toContain('process_resident_memory_bytes ')
})
