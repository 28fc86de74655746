/** What a receipt stores: the signed text and its signature, compressed and sealed. */
import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openReceipt, sealSignedMessage } from '../../../src/domain/consent/receipt.ts'
import { packSigned, type ReceiptColumns, unpackSigned } from '../../../src/domain/consent/receipt-form.ts'
import type { Receipt } from '../../../src/domain/model/records.ts'
import {
  ACCOUNT_TEMPLATE,
  composeAccountMessage,
  composeEndEverythingMessage,
  END_EVERYTHING_TEMPLATE,
} from '../../../src/protocol/wallet/account-message.ts'
import type { ApprovalFields } from '../../../src/protocol/wallet/approval-message.ts'
import type { ShortConsentFields } from '../../../src/protocol/wallet/short-consent.ts'
import { ringOf } from '../../protocol/keys/rings.ts'
import { anyApproval, approvalFields, composeAction } from '../../protocol/wallet/approval-example.ts'
import { anyShortConsent, composeShort, shortFields, userCode } from '../../protocol/wallet/consent-example.ts'
import { largestLimit, usualLimit } from '../../protocol/wallet/limit-example.ts'
import { forAll } from '../../support/property.ts'

const ring = ringOf()
const ordinary = `0x${'5a'.repeat(64)}1b`
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const accountFields = { ...shortFields, requestId: 'a', loginUrl: 'https://login.example.com/', expiresAt: shortFields.until }

function columnsOf(fields: ShortConsentFields): ReceiptColumns {
  const { address: wallet, chainId, clientId, redirectUri = '', scopes, resources, issuedAt, until: expiresAt } = fields
  const lists = { scopes: [...scopes], resources: [...resources] }
  return { wallet, id: 'id', chainId, clientId, redirectUri, ...lists, issuedAt, expiresAt }
}

/** The client of the receipt is the API that asked. */
function columnsOfApproval({
  address: wallet,
  chainId,
  scope,
  resource,
  issuedAt,
  until: expiresAt,
}: ApprovalFields): ReceiptColumns {
  const clientId = '7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90'
  return { wallet, id: 'id', chainId, clientId, redirectUri: '', scopes: [scope], resources: [resource], issuedAt, expiresAt }
}

function receiptOf(columns: ReceiptColumns, sealed: Uint8Array): Receipt {
  return { ...columns, walletKind: 'ordinary', withdrawnAt: null, checkedAt: columns.issuedAt, sealed }
}

/** Of an ordinary wallet, of a contract wallet, and in the spelling of an unusual wallet. */
const signatures = fc.oneof(
  fc.uint8Array({ minLength: 65, maxLength: 65 }).map((bytes) => `0x${hex(bytes)}`),
  fc.uint8Array({ maxLength: 4095 }).map((bytes) => `0x${hex(bytes)}`),
  fc.uint8Array({ minLength: 65, maxLength: 65 }).map((bytes) => `0x${hex(bytes).toUpperCase()}`),
)

describe('A receipt opens to exactly the bytes that the wallet signed', () => {
  test('A consent in any template, with any names, scopes and resources, opens from its receipt unchanged', () => {
    forAll(anyShortConsent, signatures, (fields, signature) => {
      const [signed, columns] = [{ message: composeShort(fields), signature }, columnsOf(fields)]
      expect(openReceipt(ring, receiptOf(columns, sealSignedMessage(ring, columns, signed)))).toEqual(signed)
    })
  })

  test('An approval of any action opens from its receipt unchanged', () => {
    forAll(anyApproval, signatures, (fields, signature) => {
      const [signed, columns] = [{ message: composeAction(fields), signature }, columnsOfApproval(fields)]
      expect(openReceipt(ring, receiptOf(columns, sealSignedMessage(ring, columns, signed)))).toEqual(signed)
    })
  })

  test('The texts of a sign-in to the account page and of ending everything open unchanged', () => {
    const columns = { ...columnsOf(shortFields), clientId: '', redirectUri: '', scopes: [], resources: [] }
    for (const [template, compose] of [
      [ACCOUNT_TEMPLATE, composeAccountMessage],
      [END_EVERYTHING_TEMPLATE, composeEndEverythingMessage],
    ] as const) {
      const signed = { message: compose({ ...accountFields, template }) ?? '', signature: ordinary }
      const sealed = sealSignedMessage(ring, columns, signed)
      expect(openReceipt(ring, receiptOf(columns, sealed))).toEqual(signed)
      expect(sealed.length).toBeLessThan(300)
    }
  })

  test('A text that does not compress takes a few bytes more than its own length', () => {
    const message = randomBytes(20_000).toString('base64url')
    const columns = columnsOf(shortFields)
    const sealed = sealSignedMessage(ring, columns, { message, signature: ordinary })
    expect(openReceipt(ring, receiptOf(columns, sealed))).toEqual({ message, signature: ordinary })
    expect(sealed.length).toBeLessThan(message.length + 200)
  })

  test('A text that is longer than any text of the service is refused when it is sealed, not when it is opened', () => {
    const signed = { message: 'a'.repeat(262_145), signature: ordinary }
    expect(() => sealSignedMessage(ring, columnsOf(shortFields), signed)).toThrow(RangeError)
  })
})

