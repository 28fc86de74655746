import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteClient, endGrantsOfWallet, endOneGrant } from '../../../src/domain/consent/end-grants.ts'
import type { Deps } from '../../../src/domain/model/deps.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { sealCode } from '../../../src/domain/tokens/code.ts'
import { exchangeCode } from '../../../src/domain/tokens/exchange-code.ts'
import { OAuthError } from '../../../src/oauth/oauth-error.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import type { Address } from '../../../src/wallet/address.ts'
import { DAY, livingGrant, NOW, someClient, someReceipt, someSession, someWallet } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'
import { type Grantor, startGrantor, type TestClient } from '../../support/start.ts'

const stateOf = async (store: Store, id: string): Promise<string> => (await store.grants.readGrant(id))?.endReason ?? 'living'

test('ending what a wallet allowed raises its epoch, withdraws what it signed, raises it again, and then ends its grants: no code or login of before or meanwhile counts', async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const [one, two, bystander] = [
    await livingGrant(store, { wallet }),
    await livingGrant(store, { wallet }),
    await livingGrant(store),
  ]
  const order: string[] = []
  const noting: Store = {
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
  expect(await endGrantsOfWallet(noting, wallet, undefined, NOW)).toBe(2)
  expect(order).toEqual(['epoch', 'receipts', 'epoch', 'grants'])
  expect([await stateOf(store, one.id), await stateOf(store, two.id), await stateOf(store, bystander.id)]).toEqual([
    'operator',
    'operator',
    'living',
  ])
  expect(await store.wallets.readEpoch(wallet)).toBe(2)
})

test('ending what a wallet allowed to one client leaves its other grants alone', async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const [one, other] = [await livingGrant(store, { wallet }), await livingGrant(store, { wallet })]
  expect(await endGrantsOfWallet(store, wallet, one.clientId, NOW)).toBe(1)
  expect([await stateOf(store, one.id), await stateOf(store, other.id)]).toEqual(['operator', 'living'])
  expect(await endGrantsOfWallet(store, wallet, '', NOW), 'a client without a name is no wildcard').toBe(0)
  expect(await stateOf(store, other.id)).toBe('living')
})

test('ending one grant ends it alone, once, and tells a grant nobody made from one that has ended', async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const [one, other] = [await livingGrant(store, { wallet }), await livingGrant(store, { wallet })]
  expect(await endOneGrant(store, one.id, NOW)).toBe('ended')
  expect(await endOneGrant(store, one.id, NOW + 1)).toBe('ended_before')
  expect(await endOneGrant(store, randomUUID(), NOW)).toBe('unknown')
  expect(await stateOf(store, other.id)).toBe('living')
  expect(await store.wallets.readEpoch(wallet)).toBe(0)
})

test('deleting a client disables it, ends its grants, and only then takes it out of the registry', async () => {
  const [store, other] = await openTwoNodes()
  const client = someClient()
  await store.clients.insertClient(client)
  const grant = await livingGrant(store, { clientId: client.id })
  const bystander = await livingGrant(store)
  const seen: unknown[] = []
  const noting: Store = {
    ...store,
    grants: {
      ...store.grants,
      async endGrants(...of) {
        seen.push((await other.clients.readClient(client.id))?.disabledAt)
        return store.grants.endGrants(...of)
      },
    },
  }
  expect(await deleteClient(noting, client, NOW)).toBe(1)
  expect(seen, 'disabled while its grants end').toEqual([NOW])
  expect(await other.clients.readClient(client.id)).toBeNull()
  expect([await stateOf(store, grant.id), await stateOf(store, bystander.id)]).toEqual(['client_deleted', 'living'])
})

test('a deletion broken off half-way is finished by asking again', async () => {
  const [store] = await openTwoNodes()
  const client = someClient()
  await store.clients.insertClient(client)
  const grant = await livingGrant(store, { clientId: client.id })
  const failing: Store = { ...store, grants: { ...store.grants, endGrants: () => Promise.reject(new Error('broken off')) } }
  await expect(deleteClient(failing, client, NOW)).rejects.toThrow('broken off')
  const half = await store.clients.readClient(client.id)
  expect(half?.disabledAt).toBe(NOW)
  expect(await deleteClient(store, half ?? client, NOW + 5)).toBe(1)
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

/** A code as it is issued while the wallet's epoch stands at `epoch`. */
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
  })
}

/** `tokens`, or why there are none. */
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

test('a code issued before an ending yields no tokens after it; one issued afterwards does', async () => {
  const wallet = someWallet()
  const before = codeOf(wallet, 0)
  await endGrantsOfWallet(node, wallet, undefined, grantor.clock.now())
  expect(await exchange(grantor.deps, before)).toBe('ended_since_code')
  expect(await exchange(grantor.deps, codeOf(wallet, await node.wallets.readEpoch(wallet)))).toBe('tokens')
  const reasons = (await node.grants.listGrants({ wallet, at: grantor.clock.now(), limit: 10 })).map(({ endReason }) => endReason)
  expect(new Set(reasons)).toEqual(new Set(['epoch_raised', null]))
})

test('however fifty redemptions race an ending, on two nodes, nothing of theirs is alive once both are over', async () => {
  const other: Deps = { ...grantor.deps, store: node }
  for (let round = 0; round < 10; round++) {
    const wallet = someWallet()
    const redemptions = Array.from({ length: 50 }, async (_, index) => {
      // Some before the ending has begun, some while it is under way, some after.
      for (let turn = 0; turn < index % 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      return exchange(index % 2 === 0 ? grantor.deps : other, codeOf(wallet, 0))
    })
    await new Promise((resolve) => setImmediate(resolve))
    const [outcomes] = await Promise.all([
      Promise.all(redemptions),
      endGrantsOfWallet(round % 2 === 0 ? node : grantor.store, wallet, undefined, grantor.clock.now()),
    ])
    expect(await node.grants.listGrants({ wallet, living: true, at: grantor.clock.now(), limit: 100 })).toEqual([])
    expect(outcomes).toHaveLength(50)
    for (const outcome of outcomes) expect(['tokens', 'ended_since_code']).toContain(outcome)
  }
})
