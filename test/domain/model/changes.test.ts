import { expect, test } from 'vitest'
import { changesAfter } from '../../../src/domain/model/changes.ts'

test.each<[string, number, number, string, readonly string[] | 'everything']>([
  ['nothing has changed', 5, 5, ' 4:a 5:b', 'everything'],
  ['one has', 4, 5, ' 4:a 5:b', ['b']],
  ['all that is kept has', 3, 5, ' 4:a 5:b', ['a', 'b']],
  ['more than is kept has', 2, 5, ' 4:a 5:b', 'everything'],
  ['an older program wrote one without saying what', 3, 6, ' 4:a 5:b', 'everything'],
  ['an older program wrote the one before', 4, 6, ' 4:a 6:c', 'everything'],
  ['the oldest was cut off in its number', 1233, 1235, '34:a 1235:b', 'everything'],
  ['the oldest was cut off before its number', 1233, 1235, ':a 1235:b', 'everything'],
  ['nothing was kept yet', 4, 5, '', 'everything'],
  ['the database is older than what was seen', 9, 5, ' 4:a 5:b', 'everything'],
])('what is read again when %s', (_, seen, revision, recent, changed) => {
  expect(changesAfter(seen, revision, recent)).toEqual({ revision, changed })
})
