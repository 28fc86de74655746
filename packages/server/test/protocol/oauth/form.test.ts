import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeFormValue, parseForm, queryOf } from '../../../src/protocol/oauth/form.ts'
import { forAll } from '../../support/property.ts'

/** Each name and value as text, in order. */
function pairsOf(raw: string | Uint8Array): [string, string | null][] {
  return [...parseForm(raw)].flatMap(([name, values]) => values.map(({ text }): [string, string | null] => [name, text]))
}

describe('Parsing application/x-www-form-urlencoded (WHATWG URL standard §5.1)', () => {
  test.each<[string, [string, string][]]>([
    ['', []],
    ['&', []],
    ['&&&', []],
    ['a', [['a', '']]],
    ['a=', [['a', '']]],
    ['=', [['', '']]],
    ['=b', [['', 'b']]],
    ['a=b', [['a', 'b']]],
    ['a=b=c', [['a', 'b=c']]],
    ['a==', [['a', '=']]],
    [
      'a=b&c=d&',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      '&&&a=b&&&&c=d&',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a=1&a=2',
      [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
    ['a+a=b+b', [['a a', 'b b']]],
    ['a%2Ba=b%2Bb', [['a+a', 'b+b']]],
    ['a%20=%20', [['a ', ' ']]],
    ['%61=%4a%4A', [['a', 'JJ']]],
    ['a%26=%3d', [['a&', '=']]],
    ['a;b=c;d', [['a;b', 'c;d']]],
    ['a=%00%0a%7F', [['a', '\0\n\u007f']]],
    ['?a=b', [['?a', 'b']]],
  ])('A form parses as the WHATWG URL standard specifies (§5.1), from text and from bytes: %s', (raw, expected) => {
    expect(pairsOf(raw)).toEqual(expected)
    expect(pairsOf(Buffer.from(raw, 'latin1')), 'from bytes').toEqual(expected)
    expect([...new URLSearchParams(`&${raw}`)], 'as a browser reads it').toEqual(expected)
  })
})

test.each(['%', '%%', '%2', '%zz', '%2G', '%G2', '100%', '%u0041', '%%41'])(
  'A percent sign that begins no valid escape stands for itself in a form: %s',
  (raw) => {
    expect(pairsOf(`a=${raw}`)).toEqual([['a', new URLSearchParams(`a=${raw}`).get('a')]])
  },
)

test('Different encodings of a parameter name are the same name, so that no encoding evades the rule against repeats', () => {
  const values = parseForm('state=a&st%61te=b&%73%74%61%74%65=c').get('state')
  expect(values?.map(({ text }) => text)).toEqual(['a', 'b', 'c'])
  expect(parseForm('a+b=1&a%20b=2').get('a b')).toHaveLength(2)
})

test('A parameter named __proto__ or constructor is an ordinary parameter', () => {
  expect(pairsOf('__proto__=a&constructor=b')).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ])
})

test.each(['a=%FF', 'a=\xff', 'a=%C3', 'a=%C0%80', 'a=%ED%A0%80', 'a=%F4%90%80%80', 'a=x%80y'])(
  'A form value that is not UTF-8 reads as null, without replacement characters: %s',
  (raw) => {
    expect(parseForm(raw).get('a')?.[0]?.text).toBeNull()
    expect(parseForm(Buffer.from(raw, 'latin1')).get('a')?.[0]?.text).toBeNull()
  },
)

test('A byte order mark in a form value is kept as a character of the value', () => {
  expect(pairsOf('a=%EF%BB%BFx')).toEqual([['a', '\ufeffx']])
})

test('UTF-8 text in a form reads the same raw and percent-encoded, from bytes and from a request target', () => {
  const text = 'Zoë €𝄞\u0301'
  const raw = Buffer.from(`a=${text.replaceAll(' ', '+')}`, 'utf8')
  for (const form of [raw, raw.toString('latin1'), `a=${encodeURIComponent(text)}`]) expect(pairsOf(form)).toEqual([['a', text]])
})

const anyBytes = fc.uint8Array({ maxLength: 60 })
/** Bytes that often look like a form. */
const formLike = fc
  .array(fc.oneof(fc.constantFrom(...Buffer.from('&&==++%%%0aAfF.~é', 'latin1')), fc.integer({ min: 0, max: 255 })), {
    maxLength: 60,
  })
  .map((bytes) => Uint8Array.from(bytes))

test('Any form reads with as many parameters as URLSearchParams reads, and the same values where these are UTF-8', () => {
  forAll(fc.oneof(anyBytes, formLike), (bytes) => {
    const browser = [
      ...new URLSearchParams(
        `&${Buffer.from(bytes)
          .toString('latin1')
          .replace(/[\x80-\xff]/g, escapeByte)}`,
      ),
    ]
    const ours = [...parseForm(bytes)].flatMap(([name, values]) => values.map(({ text }) => [name, text] as const))
    const readable = browser.filter(([name, value]) => !`${name}${value}`.includes('\ufffd'))
    const valuesOf = (name: string) => ours.filter(([each]) => each === name).map(([, text]) => text)
    for (const [name, value] of readable) expect(valuesOf(name)).toContain(value)
    expect(ours).toHaveLength(browser.length)
  })
})

test('The bytes of a form value are unchanged after encoding and parsing them again', () => {
  forAll(anyBytes, (bytes) => {
    const raw = `state=${[...bytes].map(toPercent).join('')}`
    const [value] = parseForm(raw).get('state') ?? []
    expect(value?.encoded).toMatch(/^(?:[A-Za-z0-9\-._~]|%[0-9A-F]{2})*$/)
    expect(bytesOf(value?.encoded ?? '')).toEqual([...bytes])
    expect(parseForm(`state=${value?.encoded}`).get('state')).toEqual([value])
  })
})

test('Any text that is encoded into a query reads as the same text (RFC 6749 appendix B)', () => {
  forAll(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
    const encoded = encodeFormValue(text)
    expect(pairsOf(`a=${encoded}&b`)).toEqual([
      ['a', text],
      ['b', ''],
    ])
    expect(new URL(`https://app.example.net/?a=${encoded}`).searchParams.get('a')).toBe(text)
  })
})

test.each([
  ['/oauth/authorize', ''],
  ['/oauth/authorize?', ''],
  ['/oauth/authorize?a=b', 'a=b'],
  ['/oauth/authorize?a=b?c&d', 'a=b?c&d'],
  ['?', ''],
])('The query of %s is everything after its first question mark', (target, query) => {
  expect(queryOf(target)).toBe(query)
})

function toPercent(byte: number): string {
  return `%${byte.toString(16).padStart(2, '0')}`
}

/** URLSearchParams takes a text, so a byte above ASCII is written as %XX. */
function escapeByte(character: string): string {
  return toPercent(character.charCodeAt(0))
}

function bytesOf(encoded: string): number[] {
  const plain = encoded.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return [...Buffer.from(plain, 'latin1')]
}
