/** Lists of grants for operators, page by page. */
import type { Address } from '../../protocol/wallet/address.ts'
import type { GrantLists } from '../model/operator-store.ts'
import type { Order } from '../model/pages.ts'
import type { Grant } from '../model/records.ts'
import type { GrantStore } from '../model/request-store.ts'

export type GrantQuery = {
  wallet?: Address | undefined
  clientId?: string | undefined
  /** true: only grants that have neither ended nor expired at `at` */
  living: boolean
  at: number
  /** `newest` unless given */
  order?: Order | undefined
}

/** The last row that a page has read. */
export type GrantPlace = Pick<Grant, 'id' | 'clientId' | 'createdAt'>

/** `next` is null on the last page, and `previous` on the first one. */
export type GrantPage = { items: Grant[]; next: GrantPlace | null; previous: GrantPlace | null }

/** A page after a place, before a place, or the first page. */
export type PagePlace = { limit: number; after?: GrantPlace | undefined; before?: GrantPlace | undefined }

/** The most rows that are read for one page. */
const READ_AT_MOST = 1000
/** The fewest rows that are read at once. */
const STEP = 50

type ListedGrants = GrantLists & Pick<GrantStore, 'listUnendedGrants'>

/**
 * A page of grants, in the order of their creation; the active grants of a wallet by client, and newest first within a client. Only that list
 * cannot be read backwards.
 *
 * No index has the time at which a refresh token expires, because each refresh changes it, and none has a wallet's ended grants at one
 * client. So the rows are selected here. A page reads at most `READ_AT_MOST` rows, and has fewer items than `limit`, even none, if few of
 * them match. Otherwise the request would read all rows of a client whose grants have expired.
 */
export async function readGrantPage(
  grants: ListedGrants,
  query: GrantQuery,
  { limit, after, before }: PagePlace,
): Promise<GrantPage> {
  const { order = 'newest' } = query
  if (before === undefined) {
    const { items, next } = await readOneWay(grants, { ...query, order }, { limit, after })
    const [first] = items
    const canGoBack = after !== undefined && first !== undefined && !isByClient(query)
    return { items, next, previous: canGoBack ? grantPosition(first) : null }
  }
  const opposite = order === 'newest' ? 'oldest' : 'newest'
  const { items, next: previous } = await readOneWay(grants, { ...query, order: opposite }, { limit, after: before })
  return { items: items.toReversed(), next: grantPosition(items[0] ?? before), previous }
}

/** Whether the rows come from the index of a wallet's active grants. */
function isByClient({ wallet, living }: GrantQuery): boolean {
  return wallet !== undefined && living
}

async function readOneWay(
  grants: ListedGrants,
  query: GrantQuery & { order: Order },
  { limit, after }: Pick<PagePlace, 'limit' | 'after'>,
): Promise<Pick<GrantPage, 'items' | 'next'>> {
  const items: Grant[] = []
  const step = Math.max(STEP, limit + 1)
  let last = after
  for (let read = 0; read < READ_AT_MOST; read += step) {
    const rows = await readRows(grants, query, { limit: step, after: last })
    for (const grant of rows.filter((row) => matches(row, query))) {
      if (items.length === limit) return { items, next: grantPosition(items.at(-1)) }
      items.push(grant)
    }
    if (rows.length < step) return { items, next: null }
    last = rows.at(-1)
  }
  return { items, next: grantPosition(last) }
}

type Rows = { limit: number; after: GrantPlace | undefined }

function readRows(
  grants: ListedGrants,
  { wallet, clientId, living, order }: GrantQuery & { order: Order },
  page: Rows,
): Promise<Grant[]> {
  if (wallet !== undefined)
    return living ? grants.listUnendedGrants({ wallet, clientId, ...page }) : grants.listGrants({ wallet, order, ...page })
  if (clientId === undefined) return grants.listGrants({ order, ...page })
  return grants.listGrants({ clientId, unended: living, order, ...page })
}

function matches(grant: Grant, { clientId, living, at }: GrantQuery): boolean {
  if (clientId !== undefined && grant.clientId !== clientId) return false
  return !living || (grant.endedAt === null && grant.refreshExpiresAt > at)
}

function grantPosition(grant: GrantPlace | undefined): GrantPlace | null {
  return grant === undefined ? null : { id: grant.id, clientId: grant.clientId, createdAt: grant.createdAt }
}
