/** When statements for a server that does not work are refused: `connection/circuit-breaker.ts`. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { CircuitBreaker } from '../../../src/store/postgres/connection/circuit-breaker.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const succeed = () => Promise.resolve('done')

/** Starts a task that runs until `end` is called. */
function startTask(breaker: CircuitBreaker): { end: () => void; ended: Promise<string> } {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { end: () => resolve('ended'), ended: breaker.run(() => promise) }
}

test('A breaker that opens after two seconds of failures stays closed if there was a success in between', () => {
  const breaker = new CircuitBreaker({ opensAfterMs: 2000 })
  breaker.failed()
  vi.advanceTimersByTime(1999)
  breaker.failed()
  expect(breaker.state).toBe('closed')
  breaker.succeeded()
  vi.advanceTimersByTime(1000)
  breaker.failed()
  vi.advanceTimersByTime(1999)
  breaker.failed()
  expect(breaker.state).toBe('closed')
  vi.advanceTimersByTime(1)
  breaker.failed()
  expect(breaker.state).toBe('half-open')
})

test('A breaker that opens after three failures stays closed if there was a success in between', () => {
  const breaker = new CircuitBreaker({ opensAfter: 3 })
  for (const outcome of ['failed', 'failed', 'succeeded', 'failed', 'failed'] as const) breaker[outcome]()
  expect(breaker.state).toBe('closed')
  breaker.failed()
  expect(breaker.state).toBe('half-open')
})

test('A half-open breaker runs one task, and refuses other tasks without running them until that task has ended', async () => {
  const breaker = new CircuitBreaker({})
  breaker.failed()
  const trial = startTask(breaker)
  expect(breaker.state).toBe('open')
  const other = vi.fn(succeed)
  await expect(breaker.run(other)).rejects.toBeInstanceOf(StoreUnavailable)
  expect(other).not.toHaveBeenCalled()
  trial.end()
  await trial.ended
  expect(breaker.state).toBe('half-open')
  expect(await breaker.run(other)).toBe('done')
})

test('Tasks that were running when a breaker opened end before the first trial', async () => {
  const breaker = new CircuitBreaker({})
  const earlier = startTask(breaker)
  breaker.failed()
  await expect(breaker.run(succeed)).rejects.toBeInstanceOf(StoreUnavailable)
  earlier.end()
  await earlier.ended
  expect(await breaker.run(succeed)).toBe('done')
})

test('A success closes a breaker, also if other tasks are running', async () => {
  const breaker = new CircuitBreaker({})
  breaker.failed()
  const trial = startTask(breaker)
  breaker.succeeded()
  expect(breaker.state).toBe('closed')
  expect(await breaker.run(succeed)).toBe('done')
  trial.end()
  await trial.ended
})

test('The pause of an open breaker doubles with each failure up to a limit, and is short again after a success', () => {
  const breaker = new CircuitBreaker({ pauseMs: { first: 50, most: 150 } })
  const pauses = Array.from({ length: 4 }, () => {
    breaker.failed()
    expect(breaker.state).toBe('open')
    const pause = breaker.pauseLeft
    vi.advanceTimersByTime(Math.ceil(pause))
    expect(breaker.state).toBe('half-open')
    return pause
  })
  // Up to half of each pause is left out at random, so that nodes do not search in step.
  for (const [index, most] of [50, 100, 150, 150].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(most / 2)
    expect(pauses[index]).toBeLessThanOrEqual(most)
  }
  breaker.succeeded()
  breaker.failed()
  expect(breaker.pauseLeft).toBeLessThanOrEqual(50)
})
