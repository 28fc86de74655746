/** Only a signature of the address over the exact text signs in (ERC-191, EIP-55, EIP-2). No chain endpoint is configured. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { unpack } from '../../../../src/store/packed.ts'
import { forAllAsync } from '../../../support/property.ts'
import { type Rows } from '../../../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk
let challenge: string
let message: string
let signature: string
let before: Rows

beforeAll(async () => {
  // the limit on failures has its own test file
  grantor = await startGrantor({ failureLimit: 1_000_000 })
  client = await grantor.createClient()
})
beforeEach(async () => {
  walk = new Walk(grantor)
  challenge = await walk.challenge(requestOf(client))
  message = (await walk.loginApi('/login/message', claim())).json().message as string
  signature = walk.wallet.sign(message)
  before = await grantor.rows()
})
afterAll(() => grantor.close())

const claim = (more: Record<string, unknown> = {}) => ({
  login_challenge: challenge,
  address: walk.wallet.address,
  chain_id: 1,
  ...more,
})
const accept = (more: Record<string, unknown> = {}) => walk.loginApi('/login/accept', { ...claim(), signature, ...more })

/** Expects a refusal that stores nothing. */
async function expectRefused(answer: Answer, status: number, error: string): Promise<void> {
  expect(answer.status).toBe(status)
  expect(answer.json().error).toBe(error)
  expect(answer.json()).not.toHaveProperty('redirect_to')
  expect(await grantor.rows()).toEqual(before)
}

describe('The address of a proof', () => {
  test('An address from 0x0 to 0xff, which has no key, is refused with 403 and with any signature', async () => {
    for (const number of [0, 1, 2, 9, 10, 127, 128, 254, 255]) {
      const address = `0x${number.toString(16).padStart(40, '0')}`
      for (const garbage of [
        signature,
        `0x${'00'.repeat(65)}`,
        `0x${'ff'.repeat(65)}`,
        `0x${'00'.repeat(64)}1b`,
        'x'.repeat(200),
      ]) {
        await expectRefused(await accept({ address, signature: garbage }), 403, 'address_not_allowed')
        await expectRefused(
          await accept({ address: `0x${address.slice(2).toUpperCase()}`, signature: garbage }),
          403,
          'address_not_allowed',
        )
      }
      await expectRefused(await walk.loginApi('/login/message', claim({ address })), 403, 'address_not_allowed')
    }
  })

  test('The address 0x100 is not refused as an address, and needs a valid signature like any other', async () => {
    await expectRefused(await accept({ address: `0x${'100'.padStart(40, '0')}` }), 401, 'not_proven')
  })

  test('An address in lower or upper case signs in, and the sub is always its EIP-55 form', async () => {
    const { address } = walk.wallet
    for (const spelling of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
      const fresh = new Walk(grantor, { ...walk.wallet, address: spelling })
      const { code } = await fresh.signIn(requestOf(client))
      const { access_token } = (await fresh.exchange(client, code)).json()
      expect((await fresh.introspect(client, access_token as string)).json().sub).toBe(address)
    }
    const { wallets, sessions } = await grantor.rows()
    expect(wallets).toHaveLength(1)
    expect(new Set((sessions as { wallet: Uint8Array }[]).map(({ wallet }) => unpack(wallet)))).toEqual(new Set([address]))
  })

  test('The text to sign contains the EIP-55 form of the address, also for an address in lower case', async () => {
    const lower = await walk.loginApi('/login/message', claim({ address: walk.wallet.address.toLowerCase() }))
    expect(lower.json().message).toBe(message)
    expect(message.split('\n')[1]).toBe(walk.wallet.address)
  })

  test('An address with a wrong mixed-case checksum is 400 (EIP-55)', async () => {
    const { address } = walk.wallet
    for (const [i, letter] of Array.from(address).entries()) {
      if (i < 2 || !/[a-fA-F]/.test(letter)) continue
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
      await expectRefused(await accept({ address: address.slice(0, i) + other + address.slice(i + 1) }), 400, 'invalid_request')
    }
  })

  test.each([
    ['no prefix', (address: string) => address.slice(2)],
    ['a prefix in capitals', (address: string) => `0X${address.slice(2)}`],
    ['39 digits', (address: string) => address.slice(0, -1)],
    ['41 digits', (address: string) => `${address}0`],
    ['a letter that is no digit', (address: string) => `${address.slice(0, -1)}g`],
    ['a space before', (address: string) => ` ${address}`],
    ['a line break after', (address: string) => `${address}\n`],
    ['a chain prefix (EIP-3770)', (address: string) => `eth:${address}`],
    ['a name in its place', () => 'vitalik.eth'],
    ['two more lines of text', (address: string) => `${address}\n\nAllow everything.`],
  ])('An address with %s is 400', async (_, spell) => {
    await expectRefused(await accept({ address: spell(walk.wallet.address) }), 400, 'invalid_request')
    await expectRefused(
      await walk.loginApi('/login/message', claim({ address: spell(walk.wallet.address) })),
      400,
      'invalid_request',
    )
  })

  test('A proof with both a wrong checksum and a chain that is not allowed is 400, not 403', async () => {
    const address = walk.wallet.address.toLowerCase().replace('f', 'F')
    await expectRefused(await accept({ address, chain_id: 5 }), 400, 'invalid_request')
  })
})

