import { expect, test } from 'vitest'
import { createMetrics } from '../../src/ops/metrics.ts'
import { createSummedMetrics } from '../../src/ops/summed-metrics.ts'

/** What a worker's numbers are after their way through a channel between processes. */
async function measured(metrics: ReturnType<typeof createMetrics>) {
  return JSON.parse(JSON.stringify(await metrics.snapshot())) as Awaited<ReturnType<typeof metrics.snapshot>>
}

const request = { route: '/oauth/token', method: 'POST', status: 200 }
const COUNT = 'grantor_request_duration_seconds_count{route="/oauth/token",method="POST",status="200"}'

test('counts and durations of all workers are added up, and the workers counted', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.observeRequest({ ...request, seconds: 0.003 })
  other.observeRequest({ ...request, seconds: 0.3 })
  other.countRefusal('invalid_grant', 'code_replayed')
  const sum = createSummedMetrics(() => 2)
  sum.keep(1, await measured(one))
  sum.keep(2, await measured(other))
  const text = await sum.render()
  expect(text).toContain(`${COUNT} 2`)
  expect(text).toContain('seconds_bucket{le="0.005",route="/oauth/token",method="POST",status="200"} 1')
  expect(text).toContain('grantor_refusals_total{error="invalid_grant",reason="code_replayed"} 1')
  expect(text).toContain('grantor_workers 2')
  expect(text).toContain('grantor_workers_ended_total 0')
})

test('no count falls when a worker ends: what it had counted stays, what it used does not', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  for (const each of [one, other]) each.observeRequest({ ...request, seconds: 0.003 })
  const sum = createSummedMetrics(() => 1)
  sum.keep(1, await measured(one))
  sum.keep(2, await measured(other))
  const memory = async () => Number(/^process_resident_memory_bytes (\S+)$/m.exec(await sum.render())?.[1])
  const both = await memory()
  sum.retire(1)
  sum.retire(2)
  const next = createMetrics()
  next.observeRequest({ ...request, seconds: 0.003 })
  sum.keep(3, await measured(next))
  const text = await sum.render()
  expect(text).toContain(`${COUNT} 3`)
  expect(text).toContain('grantor_workers_ended_total 2')
  expect(await memory()).toBeLessThan(both * 0.75)
})

test('a worker’s last words, heard after it was found gone, are not counted a second time', async () => {
  const one = createMetrics()
  one.observeRequest({ ...request, seconds: 0.003 })
  const sum = createSummedMetrics(() => 0)
  sum.keep(1, await measured(one))
  sum.retire(1)
  sum.keep(1, await measured(one))
  const text = await sum.render()
  expect(text).toContain(`${COUNT} 1`)
  expect(text).not.toContain('process_resident_memory_bytes ')
})
