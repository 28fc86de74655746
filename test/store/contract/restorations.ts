/** A database put back from a backup: all of it ends, and it counts as unconfirmed until somebody says otherwise. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Address } from '../../../src/wallet/address.ts'
import { DAY, livingGrant, NOW, race, rotationOf, type Subject, someReceipt, someSession, someWallet } from './subject.ts'

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

  test('what lives is gone through in the order of its keys, a few at a time, and what ended is left out', async () => {
    const [store, other] = subject().nodes
    const grants = await Promise.all(Array.from({ length: 7 }, () => livingGrant(store)))
    const sessions = [1, 2, 3].map(() => someSession())
    for (const session of sessions) await store.sessions.startSession(session, randomUUID())
    const wallet = someWallet()
    const receipts = [someReceipt({ wallet }), someReceipt({ wallet }), someReceipt()]
    for (const receipt of receipts) await store.receipts.insertReceipt(receipt)
    const [endedGrant, ...living] = grants.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    await store.grants.endGrant(endedGrant?.id ?? '', 'revoked', NOW)
    await store.sessions.endSession(sessions[0]?.hash ?? '', NOW)
    await store.receipts.withdrawReceipt(receipts[2]?.wallet ?? wallet, receipts[2]?.id ?? '', NOW)

    const pages = [await other.restorations.livingGrants('', 4)]
    pages.push(await other.restorations.livingGrants(pages[0]?.at(-1)?.id ?? '', 4))
    expect(pages.map((page) => page.length)).toEqual([4, 2])
    expect(pages.flat()).toEqual(
      living.map(({ id, clientId, wallet: of }) => ({ id, clientId, wallet: of, createdAt: NOW, generation: 0 })),
    )
    expect((await other.restorations.livingSessions('', 10)).map(({ hash }) => hash)).toEqual(
      sessions
        .slice(1)
        .map(({ hash }) => hash)
        .toSorted((a, b) => (a < b ? -1 : 1)),
    )
    const [first] = await other.restorations.livingReceipts({ wallet: '' as Address, id: '' }, 1)
    const rest = first && (await other.restorations.livingReceipts(first, 10))
    expect(new Set([first, ...(rest ?? [])].map((receipt) => receipt?.id))).toEqual(
      new Set(receipts.slice(0, 2).map(({ id }) => id)),
    )
  })

  test('a refresh chain is moved on to where it was, never back, and an ended one not at all', async () => {
    const [store, other] = subject().nodes
    const [grant, over] = [await livingGrant(store), await livingGrant(store)]
    await store.grants.endGrant(over.id, 'revoked', NOW)
    const end = { generation: 5, refreshKeyId: 'cccccccccc', rotatedAt: NOW + 50, refreshExpiresAt: NOW + 9 * DAY }
    await store.restorations.advanceGrant(grant.id, end)
    await store.restorations.advanceGrant(grant.id, { ...end, generation: 3 })
    await store.restorations.advanceGrant(over.id, end)
    expect(await other.grants.readGrant(grant.id)).toMatchObject(end)
    expect(await other.grants.readGrant(over.id)).toMatchObject({ generation: 0, endedAt: NOW })
    expect((await other.grants.rotateRefreshToken(rotationOf(grant, 5))).kind).toBe('rotated')
    const late = await livingGrant(store)
    await store.restorations.advanceGrant(late.id, { ...end, refreshExpiresAt: NOW + 99 * DAY })
    expect((await store.grants.readGrant(late.id))?.refreshExpiresAt, 'not beyond the end of the grant').toBe(NOW + 30 * DAY)
  })

  test('programs that change something take numbers of their own, and are known while they run', async () => {
    const [store, other] = subject().nodes
    const { last, salt } = await store.runs.readRuns()
    const taken = await race(subject(), 10, (node) => node.runs.beginRun(NOW))
    expect(taken.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, i) => last + 1 + i),
    )
    expect(new Set(taken.map((each) => each.salt))).toEqual(new Set([salt]))
    expect(await other.runs.noteRun(last + 1, NOW + 60)).toBe(last + 10)
    for (let run = last + 2; run <= last + 10; run++) await store.runs.endRun(run)
    expect(await other.runs.readRuns()).toEqual({ last: last + 10, salt, open: [{ number: last + 1, seenAt: NOW + 60 }] })
    await store.runs.resetRuns(last + 4)
    expect(await other.runs.readRuns()).toEqual({ last: last + 10, salt, open: [] })
    await store.runs.resetRuns(last + 40)
    expect((await other.runs.beginRun(NOW)).number).toBe(last + 41)
    await store.runs.beginJournal('another salt')
    expect(await other.runs.readRuns()).toEqual({ last: last + 41, salt: 'another salt', open: [] })
  })

  test('everything ends: more rows than a batch, of all wallets and clients; what had ended before keeps its reason', async () => {
    const [store, other] = subject().nodes
    const grants = await Promise.all(Array.from({ length: 1100 }, () => livingGrant(store)))
    const [first] = grants
    await store.grants.endGrant(first?.id ?? '', 'revoked', NOW + 1)
    const sessions = [someSession({ epoch: 0 }), someSession({ epoch: 0 })]
    for (const session of sessions) await store.sessions.startSession(session, randomUUID())
    const receipts = [someReceipt(), someReceipt()]
    for (const receipt of receipts) await store.receipts.insertReceipt(receipt)
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
