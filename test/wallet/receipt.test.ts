import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ContractVerdict } from '../../src/wallet/contract-signature.ts'
import { readConsent } from '../../src/wallet/read-consent.ts'
import { encodeRecap, translateRecap } from '../../src/wallet/recap.ts'
import { checkReceipt, type Receipt } from '../../src/wallet/receipt.ts'
import { runs } from '../support/runs.ts'
import { testWallet } from '../support/wallet.ts'
import { drawnFrom, patience } from './arbitraries.ts'
import { composeConsent, exampleFields } from './consent-example.ts'

const owner = testWallet(0)
const stranger = testWallet(1)
const now = exampleFields.issuedAt
const message = composeConsent()
const receipt: Receipt = { message, signature: owner.sign(message), address: owner.address, chain_id: 1 }

const check = (changed: Record<string, unknown> = {}, at = now) => checkReceipt({ ...receipt, ...changed }, { now: at })

/** As if the owner had signed it, whatever it says. */
const signed = (text: string) => ({ message: text, signature: owner.sign(text) })

test('a receipt that its owner signed holds, and says what was agreed', async () => {
  expect(await check()).toEqual({ kind: 'holds', consent: readConsent(message), expired: false, wallet: 'ordinary' })
})

test('a receipt holds wherever it went as JSON', async () => {
  const travelled: unknown = JSON.parse(JSON.stringify(receipt, null, 4))
  expect(await checkReceipt(travelled, { now })).toMatchObject({ kind: 'holds' })
})

test('a consent that is over still holds, and says that it is over', async () => {
  expect(await check({}, exampleFields.until - 1)).toMatchObject({ kind: 'holds', expired: false })
  expect(await check({}, exampleFields.until)).toMatchObject({ kind: 'holds', expired: true })
})

describe('a changed text does not hold', () => {
  test(
    'one character of it is another',
    async () => {
      const changes = fc.tuple(
        fc.nat({ max: message.length - 1 }),
        fc.oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), drawnFrom("abcXYZ019 .-_:/'\n", 1, 1)),
      )
      await fc.assert(
        fc.asyncProperty(changes, async ([at, other]) => {
          fc.pre(message[at] !== other)
          const changed = message.slice(0, at) + other + message.slice(at + 1)
          expect((await check({ message: changed })).kind).toBe('does_not_hold')
        }),
        { numRuns: runs },
      )
    },
    patience,
  )

  test.each([
    ['another app', { clientName: 'Bank' }],
    ['another host', { clientHost: 'bank.example', redirectUri: 'https://bank.example/callback' }],
    ['another client', { clientId: '7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90' }],
    ['a wider scope', { scopes: ['enhancement', 'payments'] }],
    ['another resource', { resources: ['https://bank.example/'] }],
    ['a later end', { until: exampleFields.until + 1 }],
    ['an earlier day', { issuedAt: exampleFields.issuedAt - 86_400 }],
    ['another nonce', { nonce: 'A3J9dQ0vXb2LmN8sTz5RaY7w' }],
    ['another login page', { domain: 'login.bank.example' }],
    ['a bound key', { keyThumbprint: 'a'.repeat(43) }],
  ])('it is a well-formed consent with %s', async (_, change) => {
    expect(await check({ message: composeConsent(change) })).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
  })
})

describe('a text that is no consent does not hold, though its owner did sign it', () => {
  test.each([
    ['in other words', message.replace('do only what follows', 'do whatever')],
    ['with a further line', message.replace('\nRequest ID', '\nNot Before: 2026-11-20T12:00:00Z\nRequest ID')],
    ['with lines in another order', message.replace('Version: 1\nChain ID: 1', 'Chain ID: 1\nVersion: 1')],
    ['with a space at the end', `${message} `],
    ['with a newline at the end', `${message}\n`],
    ['with carriage returns', message.replaceAll('\n', '\r\n')],
    ['with a letter that only looks the same', message.replace("'MyApp' at app", "'MyApp' at аpp")],
    ['with an invisible mark', message.replace('MyApp', 'My\u200bApp')],
    ['with the host of another app', message.replace('at app.example.net', 'at bank.example')],
    ['of a login alone', 'login.example.com wants you to sign in with your Ethereum account:'],
    ['that is empty', ''],
  ])('%s', async (_, text) => {
    expect(await check(signed(text))).toEqual({ kind: 'does_not_hold', why: 'not_a_consent' })
  })

  test('whose sentence and ReCap say different things (ERC-5573)', async () => {
    const wide = { scopes: ['enhancement', 'payments'], resources: exampleFields.resources }
    const recapSaysMore = message.replace(encodeRecap(exampleFields), encodeRecap(wide))
    const sentenceSaysMore = message.replace(translateRecap(exampleFields), translateRecap(wide))
    for (const text of [recapSaysMore, sentenceSaysMore]) {
      expect(await check(signed(text))).toEqual({ kind: 'does_not_hold', why: 'recap_contradicts' })
    }
  })
})

