import { expect, test } from 'vitest'
import { createRateCounter, createReportingRateLimit, type KeyOver, type LimitedKeys } from '../../src/http/shared-rate-limit.ts'

type Name = 'failures' | 'sign_ins'

/** Workers and their primary in one process. The test decides when their messages arrive. */
function service({ limit = 10, workers = 2, maxKeys = 100_000 } = {}) {
  const clock = { at: 1000 }
  const now = () => clock.at
  const counter = createRateCounter<Name>({ perMinute: { failures: limit, sign_ins: limit + 1 }, now })
  let pending: LimitedKeys<Name>[] = []
  const limits = Array.from({ length: workers }, () =>
    createReportingRateLimit<Name>({ now, maxKeys, report: (counted) => void pending.push(counted) }),
  )
  const deliver = (): KeyOver<Name>[] => {
    const over = pending.flatMap(counter)
    pending = []
    for (const worker of limits) over.forEach(worker.learn)
    return over
  }
  const fail = (worker: number, ...keys: string[]) => {
    const verdict = limits[worker]!.count('failures', ...keys)
    deliver()
    return verdict
  }
  return { clock, limits, deliver, fail, pending: () => pending }
}

test('Failures are counted over all workers: up to the limit they are allowed in total, then every worker refuses', () => {
  const { fail } = service({ limit: 10 })
  for (let failure = 0; failure < 10; failure++) expect(fail(failure % 2, 'a')).toEqual({ allowed: true })
  expect(fail(0, 'a')).toEqual({ allowed: false, retryAfter: 60 })
  expect(fail(1, 'a')).toEqual({ allowed: false, retryAfter: 60 })
  expect(fail(0, 'b')).toEqual({ allowed: true })
})

test('With a limit of one, another worker refuses the second failure', () => {
  const { fail } = service({ limit: 1 })
  expect(fail(0, 'a')).toEqual({ allowed: true })
  expect(fail(1, 'a')).toEqual({ allowed: false, retryAfter: 60 })
})

test('Each name of a shared rate limit has its own limit for all workers', () => {
  const { fail, limits, deliver } = service({ limit: 1 })
  fail(0, 'a')
  for (let time = 0; time < 2; time++) {
    expect(limits[1]!.count('sign_ins', 'a')).toEqual({ allowed: true })
    deliver()
  }
  expect(limits[0]!.count('sign_ins', 'a')).toEqual({ allowed: false, retryAfter: 60 })
})

test('A check by a worker returns what the next event would get, and reports nothing to the primary', () => {
  const { fail, limits, pending } = service({ limit: 2 })
  fail(0, 'a')
  expect(limits[1]!.check('failures', 'a')).toEqual({ allowed: true })
  fail(0, 'a')
  expect(limits[1]!.check('failures', 'a')).toEqual({ allowed: false, retryAfter: 60 })
  expect(limits[1]!.check('sign_ins', 'a')).toEqual({ allowed: true })
  expect(pending()).toEqual([])
})

test('The window of a shared rate limit ends for all workers one minute after its first failure', () => {
  const { fail, clock } = service({ limit: 2 })
  fail(0, 'a')
  clock.at += 20
  fail(1, 'a')
  expect(fail(0, 'a')).toEqual({ allowed: false, retryAfter: 40 })
  clock.at += 39.5
  expect(fail(1, 'a')).toEqual({ allowed: false, retryAfter: 1 })
  clock.at += 0.5
  expect(fail(0, 'a')).toEqual({ allowed: true })
})

test('A failure with several keys is refused by a worker if one key is over the limit, and still counts for the other keys', () => {
  const { fail } = service({ limit: 2 })
  fail(0, 'network', 'one')
  fail(0, 'network', 'two')
  expect(fail(1, 'network', 'three')).toMatchObject({ allowed: false })
  fail(1, 'network', 'three')
  expect(fail(0, 'three')).toMatchObject({ allowed: false })
})

test('A replacement worker allows a first event and reports it; a worker that was informed of the limit reports no further event', () => {
  const { fail, limits, deliver, clock } = service({ limit: 2 })
  for (let failure = 0; failure < 3; failure++) fail(0, 'a')
  const reports: LimitedKeys<Name>[] = []
  const fresh = createReportingRateLimit<Name>({ now: () => clock.at, report: (counted) => void reports.push(counted) })
  expect(fresh.count('failures', 'a')).toEqual({ allowed: true })
  expect(reports).toEqual([{ name: 'failures', keys: ['a'] }])
  limits[0]!.count('failures', 'a')
  expect(deliver()).toEqual([])
})

test('If the clock jumps back, a worker allows a key again that was over the limit', () => {
  const { fail, clock } = service({ limit: 1 })
  fail(0, 'a')
  clock.at -= 3600
  expect(fail(0, 'a')).toEqual({ allowed: true })
})

test('A worker stores a bounded number of keys that are over the limit, and forgets the oldest first', () => {
  const { fail, limits } = service({ limit: 1, maxKeys: 2 })
  for (const key of ['a', 'b', 'c']) fail(0, key)
  expect(limits[1]!.count('failures', 'a')).toEqual({ allowed: true })
  expect(limits[1]!.count('failures', 'c')).toMatchObject({ allowed: false })
})

test('A key with a limit of its own is counted over all workers up to this limit, whatever the limit of the name is', () => {
  const { limits, deliver } = service({ limit: 10 })
  const count = (worker: number, key: string) => {
    const verdict = limits[worker]!.countWithin(2, 'failures', key)
    deliver()
    return verdict
  }
  expect([count(0, 'a'), count(1, 'a')]).toEqual([{ allowed: true }, { allowed: true }])
  for (const worker of [0, 1]) expect(count(worker, 'a')).toEqual({ allowed: false, retryAfter: 60 })
  expect(count(0, 'b')).toEqual({ allowed: true })
})
