/** A store that cannot be used, and a store after a restart. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type NewGrant } from '../../../src/domain/model/request-store.ts'
import { type Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { someApproval } from './approvals.ts'
import { drawOf } from './draws.ts'
import {
  livingGrant,
  NOW,
  newGrant,
  rotationOf,
  type Subject,
  someClient,
  someKey,
  someReceipt,
  someSession,
  someWallet,
} from './subject.ts'

export function unavailableContract(subject: Subject): void {
  test('Every write rejects with StoreUnavailable while the store accepts no writes, and succeeds again afterwards', async () => {
    const [store] = subject().nodes
    const [grant, code] = [await livingGrant(store), newGrant()]
    const rotation = rotationOf(grant, 0, { attemptId: 'attempt-1' })
    const allowWrites = await subject().refuseWrites()
    const writes = {
      ...everyWrite(store, grant),
      'redeemCode of a code': () => store.grants.redeemCode(code, 'attempt-1', NOW),
      'rotateRefreshToken of a grant': () => store.grants.rotateRefreshToken(rotation),
    }
    const outcomes = Object.entries(writes).map(async ([name, write]) => [name, await write().catch((error: unknown) => error)])
    const found = Object.fromEntries(await Promise.all(outcomes))
    await allowWrites()
    for (const name of Object.keys(writes)) expect.soft(found[name], name).toBeInstanceOf(StoreUnavailable)
    // A search for the server can have failed just before. A busy machine may need more than one search.
    await expect.poll(() => store.checkWritable().then(() => 'writable', String)).toBe('writable')
    // The caller cannot know if a failed write was committed. A retry by the same attempt reads as one success in both cases.
    expect((await store.grants.redeemCode(code, 'attempt-1', NOW)).kind).toBe('redeemed')
    expect(await store.grants.rotateRefreshToken(rotation)).toMatchObject({ kind: 'rotated', grant: { generation: 1 } })
  })

  test('Every operation of a closed store rejects with StoreUnavailable, and closing it again does no harm', async () => {
    const [store] = subject().nodes
    await store.close()
    for (const [name, ask] of Object.entries({ ...everyWrite(store), ...everyRead(store) })) {
      const outcome = await ask().catch((error: unknown) => error)
      expect(outcome, `${name} of a closed store`).toBeInstanceOf(StoreUnavailable)
    }
    await store.close()
  })

  test('Refreshes that are under way when their store is closed are completed first', async () => {
    const [store, other] = subject().nodes
    const grants = await Promise.all(Array.from({ length: 20 }, () => livingGrant(store)))
    const rotated = grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, 0)))
    await store.close()
    expect((await Promise.all(rotated)).map(({ kind }) => kind)).toEqual(grants.map(() => 'rotated'))
    for (const { id } of grants) expect(await other.grants.readGrant(id)).toMatchObject({ generation: 1 })
  })

  test('A code whose redemption is cut off by closing its store is either redeemed or can be redeemed by another attempt', async () => {
    const [store, other] = subject().nodes
    const grants = Array.from({ length: 20 }, () => newGrant())
    const redeem = (at: Store, grant: NewGrant) => at.grants.redeemCode(grant, randomUUID(), NOW).then(({ kind }) => kind, String)
    const first = grants.map((grant) => redeem(store, grant))
    await store.close()
    const outcomes = await Promise.all(first)
    for (const [index, grant] of grants.entries())
      expect(await redeem(other, grant)).toBe(outcomes[index] === 'redeemed' ? 'taken' : 'redeemed')
  })

  test('After a restart every record reads as before, and ended grants and spent logins are still refused', async () => {
    const [store] = subject().nodes
    const [living, ended] = [await livingGrant(store), await livingGrant(store)]
    const [wallet, session, receipt, client, key] = [someWallet(), someSession(), someReceipt(), someClient(), someKey()]
    await store.grants.rotateRefreshToken(rotationOf(living, 0))
    await store.grants.revokeAccessToken({
      grantId: living.id,
      clientId: living.clientId,
      jti: 'jti-1',
      expiresAt: NOW + 600,
      at: NOW,
    })
    await store.grants.endGrant(ended.id, 'revoked', NOW)
    await store.wallets.raiseEpoch(wallet)
    await store.sessions.startSession(session, randomUUID())
    await store.receipts.insertReceipt(receipt, 0)
    await store.receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW)
    await store.clients.insertClient(client)
    await store.keys.insertKey(key)
    const stateOf = async (node: Store) => ({
      living: await node.grants.readGrant(living.id),
      ended: await node.grants.readGrant(ended.id),
      wallet: await node.wallets.readWallet(wallet),
      session: await node.sessions.readSession(session.hash),
      receipt: await node.receipts.readReceipt(receipt.wallet, receipt.id),
      client: await node.clients.readClient(client.id),
      keys: await node.keys.listKeys(),
      revision: await node.readRevision(),
    })
    const before = await stateOf(store)
    const restarted = await subject().restart()
    expect(await stateOf(restarted)).toEqual(before)
    expect(await restarted.grants.rotateRefreshToken(rotationOf(ended, 0))).toEqual({ kind: 'ended' })
    expect(await restarted.sessions.startSession(session, randomUUID())).toBe('taken')
  })

  test('The check that the store accepts writes leaves nothing behind', async () => {
    const [store] = subject().nodes
    const before = await store.readRevision()
    await store.checkWritable()
    expect(await store.readRevision()).toBe(before)
    expect(await store.grants.listGrants({ limit: 10 })).toEqual([])
    expect(await store.clients.listClients()).toEqual([])
    expect(await store.keys.listKeys()).toEqual([])
  })
}

/** One call of every operation that writes. */
function everyWrite(store: Store, grant = newGrant()): Record<string, () => Promise<unknown>> {
  const { grants, wallets, sessions, receipts, clients, keys, spent, pushedRequests, approvals } = store
  const approval = someApproval(grant)
  return {
    redeemCode: () => grants.redeemCode(grant, 'attempt', NOW),
    spendCode: () => grants.spendCode(grant, 'attempt', NOW),
    rotateRefreshToken: () => grants.rotateRefreshToken(rotationOf(grant, 0)),
    endGrant: () => grants.endGrant(grant.id, 'revoked', NOW),
    revokeAccessToken: () =>
      grants.revokeAccessToken({ grantId: grant.id, clientId: grant.clientId, jti: 'jti', expiresAt: NOW + 600, at: NOW }),
    endGrants: () => grants.endGrants([grant.id], { reason: 'operator', attemptId: 'attempt', at: NOW }),
    rememberProof: () => wallets.rememberProof(grant.wallet),
    raiseEpoch: () => wallets.raiseEpoch(grant.wallet),
    startSession: () => sessions.startSession(someSession(), 'attempt'),
    touchSession: () => sessions.touchSession('hash', NOW),
    endSession: () => sessions.endSession('hash', 'attempt', NOW),
    endSessions: () => sessions.endSessions(['hash'], 'attempt', NOW),
    insertReceipt: () => receipts.insertReceipt(someReceipt(), 0),
    withdrawReceipts: () => receipts.withdrawReceipts(grant.wallet, ['receipt'], NOW),
    withdrawReceipt: () => receipts.withdrawReceipt(grant.wallet, 'receipt', NOW),
    noteReceiptCheck: () => receipts.noteReceiptCheck(grant.wallet, 'receipt', NOW),
    insertClient: () => clients.insertClient(someClient()),
    replaceClient: () => clients.replaceClient(someClient()),
    deleteClient: () => clients.deleteClient('client'),
    insertKey: () => keys.insertKey(someKey()),
    rewrapKey: () => keys.rewrapKey(someKey(), new Uint8Array(), new Uint8Array()),
    retireKey: () => keys.retireKey('ffffffffff', 'sign', NOW),
    spend: () => spent.spend({ kind: 'dpop', hash: 'hash', expiresAt: NOW, attemptId: 'attempt' }),
    push: () => pushedRequests.push({ id: 'id', clientId: 'c', request: '{}', expiresAt: NOW }),
    spendPushed: () => pushedRequests.spendPushed('id', 'attempt', NOW),
    ask: () => approvals.ask(approval, NOW),
    answer: () => approvals.answer(approval, { receiptId: null, isLast: false, at: NOW }),
    useApproval: () =>
      approvals.useApproval(approval, { clientId: approval.clientId, attemptId: 'attempt', signedFor: 600, at: NOW }),
    draw: () => store.draws.draw(drawOf(grant)),
    giveBack: () => store.draws.giveBack(drawOf(grant), { amount: null, at: NOW }),
    checkWritable: () => store.checkWritable(),
  }
}

