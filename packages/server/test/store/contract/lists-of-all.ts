/** Lists over all wallets, in both orders: grants and sessions. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type GrantPage, type GrantQuery, readGrantPage } from '../../../src/domain/consent/list-grants.ts'
import { newGrantId } from '../../../src/domain/model/grant-id.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { NOW, newGrant, type Subject, someSession, someWallet } from './subject.ts'

/** Reads all pages forwards, then backwards, and expects the same pages. Returns the ids in order. */
async function readBothWays(store: Store, query: GrantQuery): Promise<string[]> {
  const forwards: string[][] = []
  let page: GrantPage = await readGrantPage(store.grants, query, { limit: 4 })
  expect(page.previous).toBeNull()
  for (;;) {
    forwards.push(page.items.map(({ id }) => id))
    if (page.next === null) break
    page = await readGrantPage(store.grants, query, { limit: 4, after: page.next })
  }
  const backwards = [page.items.map(({ id }) => id)]
  while (page.previous !== null) {
    page = await readGrantPage(store.grants, query, { limit: 4, before: page.previous })
    backwards.unshift(page.items.map(({ id }) => id))
  }
  expect(backwards).toEqual(forwards)
  return forwards.flat()
}

export function listsOfAllContract(subject: Subject): void {
  test('Grants of all, of a wallet and of a client are read in both orders and in both directions', async () => {
    const [store] = subject().nodes
    const [wallet, clientId] = [someWallet(), randomUUID()]
    const ids: string[] = []
    for (let n = 0; n < 11; n++) {
      const id = newGrantId(NOW + n)
      ids.push(id)
      await store.grants.redeemCode(newGrant({ id, wallet, clientId }), randomUUID(), NOW + n)
      if (n % 3 === 0) await store.grants.endGrant(id, 'revoked', NOW + n)
    }
    const at = NOW + 20
    for (const of of [{}, { wallet }, { clientId }]) {
      expect(await readBothWays(store, { ...of, living: false, order: 'oldest', at })).toEqual(ids)
      expect(await readBothWays(store, { ...of, living: false, order: 'newest', at })).toEqual(ids.toReversed())
    }
    const living = ids.filter((_, n) => n % 3 !== 0)
    expect(await readBothWays(store, { clientId, living: true, order: 'oldest', at })).toEqual(living)
    expect(await readBothWays(store, { living: true, order: 'newest', at })).toEqual(living.toReversed())
  })

  test('The sessions of all wallets that have not ended are listed by their end, in both orders, and counted up to a bound', async () => {
    const [store, other] = subject().nodes
    const hashes: string[] = []
    for (let n = 0; n < 9; n++) {
      // Two sessions end in the same second.
      const session = someSession({ hash: `hash${n}`, authTime: NOW + n, expiresAt: NOW + 100 + Math.floor(n / 2) })
      hashes.push(session.hash)
      await store.sessions.startSession(session, randomUUID())
    }
    await store.sessions.endSession('hash3', randomUUID(), NOW + 20)
    const open = hashes.filter((hash) => hash !== 'hash3' && hash !== 'hash0' && hash !== 'hash1')
    const at = NOW + 100
    const read = async (order: 'newest' | 'oldest') => {
      const found: string[] = []
      let after: { expiresAt: number; hash: string } | undefined
      do {
        const page = await other.sessions.listAllSessions({ order, at, limit: 2, after })
        found.push(...page.map(({ hash }) => hash))
        after = page.at(-1)
      } while (after)
      return found
    }
    expect(await read('oldest')).toEqual(open)
    expect(await read('newest')).toEqual(open.toReversed())
    expect([await other.sessions.countSessions(at, 100), await other.sessions.countSessions(at, 4)]).toEqual([6, 4])
  })
}
