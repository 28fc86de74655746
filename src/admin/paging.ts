/** Pages of lists. A cursor is the sealed place of the last item of a page. */
import { type SealedFormat, sealedFormat } from '../keys/sealed.ts'
import type { Admin } from './admin.ts'
import { Problem } from './problem.ts'

const USUAL_LIMIT = 50

export type PageQuery = { limit?: number; after?: string }

/** A page as the domain reads it. `next` is the place of the last item; null on the last page. */
type PlacedPage<Item, Place> = { items: Item[]; next: Place | null }

/** The places of one list. A cursor of another list is refused. */
export function createPlacedPaging<Place>({ deps }: Pick<Admin, 'deps'>, list: string) {
  const format: SealedFormat<{ list: string; place: Place }> = sealedFormat('adminCursor')

  function placeIn(cursor: string | undefined): Place | undefined {
    if (cursor === undefined) return undefined
    const opened = format.open(deps.keys, cursor)
    if (opened?.list === list) return opened.place
    throw new Problem('invalid_request', 'The request has faults.', ['after is not the cursor of a page of this list.'])
  }

  return async <Item>(
    { limit = USUAL_LIMIT, after }: PageQuery,
    read: (limit: number, after: Place | undefined) => Promise<PlacedPage<Item, Place>>,
  ): Promise<{ items: Item[]; next: string | null }> => {
    const { items, next } = await read(limit, placeIn(after))
    return { items, next: next && format.seal(deps.keys, { list, place: next }) }
  }
}

/** The same for a list of the store, which returns items alone. */
export function createPaging<Place>(admin: Pick<Admin, 'deps'>, list: string) {
  const readPage = createPlacedPaging<Place>(admin, list)

  /** Reads one item more than a page has, so that the last page is known. */
  return <Item>(
    query: PageQuery,
    read: (limit: number, after: Place | undefined) => Promise<Item[]>,
    placeOf: (item: Item) => Place,
  ): Promise<{ items: Item[]; next: string | null }> =>
    readPage(query, async (limit, after) => {
      const items = await read(limit + 1, after)
      const page = items.slice(0, limit)
      const last = items.length > limit ? page.at(-1) : undefined
      return { items: page, next: last === undefined ? null : placeOf(last) }
    })
}
