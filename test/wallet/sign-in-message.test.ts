import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { transliterateName } from '../../src/wallet/plain-words.ts'
import { CURRENT_TEMPLATE, composeSignInMessage, type SignInFields } from '../../src/wallet/sign-in-message.ts'
import {
  addresses,
  authorities,
  clientHosts,
  clientNames,
  drawnFrom,
  nonces,
  patience,
  requestIds,
  runs,
  scopeLists,
  times,
  uris,
} from './arbitraries.ts'
import { parseWithBoth } from './parse-with-both.ts'

const example: SignInFields = {
  template: CURRENT_TEMPLATE,
  domain: 'login.example.com',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  chainId: 1,
  clientName: 'MyApp',
  clientHost: 'app.example.net',
  scopes: ['enhancement'],
  until: 1_797_768_000,
  uri: 'https://login.example.com/login',
  nonce: 'k3J9dQ0vXb2LmN8sTz5RaY7w',
  issuedAt: 1_795_176_000,
  expiresAt: 1_795_176_600,
  requestId: '7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90',
}

function compose(changes: Partial<SignInFields> = {}): string {
  const text = composeSignInMessage({ ...example, ...changes })
  if (text === null) throw new Error('template unknown')
  return text
}

const anyFields: fc.Arbitrary<SignInFields> = fc.record({
  template: fc.constant(CURRENT_TEMPLATE),
  domain: authorities,
  address: addresses,
  chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  clientName: clientNames,
  clientHost: clientHosts,
  scopes: scopeLists,
  until: times,
  uri: uris,
  nonce: nonces,
  issuedAt: times,
  expiresAt: times,
  requestId: requestIds,
})

/** Template 1 as its reader sees it. A quoted word holds no quote, the host no space: so there is one way to read it. */
const statementForm =
  /^Allow (?:'(?<name>[A-Za-z0-9&+ -]{1,40})'|the app) at (?<host>[A-Za-z0-9.:[\]_-]+) to (?:use (?<scopes>'[A-Za-z0-9._-]{1,64}'(?:, '[A-Za-z0-9._-]{1,64}')*) on your behalf|know your address) until (?<until>\d{4}-\d\d-\d\d) \(UTC\)\. Signing costs no gas and makes no transfer\.$/

