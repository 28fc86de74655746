/** Wallets that are not deployed yet (ERC-6492). A check deploys them inside an eth_call only. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { safes, signForSafe } from '../../support/safe.ts'
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
} from '../../support/wallet-contracts.ts'
import { message, verifierAt } from './ask-wallet.ts'

const alice = owner('alice')
const mallory = owner('mallory')

let chain: TestChain
let verify: ReturnType<typeof verifierAt>
let factory: Address
beforeAll(async () => {
  chain = await startChain()
  verify = verifierAt(chain.chainId, chain)
  factory = await chain.deploy(deploying(create2Factory))
})
afterAll(() => chain.close())

/** A wallet of alice that is not deployed; `initCode` alone decides its address. */
function undeployedWallet(initCode = deploying(ownedWallet(alice.address))): {
  address: Address
  wrap(signature: string): string
} {
  const address = create2Address(factory, initCode)
  return { address, wrap: (signature) => wrapSignature(factory, create2Call(initCode), signature) }
}

test("A wrapped signature of an undeployed wallet's owner is valid, and one of another key is not (ERC-6492)", async () => {
  const { address, wrap } = undeployedWallet()
  expect(await verify(address, wrap(alice.sign(message)))).toEqual({ kind: 'valid' })
  expect(await verify(address, wrap(mallory.sign(message)))).toEqual({ kind: 'not_proven' })
  expect(await verify(address, wrap(alice.sign('another text')))).toEqual({ kind: 'not_proven' })
})

test('The check of an undeployed wallet leaves its address without code (ERC-6492)', async () => {
  const { address, wrap } = undeployedWallet()
  const [block, before] = [await chain.request('eth_blockNumber'), chain.asked.length]
  await verify(address, wrap(alice.sign(message)))
  expect(await chain.request('eth_getCode', [address, 'latest'])).toBe('0x')
  expect(await chain.request('eth_blockNumber')).toBe(block)
  expect(chain.asked.slice(before)).toEqual(['eth_call'])
})

test("A signature of an undeployed wallet's owner without the wrapper proves nothing", async () => {
  const { address } = undeployedWallet()
  expect(await verify(address, alice.sign(message))).toEqual({ kind: 'not_proven' })
})

test('A signature for an undeployed Safe is valid if all of its owners signed, and not with one of them', async () => {
  const bob = owner('bob')
  const makeSafe = await safes(chain)
  const { address, factory, factoryCall } = await makeSafe([alice, bob], 2)
  const sign = (...owners: (typeof bob)[]): string =>
    wrapSignature(factory, factoryCall, signForSafe(message, address, chain.chainId, owners))
  expect(await verify(address, sign(alice, bob))).toEqual({ kind: 'valid' })
  expect(await verify(address, sign(alice))).toEqual({ kind: 'not_proven' })
})

describe('Wrapped signatures of deployed wallets', () => {
  const initCode = changeableWallet(alice.address)
  const deployedWallet = (): ReturnType<typeof undeployedWallet> => undeployedWallet(initCode)
  beforeAll(() => chain.send(factory, create2Call(initCode)))

  test("The signature of a deployed wallet's owner is valid with and without the wrapper", async () => {
    const { address, wrap } = deployedWallet()
    expect(await verify(address, wrap(alice.sign(message)))).toEqual({ kind: 'valid' })
    expect(await verify(address, alice.sign(message))).toEqual({ kind: 'valid' })
  })

  test('If the wallet is deployed, the call in the wrapper is not made, so it cannot change the owner for the check', async () => {
    const { address } = deployedWallet()
    // This wallet lets any caller change its owner. The check must not make that call.
    const takeOver = wrapSignature(address, changeOwner(mallory.address), mallory.sign(message))
    expect(await verify(address, takeOver)).toEqual({ kind: 'not_proven' })
  })

  test("After a change of owner the former owner's wrapped signature is not valid", async () => {
    const { address, wrap } = deployedWallet()
    await chain.send(address, changeOwner(mallory.address))
    expect(await verify(address, wrap(alice.sign(message)))).toEqual({ kind: 'not_proven' })
  })
})

describe('Wrappers with another factory', () => {
  test("A factory that deploys the claimant's own wallet at another address proves nothing", async () => {
    const own = undeployedWallet(deploying(ownedWallet(mallory.address)))
    const { address } = undeployedWallet()
    expect(await verify(address, own.wrap(mallory.sign(message)))).toEqual({ kind: 'not_proven' })
  })

  test('A contract in place of the factory that itself accepts every signature proves nothing', async () => {
    const { address } = undeployedWallet()
    const yes = await chain.deploy(deploying(answering('1626ba7e'.padEnd(64, '0'))))
    expect(await verify(address, wrapSignature(yes, '0x', '0x'))).toEqual({ kind: 'not_proven' })
    expect(await verify(alice.address, wrapSignature(yes, '0x', '0x'))).toEqual({ kind: 'not_proven' })
  })

  test('A wrapper whose factory has no code, is a precompile or is the zero address proves nothing', async () => {
    const { address } = undeployedWallet()
    for (const noFactory of [mallory.address, `0x${'4'.padStart(40, '0')}`, `0x${'0'.repeat(40)}`]) {
      expect(await verify(address, wrapSignature(noFactory, '0x', alice.sign(message)))).toEqual({ kind: 'not_proven' })
    }
  })
})

test.each(Object.keys(oddContracts))('A hostile factory proves nothing, and the check completes: %s', async (kind) => {
  const hostile = await chain.deploy(deploying(oddContracts[kind as keyof typeof oddContracts]))
  const { address } = undeployedWallet()
  const wrapped = wrapSignature(hostile, '0xc0ffee', alice.sign(message))
  expect(await verify(address, wrapped)).toEqual({ kind: 'not_proven' })
})

test('The check of an undeployed wallet that loops endlessly completes, and proves nothing', async () => {
  const { address, wrap } = undeployedWallet(deploying(oddContracts.endlessLoop))
  expect(await verify(address, wrap('0x'))).toEqual({ kind: 'not_proven' })
})

test('A factory that burns all of its gas leaves enough for the most expensive wallet with the longest signature', async () => {
  const wasteful = await chain.deploy(deploying(wastefulFactory))
  const initCode = deploying(costlyWallet)
  const address = create2Address(wasteful, initCode)
  const wrapped = wrapSignature(wasteful, create2Call(initCode), `0x${'11'.repeat(3_700)}`)
  expect(await verify(address, wrapped)).toEqual({ kind: 'valid' })
})