describe('the file says nothing that the text does not', () => {
  test('another address does not hold, though that wallet signed the text', async () => {
    const other = { signature: stranger.sign(message), address: stranger.address }
    expect(await check(other)).toEqual({ kind: 'does_not_hold', why: 'address_differs' })
  })

  test('another chain does not hold', async () => {
    for (const chainId of [0, 2, -1, 137]) {
      expect(await check({ chain_id: chainId })).toEqual({ kind: 'does_not_hold', why: 'chain_differs' })
    }
  })

  test.each([
    ['of a wrong checksum', '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
    ['in lower case', owner.address.toLowerCase()],
    ['in upper case', `0x${owner.address.slice(2).toUpperCase()}`],
    ['nobody has a key for', `0x${'0'.repeat(40)}`],
    ['one digit short', owner.address.slice(0, -1)],
    ['with a space', `${owner.address} `],
    ['with a letter that only looks the same', owner.address.replace('a', 'а')],
    ['that is empty', ''],
  ])('an address %s is malformed', async (_, address) => {
    expect(await check({ address })).toEqual({ kind: 'malformed', why: 'bad_address' })
  })

  test.each([
    ['a further member', { ...receipt, client_name: 'Bank' }],
    ['a member less', { message, signature: receipt.signature, address: receipt.address }],
    ['a chain id in words', { ...receipt, chain_id: '1' }],
    ['a broken chain id', { ...receipt, chain_id: 1.5 }],
    ['a message that is no text', { ...receipt, message: { toString: () => message } }],
    ['members joined in one name', { 'address,chain_id': owner.address, 'message,signature': message }],
    ['a list', [receipt]],
    ['a text', JSON.stringify(receipt)],
    ['nothing', null],
    ['undefined', undefined],
    ['a number', 1],
  ])('%s is no receipt', async (_, other) => {
    expect(await checkReceipt(other, { now })).toEqual({ kind: 'malformed', why: 'not_a_receipt' })
  })
})

describe('the signature', () => {
  test('of another wallet does not hold', async () => {
    expect(await check({ signature: stranger.sign(message) })).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
  })

  test('with one digit changed does not hold', async () => {
    // v is written 27 or 28; 0 and 1 are other spellings of the same signature.
    for (let at = 2; at < receipt.signature.length - 2; at++) {
      const digit = ((Number.parseInt(receipt.signature.charAt(at), 16) + 1) % 16).toString(16)
      const signature = receipt.signature.slice(0, at) + digit + receipt.signature.slice(at + 1)
      expect(await check({ signature })).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
    }
  })

  test.each([
    ['empty', ''],
    ['without 0x', receipt.signature.slice(2)],
    ['of half a byte more', `${receipt.signature}0`],
    ['with a space', `${receipt.signature} `],
    ['with a newline', `${receipt.signature}\n`],
    ['with a digit that only looks the same', receipt.signature.replace(/[0-9]/, '１')],
    ['over 8 kB', `0x${'00'.repeat(4_096)}`],
  ])('%s is malformed', async (_, signature) => {
    expect(await check({ signature })).toEqual({ kind: 'malformed', why: 'bad_signature' })
  })
})

describe("a contract wallet's receipt", () => {
  const asking = (answer: ContractVerdict, changed: Partial<Receipt> = {}) => {
    const asked: unknown[] = []
    const verifyContract = (claim: unknown) => {
      asked.push(claim)
      return Promise.resolve(answer)
    }
    return { asked, verdict: checkReceipt({ ...receipt, ...changed }, { now, verifyContract }) }
  }
  const contractSignature = { signature: `0x${'12'.repeat(130)}` }

  test('cannot be checked without its chain, and that is not a refusal', async () => {
    expect(await check(contractSignature)).toEqual({ kind: 'could_not_check', why: 'no_chain' })
    expect(await check({ signature: '0x' })).toEqual({ kind: 'could_not_check', why: 'no_chain' })
  })

  test('holds when its chain says so', async () => {
    const { asked, verdict } = asking({ kind: 'valid' }, contractSignature)
    expect(await verdict).toMatchObject({ kind: 'holds', wallet: 'contract', expired: false })
    expect(asked).toEqual([{ message, ...contractSignature, address: owner.address, chainId: 1 }])
  })

  test('does not hold when its chain says so', async () => {
    expect(await asking({ kind: 'not_proven' }, contractSignature).verdict).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
  })

  test('could not be checked when its chain gave no answer', async () => {
    const silent = { kind: 'could_not_check', why: 'timeout' } as const
    expect(await asking(silent, contractSignature).verdict).toEqual(silent)
  })

  test('of which the chain cannot read the signature is malformed', async () => {
    expect(await asking({ kind: 'malformed' }, contractSignature).verdict).toEqual({ kind: 'malformed', why: 'bad_signature' })
  })

  test('may hold 65 bytes, as of a wallet with one owner', async () => {
    expect(await asking({ kind: 'valid' }, { signature: stranger.sign(message) }).verdict).toMatchObject({ wallet: 'contract' })
  })
})

test('no chain is asked about an ordinary wallet, nor about a text that is no consent', async () => {
  const verifyContract = () => Promise.reject(new Error('a chain was asked'))
  const texts = [message, message.replace('only', ''), `${message} `]
  const verdicts = await Promise.all(texts.map((text) => checkReceipt({ ...receipt, ...signed(text) }, { now, verifyContract })))
  expect(verdicts.map(({ kind }) => kind)).toEqual(['holds', 'does_not_hold', 'does_not_hold'])
})
