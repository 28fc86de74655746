/** The rules of grants, sessions and wallets that an operator meets. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { livingGrant, someReceipt, someSession } from '../../store/contract/subject.ts'
import { expectFault, NOW, type Operations, test } from './on-store.ts'

const ALICE: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const BOB: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

type Listed<Item> = { items: Item[]; next: unknown; previous: unknown; total: unknown }

/** Stores a grant of the wallet to the client, and returns its id. */
async function storeGrant({ store }: Operations, wallet: Address, clientId: string, more = {}): Promise<string> {
  return (await livingGrant(store, { wallet, clientId, ...more })).id
}

async function idsOf({ output }: Operations, input = {}): Promise<string[]> {
  const { items } = (await output('listGrants', { input })) as Listed<{ grant_id: string }>
  return items.map(({ grant_id: id }) => id).toSorted()
}

test('Grants are listed by wallet in any letter case, by client, and only those that have neither ended nor expired', async ({
  operations,
}) => {
  const [first, second] = [await storeGrant(operations, ALICE, 'app'), await storeGrant(operations, BOB, 'app')]
  const old = await storeGrant(operations, ALICE, 'other', { expiresAt: NOW, refreshExpiresAt: NOW })
  expect(await idsOf(operations, { wallet: ALICE.toLowerCase() })).toEqual([first, old].toSorted())
  expect(await idsOf(operations, { client_id: 'app' })).toEqual([first, second].toSorted())
  expect(await idsOf(operations, { active: true, wallet: ALICE })).toEqual([first])
  expect(await operations.output('getGrant', { id: old })).toMatchObject({ state: 'expired', ended_at: null, end_reason: null })
})

test.for<[operation: string, input: object]>([
  ['listGrants', {}],
  ['listSessions', {}],
  ['endGrantsOfWallet', {}],
  ['endMatchingGrants', { scope: 'profile' }],
])('The operation %s refuses an address with a wrong checksum (EIP-55) and a name', async ([operation, more], { operations }) => {
  const input = { ...more, wallet: ALICE.replace('Fd6', 'fd6') }
  await expectFault(operations, { operation, input }, ['wallet', 'right checksum'])
  expect(await operations.refused(operation, { input: { ...more, wallet: 'alice.eth' } })).toMatchObject({
    code: 'invalid_request',
  })
})

test('A grant that is ended twice ends once, other grants stay, and a grant without a receipt has none to read', async ({
  operations,
}) => {
  const { call, output, refused, acts } = operations
  const [one, other] = [await storeGrant(operations, ALICE, 'app'), await storeGrant(operations, ALICE, 'other')]
  for (const _ of [1, 2]) await call('endGrant', { id: one })
  expect(await idsOf(operations, { active: true })).toEqual([other])
  expect(await output('getGrant', { id: one })).toMatchObject({ state: 'ended', end_reason: 'operator', ended_at: NOW })
  expect(acts).toEqual([expect.objectContaining({ event: 'grant_ended', grant_id: one, client_id: 'app', wallet: ALICE })])
  for (const operation of ['getGrant', 'getReceiptOfGrant', 'endGrant', 'endSession'])
    expect([operation, await refused(operation, { id: randomUUID() })]).toMatchObject([operation, { code: 'not_found' }])
  expect(await refused('getReceiptOfGrant', { id: other })).toMatchObject({ code: 'not_found' })
})

test('Ending the grants of a wallet withdraws its receipts and raises its epoch, at one client or at all, and leaves other wallets alone', async ({
  operations,
}) => {
  const { store, output, acts } = operations
  await storeGrant(operations, ALICE, 'app')
  const other = await storeGrant(operations, ALICE, 'other')
  const bobs = await storeGrant(operations, BOB, 'app')
  const receipts = [
    [ALICE, 'app'],
    [ALICE, 'other'],
    [BOB, 'app'],
  ] as const
  for (const [wallet, clientId] of receipts) await store.receipts.insertReceipt(someReceipt({ wallet, clientId }), 0)
  const valid = async () => {
    const all = await Promise.all([ALICE, BOB].map((wallet) => store.receipts.listReceipts(wallet, { limit: 10 })))
    return all.flat().flatMap(({ wallet, clientId, withdrawnAt }) => (withdrawnAt === null ? [[wallet, clientId]] : []))
  }
  const atOne = { wallet: ALICE, client_id: 'app' }
  expect(await output('endGrantsOfWallet', { input: atOne })).toEqual({ grants_ended: 1 })
  expect(await idsOf(operations, { active: true })).toEqual([other, bobs].toSorted())
  expect(await valid()).toEqual(receipts.slice(1))
  expect(await output('endGrantsOfWallet', { input: { wallet: ALICE } })).toEqual({ grants_ended: 1 })
  expect(await idsOf(operations, { active: true })).toEqual([bobs])
  expect(await valid()).toEqual(receipts.slice(2))
  expect([(await store.wallets.readEpoch(ALICE)) > 0, await store.wallets.readEpoch(BOB)]).toEqual([true, 0])
  expect(acts).toMatchObject([
    { event: 'grants_ended', ...atOne },
    { event: 'grants_ended', wallet: ALICE },
  ])
})

