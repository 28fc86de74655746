/** The recovery times in the report of a run. */
import { expect, test } from 'vitest'
import type { Entry, RecordedResponse } from './history.ts'
import { lost, tokens } from './history-builder.ts'
import { recoveryTimes } from './report.ts'

const refreshEntry = (begin: number, end: number, response: RecordedResponse = tokens(1)): Entry => ({
  node: 'node',
  caller: 'app',
  request: { op: 'refresh', token: 'r0' },
  response,
  begin,
  end,
  offset: [0, 0],
})

test('The service counts as available again with the first response to a request that was sent afterwards and had to write', () => {
  const history = [refreshEntry(900, 1100), refreshEntry(1050, 3000, lost), refreshEntry(1500, 4500), refreshEntry(2000, 2500)]
  const marks = [
    { after: 'a crash', at: 1000 },
    { after: 'a crash', at: 1500.5 },
    { after: 'a promotion', at: 2400 },
  ]
  expect(recoveryTimes(history, marks)).toEqual([
    { after: 'a crash', seconds: [1.5, 0.9995] },
    { after: 'a promotion', seconds: [Number.POSITIVE_INFINITY] },
  ])
})
