import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'

const SECRET = 'a-secret-that-wraps-keys-0123456789abcdef'
const wrap = createKeyWrap(SECRET)
const material = new Uint8Array(randomBytes(138))
const toHex = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString('hex')
const plain = toHex(material)

test('A wrapped key opens with the secret that wrapped it, also by another instance', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'sign')
  expect(toHex(wrap.unwrap(wrapped, '0123456789', 'sign'))).toBe(plain)
  expect(toHex(createKeyWrap(SECRET).unwrap(wrapped, '0123456789', 'sign'))).toBe(plain)
})

test('A wrapped key contains neither the key nor the secret, and is different each time', () => {
  const [wrapped, again] = [wrap.wrap(material, '0123456789', 'sign'), wrap.wrap(material, '0123456789', 'sign')]
  expect(Buffer.from(wrapped).equals(Buffer.from(again))).toBe(false)
  expect(Buffer.from(wrapped).includes(Buffer.from(material.subarray(0, 16)))).toBe(false)
  expect(Buffer.from(wrapped).includes(SECRET)).toBe(false)
})

test.each(['', 'another-secret', `${SECRET} `, SECRET.slice(0, -1), SECRET.toUpperCase()])(
  'A key does not open with the wrong secret %j',
  (secret) => {
    expect(createKeyWrap(secret).unwrap(wrap.wrap(material, '0123456789', 'seal'), '0123456789', 'seal')).toBeNull()
  },
)

test('A wrapped key does not open under another id or as another kind', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'seal')
  expect(wrap.unwrap(wrapped, '0123456780', 'seal')).toBeNull()
  expect(wrap.unwrap(wrapped, '0123456789', 'mac')).toBeNull()
  expect(wrap.unwrap(wrapped, '0123456789', 'sign')).toBeNull()
  const other = wrap.wrap(randomBytes(32), '9876543210', 'seal')
  expect(wrap.unwrap(other, '0123456789', 'seal')).toBeNull()
})

test('During a change of the secret, keys wrapped with either secret open, and new keys are wrapped with the present one', () => {
  const changing = createKeyWrap('the-secret-that-replaces-it-0123456789ab', SECRET)
  const old = wrap.wrap(material, '0123456789', 'mac')
  const young = changing.wrap(material, '0123456789', 'mac')
  expect([old, young].map((each) => toHex(changing.unwrap(each, '0123456789', 'mac')))).toEqual([plain, plain])
  expect([old, young].map((each) => changing.isCurrent(each, '0123456789', 'mac'))).toEqual([false, true])
  expect(wrap.unwrap(young, '0123456789', 'mac')).toBeNull()
  expect(
    changing.unwrap(
      createKeyWrap('a-third-secret-0123456789abcdefghij').wrap(material, '0123456789', 'mac'),
      '0123456789',
      'mac',
    ),
  ).toBeNull()
})

test('A wrapped key does not open if any one of its bytes is changed', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'seal')
  for (let index = 0; index < wrapped.length; index++) {
    const changed = Uint8Array.from(wrapped)
    changed[index] = (changed[index] ?? 0) ^ 0x01
    expect(wrap.unwrap(changed, '0123456789', 'seal'), `byte ${index}`).toBeNull()
  }
})

test('A wrapped key that is shortened or extended does not open', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'seal')
  for (const length of [0, 1, 12, 27, 28, wrapped.length - 1])
    expect(wrap.unwrap(wrapped.slice(0, length), '0123456789', 'seal')).toBeNull()
  expect(wrap.unwrap(Buffer.concat([wrapped, Buffer.alloc(1)]), '0123456789', 'seal')).toBeNull()
})
