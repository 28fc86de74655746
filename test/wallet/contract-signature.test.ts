/** Wallets that are contracts (ERC-1271), on a local chain: who is believed, and who is not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Address } from '../../src/wallet/address.ts'
import { verifyPlainSignature } from '../../src/wallet/signature.ts'
import { startChain, type TestChain } from '../support/chain.ts'
import { type Safe, safes, signForSafe } from '../support/safe.ts'
import {
  answering,
  changeableWallet,
  changeOwner,
  deploying,
  digits,
  oddContracts,
  ownedWallet,
  owner,
} from '../support/wallet-contracts.ts'
import { askAt, message } from './ask-wallet.ts'

const alice = owner('alice')
const bob = owner('bob')
const mallory = owner('mallory')
const magic = '1626ba7e'.padEnd(64, '0')

let chain: TestChain
let ask: ReturnType<typeof askAt>
let wallet: Address
beforeAll(async () => {
  chain = await startChain()
  ask = askAt(chain.chainId, chain)
  wallet = await chain.deploy(deploying(ownedWallet(alice.address)))
})
afterAll(() => chain.close())

test('the owner of a deployed contract wallet is believed (ERC-1271)', async () => {
  expect(await ask(wallet, alice.sign(message))).toEqual({ kind: 'valid' })
})

test('a stranger is not, nor the owner for another text', async () => {
  expect(await ask(wallet, mallory.sign(message))).toEqual({ kind: 'not_proven' })
  expect(await ask(wallet, alice.sign(`${message} `))).toEqual({ kind: 'not_proven' })
})

test('an owner who was removed after a login is not believed at the next check', async () => {
  const changeable = await chain.deploy(changeableWallet(alice.address))
  expect(await ask(changeable, alice.sign(message))).toEqual({ kind: 'valid' })
  await chain.send(changeable, changeOwner(bob.address))
  expect(await ask(changeable, alice.sign(message))).toEqual({ kind: 'not_proven' })
  expect(await ask(changeable, bob.sign(message))).toEqual({ kind: 'valid' })
})

test('a check is one eth_call to each RPC, and never a transaction', async () => {
  const [asked, block] = [chain.asked.length, await chain.request('eth_blockNumber')]
  await ask(wallet, alice.sign(message))
  expect(chain.asked.slice(asked)).toEqual(['eth_call'])
  expect(await chain.request('eth_blockNumber')).toBe(block)
})

describe('a Safe of two owners', () => {
  let safe: Safe
  const sign = (...owners: (typeof alice)[]): string => signForSafe(message, safe.address, chain.chainId, owners)
  beforeAll(async () => {
    const makeSafe = await safes(chain)
    safe = await makeSafe([alice, bob], 2)
    await safe.deploy()
  })

  test('is believed when both signed', async () => {
    expect(await ask(safe.address, sign(alice, bob))).toEqual({ kind: 'valid' })
  })

  test('is not when one signed, or one twice, or one and a stranger, or nobody', async () => {
    const one = sign(alice)
    for (const half of [one, `${one}${digits(one)}`, sign(bob), sign(alice, mallory), '0x']) {
      expect(await ask(safe.address, half)).toEqual({ kind: 'not_proven' })
    }
  })

  test('is not when its owners signed for another Safe or another chain', async () => {
    const elsewhere = signForSafe(message, wallet, chain.chainId, [alice, bob])
    const otherChain = signForSafe(message, safe.address, 10, [alice, bob])
    expect(await ask(safe.address, elsewhere)).toEqual({ kind: 'not_proven' })
    expect(await ask(safe.address, otherChain)).toEqual({ kind: 'not_proven' })
  })
})

describe('an account that delegates to a contract (EIP-7702)', () => {
  // alice's own account, delegating to a contract that accepts what mallory signs
  beforeAll(async () => {
    const delegate = await chain.deploy(deploying(ownedWallet(mallory.address)))
    await chain.setCode(alice.address, `0xef0100${digits(delegate)}`)
  })

  test('is proven by its own key, without any chain', () => {
    expect(verifyPlainSignature(message, alice.sign(message), alice.address)).toEqual({ kind: 'valid' })
  })

  test('is not proven by what it delegates to, which the chain itself would ask', async () => {
    // the question of ERC-1271 put to the account: the delegate answers with the magic value
    const question = `0x1626ba7e${'00'.repeat(32)}`
    expect(await chain.request('eth_call', [{ to: alice.address, data: question }, 'latest'])).not.toBe('0x')
    expect(await ask(alice.address, mallory.sign(message))).toEqual({ kind: 'not_proven' })
  })

  test('is not proven by a delegate that says yes to everything', async () => {
    const delegate = await chain.deploy(deploying(answering(magic)))
    await chain.setCode(bob.address, `0xef0100${digits(delegate)}`)
    expect(await ask(bob.address, '0x')).toEqual({ kind: 'not_proven' })
  })
})

describe('what is at the address decides nothing but yes or no', () => {
  test('only the magic value and zeros, one word long, is a yes', async () => {
    const yes = await chain.deploy(deploying(answering(magic)))
    expect(await ask(yes, '0x')).toEqual({ kind: 'valid' })
    const noes = [
      '', // nothing
      '00'.repeat(32), // false
      '01'.padStart(64, '0'), // true
      '1626ba7e', // the four bytes alone
      magic.slice(0, -2), // a byte short
      `${magic}00`, // a byte long
      magic + magic,
      '1626ba7e'.padStart(64, '0'), // right-aligned
      `1626ba7e${'00'.repeat(27)}01`, // not only zeros
      `1626ba7f${'00'.repeat(28)}`,
      '20c13b0b'.padEnd(64, '0'), // the magic value of an older draft
      'ff'.repeat(32),
    ]
    const believed: string[] = []
    for (const answer of noes) {
      const { kind } = await ask(await chain.deploy(deploying(answering(answer))), '0x')
      if (kind !== 'not_proven') believed.push(answer)
    }
    expect(believed).toEqual([])
  })

  test.each(Object.keys(oddContracts))('a contract that is no wallet proves nothing and breaks nothing: %s', async (kind) => {
    const odd = await chain.deploy(deploying(oddContracts[kind as keyof typeof oddContracts]))
    expect(await ask(odd, alice.sign(message))).toEqual({ kind: 'not_proven' })
  })

  test('an address without code proves nothing, whoever signed', async () => {
    expect(await ask(mallory.address, alice.sign(message))).toEqual({ kind: 'not_proven' })
  })
})

test('an address nobody has a key for is refused before the chain is asked: zero, the precompiles, all up to 0xff', async () => {
  const asked = chain.asked.length
  for (let last = 0; last <= 0xff; last++) {
    const keyless = `0x${last.toString(16).padStart(40, '0')}`
    expect(await ask(keyless, alice.sign(message))).toEqual({ kind: 'not_proven' })
  }
  expect(chain.asked.length).toBe(asked)
})

test('a precompile behind that range answers no check either', async () => {
  expect(await ask(`0x${'100'.padStart(40, '0')}`, alice.sign(message))).toEqual({ kind: 'not_proven' })
})

test.each([
  ['no hexadecimal', 'yes'],
  ['half a byte', '0x1'],
  ['no 0x', '11'.repeat(65)],
  ['a line break after', `0x${'11'.repeat(65)}\n`],
  ['over 8 kB', `0x${'11'.repeat(4_096)}`],
  ['a wrapper around nothing (ERC-6492)', `0x${'6492'.repeat(16)}`],
  ['nothing at all', undefined as unknown as string],
])('a signature that is none is malformed, and no chain is asked: %s', async (_, signature) => {
  const asked = chain.asked.length
  expect(await ask(wallet, signature)).toEqual({ kind: 'malformed' })
  expect(chain.asked.length).toBe(asked)
})

test('the longest signature there is fits the check', async () => {
  const yes = await chain.deploy(deploying(answering(magic)))
  expect(await ask(yes, `0x${'11'.repeat(4_095)}`)).toEqual({ kind: 'valid' })
})
