import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ApprovalFields } from '../../../src/protocol/wallet/approval-message.ts'
import type { ContractVerdict } from '../../../src/protocol/wallet/contract-signature.ts'
import { readApproval } from '../../../src/protocol/wallet/read-approval.ts'
import { readConsent } from '../../../src/protocol/wallet/read-consent.ts'
import { encodeRecap, translateRecap } from '../../../src/protocol/wallet/recap.ts'
import { checkReceipt, type ReceiptCheck, type SignedReceipt } from '../../../src/protocol/wallet/receipt.ts'
import { describeVerdict } from '../../../src/protocol/wallet/receipt-words.ts'
import { forAllAsync } from '../../support/property.ts'
import { testWallet } from '../../support/wallet.ts'
import { approvalFields, composeAction } from './approval-example.ts'
import { drawnFrom } from './arbitraries.ts'
import { composeShort, shortFields } from './consent-example.ts'

const owner = testWallet(0)
const stranger = testWallet(1)
const now = shortFields.issuedAt
const message = composeShort()
const receipt: SignedReceipt = { message, signature: owner.sign(message), address: owner.address, chain_id: 1 }

const check = (changed: Record<string, unknown> = {}, at = now) => checkReceipt({ ...receipt, ...changed }, { now: at })

/** A text that the owner signed. */
const signText = (text: string) => ({ message: text, signature: owner.sign(text) })

test('A receipt that its owner signed is valid and returns the consent', async () => {
  expect(await check()).toEqual({
    kind: 'holds',
    signed: { kind: 'consent', ...readConsent(message) },
    expired: false,
    wallet: 'ordinary',
  })
})

test('A receipt is valid after it was written and parsed as JSON', async () => {
  const travelled: unknown = JSON.parse(JSON.stringify(receipt, null, 4))
  expect(await checkReceipt(travelled, { now })).toMatchObject({ kind: 'holds' })
})

test('An expired consent is still a valid receipt, marked as expired', async () => {
  expect(await check({}, shortFields.until - 1)).toMatchObject({ kind: 'holds', expired: false })
  expect(await check({}, shortFields.until)).toMatchObject({ kind: 'holds', expired: true })
})

describe('Receipts of approvals', () => {
  const text = composeAction()
  const checkAction = (changed: Record<string, unknown> = {}, more: Partial<ReceiptCheck> = {}) =>
    checkReceipt({ ...receipt, ...signText(text), ...changed }, { now, ...more })

  test('A receipt of an approval is valid, returns the action, and is marked as expired after its end', async () => {
    const signed = { kind: 'approval', ...readApproval(text) }
    expect(await checkAction()).toEqual({ kind: 'holds', signed, expired: false, wallet: 'ordinary' })
    expect(await checkAction({}, { now: approvalFields.until })).toMatchObject({ kind: 'holds', signed, expired: true })
  })

  test('A receipt is valid for the digest of its action only, and a consent is valid for no action', async () => {
    const other = 'A'.repeat(43)
    expect(await checkAction({}, { actionDigest: approvalFields.digest })).toMatchObject({ kind: 'holds' })
    expect(await checkAction({}, { actionDigest: other })).toEqual({ kind: 'does_not_hold', why: 'action_differs' })
    expect(await checkReceipt(receipt, { now, actionDigest: other })).toEqual({ kind: 'does_not_hold', why: 'not_an_approval' })
  })

  test.each([
    ['another summary', { summary: 'Pay EUR 1.00' }],
    ['another action', { digest: 'A'.repeat(43) }],
    ['another API', { resource: 'https://shop.example/' }],
    ['another scope', { scope: 'admin' }],
    ['another app', { clientName: 'Bank' }],
    ['a later end', { until: approvalFields.until + 1 }],
  ])('A receipt is not valid if its text is changed into a well-formed approval with %s', async (_, change) => {
    expect(await checkAction({ message: composeAction(change) })).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
  })

  test('A signed approval whose statement and ReCap differ is not a valid receipt (ERC-5573)', async () => {
    const capability = { scopes: [approvalFields.scope], resources: [approvalFields.resource], digest: approvalFields.digest }
    const wide = text.replace(encodeRecap(capability), encodeRecap({ ...capability, scopes: ['admin'] }))
    expect(await checkAction(signText(wide))).toEqual({ kind: 'does_not_hold', why: 'recap_contradicts' })
    expect(await checkAction(signText(text.replace('Once', 'Always')))).toEqual({ kind: 'does_not_hold', why: 'not_a_consent' })
  })
})

