import { expect, test } from 'vitest'
import { arrangeItems, pageOfArranged, type Sorted } from '../../../src/operators/operations/lists.ts'

type Item = { id: string; name: string; at: number }
const SORTED: Sorted<Item> = {
  id: ({ id }) => id,
  texts: ({ name, id }) => [name, id],
  sorts: { id: ({ id }) => id, name: ({ name }) => name, at: ({ at }) => at },
}
/** Names in upper and lower case, several of them equal. */
const ITEMS = Array.from({ length: 25 }, (_, n) => ({
  id: `id${String(n).padStart(2, '0')}`,
  name: n % 2 === 0 ? `App ${n % 6}` : `app ${n % 6}`,
  at: 100 - (n % 7),
}))

test.for([{}, { sort: 'name' }, { sort: 'name', order: 'descending' }, { sort: 'at', order: 'ascending' }] as const)(
  'A list that is sorted by %j is read forwards and backwards with the same pages, each item once',
  (order) => {
    const items = arrangeItems(ITEMS, order, SORTED)
    expect(new Set(items).size).toBe(ITEMS.length)
    const forwards: string[][] = []
    let page = pageOfArranged(items, { limit: 7, after: undefined }, order, SORTED)
    expect(page.previous).toBeNull()
    for (;;) {
      forwards.push(page.items.map(({ id }) => id))
      if (page.next === null) break
      page = pageOfArranged(items, { limit: 7, after: page.next }, order, SORTED)
    }
    expect(forwards.flat()).toEqual(items.map(({ id }) => id))
    const backwards = [page.items.map(({ id }) => id)]
    while (page.previous !== null) {
      page = pageOfArranged(items, { limit: 7, after: undefined, before: page.previous }, order, SORTED)
      backwards.unshift(page.items.map(({ id }) => id))
    }
    expect(backwards).toEqual(forwards)
  },
)

test('A search ignores the case, and the place of an item that was deleted meanwhile still divides the list', () => {
  const found = arrangeItems(ITEMS, { search: 'APP 3', sort: 'name' }, SORTED)
  expect(found.map(({ name }) => name)).toEqual(Array.from({ length: found.length }, () => 'app 3'))
  const [first, second, ...rest] = found
  const place = pageOfArranged(found, { limit: 1, after: undefined }, { sort: 'name' }, SORTED).next
  const left = [second, ...rest].filter((item) => item !== undefined)
  expect(first).toBeDefined()
  expect(pageOfArranged(left, { limit: 1, after: place }, { sort: 'name' }, SORTED).items).toEqual([second])
})
