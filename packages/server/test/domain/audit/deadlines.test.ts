/** How long a response waits for its line of the trail. */
import { expect, test } from 'vitest'
import { createDeadlines } from '../../../src/domain/audit/deadlines.ts'

/** Pauses that end when the test says so. `pending`: the milliseconds of those that nothing has ended. */
function manualPauses() {
  const pauses: { milliseconds: number; end: () => void }[] = []
  const pause = (milliseconds: number, ended?: AbortSignal) =>
    new Promise<void>((resolve) => {
      const own = { milliseconds, end: () => (pauses.splice(pauses.indexOf(own), 1), resolve()) }
      pauses.push(own)
      ended?.addEventListener('abort', own.end)
    })
  return {
    deadlines: createDeadlines(pause),
    end: () => pauses[0]?.end(),
    pending: () => pauses.map((each) => each.milliseconds),
  }
}

const never = new Promise<never>(() => undefined)

test('An append that the chain does not answer within a second counts as failed, and so does one that fails at once', async () => {
  const { deadlines, end, pending } = manualPauses()
  const late = deadlines.succeedsInTime(never)
  expect(pending()).toEqual([1000])
  end()
  expect(await late).toBe(false)
  expect(await deadlines.succeedsInTime(Promise.reject(new Error('away')))).toBe(false)
  expect(await deadlines.succeedsInTime(Promise.resolve())).toBe(true)
  expect(pending(), 'no pause is left that would keep the process alive').toEqual([])
})

test('A response waits two seconds for its line at most, which leaves a second for storing the line outside of the chain', async () => {
  const { deadlines, end, pending } = manualPauses()
  const response = deadlines.settledOrOverdue(never)
  expect(pending()).toEqual([2000])
  end()
  await response
  await deadlines.settledOrOverdue(Promise.resolve('written'))
  expect(pending()).toEqual([])
})
