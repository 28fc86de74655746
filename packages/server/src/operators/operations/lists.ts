/** Lists that are sorted, searched and read in both directions. */
import { type Member, type Members, textOf } from '../members/member.ts'
import type { PageRequest, Total } from './operation.ts'

export type Arrangement = { search?: string; sort?: string; order?: 'ascending' | 'descending' }

/** The place of a record in a sorted list. */
export type SortPlace = { key: string | number; id: string }

/** What a list sorts and searches by. */
export type Sorted<Item> = {
  id(item: Item): string
  /** the texts of which one contains the searched text */
  texts(item: Item): readonly string[]
  /** the first one is the usual order */
  sorts: Readonly<Record<string, (item: Item) => string | number>>
}

/** The members of the input of such a list. */
export function arrangementMembers(noun: string, searched: string, sorts: readonly [string, ...string[]]): readonly Member[] {
  const words = `Only ${noun}s whose ${searched} contains this text.`
  return [
    {
      name: 'search',
      shape: { kind: 'text' },
      longest: 100,
      words,
      label: `Search by ${searched}`,
      option: { value: 'TEXT', words },
    },
    {
      name: 'sort',
      shape: { kind: 'text', choices: sorts },
      words: `Sorts by this member; \`${sorts[0]}\` unless given.`,
      option: { value: 'MEMBER', words: `Sorts by this member: ${sorts[0]} unless given.` },
    },
    {
      name: 'order',
      shape: { kind: 'text', choices: ['ascending', 'descending'] },
      words: '`ascending` unless given.',
      option: { value: 'ORDER', words: 'ascending unless given, or descending.' },
    },
  ]
}

/** A member of the input that selects records by one of few values. */
export function filterMember(name: string, label: string, choices: readonly string[], words: string): Member {
  return { name, label, words, shape: { kind: 'text', choices }, option: { value: name.toUpperCase(), words } }
}

/** The items that match the search, in the order. */
export function arrangeItems<Item>(items: readonly Item[], { search, ...order }: Arrangement, sorted: Sorted<Item>): Item[] {
  const wanted = search?.toLowerCase() ?? ''
  const found = items.filter((item) => sorted.texts(item).some((text) => text.toLowerCase().includes(wanted)))
  const placeOf = createPlaceReader(order, sorted)
  const sign = signOf(order)
  return found
    .map((item) => ({ item, place: placeOf(item) }))
    .sort((a, b) => sign * compare(a.place, b.place))
    .map(({ item }) => item)
}

export type SortedPage<Item> = { items: Item[]; next: SortPlace | null; previous: SortPlace | null; total: Total }

/** A page of items that are arranged already. The place of a record that was deleted meanwhile still divides the list. */
export function pageOfArranged<Item>(
  items: readonly Item[],
  { limit, after, before }: PageRequest,
  order: Arrangement,
  sorted: Sorted<Item>,
): SortedPage<Item> {
  const placeOf = createPlaceReader(order, sorted)
  const sign = signOf(order)
  /** The number of items before the place, or up to and including the place. */
  const count = (which: 'before' | 'through', place: unknown): number => {
    const least = which === 'before' ? 0 : 1
    const index = items.findIndex((item) => sign * compare(placeOf(item), place as SortPlace) >= least)
    return index === -1 ? items.length : index
  }
  const end = before === undefined ? undefined : count('before', before)
  const start = end === undefined ? (after === undefined ? 0 : count('through', after)) : Math.max(0, end - limit)
  const page = items.slice(start, end ?? start + limit)
  const [first, last] = [page[0], page.at(-1)]
  return {
    items: page,
    next: last !== undefined && start + page.length < items.length ? placeOf(last) : null,
    previous: first !== undefined && start > 0 ? placeOf(first) : null,
    total: { number: items.length, kind: 'exact' },
  }
}

function createPlaceReader<Item>({ sort }: Arrangement, { id, sorts }: Sorted<Item>): (item: Item) => SortPlace {
  const [usual] = Object.values(sorts)
  const key = (sort === undefined ? undefined : sorts[sort]) ?? usual ?? id
  return (item) => {
    const value = key(item)
    return { key: typeof value === 'string' ? value.toLowerCase() : value, id: id(item) }
  }
}

const signOf = ({ order }: Arrangement): 1 | -1 => (order === 'descending' ? -1 : 1)

/** In the order of code points, so that the order is the same on every machine. */
function compare(a: SortPlace, b: SortPlace): number {
  return compareValues(a.key, b.key) || compareValues(a.id, b.id)
}

function compareValues(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The same for the records of a list that is returned whole. */
export function arrangedRecords<Item extends Members>(items: readonly Item[], input: Arrangement, names: RecordNames): Item[] {
  const value = (item: Item, name: string): string | number => {
    const found = item[name]
    return typeof found === 'number' ? found : textOf(found)
  }
  return arrangeItems(items, input, {
    id: (item) => String(value(item, names.id)),
    texts: (item) => names.texts.map((name) => String(value(item, name))),
    sorts: Object.fromEntries(names.sorts.map((name) => [name, (item: Item) => value(item, name)])),
  })
}

/** The names of the members. */
export type RecordNames = { id: string; texts: readonly string[]; sorts: readonly [string, ...string[]] }
