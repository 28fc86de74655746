/** Expired and ended rows are deleted after a delay; all others are kept. One node at a time holds the lease for cleaning. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { SweptKind } from '../../../src/domain/model/operator-store.ts'
import type { NewGrant } from '../../../src/domain/model/request-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { DAY, livingGrant, NOW, newGrant, race, rotationOf, type Subject, someKey, someReceipt, someSession } from './subject.ts'

/** Deletes the rows that were over at `by`. */
function sweep(store: Store, kind: SweptKind, by: number, limit: number): Promise<number> {
  return store.cleaning.sweep(kind, { overFor: 3600, limit, at: by + 3600 })
}

export function cleaningContract(subject: Subject): void {
  test('A grant can be deleted from the time at which it ended, or else from its absolute expiry', async () => {
    const [store, other] = subject().nodes
    const grants = {
      ended: await livingGrant(store),
      expired: await livingGrant(store, { expiresAt: NOW + 100, refreshExpiresAt: NOW + 100 }),
      living: await livingGrant(store),
      spent: newGrant(),
    }
    await store.grants.spendCode(grants.spent, randomUUID(), NOW + 100)
    await store.grants.endGrant(grants.ended.id, 'revoked', NOW + 100)
    const left = async () => {
      const rows = await Promise.all(Object.values(grants).map(({ id }) => other.grants.readGrant(id)))
      return Object.keys(grants).filter((_, index) => rows[index] !== null)
    }
    expect(await sweep(store, 'grants', NOW + 99, 10)).toBe(0)
    expect(await left()).toEqual(['ended', 'expired', 'living', 'spent'])
    expect(await sweep(store, 'grants', NOW + 100, 10)).toBe(3)
    expect(await left()).toEqual(['living'])
    expect(await sweep(store, 'grants', NOW + 100, 10), 'again: nothing is left').toBe(0)
  })

  test('A refresh does not postpone the deletion of a grant: only its absolute expiry counts, not its idle expiry', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store, { expiresAt: NOW + 500, refreshExpiresAt: NOW + 200 })
    await store.grants.rotateRefreshToken(rotationOf(grant, 0, { at: NOW + 100, refreshExpiresAt: NOW + 300 }))
    expect(await sweep(store, 'grants', NOW + 499, 10), 'idle, and its access tokens may live').toBe(0)
    expect(await sweep(store, 'grants', NOW + 500, 10)).toBe(1)
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 1, { at: NOW + 100 })), 'gone is refused').toEqual({
      kind: 'unknown',
    })
  })

  test('A session can be deleted from the time at which it ended, or else from its absolute expiry, whenever it was last used', async () => {
    const [store, other] = subject().nodes
    const [ended, expired, living] = [
      someSession({ epoch: 0 }),
      someSession({ epoch: 0, expiresAt: NOW + 100 }),
      someSession({ epoch: 0 }),
    ]
    for (const session of [ended, expired, living]) await store.sessions.startSession(session, randomUUID())
    await store.sessions.endSession(ended.hash, randomUUID(), NOW + 50)
    await store.sessions.touchSession(expired.hash, NOW + 99)
    expect(await sweep(store, 'sessions', NOW + 49, 10)).toBe(0)
    expect(await sweep(store, 'sessions', NOW + 50, 10)).toBe(1)
    expect(await other.sessions.readSession(ended.hash)).toBeNull()
    expect(await sweep(store, 'sessions', NOW + 100, 10)).toBe(1)
    expect(await other.sessions.readSession(expired.hash)).toBeNull()
    expect(await other.sessions.readSession(living.hash)).toEqual(living)
  })

  test('A receipt can be deleted from its expiry, withdrawn or not, and not before', async () => {
    const [store, other] = subject().nodes
    const withdrawn = someReceipt({ expiresAt: NOW + 100 })
    const younger = someReceipt({ wallet: withdrawn.wallet })
    for (const receipt of [withdrawn, younger]) await store.receipts.insertReceipt(receipt, 0)
    await store.receipts.withdrawReceipt(withdrawn.wallet, withdrawn.id, NOW + 1)
    expect(await sweep(store, 'receipts', NOW + 99, 10)).toBe(0)
    expect(await sweep(store, 'receipts', NOW + 100, 10)).toBe(1)
    expect(await other.receipts.listReceipts(withdrawn.wallet, { limit: 10 })).toEqual([younger])
  })

  test("Deleting an expired receipt deletes neither another wallet's receipt with the same id nor another receipt of that wallet", async () => {
    const [store] = subject().nodes
    const [one, other] = [someReceipt({ expiresAt: NOW + 100 }), someReceipt({ expiresAt: NOW + 100 })]
    const living = [someReceipt({ wallet: one.wallet, id: other.id }), someReceipt({ wallet: other.wallet, id: one.id })]
    for (const receipt of [one, other, ...living]) await store.receipts.insertReceipt(receipt, 0)
    expect(await sweep(store, 'receipts', NOW + 100, 10)).toBe(2)
    for (const receipt of living) expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual(receipt)
    for (const receipt of [one, other]) expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toBeNull()
  })

  test('A key can be deleted once it is retired, and a key that is not retired is never deleted', async () => {
    const [store, other] = subject().nodes
    const [retired, living] = [someKey(), someKey()]
    for (const key of [retired, living]) await store.keys.insertKey(key)
    await store.keys.retireKey(retired.id, retired.kind, NOW + 100)
    expect(await sweep(store, 'keys', NOW + 99, 10)).toBe(0)
    expect(await sweep(store, 'keys', NOW + 10_000 * DAY, 10)).toBe(1)
    expect(await other.keys.listKeys()).toEqual([living])
  })

  test('A row whose id has quotes, commas, braces or other special characters is deleted', async () => {
    const [store] = subject().nodes
    const ids = ['"', '\\', 'a,b', '{c}', '"d" \\"e\\', 'NULL', ' ', "'; --", 'é']
    for (const id of ids) await livingGrant(store, { id, expiresAt: NOW + 1, refreshExpiresAt: NOW + 1 })
    expect(await sweep(store, 'grants', NOW + 1, 50)).toBe(ids.length)
    for (const id of ids) expect(await store.grants.readGrant(id)).toBeNull()
  })

  test('A sweep deletes no more rows than its limit, and first those that have been over for the longest time', async () => {
    const [store] = subject().nodes
    const ends = [5, 3, 1, 4, 2]
    const grants: NewGrant[] = []
    for (const after of ends) grants.push(await livingGrant(store, { expiresAt: NOW + after, refreshExpiresAt: NOW + after }))
    const left = async () => {
      const rows = await Promise.all(grants.map(({ id }) => store.grants.readGrant(id)))
      return ends.filter((_, index) => rows[index] !== null)
    }
    expect(await sweep(store, 'grants', NOW + DAY, 2)).toBe(2)
    expect(await left()).toEqual([5, 3, 4])
    expect(await sweep(store, 'grants', NOW + DAY, 2)).toBe(2)
    expect(await left()).toEqual([5])
  })

  test('Ten concurrent sweeps on two nodes delete each row once', async () => {
    const [store] = subject().nodes
    for (let each = 0; each < 40; each++) await livingGrant(store, { expiresAt: NOW + each, refreshExpiresAt: NOW + each })
    const living = await livingGrant(store)
    const swept = await race(subject(), 10, (node) => sweep(node, 'grants', NOW + DAY, 10))
    let sum = swept.reduce((all, each) => all + each, 0)
    // Concurrent sweeps may have selected the same rows; a row that is already deleted does not count.
    while (sum < 40) sum += (await sweep(store, 'grants', NOW + DAY, 10)) || Number.POSITIVE_INFINITY
    expect(sum).toBe(40)
    expect(await store.grants.readGrant(living.id)).not.toBeNull()
  })

  test('Of fifty nodes that try to take a lease at once, exactly one gets it', async () => {
    const outcomes = await race(subject(), 50, (store, index) => store.cleaning.takeLease('cleaning', `node-${index}`, NOW, 60))
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(1)
  })

  test('A lease belongs to its holder until it expires, and each renewal extends it; then another node can take it', async () => {
    const [here, there] = subject().nodes
    const take = (store: Store, holder: string, at: number) => store.cleaning.takeLease('cleaning', holder, NOW + at, 60)
    expect(await take(here, 'here', 0)).toBe('taken')
    expect(await take(there, 'there', 59)).toBe('held')
    expect(await take(here, 'here', 40)).toBe('taken')
    expect(await take(there, 'there', 99)).toBe('held')
    expect(await take(there, 'there', 100)).toBe('taken')
    expect(await take(here, 'here', 101)).toBe('held')
    expect(await there.cleaning.takeLease('another', 'here', NOW, 60), 'each lease by itself').toBe('taken')
  })

  test('A lease that was taken by a clock far ahead does not block other nodes once the clock is right again', async () => {
    const [here, there] = subject().nodes
    await here.cleaning.takeLease('cleaning', 'here', NOW + DAY, 60)
    expect(await there.cleaning.takeLease('cleaning', 'there', NOW, 60)).toBe('taken')
    expect(await here.cleaning.takeLease('cleaning', 'here', NOW + 1, 60)).toBe('held')
  })
}
