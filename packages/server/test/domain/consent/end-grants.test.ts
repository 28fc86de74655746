import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteClient, endGrantsOfWallet, endOlderGrants, endOneGrant } from '../../../src/domain/consent/end-grants.ts'
import type { Deps } from '../../../src/domain/model/deps.ts'
import { sumOf } from '../../../src/domain/model/pages.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { sealCode } from '../../../src/domain/tokens/code.ts'
import { exchangeCode } from '../../../src/domain/tokens/exchange-code.ts'
import { OAuthError } from '../../../src/protocol/oauth/oauth-error.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { DAY, livingGrant, NOW, someClient, someReceipt, someSession, someWallet } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'
import { type Grantor, startGrantor, type TestClient } from '../../support/start.ts'

const stateOf = async (store: Store, id: string): Promise<string> => (await store.grants.readGrant(id))?.endReason ?? 'living'

test("Ending a wallet's grants raises its epoch, withdraws its receipts, raises the epoch again, and then ends the grants", async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const [one, two, bystander] = [
    await livingGrant(store, { wallet }),
    await livingGrant(store, { wallet }),
    await livingGrant(store),
  ]
  const order: string[] = []
  const recording: Store = {
    ...store,
    wallets: {
      ...store.wallets,
      raiseEpoch(of) {
        order.push('epoch')
        return store.wallets.raiseEpoch(of)
      },
    },
    receipts: {
      ...store.receipts,
      withdrawReceipts(...of) {
        order.push('receipts')
        return store.receipts.withdrawReceipts(...of)
      },
    },
    grants: {
      ...store.grants,
      endGrants(...of) {
        order.push('grants')
        return store.grants.endGrants(...of)
      },
    },
  }
  await store.receipts.insertReceipt(someReceipt({ wallet }), 0)
  expect(await endGrantsOfWallet(recording, wallet, undefined, () => NOW)).toBe(2)
  expect(order).toEqual(['epoch', 'receipts', 'epoch', 'grants'])
  expect([await stateOf(store, one.id), await stateOf(store, two.id), await stateOf(store, bystander.id)]).toEqual([
    'operator',
    'operator',
    'living',
  ])
  expect(await store.wallets.readEpoch(wallet)).toBe(2)
})

test("Ending a wallet's grants for one client does not end its other grants", async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const [one, other] = [await livingGrant(store, { wallet }), await livingGrant(store, { wallet })]
  expect(await endGrantsOfWallet(store, wallet, one.clientId, () => NOW)).toBe(1)
  expect([await stateOf(store, one.id), await stateOf(store, other.id)]).toEqual(['operator', 'living'])
  expect(await endGrantsOfWallet(store, wallet, '', () => NOW), 'a client without a name is no wildcard').toBe(0)
  expect(await stateOf(store, other.id)).toBe('living')
})

test('Ending one grant ends no other grant, and distinguishes an ended grant from an unknown one', async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const [one, other] = [await livingGrant(store, { wallet }), await livingGrant(store, { wallet })]
  expect(await endOneGrant(store, one.id, NOW)).toBe('ended')
  expect(await endOneGrant(store, one.id, NOW + 1)).toBe('ended_before')
  expect(await endOneGrant(store, randomUUID(), NOW)).toBe('unknown')
  expect(await stateOf(store, other.id)).toBe('living')
  expect(await store.wallets.readEpoch(wallet)).toBe(0)
})

test('Deleting a client first disables it, then ends its grants, and then removes it from the registry', async () => {
  const [store, other] = await openTwoNodes()
  const client = someClient()
  await store.clients.insertClient(client)
  const grant = await livingGrant(store, { clientId: client.id })
  const bystander = await livingGrant(store)
  const seen: unknown[] = []
  const recording: Store = {
    ...store,
    grants: {
      ...store.grants,
      async endGrants(...of) {
        seen.push((await other.clients.readClient(client.id))?.disabledAt)
        return store.grants.endGrants(...of)
      },
    },
  }
  expect(await sumOf(deleteClient(recording, client.id, () => NOW))).toBe(1)
  expect(seen, 'disabled while its grants end').toEqual([NOW])
  expect(await other.clients.readClient(client.id)).toBeNull()
  expect([await stateOf(store, grant.id), await stateOf(store, bystander.id)]).toEqual(['client_deleted', 'living'])
})

test('An interrupted deletion of a client is completed by repeating it', async () => {
  const [store] = await openTwoNodes()
  const client = someClient()
  await store.clients.insertClient(client)
  const grant = await livingGrant(store, { clientId: client.id })
  const failing: Store = { ...store, grants: { ...store.grants, endGrants: () => Promise.reject(new Error('broken off')) } }
  await expect(sumOf(deleteClient(failing, client.id, () => NOW))).rejects.toThrow('broken off')
  const half = await store.clients.readClient(client.id)
  expect(half?.disabledAt).toBe(NOW)
  expect(await sumOf(deleteClient(store, client.id, () => NOW + 5))).toBe(1)
  expect(await stateOf(store, grant.id)).toBe('client_deleted')
})

