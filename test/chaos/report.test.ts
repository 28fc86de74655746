/** What a run says of how soon the service was back. */
import { expect, test } from 'vitest'
import type { Entry, Told } from './history.ts'
import { returns } from './report.ts'
import { lost, tokens } from './stories.ts'

const refreshed = (begin: number, end: number, told: Told = tokens(1)): Entry => ({
  node: 'node',
  caller: 'app',
  asked: { op: 'refresh', token: 'r0' },
  told,
  begin,
  end,
  offset: [0, 0],
})

test('The service counts as available again with the first response to a request that was sent afterwards and had to write', () => {
  const history = [refreshed(900, 1100), refreshed(1050, 3000, lost), refreshed(1500, 4500), refreshed(2000, 2500)]
  const marks = [
    { after: 'a crash', at: 1000 },
    { after: 'a crash', at: 1500.5 },
    { after: 'a promotion', at: 2400 },
  ]
  expect(returns(history, marks)).toEqual([
    { after: 'a crash', seconds: [1.5, 0.9995] },
    { after: 'a promotion', seconds: [Number.POSITIVE_INFINITY] },
  ])
})