test.each<[string, Partial<ShortConsentFields>]>([
  ['a website', {}],
  ['a device', { template: 11, redirectUri: undefined, userCode }],
  ['a browser on another screen', { template: 12, userCode }],
  ['a name without an ASCII form', { clientName: '電話' }],
])('The consent of an ordinary wallet to three scopes at one resource takes at most 200 bytes: %s', (_, changes) => {
  const fields = { ...shortFields, scopes: ['openid', 'notes.read', 'notes.write'], ...changes }
  const signature = `0x${randomBytes(65).toString('hex')}`
  const sealed = sealSignedMessage(ring, columnsOf(fields), { message: composeShort(fields), signature })
  expect(sealed.length).toBeLessThanOrEqual(200)
})

test.each<[string, Partial<ApprovalFields>]>([
  ['a registered app', {}],
  ['an app that no operator registered', { clientId: 'https://agent.example/client.json' }],
  ['a summary of 80 characters', { summary: 'Pay EUR 1,250.00 to Ada Lovelace, IBAN DE02 1203 0000 0000 2020 51, invoice 4711' }],
])('The approval of an ordinary wallet takes at most 350 bytes: %s', (_, changes) => {
  const fields = { ...approvalFields, ...changes, digest: randomBytes(32).toString('base64url') }
  const columns = columnsOfApproval(fields)
  const signature = `0x${randomBytes(65).toString('hex')}`
  const sealed = sealSignedMessage(ring, columns, { message: composeAction(fields), signature })
  expect(sealed.length).toBeLessThanOrEqual(350)
})

/** The texts of every template, so that the bytes refer to all words of the dictionary. */
function everyText(): string {
  const self = { clientId: `ni:///sha-256;${'A'.repeat(43)}`, redirectUri: 'http://127.0.0.1:33418/callback' }
  const opener = { clientName: '', redirectUri: 'com.example.app:/cb' }
  return [
    composeAccountMessage({ ...accountFields, template: ACCOUNT_TEMPLATE }),
    composeEndEverythingMessage({ ...accountFields, template: END_EVERYTHING_TEMPLATE }),
    composeShort(self),
    composeShort({ ...self, template: 12, userCode }),
    composeShort({ template: 11, redirectUri: undefined, userCode }),
    composeShort({ template: 11, redirectUri: undefined, userCode, clientName: '' }),
    composeShort(opener),
    composeShort({ ...opener, clientId: 'https://www.agent.example/client.json' }),
    composeShort(),
  ].join('\n')
}

