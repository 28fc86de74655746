import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorMs } from '../../server/test/support/processor-time.ts'
import { forAll } from '../../server/test/support/property.ts'
import { isScopeName, isSubset, parseScope } from '../src/scope.ts'

test.each([
  ['enhancement', ['enhancement']],
  ['b a', ['b', 'a']],
  ['a b a', ['a', 'b']],
  ['Read read', ['Read', 'read']],
  ['https://example.com/scope!#$[]~', ['https://example.com/scope!#$[]~']],
])('A scope is a list of tokens, and duplicates are removed (RFC 6749 §3.3): %s', (text, tokens) => {
  expect(parseScope(text)).toEqual(tokens)
})

test.each(['', ' ', ' a', 'a ', 'a  b', 'a\tb', 'a\nb', 'a"b', 'a\\b', 'é', 'a\u00a0b', 'a\0', 'a\u007f'])(
  'A text outside the grammar of RFC 6749 §3.3 is refused as a scope: %j',
  (text) => {
    expect(parseScope(text)).toBeNull()
  },
)

test('A scope token may contain exactly the characters that RFC 6749 §3.3 allows', () => {
  for (let code = 0; code < 0x180; code++) {
    const allowed = code === 0x21 || (code >= 0x23 && code <= 0x5b) || (code >= 0x5d && code <= 0x7e)
    expect(parseScope(`a${String.fromCharCode(code)}b`) !== null, `U+${code.toString(16)}`).toBe(allowed || code === 0x20)
  }
})

test('A scope of a hundred thousand characters is read in less than half a second', () => {
  const spent = processorMs(() => {
    expect(parseScope('a '.repeat(50_000))).toBeNull()
    expect(parseScope('a'.repeat(100_000))).toHaveLength(1)
  })
  expect(spent).toBeLessThan(500)
})

test.each(['enhancement', 'a', 'A.b-c_9', 'x'.repeat(64)])(
  'The scope %s can be registered, because a text to sign can contain it',
  (name) => {
    expect(isScopeName(name)).toBe(true)
  },
)

test.each(['', 'x'.repeat(65), 'a b', 'a:b', 'a/b', "it's", 'é', 'a\n', 'a%20'])('The scope %j cannot be registered', (name) => {
  expect(isScopeName(name)).toBe(false)
})

test('Every scope that can be registered can be requested', () => {
  forAll(fc.string(), (name) => {
    if (isScopeName(name)) expect(parseScope(name)).toEqual([name])
  })
})

test('An empty list is a subset of every list, and a list with another element is not a subset', () => {
  expect(isSubset([], [])).toBe(true)
  expect(isSubset([], ['a'])).toBe(true)
  expect(isSubset(['a'], ['a', 'b'])).toBe(true)
  expect(isSubset(['a', 'c'], ['a', 'b'])).toBe(false)
  expect(isSubset(['A'], ['a'])).toBe(false)
})
