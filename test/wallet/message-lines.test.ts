import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAddress } from '../../src/wallet/address.ts'
import { composeLines, writeApp, writeDay, writeHost } from '../../src/wallet/message-lines.ts'
import { transliterateName } from '../../src/wallet/plain-words.ts'
import { runs } from '../support/runs.ts'
import {
  addresses,
  authorities,
  chainIds,
  clientHosts,
  clientNames,
  drawnFrom,
  nonces,
  patience,
  requestIds,
  times,
  uris,
} from './arbitraries.ts'
import { parseWithBoth } from './parse-with-both.ts'

type Lines = Parameters<typeof composeLines>[0]

const example: Lines = {
  domain: 'login.example.com',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  statement: 'This is said.',
  uri: 'https://login.example.com/login',
  chainId: 1,
  nonce: 'k3J9dQ0vXb2LmN8sTz5RaY7w',
  issuedAt: 1_795_176_000,
  expiresAt: 1_795_176_600,
  requestId: '7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90',
}

const compose = (changes: Partial<Lines> = {}): string => composeLines({ ...example, ...changes })

const anyLines: fc.Arbitrary<Lines> = fc.record({
  domain: authorities,
  address: addresses,
  statement: drawnFrom(`abcABC019-._~:/?#[]@!$&'()*+,;= `, 1, 80),
  uri: uris,
  chainId: chainIds,
  nonce: nonces,
  issuedAt: times,
  expiresAt: times,
  requestId: requestIds,
  resources: fc.array(uris, { minLength: 1, maxLength: 4 }),
})

test(
  'whatever fits the grammar, both parsers read back exactly what went in (ERC-4361)',
  () => {
    fc.assert(
      fc.property(anyLines, (lines) => {
        const { issuedAt, expiresAt, ...same } = lines
        const parsed = parseWithBoth(compose(lines))
        expect(parsed).toMatchObject({ ...same, version: '1' })
        expect(Date.parse(parsed.issuedAt) / 1000).toBe(issuedAt)
        expect(Date.parse(parsed.expirationTime ?? '') / 1000).toBe(expiresAt)
        expect([parsed.scheme, parsed.notBefore]).toEqual([undefined, undefined])
      }),
      { numRuns: runs },
    )
  },
  patience,
)

test('an address whose EIP-55 form has no capital in it is read by both parsers too', () => {
  const parsed = parseAddress('0x0194d9e7b11b02bfb863988acb5019c9eef5cce1')
  const address = parsed.kind === 'address' ? parsed.address : example.address
  expect(address).toBe('0x0194d9e7b11b02bfb863988acb5019c9eef5cce1')
  expect(parseWithBoth(compose({ address })).address).toBe(address)
})

test('without resources there is no line for them', () => {
  expect(parseWithBoth(compose()).resources).toBeUndefined()
})

describe('an app', () => {
  test(
    'is named in quotes that its name cannot end, or not at all',
    () => {
      fc.assert(
        fc.property(clientNames, (name) => {
          const plain = transliterateName(name)
          expect(writeApp(name)).toBe(plain === '' ? 'the app' : `'${plain}'`)
          expect(writeApp(name)).toMatch(/^(?:'[A-Za-z0-9&+ -]{1,40}'|the app)$/)
        }),
        { numRuns: runs },
      )
    },
    patience,
  )
})

describe('the host of an app', () => {
  test('of any well-formed redirect URI is named as it is', () => {
    fc.assert(
      fc.property(clientHosts, (host) => writeHost(host) === host),
      { numRuns: runs },
    )
  })

  test.each([
    'localhost:4002',
    '[::1]:8080',
    '[2001:db8::ff00:42:8329]',
    '127.0.0.1:65535',
    'xn--bcher-kva.example',
    'APP.example.net',
    'my_host.example',
    'com.example.app',
  ])('%s is named as it is', (host) => {
    expect(writeHost(host)).toBe(host)
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
  ])('%j is named %j: what the text cannot hold never makes another host', (host, named) => {
    expect(writeHost(host)).toBe(named)
  })

  test('any text at all stays one word, which a statement can hold', () => {
    fc.assert(
      fc.property(
        clientNames.filter((text) => text !== ''),
        (host) => {
          expect(writeHost(host)).toMatch(/^[A-Za-z0-9.:[\]_-]+$/)
        },
      ),
      { numRuns: runs },
    )
  })

  test('a text that names no host is not composed', () => {
    expect(() => writeHost('')).toThrow(RangeError)
  })
})

test('a day is the day in UTC', () => {
  expect(writeDay('until', 1_797_811_199)).toBe('2026-12-20')
  expect(writeDay('until', 1_797_811_200)).toBe('2026-12-21')
})

describe('a field that the grammar cannot hold is a defect, and no text comes out', () => {
  const times = [-1, 0.5, Number.NaN, 253_402_300_800]
  const unfit: [keyof Lines, unknown[]][] = [
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
    ['statement', ['', 'a\nb', '"a"', '100%', '<b>', 'é', '\u202e']],
    ['chainId', [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e21]],
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
    ['resources', [[''], ['/a'], ['urn:a', 'urn:b\n- urn:c']]],
    ['issuedAt', times],
    ['expiresAt', times],
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