/** What 0.1.0 packed. A receipt that is stored must open in every later version. */
const STORED = {
  ordinary:
    'AVpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlobg2RMpLCjbSobBAUYasLA8L8+gSSRbexlmRJoUBaRZOST62dRHFJlGpQYSbWEUliaWlwCtjERNdngSupcdI5B1wGp+Uajf5BEP6SawF9to9XKvpWOBQXqmlhqEdT6DWdVO6RqG5S2kbGxiaEFsZUNjZMWUmLKy7TS19cvzkjUNTI1s3YkHtC8OhrSyZnUBl64i5eTrq+XRwiBnIDUHB0qOYH8FDZY8shwTOfQtEtk0sXTl0FKuUMlRZLW7B5NhbRLhdh69cREymiyHU22gyDZYhliSs7PhbsmsaAAPuI0dMdN0H2kn5w0qBLX4BlAGdjEmJ+mAB5mTU/NK4G5gXBHi8gEPJpcqZFcUYbDkeNJPzknE8TNKs7PG6bJFNbgHB1THi0oAQ==',
  contract:
    'AjOoMDQyNuGC5E+kIKRtYhsE5Rhq+sDwvz6BlJFt7GWZEmhQFpFk5JPrZ1EcUmUalBhJtfRSWJpaXAK2MRE19eBK8fSOQdcBqQBHo3+QRD+ktsBfe6NVzr6VjgUF6ppYKhPUag5njTukKh2UJpKxsYmhBbF1Do2TFlJiysu00tfXL85I1DUyNbN2JB7QvFYa0smZ1HZeuIuXk66vl0cIgZyA1CodKjmB/BQ2WPLIcEzn0LRLZNLF06VBSrlDJUWS1voeTYW0S4XYOvfERMposh1NtoMg2WIZaUrOz4W7JrGgAD7wNHSHT9B9pJ+cNKgS1+AZRxnYxJifpgAebU1PzSuBuYFwR4vIBDyaXKmRXFFGxZHjST85JxPEzSrOzxumyRTW4BwdWh4tKAE=',
}

test.each([
  ['ordinary', ordinary],
  ['contract', '0x1234'],
] as const)('The bytes that 0.1.0 packed for the texts of all templates unpack in this version: %s', (kind, signature) => {
  const [signed, columns] = [{ message: everyText(), signature }, columnsOf(shortFields)]
  expect(unpackSigned(Buffer.from(STORED[kind], 'base64'), columns)).toEqual(signed)
  expect(unpackSigned(packSigned(signed, columns), columns)).toEqual(signed)
})

describe('A receipt that is not as it was stored does not open', () => {
  const columns = columnsOf(shortFields)
  const signed = { message: composeShort(), signature: ordinary }
  const receipt = receiptOf(columns, sealSignedMessage(ring, columns, signed))

  test.each<Partial<Receipt>>([
    { wallet: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
    { id: 'other' },
    { chainId: 10 },
    { clientId: 'other' },
    { redirectUri: 'https://app.example.net/other' },
    { scopes: ['enhancement', 'openid'] },
    { resources: [] },
    { issuedAt: columns.issuedAt + 1 },
    { expiresAt: columns.expiresAt + 1 },
  ])('A receipt does not open if a column was changed: %j', (changes) => {
    expect(openReceipt(ring, { ...receipt, ...changes })).toBeUndefined()
  })

  test('A receipt opens after it was withdrawn, and after its signature was checked again', () => {
    expect(openReceipt(ring, { ...receipt, withdrawnAt: 1, checkedAt: 2 })).toEqual(signed)
  })

  test('A receipt does not open if the key that sealed it is retired', () => {
    expect(openReceipt(ringOf(), receipt)).toBeUndefined()
  })

  test('A receipt of a form that a later version wrote does not open', () => {
    expect(unpackSigned(Buffer.from([3, ...packSigned(signed, columns).subarray(1)]), columns)).toBeUndefined()
  })
})

test('A limit adds at most 200 bytes to the receipt of an ordinary wallet', () => {
  const signature = `0x${randomBytes(65).toString('hex')}`
  const bytesOf = (changes: Partial<ShortConsentFields>): number => {
    const fields = { ...shortFields, scopes: ['enhancement', 'openid'], ...changes }
    return sealSignedMessage(ring, columnsOf(fields), { message: composeShort(fields), signature }).length
  }
  const at = { resource: 'https://api.example.com/', scope: 'enhancement' }
  const [none, usual, largest] = [
    bytesOf({}),
    bytesOf({ template: 14, limit: { ...at, limit: usualLimit } }),
    bytesOf({ template: 14, limit: { ...at, limit: largestLimit } }),
  ]
  for (const limited of [usual, largest]) expect(limited - none).toBeLessThanOrEqual(200)
})
