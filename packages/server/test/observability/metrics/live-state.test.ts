import { expect, test } from 'vitest'
import { percentilesOf } from '../../../src/observability/metrics/latencies.ts'
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

test('A minute has its requests, its answers 5xx and 429, and the percentiles of its durations, once it is over', () => {
  const { clock, live, observed } = start()
  for (let n = 0; n < 120; n++) observed.observeRequest(request(n < 114 ? 0.002 : 0.2, n === 0 ? 503 : n < 3 ? 429 : 200))
  expect(live.readMinutes()).toEqual([])
  clock.advance(60)
  const [minute, ...others] = live.readMinutes()
  expect(others).toEqual([])
  expect(minute).toMatchObject({ minute: 30_000_000, requests: 120, faults: 1, limited: 2 })
  const { p50, p95, p99 } = percentilesOf(minute?.latencies ?? [])
  expect(p50).toBeGreaterThanOrEqual(0.002)
  expect(p50).toBeLessThan(0.0026)
  expect(p95).toBe(p50)
  expect(p99).toBeGreaterThanOrEqual(0.2)
  expect(p99).toBeLessThan(0.26)
})

test('The percentiles of two processes together are those of all their requests', () => {
  const [one, other] = [start(), start()]
  for (let n = 0; n < 99; n++) one.observed.observeRequest(request(0.002))
  for (let n = 0; n < 101; n++) other.observed.observeRequest(request(0.2))
  for (const { clock } of [one, other]) clock.advance(60)
  const { p50 } = percentilesOf([one, other].flatMap(({ live }) => live.readMinutes().flatMap(({ latencies }) => latencies)))
  expect(p50).toBeGreaterThanOrEqual(0.2)
})

test('The last 60 minutes are kept, and what is older is forgotten', () => {
  const { clock, live, observed } = start()
  for (let minute = 0; minute < 200; minute++) {
    observed.observeRequest(request(0.001))
    clock.advance(60)
  }
  const minutes = live.readMinutes().map(({ minute }) => minute)
  expect(minutes).toEqual(Array.from({ length: 60 }, (_, n) => 30_000_140 + n))
  clock.advance(3600)
  expect(live.readMinutes()).toEqual([])
})

test('Probes of health are not counted, and everything is passed on to the metrics', () => {
  const passed: string[] = []
  const { clock, live } = start()
  const observed = live.observe({
    observeRequest: ({ route }) => passed.push(route),
    expectRoute: ({ route }) => passed.push(route),
    countRefusal: (_error, reason) => passed.push(reason),
    countTokens: (grantType) => passed.push(grantType),
    countDraw: (result) => passed.push(result),
  })
  for (const route of ['/health/ready', '/oauth/token']) observed.observeRequest(request(0.001, 200, route))
  observed.countRefusal('invalid_grant', 'code_expired')
  observed.countTokens('refresh_token', 'client')
  observed.countDraw('drawn')
  clock.advance(60)
  expect(live.readMinutes()).toMatchObject([{ requests: 1 }])
  expect(passed).toEqual(['/health/ready', '/oauth/token', 'code_expired', 'refresh_token', 'drawn'])
})
