/** Wallets that are contracts (ERC-1271), on a local chain: which signatures are valid. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { verifyPlainSignature } from '../../../src/protocol/wallet/signature.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { type Safe, safes, signForSafe } from '../../support/safe.ts'
import {
  answering,
  changeableWallet,
  changeOwner,
  deploying,
  digits,
  oddContracts,
  ownedWallet,
  owner,
} from '../../support/wallet-contracts.ts'
import { message, verifierAt } from './ask-wallet.ts'

const alice = owner('alice')
const bob = owner('bob')
const mallory = owner('mallory')
const magic = '1626ba7e'.padEnd(64, '0')

let chain: TestChain
let verify: ReturnType<typeof verifierAt>
let wallet: Address
beforeAll(async () => {
  chain = await startChain()
  verify = verifierAt(chain.chainId, chain)
  wallet = await chain.deploy(deploying(ownedWallet(alice.address)))
})
afterAll(() => chain.close())

test('A signature of the owner of a deployed contract wallet is valid (ERC-1271)', async () => {
  expect(await verify(wallet, alice.sign(message))).toEqual({ kind: 'valid' })
})

test('A signature of another key, or of the owner for another text, is not valid for a contract wallet', async () => {
  expect(await verify(wallet, mallory.sign(message))).toEqual({ kind: 'not_proven' })
  expect(await verify(wallet, alice.sign(`${message} `))).toEqual({ kind: 'not_proven' })
})

test('A signature of an owner who has been removed from a contract wallet is no longer valid', async () => {
  const changeable = await chain.deploy(changeableWallet(alice.address))
  expect(await verify(changeable, alice.sign(message))).toEqual({ kind: 'valid' })
  await chain.send(changeable, changeOwner(bob.address))
  expect(await verify(changeable, alice.sign(message))).toEqual({ kind: 'not_proven' })
  expect(await verify(changeable, bob.sign(message))).toEqual({ kind: 'valid' })
})

test('The check of a contract wallet is one eth_call, and sends no transaction', async () => {
  const [before, block] = [chain.asked.length, await chain.request('eth_blockNumber')]
  await verify(wallet, alice.sign(message))
  expect(chain.asked.slice(before)).toEqual(['eth_call'])
  expect(await chain.request('eth_blockNumber')).toBe(block)
})

describe('A Safe with two owners', () => {
  let safe: Safe
  const sign = (...owners: (typeof alice)[]): string => signForSafe(message, safe.address, chain.chainId, owners)
  beforeAll(async () => {
    const makeSafe = await safes(chain)
    safe = await makeSafe([alice, bob], 2)
    await safe.deploy()
  })

  test("A Safe's signature is valid if both owners signed", async () => {
    expect(await verify(safe.address, sign(alice, bob))).toEqual({ kind: 'valid' })
  })

  test("A Safe's signature is not valid with one owner only, one owner twice, one owner and another key, or none", async () => {
    const one = sign(alice)
    for (const half of [one, `${one}${digits(one)}`, sign(bob), sign(alice, mallory), '0x']) {
      expect(await verify(safe.address, half)).toEqual({ kind: 'not_proven' })
    }
  })

  test("A Safe's signature is not valid if its owners signed for another Safe or another chain", async () => {
    const elsewhere = signForSafe(message, wallet, chain.chainId, [alice, bob])
    const otherChain = signForSafe(message, safe.address, 10, [alice, bob])
    expect(await verify(safe.address, elsewhere)).toEqual({ kind: 'not_proven' })
    expect(await verify(safe.address, otherChain)).toEqual({ kind: 'not_proven' })
  })
})

describe('An account that delegates to a contract (EIP-7702)', () => {
  // alice's own account, which delegates to a contract that accepts mallory's signatures
  beforeAll(async () => {
    const delegate = await chain.deploy(deploying(ownedWallet(mallory.address)))
    await chain.setCode(alice.address, `0xef0100${digits(delegate)}`)
  })

  test("The signature of a delegating account's own key is valid without a chain (EIP-7702)", () => {
    expect(verifyPlainSignature(message, alice.sign(message), alice.address)).toEqual({ kind: 'valid' })
  })

  test('A signature that only the delegate accepts is not valid for a delegating account (EIP-7702)', async () => {
    // the ERC-1271 call to the account: the delegate returns the magic value
    const question = `0x1626ba7e${'00'.repeat(32)}`
    expect(await chain.request('eth_call', [{ to: alice.address, data: question }, 'latest'])).not.toBe('0x')
    expect(await verify(alice.address, mallory.sign(message))).toEqual({ kind: 'not_proven' })
  })

  test('A delegate that accepts every signature proves nothing for its account (EIP-7702)', async () => {
    const delegate = await chain.deploy(deploying(answering(magic)))
    await chain.setCode(bob.address, `0xef0100${digits(delegate)}`)
    expect(await verify(bob.address, '0x')).toEqual({ kind: 'not_proven' })
  })
})

describe('Contracts that return other values', () => {
  test('Only the magic value of ERC-1271 as one word makes a signature valid, and no other return value does', async () => {
    const yes = await chain.deploy(deploying(answering(magic)))
    expect(await verify(yes, '0x')).toEqual({ kind: 'valid' })
    const noes = [
      '', // no data
      '00'.repeat(32), // false
      '01'.padStart(64, '0'), // true
      '1626ba7e', // the four bytes only
      magic.slice(0, -2), // one byte short
      `${magic}00`, // one byte long
      magic + magic,
      '1626ba7e'.padStart(64, '0'), // right-aligned
      `1626ba7e${'00'.repeat(27)}01`, // with a byte that is not zero
      `1626ba7f${'00'.repeat(28)}`,
      '20c13b0b'.padEnd(64, '0'), // the magic value of an older draft
      'ff'.repeat(32),
    ]
    const accepted: string[] = []
    for (const answer of noes) {
      const { kind } = await verify(await chain.deploy(deploying(answering(answer))), '0x')
      if (kind !== 'not_proven') accepted.push(answer)
    }
    expect(accepted).toEqual([])
  })

  test.each(Object.keys(oddContracts))(
    'A contract that is not a wallet proves nothing, and the check completes: %s',
    async (kind) => {
      const odd = await chain.deploy(deploying(oddContracts[kind as keyof typeof oddContracts]))
      expect(await verify(odd, alice.sign(message))).toEqual({ kind: 'not_proven' })
    },
  )

  test('An address without code proves nothing', async () => {
    expect(await verify(mallory.address, alice.sign(message))).toEqual({ kind: 'not_proven' })
  })
})

test('An address from 0x0 to 0xff, which has no key, is refused without a call to the chain', async () => {
  const before = chain.asked.length
  for (let last = 0; last <= 0xff; last++) {
    const keyless = `0x${last.toString(16).padStart(40, '0')}`
    expect(await verify(keyless, alice.sign(message))).toEqual({ kind: 'not_proven' })
  }
  expect(chain.asked.length).toBe(before)
})

test('The precompile at 0x100 proves nothing', async () => {
  expect(await verify(`0x${'100'.padStart(40, '0')}`, alice.sign(message))).toEqual({ kind: 'not_proven' })
})

test.each([
  ['not hexadecimal', 'yes'],
  ['half a byte', '0x1'],
  ['no 0x', '11'.repeat(65)],
  ['a line break after', `0x${'11'.repeat(65)}\n`],
  ['over 8 kB', `0x${'11'.repeat(4_096)}`],
  ['a wrapper around nothing (ERC-6492)', `0x${'6492'.repeat(16)}`],
  ['undefined', undefined as unknown as string],
])('A malformed signature is refused without a call to the chain: %s', async (_, signature) => {
  const before = chain.asked.length
  expect(await verify(wallet, signature)).toEqual({ kind: 'malformed' })
  expect(chain.asked.length).toBe(before)
})

test('The longest accepted signature can be checked', async () => {
  const yes = await chain.deploy(deploying(answering(magic)))
  expect(await verify(yes, `0x${'11'.repeat(4_095)}`)).toEqual({ kind: 'valid' })
})
