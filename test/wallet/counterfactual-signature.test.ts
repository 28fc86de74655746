/** Wallets that are not deployed yet (ERC-6492): deployed for the time of one question, and never in earnest. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Address } from '../../src/wallet/address.ts'
import { startChain, type TestChain } from '../support/chain.ts'
import { safes, signForSafe } from '../support/safe.ts'
import {
  answering,
  changeableWallet,
  changeOwner,
  costlyWallet,
  create2Address,
  create2Call,
  create2Factory,
  deploying,
  oddContracts,
  ownedWallet,
  owner,
  wastefulFactory,
  wrapSignature,
} from '../support/wallet-contracts.ts'
import { askAt, message } from './ask-wallet.ts'

const alice = owner('alice')
const mallory = owner('mallory')

let chain: TestChain
let ask: ReturnType<typeof askAt>
let factory: Address
beforeAll(async () => {
  chain = await startChain()
  ask = askAt(chain.chainId, chain)
  factory = await chain.deploy(deploying(create2Factory))
})
afterAll(() => chain.close())

/** A wallet of alice that nobody has deployed; `initCode` alone decides its address. */
function undeployed(initCode = deploying(ownedWallet(alice.address))): { address: Address; wrap(signature: string): string } {
  const address = create2Address(factory, initCode)
  return { address, wrap: (signature) => wrapSignature(factory, create2Call(initCode), signature) }
}

test('the owner of a wallet that is not deployed yet is believed, a stranger is not (ERC-6492)', async () => {
  const { address, wrap } = undeployed()
  expect(await ask(address, wrap(alice.sign(message)))).toEqual({ kind: 'valid' })
  expect(await ask(address, wrap(mallory.sign(message)))).toEqual({ kind: 'not_proven' })
  expect(await ask(address, wrap(alice.sign('another text')))).toEqual({ kind: 'not_proven' })
})

test('the question deploys nothing: afterwards the address is as empty as before', async () => {
  const { address, wrap } = undeployed()
  const [block, asked] = [await chain.request('eth_blockNumber'), chain.asked.length]
  await ask(address, wrap(alice.sign(message)))
  expect(await chain.request('eth_getCode', [address, 'latest'])).toBe('0x')
  expect(await chain.request('eth_blockNumber')).toBe(block)
  expect(chain.asked.slice(asked)).toEqual(['eth_call'])
})

test('without the wrapper such a wallet proves nothing', async () => {
  const { address } = undeployed()
  expect(await ask(address, alice.sign(message))).toEqual({ kind: 'not_proven' })
})

test('a Safe that is not deployed yet is believed when all its owners signed, and not before', async () => {
  const bob = owner('bob')
  const makeSafe = await safes(chain)
  const { address, factory, factoryCall } = await makeSafe([alice, bob], 2)
  const sign = (...owners: (typeof bob)[]): string =>
    wrapSignature(factory, factoryCall, signForSafe(message, address, chain.chainId, owners))
  expect(await ask(address, sign(alice, bob))).toEqual({ kind: 'valid' })
  expect(await ask(address, sign(alice))).toEqual({ kind: 'not_proven' })
})

describe('once the wallet is deployed', () => {
  const initCode = changeableWallet(alice.address)
  const deployed = (): ReturnType<typeof undeployed> => undeployed(initCode)
  beforeAll(() => chain.send(factory, create2Call(initCode)))

  test('its owner may still wrap the signature', async () => {
    const { address, wrap } = deployed()
    expect(await ask(address, wrap(alice.sign(message)))).toEqual({ kind: 'valid' })
    expect(await ask(address, alice.sign(message))).toEqual({ kind: 'valid' })
  })

  test('the wrapper calls nobody: a call that would make the wallet accept the claimant is not made', async () => {
    const { address } = deployed()
    // anybody may change this wallet's owner; but not for the length of a question
    const takeOver = wrapSignature(address, changeOwner(mallory.address), mallory.sign(message))
    expect(await ask(address, takeOver)).toEqual({ kind: 'not_proven' })
  })

  test('a change of its owner since then counts, whatever the wrapper would deploy', async () => {
    const { address, wrap } = deployed()
    await chain.send(address, changeOwner(mallory.address))
    expect(await ask(address, wrap(alice.sign(message)))).toEqual({ kind: 'not_proven' })
  })
})

describe('the code must come to be at exactly the claimed address', () => {
  test('a factory that deploys a wallet of the claimant elsewhere proves nothing for the address', async () => {
    const own = undeployed(deploying(ownedWallet(mallory.address)))
    const { address } = undeployed()
    expect(await ask(address, own.wrap(mallory.sign(message)))).toEqual({ kind: 'not_proven' })
  })

  test('a "factory" that says yes itself proves nothing for the address', async () => {
    const { address } = undeployed()
    const yes = await chain.deploy(deploying(answering('1626ba7e'.padEnd(64, '0'))))
    expect(await ask(address, wrapSignature(yes, '0x', '0x'))).toEqual({ kind: 'not_proven' })
    expect(await ask(alice.address, wrapSignature(yes, '0x', '0x'))).toEqual({ kind: 'not_proven' })
  })

  test('neither does no factory at all: an address without code, a precompile, the zero address', async () => {
    const { address } = undeployed()
    for (const nobody of [mallory.address, `0x${'4'.padStart(40, '0')}`, `0x${'0'.repeat(40)}`]) {
      expect(await ask(address, wrapSignature(nobody, '0x', alice.sign(message)))).toEqual({ kind: 'not_proven' })
    }
  })
})

test.each(Object.keys(oddContracts))('a hostile factory proves nothing and breaks nothing: %s', async (kind) => {
  const hostile = await chain.deploy(deploying(oddContracts[kind as keyof typeof oddContracts]))
  const { address } = undeployed()
  const wrapped = wrapSignature(hostile, '0xc0ffee', alice.sign(message))
  expect(await ask(address, wrapped)).toEqual({ kind: 'not_proven' })
})

test('a wallet that loops without end once it is there for the question ends it as well', async () => {
  const { address, wrap } = undeployed(deploying(oddContracts.endlessLoop))
  expect(await ask(address, wrap('0x'))).toEqual({ kind: 'not_proven' })
})

test('a factory that burns all it may leaves enough to ask the most costly wallet, with the longest signature', async () => {
  const wasteful = await chain.deploy(deploying(wastefulFactory))
  const initCode = deploying(costlyWallet)
  const address = create2Address(wasteful, initCode)
  const wrapped = wrapSignature(wasteful, create2Call(initCode), `0x${'11'.repeat(3_700)}`)
  expect(await ask(address, wrapped)).toEqual({ kind: 'valid' })
})
