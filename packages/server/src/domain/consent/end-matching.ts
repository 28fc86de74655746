/** Ends the grants that match a filter, and counts them before. */
import { randomUUID } from 'node:crypto'
import type { Address } from '../../protocol/wallet/address.ts'
import { PAGE } from '../model/pages.ts'
import type { EndReason, Grant } from '../model/records.ts'
import type { Store } from '../model/store.ts'

/** Several conditions must all hold. */
export type GrantsMatching = {
  clientId?: string | undefined
  wallet?: Address | undefined
  /** the grant has this scope */
  scope?: string | undefined
  /** the grant was created before this second */
  createdBefore?: number | undefined
}

/** Rows of one read. The grants of a page that match are ended in steps of `PAGE`. */
const READ = 500
/** The most rows that a count reads: about a second on PostgreSQL. */
const COUNTED_ROWS = 20_000
/** Lists are in the order of ids or of creation. The id of a grant is as old as its code, which was exchanged up to ten minutes later. */
const ID_OLDER_BY_AT_MOST = 3600

/** `at_least`: there are more rows than a count reads. */
export async function countMatching(
  store: Store,
  matching: GrantsMatching,
  rows = COUNTED_ROWS,
): Promise<{ number: number; kind: 'exact' | 'at_least' }> {
  let [number, read] = [0, 0]
  for await (const page of unendedPages(store, matching)) {
    number += page.filter((grant) => isMatching(grant, matching)).length
    read += page.length
    if (read >= rows) return { number, kind: 'at_least' }
  }
  return { number, kind: 'exact' }
}

/**
 * Ends the grants, oldest first, so that grants that are created meanwhile end too if they match. Yields how many grants ended after each step, also 0
 * after a page without one, so that the caller can report the progress and stop. The second pass ends the grants of codes that were issued before the
 * first pass and redeemed behind it: on SQLite the list of a client is sorted by id, and the id of a grant is as old as its code.
 */
export async function* endMatching(
  store: Store,
  matching: GrantsMatching,
  { reason, now }: { reason: EndReason; now: () => number },
): AsyncGenerator<number> {
  const confirm = await store.startReading()
  for (const _ of ['first pass', 'second pass']) {
    for await (const page of unendedPages(store, matching)) {
      const ids = page.filter((grant) => isMatching(grant, matching)).map(({ id }) => id)
      if (ids.length === 0) yield 0
      for (let start = 0; start < ids.length; start += PAGE) {
        const some = ids.slice(start, start + PAGE)
        yield (await store.grants.endGrants(some, { reason, at: now(), attemptId: randomUUID() })).length
      }
    }
  }
  await confirm()
}

/** The rows of the client or of the wallet. Without both, those of all grants: no index has the scopes. */
async function* unendedPages(store: Store, { clientId, wallet, createdBefore }: GrantsMatching): AsyncGenerator<Grant[]> {
  const read = ({ grants }: Store, after: Grant | undefined): Promise<Grant[]> => {
    if (wallet !== undefined) return grants.listUnendedGrants({ wallet, clientId, limit: READ, after })
    return clientId === undefined
      ? grants.listGrants({ order: 'oldest', limit: READ, after })
      : grants.listGrants({ clientId, unended: true, order: 'oldest', limit: READ, after })
  }
  const isInOrder = wallet === undefined
  for (let after: Grant | undefined; ; ) {
    const page = await read(store, after)
    if (page.length > 0) yield page
    after = page.at(-1)
    const isBeyond = isInOrder && createdBefore !== undefined && (after?.createdAt ?? 0) - ID_OLDER_BY_AT_MOST > createdBefore
    if (page.length < READ || isBeyond) return
  }
}

function isMatching(grant: Grant, { clientId, wallet, scope, createdBefore }: GrantsMatching): boolean {
  return (
    grant.endedAt === null &&
    (clientId === undefined || grant.clientId === clientId) &&
    (wallet === undefined || grant.wallet === wallet) &&
    (scope === undefined || grant.scopes.includes(scope)) &&
    (createdBefore === undefined || grant.createdAt < createdBefore)
  )
}
