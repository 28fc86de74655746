/** A contract wallet's signature is valid only if every configured RPC endpoint confirms it, also if one endpoint lies or fails. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createChainReader } from '../../../src/outbound/chain/chain-reader.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { type ContractVerdict, verifyContractSignature } from '../../../src/protocol/wallet/contract-signature.ts'
import { isDoneWithin } from '../../support/attempts.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { type TestRpc, UNHELPFUL } from '../../support/chain-rpc.ts'
import {
  changeableWallet,
  changeOwner,
  create2Address,
  create2Call,
  create2Factory,
  deploying,
  ownedWallet,
  owner,
  wrapSignature,
} from '../../support/wallet-contracts.ts'

const alice = owner('alice')
const mallory = owner('mallory')
const message = 'login.example.com wants you to sign in with your Ethereum account:\n…'

let chain: TestChain
let beside: TestRpc
let wallet: Address
beforeAll(async () => {
  chain = await startChain()
  beside = await chain.openRpc()
  wallet = await chain.deploy(deploying(ownedWallet(alice.address)))
})
afterAll(() => chain.close())
beforeEach(() => {
  chain.setFault(null)
  beside.setFault(null)
})

/** Checks a signature at both RPC endpoints, as a service with two of them does, with a long timeout. */
function verify(signature: string, rpcs: readonly TestRpc[] = [chain, beside], address = wallet): Promise<ContractVerdict> {
  const readers = rpcs.map(({ url }) => createChainReader({ url, timeoutMs: 10_000 }))
  return verifyContractSignature(readers, { message, signature, address, chainId: chain.chainId })
}

function verifyInTime(signature: string, rpcs: readonly TestRpc[]): Promise<ContractVerdict> {
  const readers = rpcs.map(({ url }) => createChainReader({ url }))
  return verifyContractSignature(readers, { message, signature, address: wallet, chainId: chain.chainId })
}

const genuine = alice.sign(message)
const forged = mallory.sign(message)
const disagree = { kind: 'could_not_check', why: 'chains_disagree' }

test('Two honest RPC endpoints agree on a signature, with one eth_call each', async () => {
  const before = [chain.asked.length, beside.asked.length] as const
  expect(await verify(genuine)).toEqual({ kind: 'valid' })
  expect([chain.asked.slice(before[0]), beside.asked.slice(before[1])]).toEqual([['eth_call'], ['eth_call']])
  expect(await verify(forged)).toEqual({ kind: 'not_proven' })
})

test('An RPC endpoint that accepts every signature cannot sign anyone in beside an honest one, in either order', async () => {
  beside.setFault('lie')
  expect(await verify(forged)).toEqual(disagree)
  expect(await verify(forged, [beside, chain])).toEqual(disagree)
  expect(await verify(genuine)).toEqual({ kind: 'valid' })
})

test('An RPC endpoint that rejects every signature makes no valid one count as forged beside an honest one', async () => {
  chain.setFault('deny')
  expect(await verify(genuine)).toEqual(disagree)
  expect(await verify(forged)).toEqual({ kind: 'not_proven' })
})

test('If both RPC endpoints accept a forged signature, it is valid: hence two different operators are recommended', async () => {
  chain.setFault('lie')
  beside.setFault('lie')
  expect(await verify(forged)).toEqual({ kind: 'valid' })
})

test('Even lying RPC endpoints cannot sign in the zero address or make a malformed signature valid', async () => {
  chain.setFault('lie')
  beside.setFault('lie')
  expect(await verify(forged, [chain, beside], `0x${'0'.repeat(40)}`)).toEqual({ kind: 'not_proven' })
  expect(await verify('garbage')).toEqual({ kind: 'malformed' })
})

test.each(UNHELPFUL)(
  'If one of two RPC endpoints is faulty, the signature cannot be checked, and is neither valid nor wrong: %s',
  async (fault) => {
    beside.setFault(fault)
    const both = Promise.all([verifyInTime(genuine, [chain, beside]), verifyInTime(forged, [chain, beside])])
    expect(await isDoneWithin(4_000, both)).toBe(true)
    expect((await both).map(({ kind }) => kind)).toEqual(['could_not_check', 'could_not_check'])
  },
)

test.each(UNHELPFUL)('If the only RPC endpoint is faulty, the signature cannot be checked: %s', async (fault) => {
  chain.setFault(fault)
  expect(await verifyInTime(genuine, [chain])).toMatchObject({ kind: 'could_not_check' })
})

test.each(['0x', '0x04', '0x0100', `0x${'1626ba7e'.padEnd(64, '0')}`, `0x${'01'.padStart(64, '0')}`, '0xff'])(
  'An RPC result that is not the one byte of the check proves nothing: %s',
  async (result) => {
    chain.setFault({ body: `{"jsonrpc":"2.0","id":ID,"result":"${result}"}` })
    expect(await verify(genuine, [chain])).toEqual({ kind: 'could_not_check', why: 'no_answer_of_the_check' })
  },
)

test("Without an RPC endpoint, a contract wallet's signature cannot be checked", async () => {
  expect(await verify(genuine, [])).toEqual({ kind: 'could_not_check', why: 'no_chain' })
})

test('If an address has different owners on two chains, a signature is checked on its own chain only', async () => {
  const home = await startChain({ chainId: 1 })
  const away = await startChain({ chainId: 10 })
  try {
    // one wallet of alice, from the same factory at the same address on both chains; on the second chain mallory is its owner
    // now
    const initCode = changeableWallet(alice.address)
    const factory = await home.deploy(deploying(create2Factory))
    expect(await away.deploy(deploying(create2Factory))).toBe(factory)
    for (const chain of [home, away]) await chain.send(factory, create2Call(initCode))
    const address = create2Address(factory, initCode)
    await away.send(address, changeOwner(mallory.address))
    const verifyOn = (chainId: number, rpc: TestRpc, signature: string): Promise<ContractVerdict> =>
      verifyContractSignature([createChainReader({ url: rpc.url, timeoutMs: 10_000 })], { message, signature, address, chainId })

    expect(await verifyOn(1, home, genuine)).toEqual({ kind: 'valid' })
    expect(await verifyOn(1, home, forged)).toEqual({ kind: 'not_proven' })
    expect(await verifyOn(10, away, forged)).toEqual({ kind: 'valid' })
    // a login on the first chain, checked at an RPC endpoint of the second one
    expect(await verifyOn(1, away, forged)).toEqual({ kind: 'could_not_check', why: 'other_chain' })
    expect(await verifyOn(1, away, genuine)).toEqual({ kind: 'could_not_check', why: 'other_chain' })
  } finally {
    await Promise.all([home.close(), away.close()])
  }
})

test('A counterfactual wallet is checked where it is not deployed, and an RPC endpoint of another chain is not believed (ERC-6492)', async () => {
  const factory = await chain.deploy(deploying(create2Factory))
  const initCode = deploying(ownedWallet(alice.address))
  const address = create2Address(factory, initCode)
  const wrapped = wrapSignature(factory, create2Call(initCode), genuine)
  expect(await verify(wrapped, [chain, beside], address)).toEqual({ kind: 'valid' })
  beside.setFault('swapped_chain')
  expect(await verify(wrapped, [chain, beside], address)).toEqual({ kind: 'could_not_check', why: 'other_chain' })
})