test('Exactly the grants that match all conditions end, and a call without a condition is refused', async ({ operations }) => {
  const { clock, output, acts } = operations
  await storeGrant(operations, ALICE, 'app', { scopes: ['enhancement'] })
  const kept = [
    await storeGrant(operations, ALICE, 'app', { scopes: ['profile'] }),
    await storeGrant(operations, ALICE, 'other', { scopes: ['enhancement'] }),
    await storeGrant(operations, BOB, 'app', { scopes: ['enhancement'] }),
  ]
  clock.now += 100
  const given = { client_id: 'app', wallet: ALICE, scope: 'enhancement', created_before: NOW + 50 }
  expect(await output('endMatchingGrants', { input: { ...given, created_before: NOW - 1 } })).toMatchObject({ grants_ended: 0 })
  expect(await output('endMatchingGrants', { input: given })).toMatchObject({
    ...given,
    kind: 'end_matching_grants',
    grants_ended: 1,
  })
  expect(await idsOf(operations, { active: true })).toEqual(kept.toSorted())
  expect(acts.at(-1)).toMatchObject({ event: 'grants_ended', client_id: 'app', wallet: ALICE, details: { scope: 'enhancement' } })
  await expectFault(operations, { operation: 'endMatchingGrants', input: {} }, [null, 'At least one condition is needed.'])
})

test('The sessions of all wallets are listed in both directions and counted, and those of one wallet alone', async ({
  operations,
}) => {
  const { store, output } = operations
  const wallets: Address[] = ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', BOB, ALICE]
  for (const [index, wallet] of wallets.toReversed().entries()) {
    const session = someSession({ wallet, epoch: 0, expiresAt: NOW + (index + 1) * 1000 })
    await store.sessions.startSession(session, randomUUID())
  }
  type Page = Listed<{ wallet: string }>
  const list = async (given: object = {}) => (await output('listSessions', given)) as Page
  const walletsOf = ({ items }: Page) => items.map(({ wallet }) => wallet)
  const all = await list()
  expect([walletsOf(all), all.total]).toEqual([wallets, { number: 3, kind: 'exact' }])
  expect(walletsOf(await list({ input: { order: 'oldest' } }))).toEqual(wallets.toReversed())
  const first = await list({ page: { limit: 1 } })
  const second = await list({ page: { limit: 1, after: first.next } })
  expect([walletsOf(first), walletsOf(second)]).toEqual([wallets.slice(0, 1), wallets.slice(1, 2)])
  expect(walletsOf(await list({ page: { limit: 1, before: second.previous } }))).toEqual(wallets.slice(0, 1))
  expect(walletsOf(await list({ input: { wallet: wallets[1] } }))).toEqual(wallets.slice(1, 2))
})

test('Wallets are found by at least four digits of their address, page by page, and a name only where names are looked up', async ({
  operations,
}) => {
  const ends = ['a', 'b', 'c'].map((end) => `0xbeef${end.repeat(36)}` as const)
  for (const wallet of ends) await operations.store.wallets.rememberProof(wallet)
  const input = { search: '0xBEEF' }
  const first = await operations.output('findWallets', { input, page: { limit: 2 } })
  expect(first.items).toEqual(ends.slice(0, 2).map((wallet) => ({ wallet })))
  const second = await operations.output('findWallets', { input, page: { limit: 2, after: first.next } })
  expect(second).toEqual({ items: [{ wallet: ends[2] }], next: null })
  for (const search of ['0xbee', 'beef', '0xbeeg', '0x%%%%'])
    await expectFault(operations, { operation: 'findWallets', input: { search } }, ['search', 'hexadecimal digits'])
  const named = await operations.refused('findWallets', { input: { search: 'alice.eth' } })
  expect(named).toEqual({ code: 'conflict', message: expect.stringContaining('GRANTOR_ENS_NAMES'), faults: [] })
})