test.each<[string, Partial<ApprovalFields>, string]>([
  ['a registered app', {}, "'MyApp'"],
  ['an app without an ASCII name', { clientName: '電話' }, 'an app'],
  [
    'an app that no operator registered',
    { clientId: 'https://agent.example/client.json' },
    "the app of agent.example, which calls itself 'MyApp'",
  ],
])('The words about the receipt of an approval name %s', (_, change, app) => {
  const action = readApproval(composeAction(change))
  if (action === null) throw new Error('the text cannot be read')
  const signed = { kind: 'approval', ...action } as const
  const words = describeVerdict({ kind: 'holds', signed, expired: false, wallet: 'contract' }, { callsChain: true })
  expect(words.facts).toContainEqual(['For the app', app])
  expect(words.remarks.join(' ')).toContain('not that the API carried it out')
})

describe('Receipts with a changed text', () => {
  test('A receipt is not valid if any one character of its text is changed', async () => {
    const changes = fc.tuple(
      fc.nat({ max: message.length - 1 }),
      fc.oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), drawnFrom("abcXYZ019 .-_:/'\n", 1, 1)),
    )
    await forAllAsync(changes, async ([at, other]) => {
      fc.pre(message[at] !== other)
      const changed = message.slice(0, at) + other + message.slice(at + 1)
      expect((await check({ message: changed })).kind).toBe('does_not_hold')
    })
  })

  test.each([
    ['another app', { clientName: 'Bank' }],
    ['another host', { redirectUri: 'https://bank.example/callback' }],
    ['another client', { clientId: '7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90' }],
    ['a wider scope', { scopes: ['enhancement', 'payments'] }],
    ['another resource', { resources: ['https://bank.example/'] }],
    ['a later end', { until: shortFields.until + 1 }],
    ['an earlier day', { issuedAt: shortFields.issuedAt - 86_400 }],
    ['another nonce', { nonce: 'A3J9dQ0vXb2LmN8sTz5RaY' }],
    ['another login page', { domain: 'login.bank.example' }],
    ['a bound key', { keyThumbprint: 'a'.repeat(43) }],
  ])('A receipt is not valid if its text is changed into a well-formed consent with %s', async (_, change) => {
    expect(await check({ message: composeShort(change) })).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
  })
})

describe('Signed texts that are not consents', () => {
  test.each([
    ['in other words', message.replace('No gas, no transfer', 'No gas')],
    ['with a further line', message.replace('\nResources:', '\nNot Before: 2026-11-20T12:00:00Z\nResources:')],
    ['with lines in another order', message.replace('Version: 1\nChain ID: 1', 'Chain ID: 1\nVersion: 1')],
    ['with a space at the end', `${message} `],
    ['with a newline at the end', `${message}\n`],
    ['with carriage returns', message.replaceAll('\n', '\r\n')],
    ['with a Cyrillic letter that looks the same', message.replace("'MyApp' at app", "'MyApp' at аpp")],
    ['with an invisible mark', message.replace('MyApp', 'My\u200bApp')],
    ['with the host of another app', message.replace('at app.example.net', 'at bank.example')],
    ['of a login alone', 'login.example.com wants you to sign in with your Ethereum account:'],
    ['that is empty', ''],
  ])('A signed text is not a consent receipt if it is a text %s', async (_, text) => {
    expect(await check(signText(text))).toEqual({ kind: 'does_not_hold', why: 'not_a_consent' })
  })

  test('A signed text whose statement and ReCap differ is not a valid receipt (ERC-5573)', async () => {
    const narrow = { ...shortFields, abilities: 'joined' } as const
    const wide = { ...narrow, scopes: ['enhancement', 'payments'] }
    const recapSaysMore = message.replace(encodeRecap(narrow), encodeRecap(wide))
    const sentenceSaysMore = message.replace(translateRecap(narrow), translateRecap(wide))
    for (const text of [recapSaysMore, sentenceSaysMore]) {
      expect(await check(signText(text))).toEqual({ kind: 'does_not_hold', why: 'recap_contradicts' })
    }
  })
})

