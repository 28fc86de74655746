/** The line in front of the connections to PostgreSQL, and leaving it. */
import { expect, onTestFinished, test } from 'vitest'
import { Lanes } from '../../src/store/postgres/lanes.ts'
import { findServer } from '../../src/store/postgres/server.ts'
import { newPostgresDatabase } from '../support/postgres.ts'

async function openLanes(most: number) {
  const { address } = await newPostgresDatabase()
  const { wire, open, destroy, silentAtMost } = await findServer(address)
  onTestFinished(destroy)
  return new Lanes({ open, cut: destroy, most, together: true, silentAtMost }, wire)
}

const asked = (text: string, ms: number) => ({ text, values: [], key: '', alone: false, deadline: performance.now() + ms })
const outcome = (answer: Promise<unknown>) => answer.then(() => 'answered', String)

test('leaving waits for what is under way or in line, and not for what nobody waits for any more', async () => {
  const lanes = await openLanes(1)
  const slow = outcome(lanes.ask('read', asked('SELECT pg_sleep(0.2)', 1000)))
  const inLine = outcome(lanes.ask('move', asked('SELECT 1', 1000)))
  const late = outcome(lanes.ask('read', asked('SELECT 1', -1)))
  await lanes.end()
  expect(await Promise.all([slow, inLine, late])).toEqual(['answered', 'answered', expect.stringContaining('did not move')])
})

test('leaving a line in which everybody has given up ends at once', async () => {
  const lanes = await openLanes(1)
  const late = outcome(lanes.ask('move', asked('SELECT 1', -1)))
  await lanes.end()
  expect(await late).toContain('did not move')
})

test('leaving ends too when the last transaction is refused after its askers have given up', async () => {
  const lanes = await openLanes(1)
  const both = ['SELECT pg_sleep(0.2), 1', 'SELECT 1 / 0'].map((text) => outcome(lanes.ask('move', asked(text, 100))))
  await lanes.end()
  expect(await Promise.all(both)).toEqual([expect.stringContaining('did not move'), expect.stringContaining('did not move')])
})
