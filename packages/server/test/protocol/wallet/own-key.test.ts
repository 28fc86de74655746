/** Whether an account has switched its key off (drafts EIP-7851, EIP-8164), on a local chain and with code of the drafts. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChainReader } from '../../../src/outbound/chain/chain-reader.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import type { ChainReader } from '../../../src/protocol/wallet/contract-signature.ts'
import { checkOwnKey } from '../../../src/protocol/wallet/own-key.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { forAllAsync } from '../../support/property.ts'
import { answering, deploying, ownedWallet, owner } from '../../support/wallet-contracts.ts'
import { runInitCode } from './small-evm.ts'

const alice = owner('alice')
const DELEGATE = '11'.repeat(20)

let chain: TestChain
let onChain: (address: Address) => ReturnType<typeof checkOwnKey>
beforeAll(async () => {
  chain = await startChain()
  const reader = createChainReader({ url: chain.url })
  onChain = (address) => checkOwnKey([reader], { address, chainId: chain.chainId })
})
afterAll(() => chain.close())

/** A reader of a chain on which alice's account has this code. */
const readerOf = (code: string, chainId = chain.chainId): ChainReader => ({
  async call({ data }) {
    const codeAt = (address: string) => (address === alice.address.toLowerCase() ? code : '0x')
    return { kind: 'returned', data: runInitCode(data, { chainId, codeAt }) }
  },
})
const withCode = (code: string) => checkOwnKey([readerOf(code)], { address: alice.address, chainId: chain.chainId })

test('The key of an account without code, and of an account that delegates (EIP-7702), counts', async () => {
  const delegating = owner('delegating')
  await chain.setCode(delegating.address, `0xef0100${DELEGATE}`)
  for (const { address } of [alice, delegating]) expect(await onChain(address)).toEqual({ kind: 'valid' })
  for (const code of ['0x', `0xef0100${DELEGATE}`]) expect(await withCode(code)).toEqual({ kind: 'valid' })
})

test('The key of an address with the code of a contract does not count (EIP-3607)', async () => {
  const contract = await chain.deploy(deploying(ownedWallet(alice.address)))
  expect(await onChain(contract)).toEqual({ kind: 'not_proven' })
  const short = await chain.deploy(deploying(answering('11'.repeat(14))))
  expect(await onChain(short)).toEqual({ kind: 'not_proven' })
  const sameSize = `5f5f${'5b'.repeat(21)}`
  expect(await onChain(await chain.deploy(deploying(sameSize)))).toEqual({ kind: 'not_proven' })
})

test.each([
  ['EIP-7851: 0xef0101 and an address', `0xef0101${DELEGATE}`],
  ['the first version of EIP-7851: a delegation and one more byte', `0xef0100${DELEGATE}00`],
  ['EIP-8164: 0xef0101 and a key of 32 bytes', `0xef0101${'22'.repeat(32)}`],
  ['a delegation that is one byte short', `0xef0100${DELEGATE.slice(2)}`],
])('The key of an account that switched its key off does not count: %s', async (_, code) => {
  expect(await withCode(code)).toEqual({ kind: 'not_proven' })
})

test('Only an account with no code, or with 0xef0100 and 20 bytes, has a key that counts: any code', async () => {
  const bytes = fc.uint8Array({ minLength: 0, maxLength: 60 }).map((array) => Buffer.from(array).toString('hex'))
  const nearly = fc.tuple(fc.constantFrom('ef0100', 'ef0101', 'ef00', 'ef0200', ''), bytes).map((parts) => parts.join(''))
  await forAllAsync(nearly, async (code) => {
    const counts = code === '' || (code.length === 46 && code.startsWith('ef0100'))
    expect(await withCode(`0x${code}`)).toEqual({ kind: counts ? 'valid' : 'not_proven' })
  })
})

test('Two readers that disagree, or a reader of another chain, check nothing', async () => {
  const account = { address: alice.address, chainId: chain.chainId }
  const off = readerOf(`0xef0101${DELEGATE}`)
  expect(await checkOwnKey([readerOf('0x'), off], account)).toMatchObject({ kind: 'could_not_check', why: 'chains_disagree' })
  for (const code of ['0x', `0xef0101${DELEGATE}`])
    expect(await checkOwnKey([readerOf(code, 10)], account)).toMatchObject({ kind: 'could_not_check', why: 'other_chain' })
})