test('template 1 keeps its bytes, so a challenge of an older node can be finished on a newer one', () => {
  expect(compose()).toBe(
    [
      'login.example.com wants you to sign in with your Ethereum account:',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '',
      "Allow 'MyApp' at app.example.net to use 'enhancement' on your behalf until 2026-12-20 (UTC). Signing costs no gas and makes no transfer.",
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

test(
  'whatever an app is called and may do, both parsers read back exactly what went in (ERC-4361)',
  () => {
    fc.assert(
      fc.property(anyFields, (fields) => {
        const parsed = parseWithBoth(compose(fields))
        expect(parsed).toMatchObject({
          domain: fields.domain,
          address: fields.address,
          uri: fields.uri,
          version: '1',
          chainId: fields.chainId,
          nonce: fields.nonce,
          requestId: fields.requestId,
        })
        expect(Date.parse(parsed.issuedAt) / 1000).toBe(fields.issuedAt)
        expect(Date.parse(parsed.expirationTime ?? '') / 1000).toBe(fields.expiresAt)
        expect([parsed.scheme, parsed.notBefore, parsed.resources]).toEqual([undefined, undefined, undefined])
      }),
      { numRuns: runs },
    )
  },
  patience,
)

test(
  'whatever an app is called, the statement says which app, its host, what it may do and until when',
  () => {
    fc.assert(
      fc.property(anyFields, (fields) => {
        const said = statementForm.exec(parseWithBoth(compose(fields)).statement ?? '')?.groups
        expect(said?.name ?? '').toBe(transliterateName(fields.clientName))
        expect(said?.host).toBe(fields.clientHost)
        expect(said?.scopes ?? '').toBe(fields.scopes.map((scope) => `'${scope}'`).join(', '))
        expect(Date.parse(said?.until ?? '') / 1000).toBe(fields.until - (fields.until % 86_400))
      }),
      { numRuns: runs },
    )
  },
  patience,
)

test(
  'the same fields give the same bytes',
  () => {
    fc.assert(
      fc.property(anyFields, (fields) => {
        expect(composeSignInMessage(structuredClone(fields))).toBe(composeSignInMessage(fields))
      }),
      { numRuns: runs },
    )
  },
  patience,
)

test('a template of no known number gives no text', () => {
  for (const template of [0, 2, -1, 1.5, Number.NaN, '1', '__proto__', undefined]) {
    expect(composeSignInMessage({ ...example, template: template as number })).toBeNull()
  }
})

test('an app whose name has no plain form is named by its host alone', () => {
  expect(parseWithBoth(compose({ clientName: '支付宝' })).statement).toMatch(/^Allow the app at app\.example\.net to use /)
})

test('an app without scopes is said to learn the address', () => {
  expect(parseWithBoth(compose({ scopes: [] })).statement).toMatch(
    /^Allow 'MyApp' at app\.example\.net to know your address until /,
  )
})

describe('the host of an app', () => {
  test.each([
    'localhost:4002',
    '[::1]:8080',
    '[2001:db8::ff00:42:8329]',
    '127.0.0.1:65535',
    'xn--bcher-kva.example',
    'APP.example.net',
    'my_host.example',
    'com.example.app',
  ])('%s is named as it is', (clientHost) => {
    expect(parseWithBoth(compose({ clientHost })).statement).toContain(` at ${clientHost} to use `)
  })

  test.each([
    ['bücher.example', 'b_cher.example'],
    ['a%2eb.example', 'a_2eb.example'],
    ['[fe80::1%25eth0]', '[fe80::1_25eth0]'],
    ["evil.example' at bank.example", 'evil.example__at_bank.example'],
    ['evil.example\nURI: https://bank.example', 'evil.example_URI:_https:__bank.example'],
    ['user@bank.example', 'user_bank.example'],
    ['\u202eelpmaxe.knab', '_elpmaxe.knab'],
    ['😀.example', '_.example'],
  ])('%j is named %j: what the text cannot hold never makes another host', (clientHost, named) => {
    expect(parseWithBoth(compose({ clientHost })).statement).toContain(` at ${named} to use `)
  })

  test(
    'any text at all leaves the statement in its form',
    () => {
      fc.assert(
        fc.property(
          clientNames.filter((text) => text !== ''),
          (clientHost) => {
            expect(parseWithBoth(compose({ clientHost })).statement).toMatch(statementForm)
          },
        ),
        { numRuns: runs },
      )
    },
    patience,
  )

  test('a text that names no host is not composed', () => {
    expect(() => compose({ clientHost: '' })).toThrow(RangeError)
  })
})

describe('a field that the grammar cannot hold is a defect, and no text comes out', () => {
  const unfit: [keyof SignInFields, unknown[]][] = [
    [
      'domain',
      [
        '',
        'login example.com',
        'user@login.example.com',
        'login.example.com\n',
        'https://login.example.com',
        '[::1',
        'a:123456',
        'é.example',
      ],
    ],
    ['address', ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', `0x${'0'.repeat(40)}`, '0x', '']],
    ['chainId', [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e21]],
    ['scopes', [['a b'], [''], ['a'.repeat(65)], ["a'"], ['é'], ['a', 'b\n'], ['a"']]],
    [
      'uri',
      [
        '',
        '/login',
        'https://',
        'https://a b',
        'https://a.example/\n',
        'https://a.example/%zz',
        'https://a.example/é',
        'https://u@a.example/',
        'a:',
      ],
    ],
    ['nonce', ['', 'a'.repeat(21), 'k3J9dQ0vXb2LmN8sTz5Ra-_w', 'k3J9dQ0vXb2LmN8sTz5RaY7w\n']],
    ['requestId', ['', 'a b', 'a\nb', 'a/b']],
    ['issuedAt', [-1, 0.5, Number.NaN, 253_402_300_800]],
    ['expiresAt', [-1, 0.5, Number.NaN, 253_402_300_800]],
    ['until', [-1, 0.5, Number.NaN, 253_402_300_800]],
  ]

  test.each(unfit.flatMap(([field, contents]) => contents.map((content) => [field, content] as const)))(
    '%s: %j',
    (field, content) => {
      expect(() => compose({ [field]: content })).toThrow(RangeError)
    },
  )

  test(
    'any text in any of our own fields gives a text both parsers read back, or none',
    () => {
      const fields = fc.constantFrom('domain', 'uri', 'nonce', 'requestId')
      const contents = fc.oneof(clientNames, drawnFrom('ab01:/?#[]@%2F.&=~-_ \n', 0, 40))
      fc.assert(
        fc.property(fields, contents, (field, content) => {
          let text: string
          try {
            text = compose({ [field]: content })
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError)
            return
          }
          expect(parseWithBoth(text)).toMatchObject({ [field]: content })
        }),
        { numRuns: runs },
      )
    },
    patience,
  )
})
