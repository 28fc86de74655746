/** A database put back from a backup: all of it ends, and it counts as unconfirmed until somebody says otherwise. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { livingGrant, NOW, rotationOf, type Subject, someReceipt, someSession } from './subject.ts'

export function restorationsContract(subject: Subject): void {
  test('a store that was never put back knows of no restoration', async () => {
    expect(await subject().nodes[0].restorations.readRestoration()).toBeNull()
  })

  test('a restoration is unconfirmed on every node until it is confirmed, and a later one is unconfirmed anew', async () => {
    const [store, other] = subject().nodes
    const first = await store.restorations.beginRestoration(NOW)
    expect(await other.restorations.readRestoration()).toEqual({ number: first.number, begunAt: NOW, confirmedAt: null })
    await other.restorations.confirmRestoration(first.number, NOW + 5)
    await other.restorations.confirmRestoration(first.number, NOW + 6)
    expect(await store.restorations.readRestoration()).toEqual({ number: first.number, begunAt: NOW, confirmedAt: NOW + 5 })
    const second = await store.restorations.beginRestoration(NOW + 10)
    await store.restorations.confirmRestoration(first.number, NOW + 11)
    expect(await other.restorations.readRestoration()).toEqual({ number: second.number, begunAt: NOW + 10, confirmedAt: null })
  })

  test('everything ends: more rows than a batch, of all wallets and clients; what had ended before keeps its reason', async () => {
    const [store, other] = subject().nodes
    const grants = await Promise.all(Array.from({ length: 1100 }, () => livingGrant(store)))
    const [first] = grants
    await store.grants.endGrant(first?.id ?? '', 'revoked', NOW + 1)
    const sessions = [someSession({ epoch: 0 }), someSession({ epoch: 0 })]
    for (const session of sessions) await store.sessions.startSession(session, randomUUID())
    const receipts = [someReceipt(), someReceipt()]
    for (const receipt of receipts) await store.receipts.insertReceipt(receipt, 0)
    await store.receipts.withdrawReceipt(receipts[0]?.wallet ?? '0x', receipts[0]?.id ?? '', NOW + 1)

    expect(await store.restorations.endEverything(NOW + 10)).toEqual({ grants: 1099, sessions: 2, receipts: 1 })
    expect(await other.restorations.endEverything(NOW + 20), 'again: nothing is left').toEqual({
      grants: 0,
      sessions: 0,
      receipts: 0,
    })
    for (const [index, grant] of grants.entries()) {
      const ended = index === 0 ? { endedAt: NOW + 1, endReason: 'revoked' } : { endedAt: NOW + 10, endReason: 'restored' }
      expect(await other.grants.readGrant(grant.id)).toMatchObject(ended)
    }
    const last = grants.at(-1)
    expect(last && (await other.grants.rotateRefreshToken(rotationOf(last, 0)))).toEqual({ kind: 'ended' })
    for (const { hash } of sessions) expect(await other.sessions.readSession(hash)).toMatchObject({ endedAt: NOW + 10 })
    const withdrawn = await Promise.all(receipts.map(({ wallet, id }) => other.receipts.readReceipt(wallet, id)))
    expect(withdrawn.map((receipt) => receipt?.withdrawnAt)).toEqual([NOW + 1, NOW + 10])
  })
}
