import { expect, test } from 'vitest'
import { createLiveState } from '../../../src/observability/metrics/live-state.ts'
import { TestClock } from '../../support/start.ts'

const request = (seconds: number, status = 200, route = '/oauth/token') => ({
  route,
  method: 'POST',
  status,
  seconds,
  isClientAway: false,
})

function start() {
  const clock = new TestClock()
  clock.at = 1_800_000_000
  const live = createLiveState(clock.now)
  return { clock, live, observed: live.observe(undefined) }
}

test('The rate, the faults and the percentiles are those of the last minute, without the ten seconds that are not over', () => {
  const { clock, live, observed } = start()
  for (let n = 0; n < 120; n++) observed.observeRequest(request(n < 114 ? 0.002 : 0.2, n === 0 ? 500 : 200))
  expect(live.read().now).toMatchObject({ perSecond: 0, p50: null })
  clock.advance(10)
  const { perSecond, faults, p50, p95, p99 } = live.read().now
  expect([perSecond, faults]).toEqual([2, 1])
  expect(p50).toBeGreaterThanOrEqual(0.002)
  expect(p50).toBeLessThan(0.0026)
  expect(p95).toBe(p50)
  expect(p99).toBeGreaterThanOrEqual(0.2)
  expect(p99).toBeLessThan(0.26)
  clock.advance(60)
  expect(live.read().now).toMatchObject({ perSecond: 0, faults: 0, p99: null })
})

test('The samples cover the last hour, and what is older is forgotten', () => {
  const { clock, live, observed } = start()
  observed.observeRequest(request(0.001))
  observed.countRefusal('invalid_grant', 'code_replayed')
  clock.advance(1800)
  for (const reason of ['code_unknown', 'code_unknown', 'code_expired']) observed.countRefusal('invalid_grant', reason)
  clock.advance(60)
  const reading = live.read()
  expect(reading.samples).toHaveLength(60)
  expect(reading.samples.reduce((sum, { requests }) => sum + requests, 0)).toBe(1)
  expect(reading.refusals).toEqual([
    { reason: 'code_unknown', count: 2 },
    { reason: 'code_replayed', count: 1 },
    { reason: 'code_expired', count: 1 },
  ])
  clock.advance(3600)
  expect(live.read()).toMatchObject({ refusals: [] })
  expect(live.read().samples.every(({ requests }) => requests === 0)).toBe(true)
})

test('Probes of health are not counted, and everything is passed on to the metrics', () => {
  const passed: string[] = []
  const clock = new TestClock()
  const live = createLiveState(clock.now)
  const observed = live.observe({
    observeRequest: ({ route }) => passed.push(route),
    expectRoute: ({ route }) => passed.push(route),
    countRefusal: (_error, reason) => passed.push(reason),
    countTokens: (grantType) => passed.push(grantType),
  })
  for (const route of ['/health/ready', '/oauth/token']) observed.observeRequest(request(0.001, 200, route))
  observed.countRefusal('invalid_grant', 'code_expired')
  observed.countTokens('refresh_token', 'client')
  clock.advance(10)
  expect(
    live
      .read()
      .samples.concat()
      .reduce((sum, { requests }) => sum + requests, 0),
  ).toBeLessThanOrEqual(1)
  expect(live.read().now.perSecond).toBe(1 / 60)
  expect(passed).toEqual(['/health/ready', '/oauth/token', 'code_expired', 'refresh_token'])
})
