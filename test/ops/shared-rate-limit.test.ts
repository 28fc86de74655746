import { expect, test } from 'vitest'
import { type Counted, createRateCounter, createReportingRateLimit, type KeyOver } from '../../src/ops/shared-rate-limit.ts'

type Name = 'failures' | 'sign_ins'

/** Workers and their primary in one process; what they tell each other arrives when the test says so. */
function service({ limit = 10, workers = 2, maxKeys = 100_000 } = {}) {
  const clock = { at: 1000 }
  const now = () => clock.at
  const counter = createRateCounter<Name>({ perMinute: { failures: limit, sign_ins: limit + 1 }, now })
  let onTheWay: Counted<Name>[] = []
  const crew = Array.from({ length: workers }, () =>
    createReportingRateLimit<Name>({ now, maxKeys, report: (counted) => void onTheWay.push(counted) }),
  )
  const deliver = (): KeyOver<Name>[] => {
    const over = onTheWay.flatMap(counter)
    onTheWay = []
    for (const worker of crew) over.forEach(worker.learn)
    return over
  }
  const fail = (worker: number, ...keys: string[]) => {
    const verdict = crew[worker]!.count('failures', ...keys)
    deliver()
    return verdict
  }
  return { clock, crew, deliver, fail, onTheWay: () => onTheWay }
}

test('failures are counted over all workers: as many as the limit are let through in all, then none by any', () => {
  const { fail } = service({ limit: 10 })
  for (let failure = 0; failure < 10; failure++) expect(fail(failure % 2, 'a')).toEqual({ allowed: true })
  expect(fail(0, 'a')).toEqual({ allowed: false, retryAfter: 60 })
  expect(fail(1, 'a')).toEqual({ allowed: false, retryAfter: 60 })
  expect(fail(0, 'b')).toEqual({ allowed: true })
})

test('with a limit of one the second failure is refused, by whichever worker', () => {
  const { fail } = service({ limit: 1 })
  expect(fail(0, 'a')).toEqual({ allowed: true })
  expect(fail(1, 'a')).toEqual({ allowed: false, retryAfter: 60 })
})

test('each name has a limit of its own for all workers', () => {
  const { fail, crew, deliver } = service({ limit: 1 })
  fail(0, 'a')
  for (let time = 0; time < 2; time++) {
    expect(crew[1]!.count('sign_ins', 'a')).toEqual({ allowed: true })
    deliver()
  }
  expect(crew[0]!.count('sign_ins', 'a')).toEqual({ allowed: false, retryAfter: 60 })
})

test('a worker says beforehand what the next event would be answered, and reports nothing', () => {
  const { fail, crew, onTheWay } = service({ limit: 2 })
  fail(0, 'a')
  expect(crew[1]!.check('failures', 'a')).toEqual({ allowed: true })
  fail(0, 'a')
  expect(crew[1]!.check('failures', 'a')).toEqual({ allowed: false, retryAfter: 60 })
  expect(crew[1]!.check('sign_ins', 'a')).toEqual({ allowed: true })
  expect(onTheWay()).toEqual([])
})

test('the window ends for all, a minute after its first failure', () => {
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

test('a failure under two keys is refused when one is over, and still counts for the other', () => {
  const { fail } = service({ limit: 2 })
  fail(0, 'network', 'one')
  fail(0, 'network', 'two')
  expect(fail(1, 'network', 'three')).toMatchObject({ allowed: false })
  fail(1, 'network', 'three')
  expect(fail(0, 'three')).toMatchObject({ allowed: false })
})

test('a worker that took the place of another is told at its first report', () => {
  const { fail, crew, deliver, clock } = service({ limit: 2 })
  for (let failure = 0; failure < 3; failure++) fail(0, 'a')
  const reports: Counted<Name>[] = []
  const fresh = createReportingRateLimit<Name>({ now: () => clock.at, report: (counted) => void reports.push(counted) })
  expect(fresh.count('failures', 'a')).toEqual({ allowed: true })
  expect(reports).toEqual([{ name: 'failures', keys: ['a'] }])
  crew[0]!.count('failures', 'a')
  expect(deliver()).toEqual([]) // who knows already reports nothing more
})

test('a clock that jumps back leaves no key over for longer than its window', () => {
  const { fail, clock } = service({ limit: 1 })
  fail(0, 'a')
  clock.at -= 3600
  expect(fail(0, 'a')).toEqual({ allowed: true })
})

test('a worker remembers no more keys than it may', () => {
  const { fail, crew } = service({ limit: 1, maxKeys: 2 })
  for (const key of ['a', 'b', 'c']) fail(0, key)
  expect(crew[1]!.count('failures', 'a')).toEqual({ allowed: true })
  expect(crew[1]!.count('failures', 'c')).toMatchObject({ allowed: false })
})