/** One call of every operation that reads. */
function everyRead({
  grants,
  wallets,
  sessions,
  receipts,
  clients,
  keys,
  spent,
  pushedRequests,
  approvals,
  draws,
  readRevision,
  readChanges,
}: Store): Record<string, () => Promise<unknown>> {
  return {
    readGrant: () => grants.readGrant('grant'),
    listGrants: () => grants.listGrants({ limit: 1 }),
    listUnendedGrants: () => grants.listUnendedGrants({ wallet: someWallet(), limit: 1 }),
    readWallet: () => wallets.readWallet(someWallet()),
    readEpoch: () => wallets.readEpoch(someWallet()),
    readSession: () => sessions.readSession('hash'),
    listSessions: () => sessions.listSessions(someWallet(), { at: NOW, limit: 1 }),
    readReceipt: () => receipts.readReceipt(someWallet(), 'receipt'),
    listReceipts: () => receipts.listReceipts(someWallet(), { limit: 1 }),
    readClient: () => clients.readClient('client'),
    listClients: () => clients.listClients(),
    readClients: () => clients.readClients({ after: '', limit: 1 }),
    listKeys: () => keys.listKeys(),
    readSpent: () => spent.readSpent('dpop', 'hash'),
    readApproval: () => approvals.readApproval({ grantId: 'grant', id: 'id' }),
    readAskedBefore: () => approvals.readAskedBefore('grant', { since: NOW, at: NOW }),
    listWaiting: () => approvals.listWaiting(someWallet(), { at: NOW, limit: 1 }),
    findByUserCode: () => approvals.findByUserCode('code', NOW),
    findAnswered: () => approvals.findAnswered([{ grantId: 'grant', id: 'id' }]),
    readDraw: () => draws.readDraw({ grantId: 'grant', clientId: 'client', key: 'key' }),
    listDraws: () => draws.listDraws('grant', { limit: 1 }),
    readPushed: () => pushedRequests.readPushed('id'),
    readRevision: () => readRevision(),
    readChanges: () => readChanges(0),
  }
}
