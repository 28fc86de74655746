/** Which calls share a batch: `statements/batches.ts`. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { Batches } from '../../../src/store/postgres/statements/batches.ts'

const batchesThat = (run: (inputs: string[]) => Promise<string[]>, atOnce: number) =>
  new Batches<string, string>({
    atOnce: () => atOnce,
    runAlone: async (input) => (await run([input]))[0],
    runTogether: run,
    isRolledBack: () => true,
  })

/** Batches that each end when the test says so. `sent`: the inputs of each batch. */
function heldBatches(atOnce: number) {
  const sent: string[][] = []
  const ends: (() => void)[] = []
  const run = (inputs: string[]) =>
    new Promise<string[]>((resolve) => {
      sent.push(inputs)
      ends.push(() => resolve(inputs))
    })
  return { batches: batchesThat(run, atOnce), sent, end: (index: number) => ends[index]?.() }
}
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve))

test('Calls that wait for a batch, and the next calls of those whose batch has ended, share the next batch', async () => {
  const { batches, sent, end } = heldBatches(1)
  const first = batches.add('a').then(() => batches.add('a again'))
  await endOfTurn()
  const waiting = [batches.add('b'), batches.add('c')]
  await endOfTurn()
  expect(sent).toEqual([['a']])
  end(0)
  await expect.poll(() => sent).toEqual([['a'], ['b', 'c', 'a again']])
  end(1)
  expect(await Promise.all([first, ...waiting])).toEqual(['a again', 'b', 'c'])
})

test('As many batches run at a time as the options say', async () => {
  const { batches, sent, end } = heldBatches(2)
  const calls: Promise<unknown>[] = []
  for (const input of ['a', 'b', 'c']) {
    calls.push(batches.add(input))
    await endOfTurn()
  }
  expect(sent).toEqual([['a'], ['b']])
  end(1)
  await expect.poll(() => sent).toEqual([['a'], ['b'], ['c']])
  for (const index of [0, 2]) end(index)
  expect(await Promise.all(calls)).toEqual(['a', 'b', 'c'])
})

test('Calls share batches again when a database that was slow for a long time is fast', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  let milliseconds = 300
  const sizes: number[] = []
  const batches = batchesThat(async (inputs) => {
    sizes.push(inputs.length)
    await endOfTurn()
    now += milliseconds
    return inputs
  }, 1)
  const callEight = () => Promise.all(Array.from({ length: 8 }, () => batches.add('a')))
  for (let round = 0; round < 3; round++) await callEight()
  expect(sizes.at(-1)).toBeLessThan(8)
  milliseconds = 1
  for (let round = 0; round < 3; round++) await callEight()
  expect(sizes.at(-1)).toBe(8)
})