describe('Members of a receipt that contradict its text', () => {
  test('A receipt with another address is not valid, even if that wallet signed the text', async () => {
    const other = { signature: stranger.sign(message), address: stranger.address }
    expect(await check(other)).toEqual({ kind: 'does_not_hold', why: 'address_differs' })
  })

  test('A receipt with another chain id is not valid', async () => {
    for (const chainId of [0, 2, -1, 137]) {
      expect(await check({ chain_id: chainId })).toEqual({ kind: 'does_not_hold', why: 'chain_differs' })
    }
  })

  test.each([
    ['with a wrong checksum', '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
    ['in lower case', owner.address.toLowerCase()],
    ['in upper case', `0x${owner.address.slice(2).toUpperCase()}`],
    ['without a key', `0x${'0'.repeat(40)}`],
    ['one digit short', owner.address.slice(0, -1)],
    ['with a space', `${owner.address} `],
    ['with a Cyrillic letter that looks the same', owner.address.replace('a', 'а')],
    ['that is empty', ''],
  ])('A receipt is malformed if its address is one %s', async (_, address) => {
    expect(await check({ address })).toEqual({ kind: 'malformed', why: 'bad_address' })
  })

  test.each([
    ['a further member', { ...receipt, client_name: 'Bank' }],
    ['a missing member', { message, signature: receipt.signature, address: receipt.address }],
    ['a chain id as text', { ...receipt, chain_id: '1' }],
    ['a fractional chain id', { ...receipt, chain_id: 1.5 }],
    ['a message that is not a text', { ...receipt, message: { toString: () => message } }],
    ['members joined in one name', { 'address,chain_id': owner.address, 'message,signature': message }],
    ['a list', [receipt]],
    ['a text', JSON.stringify(receipt)],
    ['null', null],
    ['undefined', undefined],
    ['a number', 1],
  ])('A receipt is malformed if it is, or has, %s', async (_, other) => {
    expect(await checkReceipt(other, { now })).toEqual({ kind: 'malformed', why: 'not_a_receipt' })
  })
})

describe('Signatures of receipts', () => {
  test('A receipt with the signature of another wallet is not valid', async () => {
    expect(await check({ signature: stranger.sign(message) })).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
  })

  test('A receipt is not valid if any one digit of its signature is changed', async () => {
    // v is written as 27 or 28. With 0 and 1 the signature is the same.
    for (let at = 2; at < receipt.signature.length - 2; at++) {
      const digit = ((Number.parseInt(receipt.signature.charAt(at), 16) + 1) % 16).toString(16)
      const signature = receipt.signature.slice(0, at) + digit + receipt.signature.slice(at + 1)
      expect(await check({ signature })).toEqual({ kind: 'does_not_hold', why: 'not_signed' })
    }
  })

  test.each([
    ['empty', ''],
    ['without 0x', receipt.signature.slice(2)],
    ['half a byte too long', `${receipt.signature}0`],
    ['with a space', `${receipt.signature} `],
    ['with a newline', `${receipt.signature}\n`],
    ['with a digit that only looks the same', receipt.signature.replace(/[0-9]/, '１')],
    ['over 8 kB', `0x${'00'.repeat(4_096)}`],
  ])('A receipt is malformed if its signature is %s', async (_, signature) => {
    expect(await check({ signature })).toEqual({ kind: 'malformed', why: 'bad_signature' })
  })
})

describe('Receipts of contract wallets', () => {
  const checkOnChain = (answer: ContractVerdict, changed: Partial<SignedReceipt> = {}) => {
    const calls: unknown[] = []
    const verifyContract = (claim: unknown) => {
      calls.push(claim)
      return Promise.resolve(answer)
    }
    return { calls, verdict: checkReceipt({ ...receipt, ...changed }, { now, verifyContract }) }
  }
  const contractSignature = { signature: `0x${'12'.repeat(130)}` }

  test("A contract wallet's receipt cannot be checked without a chain, and is not refused", async () => {
    expect(await check(contractSignature)).toEqual({ kind: 'could_not_check', why: 'no_chain' })
    expect(await check({ signature: '0x' })).toEqual({ kind: 'could_not_check', why: 'no_chain' })
  })

  test("A contract wallet's receipt is valid if the chain confirms it", async () => {
    const { calls, verdict } = checkOnChain({ kind: 'valid' }, contractSignature)
    expect(await verdict).toMatchObject({ kind: 'holds', wallet: 'contract', expired: false })
    expect(calls).toEqual([{ message, ...contractSignature, address: owner.address, chainId: 1 }])
  })

  test("A contract wallet's receipt is not valid if the chain does not confirm it", async () => {
    expect(await checkOnChain({ kind: 'not_proven' }, contractSignature).verdict).toEqual({
      kind: 'does_not_hold',
      why: 'not_signed',
    })
  })

  test("A contract wallet's receipt cannot be checked if the chain does not respond", async () => {
    const silent = { kind: 'could_not_check', why: 'timeout' } as const
    expect(await checkOnChain(silent, contractSignature).verdict).toEqual(silent)
  })

  test("A contract wallet's receipt is malformed if the check finds its signature malformed", async () => {
    expect(await checkOnChain({ kind: 'malformed' }, contractSignature).verdict).toEqual({
      kind: 'malformed',
      why: 'bad_signature',
    })
  })

  test("A contract wallet's receipt may have a signature of 65 bytes, as from a wallet with one owner", async () => {
    expect(await checkOnChain({ kind: 'valid' }, { signature: stranger.sign(message) }).verdict).toMatchObject({
      wallet: 'contract',
    })
  })
})

test("The chain is not called for an ordinary wallet's receipt, or for a text that is not a consent", async () => {
  const verifyContract = () => Promise.reject(new Error('a chain was called'))
  const texts = [message, message.replace('No gas', ''), `${message} `]
  const verdicts = await Promise.all(
    texts.map((text) => checkReceipt({ ...receipt, ...signText(text) }, { now, verifyContract })),
  )
  expect(verdicts.map(({ kind }) => kind)).toEqual(['holds', 'does_not_hold', 'does_not_hold'])
})
