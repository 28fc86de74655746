/** Redeeming and spending codes: the insert that creates a grant. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { endGrantsOfWallet } from '../../../src/domain/consent/end-grants.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { livingGrant, NOW, newGrant, race, rotationOf, type Subject, someSession } from './subject.ts'

export function codesContract(subject: Subject): void {
  test('A redeemed code creates a grant with everything that was allowed, at generation 0, which every node reads', async () => {
    const [store, other] = subject().nodes
    const grant = newGrant({ scopes: ['a.b', 'c-d_E', 'z'], resources: [] })
    const expected = {
      ...grant,
      createdAt: NOW,
      rotatedAt: NOW,
      generation: 0,
      endedAt: null,
      endReason: null,
      revokedTokens: {},
      drawn: null,
    }
    expect(await store.grants.redeemCode(grant, randomUUID(), NOW)).toEqual({ kind: 'redeemed', grant: expected })
    expect(await store.grants.readGrant(grant.id)).toEqual(expected)
    expect(await other.grants.readGrant(grant.id), 'the other node reads the same').toEqual(expected)
  })

  test('Wallet kind, signed receipt and consent of a grant stay the same from its code through every refresh', async () => {
    const [store, other] = subject().nodes
    for (const basis of [
      { walletKind: 'ordinary', receiptId: null, consented: false },
      { walletKind: 'ordinary', receiptId: randomUUID(), consented: true },
      { walletKind: 'contract', receiptId: randomUUID(), consented: true },
      { walletKind: 'contract', receiptId: randomUUID(), consented: false },
    ] as const) {
      const grant = newGrant({ ...basis, sessionReceiptId: randomUUID() })
      expect(await store.grants.redeemCode(grant, randomUUID(), NOW)).toMatchObject({ kind: 'redeemed', grant: basis })
      expect(await other.grants.readGrant(grant.id)).toMatchObject({ ...basis, sessionReceiptId: grant.sessionReceiptId })
      const rotated = await store.grants.rotateRefreshToken(rotationOf(grant, 0, { walletChecked: true }))
      expect(rotated).toMatchObject({ kind: 'rotated', grant: basis })
      const [listed] = await other.grants.listGrants({ wallet: grant.wallet, limit: 1 })
      expect(listed).toMatchObject(basis)
    }
  })

  test('Of fifty concurrent redemptions of one code, on two nodes, one creates the grant and the others read it (RFC 6749 §4.1.2)', async () => {
    const grant = newGrant()
    const outcomes = await race(subject(), 50, (store) => store.grants.redeemCode(grant, randomUUID(), NOW))
    expect(outcomes.filter(({ kind }) => kind === 'redeemed')).toHaveLength(1)
    expect(outcomes.filter(({ kind }) => kind === 'taken')).toHaveLength(49)
    for (const outcome of outcomes) expect({ ...outcome, kind: null }).toEqual({ ...outcomes[0], kind: null })
  })

  test('A code is refused, as is its retry, if its wallet has raised its epoch since the code was issued', async () => {
    const [store, other] = subject().nodes
    const code = newGrant({ epoch: 1 })
    for (let raised = 0; raised < 2; raised++) await other.wallets.raiseEpoch(code.wallet)
    expect(await store.grants.redeemCode(code, 'attempt-1', NOW)).toEqual({ kind: 'epoch_raised' })
    const ended = { endedAt: NOW, endReason: 'epoch_raised' }
    expect(await other.grants.readGrant(code.id)).toMatchObject(ended)
    expect(await store.grants.redeemCode(code, 'attempt-2', NOW + 1)).toMatchObject({ kind: 'taken', grant: ended })
    expect((await store.grants.redeemCode(newGrant({ wallet: code.wallet, epoch: 2 }), 'attempt-1', NOW)).kind).toBe('redeemed')
  })

  test('A code is refused if its session has ended, and redeemed while its session is valid', async () => {
    const [store, other] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    const { wallet, hash: sessionHash } = session
    const first = newGrant({ wallet, sessionHash })
    expect(await other.grants.redeemCode(first, randomUUID(), NOW)).toMatchObject({ kind: 'redeemed', grant: { sessionHash } })
    await other.sessions.endSession(sessionHash, randomUUID(), NOW)
    const code = newGrant({ wallet, sessionHash })
    expect(await store.grants.redeemCode(code, 'attempt-1', NOW)).toEqual({ kind: 'session_ended' })
    expect(await other.grants.readGrant(code.id)).toMatchObject({ endedAt: NOW, endReason: 'session_ended' })
    expect(await store.grants.redeemCode(code, 'attempt-2', NOW)).toMatchObject({ kind: 'taken' })
    expect((await store.grants.readGrant(first.id))?.endedAt).toBeNull()
  })

  test('A code of a replaced session is redeemed until the last session in the chain of replacements has ended', async () => {
    const [store, other] = subject().nodes
    const [first, second, third] = [someSession(), someSession(), someSession()]
    for (const session of [first, second, third]) await store.sessions.startSession(session, randomUUID())
    const redeem = async (node: Store) =>
      (await node.grants.redeemCode(newGrant({ sessionHash: first.hash }), randomUUID(), NOW)).kind
    await store.sessions.replaceSession(first.hash, second.hash, NOW)
    await other.sessions.replaceSession(second.hash, third.hash, NOW)
    expect(await store.sessions.readSession(first.hash)).toMatchObject({ endedAt: NOW, replacedBy: second.hash })
    expect([await redeem(store), await redeem(other)]).toEqual(['redeemed', 'redeemed'])
    await store.sessions.endSession(third.hash, randomUUID(), NOW)
    expect([await redeem(store), await redeem(other)]).toEqual(['session_ended', 'session_ended'])
    await store.sessions.replaceSession(third.hash, first.hash, NOW)
    expect(await redeem(store), 'a session that ended is not replaced').toBe('session_ended')
  })

  test('A code of sessions that replace each other in a circle is refused as a code of an ended session', async () => {
    const [store] = subject().nodes
    const [one, two] = [someSession(), someSession()]
    for (const session of [one, two]) await store.sessions.startSession(session, randomUUID())
    await store.sessions.replaceSession(one.hash, two.hash, NOW)
    await store.sessions.replaceSession(two.hash, one.hash, NOW)
    expect(await store.grants.redeemCode(newGrant({ sessionHash: one.hash }), randomUUID(), NOW)).toEqual({
      kind: 'session_ended',
    })
  })

  test("If a wallet's grants are ended while its code is redeemed, on two nodes, the grant is always ended", async () => {
    for (let round = 0; round < 10; round++) {
      const code = newGrant()
      const redeem = (store: Store) => store.grants.redeemCode(code, randomUUID(), NOW)
      const end = (store: Store) => endGrantsOfWallet(store, code.wallet, undefined, () => NOW)
      await race(subject(), 6, async (store, index) => void (await (index < 3 ? redeem(store) : end(store))))
      expect((await subject().nodes[0].grants.readGrant(code.id))?.endedAt).toBe(NOW)
    }
  })

  test('The second redemption of a code does not change the grant', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    const again = { ...grant, scopes: ['more'], refreshKeyId: 'cccccccccc', expiresAt: grant.expiresAt + 1 }
    expect(await store.grants.redeemCode(again, randomUUID(), NOW + 5)).toEqual({ kind: 'taken', grant: before })
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
  })

  test('A redemption that the same attempt repeats after a lost response reads as redeemed, on any node', async () => {
    const [store, other] = subject().nodes
    const grant = newGrant()
    const first = await store.grants.redeemCode(grant, 'attempt-1', NOW)
    expect(await other.grants.redeemCode(grant, 'attempt-1', NOW + 1)).toEqual(first)
    expect((await store.grants.redeemCode(grant, 'attempt-2', NOW)).kind).toBe('taken')
  })

  test('A redemption that the same attempt repeats reads as taken if the grant has been ended or refreshed', async () => {
    const [store] = subject().nodes
    const ended = newGrant()
    await store.grants.redeemCode(ended, 'attempt-1', NOW)
    await store.grants.endGrant(ended.id, 'epoch_raised', NOW)
    expect(await store.grants.redeemCode(ended, 'attempt-1', NOW)).toMatchObject({ kind: 'taken', grant: { endedAt: NOW } })

    const refreshed = newGrant()
    await store.grants.redeemCode(refreshed, 'attempt-1', NOW)
    await store.grants.rotateRefreshToken(rotationOf(refreshed, 0))
    expect(await store.grants.redeemCode(refreshed, 'attempt-1', NOW)).toMatchObject({ kind: 'taken', grant: { generation: 1 } })
  })

  test('A spent code can never be redeemed (RFC 7636 §4.6)', async () => {
    const [store, other] = subject().nodes
    const grant = newGrant()
    await store.grants.spendCode(grant, 'attempt-1', NOW)
    const spent = { kind: 'taken', grant: { endedAt: NOW, endReason: 'code_spent' } }
    expect(await other.grants.redeemCode(grant, randomUUID(), NOW + 1)).toMatchObject(spent)
    expect(await other.grants.redeemCode(grant, 'attempt-1', NOW + 1), 'not even by the attempt that spent it').toMatchObject(
      spent,
    )
    expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0))).toEqual({ kind: 'ended' })
  })

  test('Spending a code that was redeemed already does not end its grant: a wrong guess cannot revoke it', async () => {
    const [store] = subject().nodes
    const grant = await livingGrant(store)
    const before = await store.grants.readGrant(grant.id)
    await store.grants.spendCode(grant, randomUUID(), NOW + 1)
    expect(await store.grants.readGrant(grant.id)).toEqual(before)
    expect(before).toMatchObject({ endedAt: null })
  })

  test('If one request spends a code while fifty redeem it, at most one grant exists, and only if a redemption was first', async () => {
    const grant = newGrant()
    const outcomes = await race(subject(), 50, async (store, index) => {
      if (index === 7) return store.grants.spendCode(grant, randomUUID(), NOW)
      return (await store.grants.redeemCode(grant, randomUUID(), NOW)).kind
    })
    const after = await subject().nodes[0].grants.readGrant(grant.id)
    expect(outcomes.filter((kind) => kind === 'redeemed')).toHaveLength(after?.endedAt === null ? 1 : 0)
  })

  test('A grant that was never created reads as null', async () => {
    expect(await subject().nodes[0].grants.readGrant(randomUUID())).toBeNull()
  })
}
