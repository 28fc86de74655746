/** One task that many callers need: `statements/shared-runs.ts`. */
import { expect, test } from 'vitest'
import { SharedRuns } from '../../../src/store/postgres/statements/shared-runs.ts'

/** A task that counts its runs, each of which ends when the test says so. */
function countedTask() {
  const runs: PromiseWithResolvers<void>[] = []
  const task = () => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  }
  return { runs, task }
}
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve))

test('The calls of one turn of the event loop share a run, and the calls during a run share the next one', async () => {
  const { runs, task } = countedTask()
  const shared = new SharedRuns(0)
  const first = Array.from({ length: 100 }, () => shared.run('one', task))
  await endOfTurn()
  const second = Array.from({ length: 100 }, () => shared.run('one', task))
  await endOfTurn()
  expect(runs).toHaveLength(1)
  runs[0]?.resolve()
  await Promise.all(first)
  await expect.poll(() => runs.length, { interval: 1 }).toBe(2)
  runs[1]?.resolve()
  await Promise.all(second)
  void shared.run('one', task)
  await expect.poll(() => runs.length, { interval: 1 }).toBe(3)
})

test('A call during a run does not end with that run, which may have begun before what the caller has seen', async () => {
  const { runs, task } = countedTask()
  const shared = new SharedRuns(0)
  const first = shared.run('one', task)
  await endOfTurn()
  let isOver = false
  const late = shared.run('one', task).then(() => (isOver = true))
  runs[0]?.resolve()
  await first
  await expect.poll(() => runs.length, { interval: 1 }).toBe(2)
  expect(isOver).toBe(false)
  runs[1]?.resolve()
  await late
})

test('If a run fails, the calls that wait for the next one fail too, and a later call gets a run of its own', async () => {
  const { runs, task } = countedTask()
  const shared = new SharedRuns(0)
  const first = shared.run('one', task)
  await endOfTurn()
  const second = shared.run('one', task)
  runs[0]?.reject(new Error('failed'))
  await expect(first).rejects.toThrow('failed')
  await expect(second).rejects.toThrow('failed')
  const third = shared.run('one', task)
  await endOfTurn()
  expect(runs).toHaveLength(2)
  runs[1]?.resolve()
  await third
})

test('Tasks with different keys do not wait for each other', async () => {
  const { runs, task } = countedTask()
  const shared = new SharedRuns(0)
  void shared.run('one', task)
  const other = shared.run('other', task)
  await endOfTurn()
  runs[1]?.resolve()
  await other
})
