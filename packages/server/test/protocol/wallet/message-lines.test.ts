import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAddress } from '../../../src/protocol/wallet/address.ts'
import { composeLines, writeApp, writeDay, writeHost } from '../../../src/protocol/wallet/message-lines.ts'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { forAll } from '../../support/property.ts'
import {
  addresses,
  authorities,
  chainIds,
  clientHosts,
  clientNames,
  drawnFrom,
  nonces,
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

test('Both parsers read every field of any composed text back exactly (ERC-4361)', () => {
  forAll(anyLines, (lines) => {
    const { issuedAt, expiresAt, ...same } = lines
    const parsed = parseWithBoth(compose(lines))
    expect(parsed).toMatchObject({ ...same, version: '1' })
    expect(Date.parse(parsed.issuedAt) / 1000).toBe(issuedAt)
    expect(Date.parse(parsed.expirationTime ?? '') / 1000).toBe(expiresAt)
    expect([parsed.scheme, parsed.notBefore]).toEqual([undefined, undefined])
  })
})

test('Both parsers read an address whose EIP-55 form has no capital letter', () => {
  const parsed = parseAddress('0x0194d9e7b11b02bfb863988acb5019c9eef5cce1')
  const address = parsed.kind === 'address' ? parsed.address : example.address
  expect(address).toBe('0x0194d9e7b11b02bfb863988acb5019c9eef5cce1')
  expect(parseWithBoth(compose({ address })).address).toBe(address)
})

test('A text without resources has no Resources line', () => {
  expect(parseWithBoth(compose()).resources).toBeUndefined()
})

describe('The name of an app in the text', () => {
  test("An app's name is quoted in characters that cannot close the quotation, or replaced by the words: the app", () => {
    forAll(clientNames, (name) => {
      const plain = transliterateName(name)
      expect(writeApp(name)).toBe(plain === '' ? 'the app' : `'${plain}'`)
      expect(writeApp(name)).toMatch(/^(?:'[A-Za-z0-9&+ -]{1,40}'|the app)$/)
    })
  })
})

describe('The host of an app in the text', () => {
  test('The host of any well-formed redirect URI is written unchanged', () => {
    forAll(clientHosts, (host) => writeHost(host) === host)
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
  ])('The host %s is written unchanged', (host) => {
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
  ])("The host %j is written as %j, so that replaced characters never make it another app's host", (host, named) => {
    expect(writeHost(host)).toBe(named)
  })

  test('Any text is written as one word that a statement can contain', () => {
    forAll(
      clientNames.filter((text) => text !== ''),
      (host) => {
        expect(writeHost(host)).toMatch(/^[A-Za-z0-9.:[\]_-]+$/)
      },
    )
  })

  test('An empty host throws a RangeError', () => {
    expect(() => writeHost('')).toThrow(RangeError)
  })
})

test('A day in the text is the day in UTC', () => {
  expect(writeDay('until', 1_797_811_199)).toBe('2026-12-20')
  expect(writeDay('until', 1_797_811_200)).toBe('2026-12-21')
})

describe('Fields that the grammar does not allow', () => {
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
    'Composing a text throws a RangeError for the field %s: %j',
    (field, content) => {
      expect(() => compose({ [field]: content })).toThrow(RangeError)
    },
  )

  test('Any text in the domain, URI, nonce or request id gives either a text that both parsers read back, or a RangeError', () => {
    const fields = fc.constantFrom('domain', 'uri', 'nonce', 'requestId')
    const contents = fc.oneof(clientNames, drawnFrom('ab01:/?#[]@%2F.&=~-_ \n', 0, 40))
    forAll(fields, contents, (field, content) => {
      let text: string
      try {
        text = compose({ [field]: content })
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
        return
      }
      expect(parseWithBoth(text)).toMatchObject({ [field]: content })
    })
  })
})
