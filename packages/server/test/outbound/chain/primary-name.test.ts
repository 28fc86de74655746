/** The primary name of an address, from the contracts of ENS on a local chain, with hostile records and hostile RPC endpoints. */
import { expect } from 'vitest'
import { createChainReader } from '../../../src/outbound/chain/chain-reader.ts'
import { readAddressOf, readPrimaryName } from '../../../src/outbound/chain/primary-name.ts'
import { startChain } from '../../support/chain.ts'
import type { TestRpc } from '../../support/chain-rpc.ts'
import { abiString, deployEns } from '../../support/ens.ts'
import { test as base, FILE, started } from '../../support/fixtures.ts'
import { owner } from '../../support/wallet-contracts.ts'

const NONE = { kind: 'none' }
const { address: alice } = owner('alice')
const { address: mallory } = owner('mallory')

const test = base
  .extend(
    'chain',
    FILE,
    started(
      () => startChain({ chainId: 1 }),
      (chain) => chain.close(),
    ),
  )
  .extend('ens', FILE, async ({ chain }) => {
    const ens = await deployEns(chain)
    await ens.setName(alice, 'alice.eth')
    await ens.setAddress('alice.eth', alice)
    await ens.setAvatar('alice.eth', 'https://example.com/alice.png')
    return ens
  })
  .extend('beside', FILE, async ({ chain }) => chain.openRpc())

test.beforeEach(({ chain }) => chain.setFault(null))

/** Reads through these endpoints with a long timeout. */
const read = (rpcs: readonly TestRpc[], address = alice, timeoutMs = 10_000) =>
  readPrimaryName(
    rpcs.map(({ url }) => createChainReader({ url, timeoutMs })),
    address,
  )

test('The primary name of an address is the name of its reverse record, if the name resolves to the address (ENSIP-1, ENSIP-3, ENSIP-12)', async ({
  chain,
  ens,
}) => {
  expect(await read([chain])).toEqual({ kind: 'name', name: 'alice.eth', avatar: 'https://example.com/alice.png' })
  const { address: bob } = owner('bob')
  await ens.setName(bob, 'bob.alice.eth')
  await ens.setAddress('bob.alice.eth', bob)
  expect(await read([chain], bob)).toEqual({ kind: 'name', name: 'bob.alice.eth', avatar: null })
})

test('An address without a reverse record has no name', async ({ chain, ens }) => {
  expect(ens).toBeDefined()
  expect(await read([chain], owner('nameless').address)).toEqual(NONE)
})

test('A reverse record that names the name of another address gives no name (ENSIP-3)', async ({ chain, ens }) => {
  await ens.setName(mallory, 'alice.eth')
  expect(await read([chain], mallory)).toEqual(NONE)
})

test('A reverse record with a name that does not exist gives no name', async ({ chain, ens }) => {
  await ens.setName(mallory, 'nothing.eth')
  expect(await read([chain], mallory)).toEqual(NONE)
})

test.for([
  ['an invisible character', 'ali\u200bce.eth'],
  ['a look-alike character', '\u0430lice.eth'],
  ['a capital letter', 'Alice.eth'],
  ['markup', '<script>.eth'],
] as const)(
  'A reverse record with %s gives no name, even if that name resolves to the address, and the name is never resolved (ENSIP-15)',
  async ([, name], { chain, ens }) => {
    await ens.setName(mallory, name)
    await ens.setAddress(name, mallory)
    const before = chain.asked.length
    expect(await read([chain], mallory)).toEqual(NONE)
    expect(chain.asked.slice(before)).toEqual(['eth_call'])
  },
)

test.for([
  ['an offset that leads elsewhere', abiString('alice.eth').replace('20', '40')],
  ['a length beyond the end', `${'20'.padStart(64, '0')}${'ffff'.padStart(64, '0')}${'61'.repeat(32)}`],
  ['a length of 2^255', `${'20'.padStart(64, '0')}8${'0'.repeat(63)}${'61'.repeat(32)}`],
  ['one word', '61'.repeat(32)],
  ['no text', abiString('')],
  ['3,000 bytes', abiString(`${'a'.repeat(3_000)}.eth`)],
  ['20,000 bytes', abiString(`${'a'.repeat(20_000)}.eth`)],
] as const)('A resolver that returns %s gives no name', async ([, digits], { chain, ens }) => {
  await ens.setNameBytes(mallory, digits)
  expect(await read([chain], mallory)).toEqual(NONE)
})

test('A name keeps its avatar of 3 kB in a data URI, and stays a name if the avatar is longer (ENSIP-12)', async ({
  chain,
  ens,
}) => {
  const { address: carol } = owner('carol')
  await ens.setName(carol, 'carol.eth')
  await ens.setAddress('carol.eth', carol)
  const avatar = `data:image/png;base64,${'A'.repeat(3_900)}`
  await ens.setAvatar('carol.eth', avatar)
  expect(await read([chain], carol)).toEqual({ kind: 'name', name: 'carol.eth', avatar })
  await ens.setAvatar('carol.eth', `${avatar}${'A'.repeat(20_000)}`)
  expect(await read([chain], carol)).toEqual({ kind: 'name', name: 'carol.eth', avatar: null })
})