describe('The chain of a proof', () => {
  test.each([0, 2, 5, -1, 8454, 1_000_000])(
    'A proof for the chain %i, which is not configured, is 403 chain_not_allowed',
    async (chain_id) => {
      await expectRefused(await accept({ chain_id }), 403, 'chain_not_allowed')
      await expectRefused(await walk.loginApi('/login/message', claim({ chain_id })), 403, 'chain_not_allowed')
    },
  )

  test('The text for one chain cannot be signed for another: each configured chain has its own text', async () => {
    const other = await walk.loginApi('/login/message', claim({ chain_id: 8453 }))
    expect(other.json().message).toBe(message.replace('Chain ID: 1\n', 'Chain ID: 8453\n'))
    await expectRefused(await accept({ chain_id: 8453 }), 401, 'not_proven')
    expect((await accept({ chain_id: 8453, signature: walk.wallet.sign(other.json().message as string) })).status).toBe(200)
  })
})

describe('The signature of a proof', () => {
  const ORDER = secp256k1.Point.Fn.ORDER
  const hex = (number: bigint) => number.toString(16).padStart(64, '0')
  const parts = () => ({ r: signature.slice(2, 66), s: signature.slice(66, 130), v: signature.slice(130) })

  test('The malleated form of a valid signature, with a high s, is refused (EIP-2)', async () => {
    const { r, s, v } = parts()
    const high = hex(ORDER - BigInt(`0x${s}`))
    for (const twin of [`0x${r}${high}${v === '1b' ? '1c' : '1b'}`, `0x${r}${high}${v}`]) {
      await expectRefused(await accept({ signature: twin }), 401, 'not_proven')
    }
  })

  test('A signature is accepted only with the v that recovers the address, as 0 or 1, or as 27 or 28', async () => {
    const withV = (of: string, v: number) => of.slice(0, 130) + v.toString(16).padStart(2, '0')
    const good = Number.parseInt(parts().v, 16)
    for (let v = 0; v < 256; v += 1) {
      if (v === good || v === good - 27) continue
      const answer = await accept({ signature: withV(signature, v) })
      expect([v, answer.status, answer.json().error]).toEqual([v, 401, 'not_proven'])
    }
    expect(await grantor.rows()).toEqual(before)
    for (const shift of [0, 27]) {
      challenge = await new Walk(grantor).challenge(requestOf(client))
      const own = walk.wallet.sign((await walk.loginApi('/login/message', claim())).json().message as string)
      const v = Number.parseInt(own.slice(130), 16) - shift
      expect([v, (await accept({ signature: withV(own, v) })).status]).toEqual([v, 200])
    }
  })

  test.each([
    ['r equal to zero', () => `0x${hex(0n)}${parts().s}1b`],
    ['s equal to zero', () => `0x${parts().r}${hex(0n)}1b`],
    ['only zero bytes', () => `0x${'00'.repeat(65)}`],
    ['r equal to the group order', () => `0x${hex(ORDER)}${parts().s}1b`],
    ['s equal to the group order', () => `0x${parts().r}${hex(ORDER)}1b`],
    ['only bytes of 255', () => `0x${'ff'.repeat(65)}`],
    ['an r that is on no curve', () => `0x${hex(5n)}${hex(1n)}1b`],
    ['the key of another wallet', () => testWallet(1).sign(message)],
    ['a space more in the text', () => walk.wallet.sign(`${message} `)],
    ['other line ends in the text', () => walk.wallet.sign(message.replaceAll('\n', '\r\n'))],
    ['another nonce in the text', () => walk.wallet.sign(message.replace(/Nonce: ./, 'Nonce: 0x'))],
    ['an empty text', () => walk.wallet.sign('')],
  ])('A signature with %s is 401, with the same message for every cause', async (_, make) => {
    const answer = await accept({ signature: make() })
    await expectRefused(answer, 401, 'not_proven')
    expect(answer.json().error_description).toBe('The signature does not prove this address.')
  })

  test.each([
    ['no prefix', () => signature.slice(2)],
    ['64 bytes (ERC-2098)', () => signature.slice(0, -2)],
    ['66 bytes', () => `${signature}00`],
    ['half a byte too much', () => `${signature}0`],
    ['only 0x', () => '0x'],
    ['an ERC-6492 suffix', () => `0x${'00'.repeat(96)}${'6492'.repeat(16)}`],
    ['8,000 characters, as a contract may use', () => `0x${'ab'.repeat(3999)}`],
    ['spaces around it', () => ` ${signature} `],
    ['characters that are not hexadecimal', () => `0x${'zz'.repeat(65)}`],
    ['a number in its place', () => 1],
    ['a list in its place', () => [signature]],
  ])('A signature with %s is 400', async (_, make) => {
    await expectRefused(await accept({ signature: make() }), 400, 'invalid_request')
  })

  test('A signature with hexadecimal digits in upper case is accepted', async () => {
    expect((await accept({ signature: `0x${signature.slice(2).toUpperCase()}` })).status).toBe(200)
  })

  test('Every signature of 65 bytes other than the wallet’s own is 401', async () => {
    await forAllAsync(fc.uint8Array({ minLength: 65, maxLength: 65 }), fc.integer({ min: 0, max: 64 }), async (bytes, keep) => {
      const own = Buffer.from(signature.slice(2), 'hex')
      const forged = Buffer.concat([own.subarray(0, keep), bytes.subarray(keep)])
      fc.pre(!forged.subarray(0, 64).equals(own.subarray(0, 64)))
      expect((await accept({ signature: `0x${forged.toString('hex')}` })).status).toBe(401)
    })
    expect(await grantor.rows()).toEqual(before)
  })

  test('The right signature still signs in after refused proofs of the same challenge', async () => {
    await accept({ signature: testWallet(1).sign(message) })
    await accept({ signature: '0x' })
    await accept({ address: testWallet(1).address })
    const accepted = await accept()
    expect(accepted.status).toBe(200)
    const path = (accepted.json().redirect_to as string).slice(grantor.authUrl.length)
    expect((await walk.complete(path)).status).toBe(200)
  })
})
