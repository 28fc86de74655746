/** JSON of another party: an object with two members of one name is refused. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson } from '../../../src/protocol/oauth/parse-json.ts'
import { forAll } from '../../support/property.ts'

test.each([
  '{"a":1,"a":2}',
  '{"a":1,"\\u0061":2}',
  '{"a" : 1 , "a"\n:\t2}',
  '{"b":{"a":[{"c":1,"c":1}]}}',
  '{"__proto__":1,"__proto__":2}',
  '{"":1,"":2}',
  '{"\\"":1,"\\"":2}',
])('An object with two members of one name is refused: %s', (text) => {
  expect(parseJson(text)).toEqual({ kind: 'member_twice' })
})

test.each([
  '{"a":{"a":1},"b":[{"a":1},{"a":1}]}',
  '{"a":"\\"b\\":1,\\"b\\":2"}',
  '{"a\\\\":1,"a":2}',
  '["a","a"]',
  '"a"',
  'null',
])('A text in which each object has each name once is read: %s', (text) => {
  expect(parseJson(text)).toEqual({ kind: 'parsed', value: JSON.parse(text) })
})

test.each(['', '{', '{"a":1,}', "{'a':1}", '\ufeff{}', 'NaN'])('A text that is not JSON is refused: %j', (text) => {
  expect(parseJson(text)).toEqual({ kind: 'malformed' })
})

test('A text of 64 KiB is read, however deep or wide it is', () => {
  const texts = ['['.repeat(32_768) + ']'.repeat(32_768), `[${'0,'.repeat(32_000)}0]`, `"${'\\\\'.repeat(32_000)}"`]
  for (const text of texts) expect(parseJson(text).kind).toBe('parsed')
  expect(parseJson('{"a":'.repeat(10_000) + '0' + '}'.repeat(10_000)).kind).toBe('parsed')
  const members = Array.from({ length: 5_000 }, (_, n) => `"m${n}":0`).join()
  expect(parseJson(`{${members}}`).kind).toBe('parsed')
  expect(parseJson(`{${members},"m7":0}`).kind).toBe('member_twice')
})

test('Every JSON value is read as JSON.parse reads it, and a repeated member anywhere in it is refused', () => {
  forAll(fc.json(), (text) => {
    expect(parseJson(text)).toEqual({ kind: 'parsed', value: JSON.parse(text) })
  })
  forAll(fc.string(), fc.json(), fc.json(), (name, one, other) => {
    const member = JSON.stringify(name)
    expect(parseJson(`[${one},{${member}:${one},${member}:${other}}]`)).toEqual({ kind: 'member_twice' })
  })
})
