import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT_TEMPLATE,
  type AccountFields,
  composeAccountMessage,
  composeEndEverythingMessage,
  END_EVERYTHING_TEMPLATE,
} from '../../../src/protocol/wallet/account-message.ts'
import { forAll } from '../../support/property.ts'
import { addresses, authorities, chainIds, nonces, requestIds, times } from './arbitraries.ts'
import { parseWithBoth } from './parse-with-both.ts'

const fields: AccountFields = {
  template: ACCOUNT_TEMPLATE,
  domain: 'login.example.com',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  chainId: 1,
  loginUrl: 'https://login.example.com/login',
  nonce: 'k3J9dQ0vXb2LmN8sTz5RaY7w',
  issuedAt: 1_795_176_000,
  expiresAt: 1_795_176_600,
  requestId: '7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90',
}

const texts = [
  {
    template: ACCOUNT_TEMPLATE,
    number: 3,
    compose: composeAccountMessage,
    statement:
      'Sign in to see and end what apps may do for this address. This allows no app anything. Signing costs no gas and makes no transfer.',
  },
  {
    template: END_EVERYTHING_TEMPLATE,
    number: 4,
    compose: composeEndEverythingMessage,
    statement:
      'End everything: every app loses all access that this address gave it, and every session of this address is signed out. This allows no app anything. Signing costs no gas and makes no transfer.',
  },
]

describe.each(texts)('Text template $number', ({ template, number, compose, statement }) => {
  test("The text of the account page's sign-in, or of ending everything, never changes for its template number", () => {
    expect(template).toBe(number)
    expect(compose({ ...fields, template })).toBe(
      [
        'login.example.com wants you to sign in with your Ethereum account:',
        '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
        '',
        statement,
        '',
        'URI: https://login.example.com/login',
        'Version: 1',
        'Chain ID: 1',
        'Nonce: k3J9dQ0vXb2LmN8sTz5RaY7w',
        'Issued At: 2026-11-20T12:00:00Z',
        'Expiration Time: 2026-11-20T12:10:00Z',
        'Request ID: 7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90',
      ].join('\n'),
    )
  })

  test('Both parsers read every field of the text back exactly, and the text authorizes nothing (ERC-4361)', () => {
    const anyFields = fc.record({
      template: fc.constant(template),
      domain: authorities,
      address: addresses,
      chainId: chainIds,
      loginUrl: authorities.map((authority) => `https://${authority}/login`),
      nonce: nonces,
      issuedAt: times,
      expiresAt: times,
      requestId: requestIds,
    })
    forAll(anyFields, (fields) => {
      const parsed = parseWithBoth(compose(fields) ?? '')
      const { domain, address, chainId, nonce, requestId } = fields
      expect(parsed).toMatchObject({ domain, address, chainId, nonce, requestId, uri: fields.loginUrl, statement })
      expect([parsed.issuedAt, parsed.expirationTime].map((time) => Date.parse(time ?? '') / 1000)).toEqual([
        fields.issuedAt,
        fields.expiresAt,
      ])
      expect(parsed.resources).toBeUndefined()
    })
  })

  test('A template number that is unknown or belongs to another text gives no text', () => {
    for (const other of [0, 1, 2, 3, 4, 5, Number.NaN, '3', '4', undefined].filter((each) => each !== template)) {
      expect(compose({ ...fields, template: other as number })).toBeNull()
    }
  })

  test.each([{ loginUrl: '/login' }, { loginUrl: 'https://login.example.com/\n' }, { nonce: 'short' }, { expiresAt: 0.5 }])(
    'Composing the text with %j throws a RangeError',
    (change) => {
      expect(() => compose({ ...fields, template, ...change })).toThrow(RangeError)
    },
  )
})
