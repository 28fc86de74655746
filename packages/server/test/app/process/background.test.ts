import { expect, test } from 'vitest'
import { repeat } from '../../../src/app/process/background.ts'
import { createLogger } from '../../../src/observability/log/logger.ts'
import { capturedLog } from '../../observability/log/captured-log.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const silent = createLogger({ level: 'silent' })

test('A background task is repeated, never runs twice at the same time, and does not run after stop', async () => {
  let [runs, atOnce, most] = [0, 0, 0]
  const task = async () => {
    runs += 1
    most = Math.max(most, ++atOnce)
    await pause(30)
    atOnce -= 1
  }
  const background = repeat({ name: 'counting', every: 0.005, run: task }, silent)
  await expect.poll(() => runs).toBeGreaterThanOrEqual(3)
  await background.stop()
  const then = runs
  expect([most, atOnce]).toEqual([1, 0])
  await pause(60)
  expect(runs).toBe(then)
})

test('Stopping a background task waits until its current run has finished', async () => {
  let [begun, finished] = [false, false]
  const background = repeat(
    {
      name: 'slow',
      every: 0.001,
      async run() {
        begun = true
        await pause(50)
        finished = true
      },
    },
    silent,
  )
  await expect.poll(() => begun).toBe(true)
  await background.stop()
  expect(finished).toBe(true)
})

test('Several failures in a row of a background task are two log lines: an error at the first failure and an info line at the recovery', async () => {
  const log = capturedLog()
  let runs = 0
  const background = repeat(
    {
      name: 'noticing changes',
      every: 0.001,
      async run() {
        runs += 1
        if (runs > 2 && runs < 8) throw new Error('the store is away')
      },
    },
    createLogger({ level: 'info', destination: log.destination }),
  )
  await expect.poll(() => runs).toBeGreaterThanOrEqual(12)
  await background.stop()
  expect(log.lines().map(({ level, task }) => [level, task])).toEqual([
    ['error', 'noticing changes'],
    ['info', 'noticing changes'],
  ])
})