test('A chain whose id is not 1 gives no name, even if its contracts do', async () => {
  const other = await startChain({ chainId: 10 })
  const ens = await deployEns(other)
  await ens.setName(alice, 'alice.eth')
  await ens.setAddress('alice.eth', alice)
  expect(await read([other])).toEqual(NONE)
  await other.close()
})

test.for([
  ['refuses with data, as if its records were on another server (ERC-3668)', '0x60205ffd'],
  ['loops without end', '0x5b5f56'],
  ['returns 16 MB', '0x62ffffff5ff3'],
  ['returns 64 kB', '0x61ffff5ff3'],
  ['has no code', '0x'],
] as const)('A name whose resolver %s gives no name', async ([, code], { chain, ens }) => {
  await ens.setName(mallory, 'mallory.eth')
  await ens.setResolverCode('mallory.eth', code)
  expect(await read([chain], mallory)).toEqual(NONE)
})

test.for(['hang', 'trickle', '429', '500', 'huge', 'cut', 'redirect', 'malformed'] as const)(
  'An RPC endpoint that gives no usable response gives no name: %s',
  async (fault, { chain, ens }) => {
    expect(ens).toBeDefined()
    chain.setFault(fault)
    expect(await read([chain], alice, 2_000)).toMatchObject({ kind: 'unavailable' })
    expect(chain.asked).not.toContain('elsewhere')
  },
)

test('Two RPC endpoints that agree give the name, and one that does not respond gives none', async ({ chain, ens, beside }) => {
  expect(ens).toBeDefined()
  expect(await read([chain, beside])).toMatchObject({ name: 'alice.eth' })
  beside.setFault('500')
  expect(await read([chain, beside])).toMatchObject({ kind: 'unavailable' })
  beside.setFault(null)
})

test('An RPC endpoint that lies about a name, an address or an avatar is not believed beside an honest one, in either order', async ({
  chain,
  ens,
}) => {
  expect(ens).toBeDefined()
  const liar = await startChain({ chainId: 1 })
  const lies = await deployEns(liar)
  const disagree = { kind: 'unavailable', why: 'chains_disagree' }
  await lies.setName(mallory, 'alice.eth')
  await lies.setAddress('alice.eth', mallory)
  expect(await read([liar], mallory)).toMatchObject({ name: 'alice.eth' })
  expect(await read([chain, liar], mallory)).toEqual(disagree)
  expect(await read([liar, chain], mallory)).toEqual(disagree)
  await lies.setName(alice, 'alice.eth')
  await lies.setAddress('alice.eth', alice)
  await lies.setAvatar('alice.eth', 'https://example.com/mallory.png')
  expect(await read([chain, liar])).toEqual(disagree)
  await liar.close()
})

test('Without an RPC endpoint no address has a name', async () => {
  expect(await readPrimaryName([], alice)).toEqual(NONE)
})

/** Resolves a name through these endpoints. */
const find = (rpcs: readonly TestRpc[], name: string) =>
  readAddressOf(
    rpcs.map(({ url }) => createChainReader({ url, timeoutMs: 10_000 })),
    name,
  )

test('A name resolves to its address, also if the address names no name (ENSIP-1)', async ({ chain, ens }) => {
  const { address: bob } = owner('bob-of-find')
  await ens.setAddress('find.alice.eth', bob)
  expect(await find([chain], 'find.alice.eth')).toEqual({ kind: 'address', address: bob })
  expect(await find([chain], 'no-one.alice.eth')).toEqual(NONE)
})

test('A name whose resolver has no address for it, and returns zeros, belongs to no wallet', async ({ chain, ens }) => {
  await ens.setAddress('zero.alice.eth', '0x0000000000000000000000000000000000000000')
  expect(await find([chain], 'zero.alice.eth')).toEqual(NONE)
})

test.each(['alice', 'Alice.eth', 'аlice.eth', 'xn--lice-53d.eth', '0x7099.eth', `${'a'.repeat(60)}.eth`])(
  'The name %s cannot be shown, so no endpoint is called for it',
  async (name) => {
    expect(await find([], name)).toEqual(NONE)
  },
)

test('A name is not resolved if an endpoint fails, or if two endpoints contradict each other', async ({ chain, ens, beside }) => {
  await ens.setAddress('two.alice.eth', alice)
  expect(await find([chain, beside], 'two.alice.eth')).toEqual({ kind: 'address', address: alice })
  chain.setFault('500')
  expect(await find([chain], 'two.alice.eth')).toMatchObject({ kind: 'unavailable' })
})
