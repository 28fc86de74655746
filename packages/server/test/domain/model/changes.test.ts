import { expect, test } from 'vitest'
import { changesAfter } from '../../../src/domain/model/changes.ts'

test.each<[string, number, number, string, readonly string[] | 'everything']>([
  ['nothing has changed', 5, 5, ' 4:a 5:b', 'everything'],
  ['one record has changed', 4, 5, ' 4:a 5:b', ['b']],
  ['every kept change is new to it', 3, 5, ' 4:a 5:b', ['a', 'b']],
  ['more has changed than is kept', 2, 5, ' 4:a 5:b', 'everything'],
  ['the latest change is not listed', 3, 6, ' 4:a 5:b', 'everything'],
  ['an earlier change is not listed', 4, 6, ' 4:a 6:c', 'everything'],
  ['the oldest kept change was cut off inside its number', 1233, 1235, '34:a 1235:b', 'everything'],
  ['the oldest kept change was cut off before its number', 1233, 1235, ':a 1235:b', 'everything'],
  ['no change is kept yet', 4, 5, '', 'everything'],
  ['the database is older than the revision that the node has read', 9, 5, ' 4:a 5:b', 'everything'],
])('What a node reads again when %s', (_, seen, revision, recent, changed) => {
  expect(changesAfter(seen, revision, recent)).toEqual({ revision, changed })
})
