/** Calls for a final change while the change is running. */
import { expect, test } from 'vitest'
import { RepeatedChanges } from '../../../src/store/postgres/repeated-changes.ts'

type Outcome = 'ended' | 'ended_before' | 'unknown'

/** Calls the change three times before the first outcome, which is the first of `outcomes`. */
async function callThrice(outcomes: (Outcome | Error)[]) {
  const changes = new RepeatedChanges<Outcome>({ ended: 'ended_before', ended_before: 'ended_before' })
  let runs = 0
  const change = async () => {
    const outcome = outcomes[runs++] ?? 'unknown'
    await new Promise((resolve) => setImmediate(resolve))
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  const calls = [1, 2, 3].map(() => changes.run('grant', change).catch(() => 'failed'))
  return { outcomes: await Promise.all(calls), runs, changes, change }
}

test('Calls that arrive while a grant is ended run no statement, and report that the grant had ended before', async () => {
  const { outcomes, runs } = await callThrice(['ended'])
  expect([outcomes, runs]).toEqual([['ended', 'ended_before', 'ended_before'], 1])
})

test('If the outcome is not final, each call runs the change itself', async () => {
  expect(await callThrice(['unknown', 'ended', 'ended_before'])).toMatchObject({
    outcomes: ['unknown', 'ended', 'ended_before'],
    runs: 3,
  })
})

test('If the change fails, the calls that wait for the change fail too, and add no load', async () => {
  const { outcomes, runs, changes, change } = await callThrice([new Error('no connection'), 'ended'])
  expect([outcomes, runs]).toEqual([['failed', 'failed', 'failed'], 1])
  expect(await changes.run('grant', change)).toBe('ended')
})

test('A call after the change runs the change again: only the store knows what happened meanwhile', async () => {
  const { changes, change } = await callThrice(['ended', 'ended_before'])
  expect(await changes.run('grant', change)).toBe('ended_before')
})
