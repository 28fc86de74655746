import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/observability/metrics/metrics.ts'
import { CLIENTS_AT_MOST } from '../../../src/observability/metrics/service-metrics.ts'
import { createSummedMetrics } from '../../../src/observability/metrics/summed-metrics.ts'

test('The metrics name at most 200 clients, and clients that are counted later share one value', async () => {
  const metrics = createMetrics()
  for (let number = 0; number < CLIENTS_AT_MOST + 50; number++) metrics.countTokens('refresh_token', `client-${number}`)
  metrics.countTokens('refresh_token', 'client-0')
  const text = await metrics.render()
  expect(text.match(/^grantor_tokens_issued_total\{/gm)).toHaveLength(CLIENTS_AT_MOST + 1)
  expect(text).toContain('grantor_tokens_issued_total{grant_type="refresh_token",client="client-0"} 2')
  expect(text).toContain('grantor_tokens_issued_total{grant_type="refresh_token",client="other"} 50')
})

test('On the page of several workers, counts are sums, and the times of keys are not', async () => {
  const sum = createSummedMetrics(() => 2)
  for (const worker of [1, 2]) {
    const metrics = createMetrics()
    metrics.countSignIn('signature', 'none')
    metrics.watchKeys(() => [{ kind: 'sign', createdAt: 1_000, dueAt: 2_000 }])
    sum.keep(worker, JSON.parse(JSON.stringify(await metrics.snapshot())) as Awaited<ReturnType<typeof metrics.snapshot>>)
  }
  const text = await sum.render()
  expect(text).toContain('grantor_sign_ins_total{method="signature",client="none"} 2')
  expect(text).toContain('grantor_key_created_timestamp_seconds{kind="sign"} 1000')
  expect(text).toContain('grantor_key_due_timestamp_seconds{kind="sign"} 2000')
})

test('The replays of a client begin at 0 when the client is counted for the first time', async () => {
  const metrics = createMetrics()
  metrics.countGrant('client-1')
  const text = await metrics.render()
  for (const reason of ['code_replayed', 'refresh_replayed']) {
    expect(text).toContain(`grantor_endings_total{event="grant_ended",reason="${reason}",client="client-1"} 0`)
  }
})
