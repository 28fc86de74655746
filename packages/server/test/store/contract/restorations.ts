/**
 * A database that was restored from a backup: everything ends, and the restoration is unconfirmed until an operator confirms
 * it.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { PAGE } from '../../../src/domain/model/pages.ts'
import type { NewGrant } from '../../../src/domain/model/request-store.ts'
import { livingGrant, NOW, rotationOf, type Subject, someReceipt, someSession } from './subject.ts'

export function restorationsContract(subject: Subject): void {
  test('A store that was never restored from a backup has no restoration', async () => {
    expect(await subject().nodes[0].restorations.readRestoration()).toBeNull()
  })

  test('A restoration is unconfirmed on every node until it is confirmed, and a later one must be confirmed again', async () => {
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

  test('A restoration ends every grant and session and withdraws every receipt, each batch at its own time; rows that had ended keep their time and reason', async () => {
    const [store, other] = subject().nodes
    const grants: NewGrant[] = []
    // Not all at once: on Citus each one is a statement, which is refused if it waits for a connection for long.
    while (grants.length < 1100) grants.push(...(await Promise.all(Array.from({ length: PAGE }, () => livingGrant(store)))))
    const [first] = grants
    await store.grants.endGrant(first?.id ?? '', 'revoked', NOW + 1)
    const sessions = [someSession({ epoch: 0 }), someSession({ epoch: 0 })]
    for (const session of sessions) await store.sessions.startSession(session, randomUUID())
    const receipts = [someReceipt(), someReceipt()]
    for (const receipt of receipts) await store.receipts.insertReceipt(receipt, 0)
    await store.receipts.withdrawReceipt(receipts[0]?.wallet ?? '0x', receipts[0]?.id ?? '', NOW + 1)

    let at = NOW
    const now = () => (at += 10)
    expect(await store.restorations.endEverything(now)).toEqual({ grants: 1099, sessions: 2, receipts: 1 })
    expect(await other.restorations.endEverything(now), 'again: nothing is left').toEqual({
      grants: 0,
      sessions: 0,
      receipts: 0,
    })
    const times = new Set<unknown>()
    for (const [index, grant] of grants.entries()) {
      const read = await other.grants.readGrant(grant.id)
      if (index === 0) expect(read).toMatchObject({ endedAt: NOW + 1, endReason: 'revoked' })
      else expect(times.add(read?.endedAt) && read).toMatchObject({ endReason: 'restored' })
    }
    expect(times).toEqual(new Set([NOW + 10, NOW + 20, NOW + 30]))
    const last = grants.at(-1)
    expect(last && (await other.grants.rotateRefreshToken(rotationOf(last, 0)))).toEqual({ kind: 'ended' })
    for (const { hash } of sessions) expect(await other.sessions.readSession(hash)).toMatchObject({ endedAt: NOW + 40 })
    const withdrawn = await Promise.all(receipts.map(({ wallet, id }) => other.receipts.readReceipt(wallet, id)))
    expect(withdrawn.map((receipt) => receipt?.withdrawnAt)).toEqual([NOW + 1, NOW + 50])
  })
}
