import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKeyWrap } from '../../src/keys/key-wrap.ts'

const SECRET = 'a-secret-that-wraps-keys-0123456789abcdef'
const wrap = createKeyWrap(SECRET)
const material = new Uint8Array(randomBytes(138))
const opened = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString('hex')
const plain = opened(material)

test('a key comes back with the secret it was wrapped with, in another process too', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'sign')
  expect(opened(wrap.unwrap(wrapped, '0123456789', 'sign'))).toBe(plain)
  expect(opened(createKeyWrap(SECRET).unwrap(wrapped, '0123456789', 'sign'))).toBe(plain)
})

test('what rests in the store holds neither the key nor the secret, and is new each time', () => {
  const [wrapped, again] = [wrap.wrap(material, '0123456789', 'sign'), wrap.wrap(material, '0123456789', 'sign')]
  expect(Buffer.from(wrapped).equals(Buffer.from(again))).toBe(false)
  expect(Buffer.from(wrapped).includes(Buffer.from(material.subarray(0, 16)))).toBe(false)
  expect(Buffer.from(wrapped).includes(SECRET)).toBe(false)
})

test.each(['', 'another-secret', `${SECRET} `, SECRET.slice(0, -1), SECRET.toUpperCase()])(
  'the secret %j opens nothing',
  (secret) => {
    expect(createKeyWrap(secret).unwrap(wrap.wrap(material, '0123456789', 'seal'), '0123456789', 'seal')).toBeNull()
  },
)

test('a row cannot be passed off as another: neither under another id nor as another kind', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'seal')
  expect(wrap.unwrap(wrapped, '0123456780', 'seal')).toBeNull()
  expect(wrap.unwrap(wrapped, '0123456789', 'mac')).toBeNull()
  expect(wrap.unwrap(wrapped, '0123456789', 'sign')).toBeNull()
  const other = wrap.wrap(randomBytes(32), '9876543210', 'seal')
  expect(wrap.unwrap(other, '0123456789', 'seal')).toBeNull()
})

test('While the secret is being changed, a key that is wrapped with either secret opens, and a new one is wrapped with the present secret', () => {
  const changing = createKeyWrap('the-secret-that-replaces-it-0123456789ab', SECRET)
  const old = wrap.wrap(material, '0123456789', 'mac')
  const young = changing.wrap(material, '0123456789', 'mac')
  expect([old, young].map((each) => opened(changing.unwrap(each, '0123456789', 'mac')))).toEqual([plain, plain])
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

test('each single byte counts', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'seal')
  for (let index = 0; index < wrapped.length; index++) {
    const changed = Uint8Array.from(wrapped)
    changed[index] = (changed[index] ?? 0) ^ 0x01
    expect(wrap.unwrap(changed, '0123456789', 'seal'), `byte ${index}`).toBeNull()
  }
})

test('a row cut short or grown opens as nothing', () => {
  const wrapped = wrap.wrap(material, '0123456789', 'seal')
  for (const length of [0, 1, 12, 27, 28, wrapped.length - 1])
    expect(wrap.unwrap(wrapped.slice(0, length), '0123456789', 'seal')).toBeNull()
  expect(wrap.unwrap(Buffer.concat([wrapped, Buffer.alloc(1)]), '0123456789', 'seal')).toBeNull()
})
