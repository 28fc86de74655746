/** When statements for a server that does not work are refused: `connection/circuit-breaker.ts`. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { type BreakerOptions, CircuitBreaker } from '../../../src/store/postgres/connection/circuit-breaker.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

class Failure extends Error {}
const isFailure = (error: unknown) => error instanceof Failure

function createBreaker(options: BreakerOptions = {}) {
  const breaker = new CircuitBreaker(options)
  return {
    breaker,
    succeed: () => breaker.run(() => Promise.resolve('done'), isFailure),
    fail: (error: Error = new Failure()) => breaker.run(() => Promise.reject(error), isFailure).catch(() => undefined),
    /** Starts a task that runs until `end` is called. */
    start() {
      const { promise, resolve } = Promise.withResolvers<string>()
      return { end: () => resolve('ended'), ended: breaker.run(() => promise, isFailure) }
    },
  }
}

test('A breaker that opens after two seconds of failures stays closed if there was a success in between', async () => {
  const { breaker, succeed, fail } = createBreaker({ opensAfterMs: 2000 })
  await fail()
  vi.advanceTimersByTime(1999)
  await fail()
  expect(breaker.isClosed).toBe(true)
  await succeed()
  vi.advanceTimersByTime(1000)
  await fail()
  vi.advanceTimersByTime(1999)
  await fail()
  expect(breaker.isClosed).toBe(true)
  vi.advanceTimersByTime(1)
  await fail()
  expect(breaker.isClosed).toBe(false)
})

test('A breaker that opens after three failures stays closed if there was a success in between', async () => {
  const { breaker, succeed, fail } = createBreaker({ opensAfter: 3 })
  for (const run of [fail, fail, succeed, fail, fail]) await run()
  expect(breaker.isClosed).toBe(true)
  await fail()
  expect(breaker.isClosed).toBe(false)
})

test('An error that is not a failure of the server neither opens nor closes a breaker, and rejects the task', async () => {
  const { breaker, fail } = createBreaker()
  const error = new Error('of the statement')
  await fail(error)
  expect(breaker.isClosed).toBe(true)
  await fail()
  await expect(breaker.run(() => Promise.reject(error), isFailure)).rejects.toBe(error)
  expect(breaker.isClosed).toBe(false)
})

test('An open breaker runs one task, and refuses other tasks without running them until that task has ended', async () => {
  const { breaker, fail, start } = createBreaker()
  await fail()
  const trial = start()
  const other = vi.fn(() => Promise.resolve('done'))
  await expect(breaker.run(other, isFailure)).rejects.toBeInstanceOf(StoreUnavailable)
  expect(other).not.toHaveBeenCalled()
  trial.end()
  await trial.ended
  expect(await breaker.run(other, isFailure)).toBe('done')
})

test('Tasks that were running when a breaker opened end before the first trial', async () => {
  const { succeed, fail, start } = createBreaker({ opensAfter: 2 })
  await fail()
  const earlier = start()
  await fail()
  await expect(succeed()).rejects.toBeInstanceOf(StoreUnavailable)
  earlier.end()
  await earlier.ended
  expect(await succeed()).toBe('done')
})

test('A success closes a breaker, also if other tasks are running', async () => {
  const { breaker, succeed, fail, start } = createBreaker()
  const [earlier, late] = [start(), start()]
  await fail()
  earlier.end()
  await earlier.ended
  expect(breaker.isClosed).toBe(true)
  expect(await succeed()).toBe('done')
  late.end()
  await late.ended
})
