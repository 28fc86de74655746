/** Lists of grants for operators: a page reads a bounded number of rows, however few of them match. */
import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { type GrantPage, type GrantPlace, type GrantQuery, readGrantPage } from '../../../src/domain/consent/list-grants.ts'
import { newGrantId } from '../../../src/domain/model/grant-id.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { NOW, newGrant, someWallet } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

const OTHERS = 2500
const [wallet, clientId] = [someWallet(), 'client']

let store: Store
beforeEach(async () => {
  ;[store] = await openTwoNodes()
  await redeem(NOW, {})
  const at = (index: number) => NOW + 1 + index
  // The newer grants of the wallet are at another client, and those of the client have expired.
  for (let index = 0; index < OTHERS; index++)
    void redeem(at(index), index % 2 === 0 ? { clientId: 'other' } : { wallet: someWallet(), refreshExpiresAt: NOW })
  await redeem(at(OTHERS), {})
})

function redeem(at: number, of: Parameters<typeof newGrant>[0]) {
  return store.grants.redeemCode(newGrant({ id: newGrantId(at), wallet, clientId, ...of }), randomUUID(), at)
}

/** Reads the whole list. Returns the number of items of each page, and of rows that the largest page read. */
async function readAll(query: Omit<GrantQuery, 'at'>) {
  let read = 0
  const counting = {
    listGrants: async (filter: Parameters<typeof store.grants.listGrants>[0]) => {
      const rows = await store.grants.listGrants(filter)
      read += rows.length
      return rows
    },
    listUnendedGrants: store.grants.listUnendedGrants,
    countUnendedGrants: store.grants.countUnendedGrants,
    countGrants: store.grants.countGrants,
  }
  const [items, reads]: [number[], number[]] = [[], []]
  for (let after: GrantPlace | null | undefined; after !== null; read = 0) {
    const page: GrantPage = await readGrantPage(counting, { at: NOW + 1, ...query }, { limit: 20, after })
    items.push(page.items.length)
    reads.push(read)
    after = page.next
  }
  return { items, mostRows: Math.max(...reads) }
}

test.each<[string, Omit<GrantQuery, 'at'>]>([
  ['the grants of a wallet at one of its clients', { wallet, clientId, living: false }],
  ['the active grants of a client whose other grants have expired', { clientId, living: true }],
])('Reading %s reads about a thousand rows for each page, and finds every grant', async (_, query) => {
  const { items, mostRows } = await readAll(query)
  expect(items.reduce((sum, each) => sum + each, 0)).toBe(2)
  expect(items.length, 'pages that are shorter than their limit').toBeGreaterThan(1)
  expect(mostRows).toBeLessThanOrEqual(1050)
})