let grantor: Grantor
let client: TestClient
let node: Store
beforeEach(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
  await grantor.store.sessions.startSession(someSession({ hash: 'session' }), 'attempt')
  node = openSqliteStore(grantor.databasePath)
})
afterEach(async () => {
  await node.close()
  await grantor.close()
})

/** A code that is issued while the wallet has this epoch. */
function codeOf(wallet: Address, epoch: number): string {
  const at = grantor.clock.now()
  return sealCode(grantor.deps.keys, {
    clientId: client.id,
    redirectUri: client.redirectUris[0] ?? '',
    wallet,
    walletKind: 'ordinary',
    receiptId: null,
    consented: false,
    epoch,
    scopes: ['enhancement'],
    resources: [],
    scopesByResource: null,
    codeChallenge: null,
    sessionHash: 'session',
    sessionReceiptId: null,
    expiresAt: at + 60,
    grantExpiresAt: at + 30 * DAY,
    authTime: at,
    chainId: 1,
    nonce: null,
    dpopJkt: null,
    firstScopes: null,
  })
}

/** `tokens`, or the reason why the code is refused. */
async function exchange(deps: Deps, code: string): Promise<string> {
  try {
    await exchangeCode(deps, client, {
      code,
      redirectUri: client.redirectUris[0] ?? '',
      codeVerifier: null,
      resources: [],
      proof: null,
    })
    return 'tokens'
  } catch (error) {
    if (error instanceof OAuthError) return error.reason
    throw error
  }
}

test('A code that was issued before its wallet ended its grants is refused, and one that is issued afterwards is redeemed', async () => {
  const wallet = someWallet()
  const before = codeOf(wallet, 0)
  await endGrantsOfWallet(node, wallet, undefined, grantor.clock.now)
  expect(await exchange(grantor.deps, before)).toBe('ended_since_code')
  expect(await exchange(grantor.deps, codeOf(wallet, await node.wallets.readEpoch(wallet)))).toBe('tokens')
  const reasons = (await node.grants.listGrants({ wallet, limit: 10 })).map(({ endReason }) => endReason)
  expect(new Set(reasons)).toEqual(new Set(['epoch_raised', null]))
})

test("If fifty redemptions run while the wallet's grants are ended, on two nodes, no grant of theirs is valid afterwards", async () => {
  const other: Deps = { ...grantor.deps, store: node }
  for (let round = 0; round < 10; round++) {
    const wallet = someWallet()
    const redemptions = Array.from({ length: 50 }, async (_, index) => {
      // Some redemptions start before the ending, some during it, and some after it.
      for (let turn = 0; turn < index % 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      return exchange(index % 2 === 0 ? grantor.deps : other, codeOf(wallet, 0))
    })
    await new Promise((resolve) => setImmediate(resolve))
    const [outcomes] = await Promise.all([
      Promise.all(redemptions),
      endGrantsOfWallet(round % 2 === 0 ? node : grantor.store, wallet, undefined, grantor.clock.now),
    ])
    expect(await node.grants.listUnendedGrants({ wallet, limit: 100 })).toEqual([])
    expect(outcomes).toHaveLength(50)
    for (const outcome of outcomes) expect(['tokens', 'ended_since_code']).toContain(outcome)
  }
})

test('The job that ends the older grants of a wallet notifies the clients of sessions that the ending ended, and of no others (Back-Channel Logout §2.5)', async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const [ended, living] = [someSession({ wallet }), someSession({ wallet })]
  for (const session of [ended, living]) await store.sessions.startSession(session, randomUUID())
  const older = await livingGrant(store, { wallet, sessionHash: ended.hash })
  const ofLiving = await livingGrant(store, { wallet, sessionHash: living.hash })
  await store.sessions.endSession(ended.hash, randomUUID(), NOW)
  const epoch = await store.wallets.raiseEpoch(wallet)
  const newer = await livingGrant(store, { wallet, sessionHash: living.hash, epoch })
  const announced: unknown[] = []
  const deps = { store, announceEnded: (each: unknown) => void announced.push(each) }
  const job = { wallet, epoch, reason: 'user', now: () => NOW, since: NOW } as const
  expect(await sumOf(endOlderGrants(deps, job))).toBe(2)
  expect(announced).toEqual([{ wallet, clients: [{ clientId: older.clientId, sessionHash: ended.hash }] }])
  expect(await Promise.all([older, ofLiving, newer].map(({ id }) => stateOf(store, id)))).toEqual(['user', 'user', 'living'])
})
