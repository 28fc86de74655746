/** A contract wallet is believed when every configured RPC says so: what one that lies, fails or disagrees can do. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createChainReader } from '../../src/chain/chain-reader.ts'
import type { Address } from '../../src/wallet/address.ts'
import { type ContractVerdict, verifyContractSignature } from '../../src/wallet/contract-signature.ts'
import { isDoneWithin } from '../support/attempts.ts'
import { startChain, type TestChain } from '../support/chain.ts'
import { type TestRpc, UNHELPFUL } from '../support/chain-rpc.ts'
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
} from '../support/wallet-contracts.ts'

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

/** Asks both RPCs about a signature, as a service with two of them does. Patient, unless the test is about time. */
function ask(signature: string, rpcs: readonly TestRpc[] = [chain, beside], address = wallet): Promise<ContractVerdict> {
  const readers = rpcs.map(({ url }) => createChainReader({ url, timeoutMs: 10_000 }))
  return verifyContractSignature(readers, { message, signature, address, chainId: chain.chainId })
}

function askInTime(signature: string, rpcs: readonly TestRpc[]): Promise<ContractVerdict> {
  const readers = rpcs.map(({ url }) => createChainReader({ url }))
  return verifyContractSignature(readers, { message, signature, address: wallet, chainId: chain.chainId })
}

const genuine = alice.sign(message)
const forged = mallory.sign(message)
const disagree = { kind: 'could_not_check', why: 'chains_disagree' }

test('two honest RPCs agree, at one eth_call each', async () => {
  const asked = [chain.asked.length, beside.asked.length] as const
  expect(await ask(genuine)).toEqual({ kind: 'valid' })
  expect([chain.asked.slice(asked[0]), beside.asked.slice(asked[1])]).toEqual([['eth_call'], ['eth_call']])
  expect(await ask(forged)).toEqual({ kind: 'not_proven' })
})

test('an RPC that says yes to everything signs nobody in beside an honest one, whichever stands first', async () => {
  beside.setFault('lie')
  expect(await ask(forged)).toEqual(disagree)
  expect(await ask(forged, [beside, chain])).toEqual(disagree)
  expect(await ask(genuine)).toEqual({ kind: 'valid' })
})

test('an RPC that says no to everything makes nobody a forger beside an honest one', async () => {
  chain.setFault('deny')
  expect(await ask(genuine)).toEqual(disagree)
  expect(await ask(forged)).toEqual({ kind: 'not_proven' })
})

test('both RPCs lying the same lie are believed: that is what two different operators are asked for', async () => {
  chain.setFault('lie')
  beside.setFault('lie')
  expect(await ask(forged)).toEqual({ kind: 'valid' })
})

test('even lying RPCs sign nobody in as an address that nobody has a key for, or with what is no signature', async () => {
  chain.setFault('lie')
  beside.setFault('lie')
  expect(await ask(forged, [chain, beside], `0x${'0'.repeat(40)}`)).toEqual({ kind: 'not_proven' })
  expect(await ask('garbage')).toEqual({ kind: 'malformed' })
})

test.each(UNHELPFUL)('an RPC at fault beside an honest one: could not check, never a login, never "wrong": %s', async (fault) => {
  beside.setFault(fault)
  const both = Promise.all([askInTime(genuine, [chain, beside]), askInTime(forged, [chain, beside])])
  expect(await isDoneWithin(4_000, both)).toBe(true)
  expect((await both).map(({ kind }) => kind)).toEqual(['could_not_check', 'could_not_check'])
})

test.each(UNHELPFUL)('the one RPC there is at fault: could not check: %s', async (fault) => {
  chain.setFault(fault)
  expect(await askInTime(genuine, [chain])).toMatchObject({ kind: 'could_not_check' })
})

test.each(['0x', '0x04', '0x0100', `0x${'1626ba7e'.padEnd(64, '0')}`, `0x${'01'.padStart(64, '0')}`, '0xff'])(
  'an answer that is not the one byte of the check proves nothing: %s',
  async (result) => {
    chain.setFault({ body: `{"jsonrpc":"2.0","id":ID,"result":"${result}"}` })
    expect(await ask(genuine, [chain])).toEqual({ kind: 'could_not_check', why: 'no_answer_of_the_check' })
  },
)

test('no RPC at all can say nothing', async () => {
  expect(await ask(genuine, [])).toEqual({ kind: 'could_not_check', why: 'no_chain' })
})

test('the same address with another owner on another chain: each chain speaks for its own, and neither for the other', async () => {
  const home = await startChain({ chainId: 1 })
  const away = await startChain({ chainId: 10 })
  try {
    // one wallet of alice, by the same factory at the same address on both chains; on the other chain mallory has bought it
    const initCode = changeableWallet(alice.address)
    const factory = await home.deploy(deploying(create2Factory))
    expect(await away.deploy(deploying(create2Factory))).toBe(factory)
    for (const chain of [home, away]) await chain.send(factory, create2Call(initCode))
    const address = create2Address(factory, initCode)
    await away.send(address, changeOwner(mallory.address))
    const askOn = (chainId: number, rpc: TestRpc, signature: string): Promise<ContractVerdict> =>
      verifyContractSignature([createChainReader({ url: rpc.url, timeoutMs: 10_000 })], { message, signature, address, chainId })

    expect(await askOn(1, home, genuine)).toEqual({ kind: 'valid' })
    expect(await askOn(1, home, forged)).toEqual({ kind: 'not_proven' })
    expect(await askOn(10, away, forged)).toEqual({ kind: 'valid' })
    // a login on the home chain, checked at an RPC that is of the other one
    expect(await askOn(1, away, forged)).toEqual({ kind: 'could_not_check', why: 'other_chain' })
    expect(await askOn(1, away, genuine)).toEqual({ kind: 'could_not_check', why: 'other_chain' })
  } finally {
    await Promise.all([home.close(), away.close()])
  }
})

test('a wallet that is deployed on one chain and not on the other is checked on each as it is there (ERC-6492)', async () => {
  const factory = await chain.deploy(deploying(create2Factory))
  const initCode = deploying(ownedWallet(alice.address))
  const address = create2Address(factory, initCode)
  const wrapped = wrapSignature(factory, create2Call(initCode), genuine)
  expect(await ask(wrapped, [chain, beside], address)).toEqual({ kind: 'valid' })
  beside.setFault('swapped_chain')
  expect(await ask(wrapped, [chain, beside], address)).toEqual({ kind: 'could_not_check', why: 'other_chain' })
})
