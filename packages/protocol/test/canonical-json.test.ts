import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAll } from '../../server/test/support/property.ts'
import { canonicalJson, digestOfAction } from '../src/canonical-json.ts'

test('The example of RFC 8785 §3.2.2 has the canonical form of the standard', () => {
  const input = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  const canonical = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`
  expect(canonicalJson(JSON.parse(input))).toBe(canonical)
  // RFC 8785 §3.2.4 gives the bytes.
  expect(Buffer.from(canonical).toString('hex')).toMatch(/^7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c/)
  expect(Buffer.from(canonical).toString('hex')).toMatch(
    /22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d$/,
  )
})

test('Members are sorted by UTF-16 code units, not by code points (RFC 8785 §3.2.3)', () => {
  const input = String.raw`{
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"
  }`
  const values = [...canonicalJson(JSON.parse(input)).matchAll(/:"([^"]*)"/g)].map(([, value]) => value)
  expect(values).toEqual([
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ])
})

test.each([
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
])('The number with the bits %s is written as the table of the standard has it (RFC 8785, Appendix B): %s', (bits, text) => {
  expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text)
})

test.each<[string, unknown, string]>([
  ['NaN (RFC 8785, Appendix B)', Number.NaN, '$'],
  ['Infinity (RFC 8785, Appendix B)', { amount: Number.POSITIVE_INFINITY }, '$["amount"]'],
  ['undefined in an object', { a: 1, b: undefined }, '$["b"]'],
  ['undefined in a list', [[1, undefined]], '$[0][1]'],
  ['a hole in a list', Object.assign([], { 1: 2 }), '$[0]'],
  ['a function', { run: () => 1 }, '$["run"]'],
  ['a bigint', { amount: 1n }, '$["amount"]'],
  ['a symbol', [Symbol.iterator], '$[0]'],
  ['a date', { at: new Date(0) }, '$["at"]'],
  ['a map', new Map(), '$'],
  ['a lone surrogate', { 'a b': '\ud800' }, '$["a b"]'],
  ['a lone surrogate in a name', { '\udc00': 1 }, '$["\\udc00"]'],
])('A value that JSON cannot contain is refused, and the error names its path: %s', (_, value, path) => {
  expect(() => canonicalJson(value)).toThrow(TypeError)
  expect(() => canonicalJson(value)).toThrow(`${path} `)
  expect(() => digestOfAction(value)).toThrow(TypeError)
})

test('A value may be nested 64 levels deep', () => {
  const nest = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown
  expect(canonicalJson(nest(64))).toBe('['.repeat(64) + ']'.repeat(64))
  expect(() => canonicalJson(nest(65))).toThrow(/nested more than 64 levels deep/)
  expect(() => canonicalJson(nest(5_000))).toThrow(TypeError)
  const circle: unknown[] = []
  circle.push(circle)
  expect(() => canonicalJson(circle)).toThrow(TypeError)
})

test('The canonical form parses as the same value, and is the same for every order of members and every spacing', () => {
  const values = fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' })
  forAll(values, (value) => {
    const text = canonicalJson(value)
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
    expect(canonicalJson(JSON.parse(text))).toBe(text)
    expect(canonicalJson(reversed(value))).toBe(text)
  })
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, each]) => [name, reversed(each)] as const)
  return Object.fromEntries(members.toReversed())
}

test('The digest of an action is the SHA-256 of its canonical form in UTF-8, base64url', () => {
  const canonical = '{"amount":"12.50","to":"Zoë"}'
  const digest = createHash('sha256').update(canonical, 'utf8').digest('base64url')
  expect(digestOfAction({ to: 'Zoë', amount: '12.50' })).toBe(digest)
  expect(digest).toMatch(/^[A-Za-z0-9_-]{43}$/)
})
