/** The packed form of ids, hashes and addresses. */
import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GREATEST, LEAST, pack, unpack, unpackHex, unpackHexNullable } from '../../src/store/packed.ts'

const hex = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-fA-F]{${digits}}$`))
const texts = fc.oneof(
  fc.uuid(),
  hex(40).map((digits) => `0x${digits}`),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  // Texts that nearly have one of the forms.
  fc.stringMatching(/^[A-Za-z0-9_-]{43}$/),
  fc.uuid().map((id) => id.toUpperCase()),
  fc
    .tuple(fc.uuid(), fc.nat(35), fc.constantFrom('g', '/', ':', '@', '`', '-', 'é', '😀'))
    .map(([id, at, other]) => id.slice(0, at) + other + id.slice(at + 1)),
  fc
    .tuple(hex(40), fc.nat(39), fc.constantFrom('g', 'G', '/', ':', '@', '`', 'é'))
    .map(([digits, at, other]) => `0x${digits.slice(0, at)}${other}${digits.slice(at + 1)}`),
  fc.webUrl(),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
)

test('Every text is unpacked exactly as it was packed, and no two texts have the same bytes', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(unpack(pack(text))).toBe(Buffer.from(text).toString())
      expect(unpackHex(Buffer.from(pack(text)).toString('hex').toUpperCase())).toBe(unpack(pack(text)))
    }),
  )
})

test('The hexadecimal digits of a column without a value are no text', () => {
  expect(unpackHexNullable('')).toBeNull()
})

test('A text whose bytes have the length of a UUID, an address or a hash is unpacked as a text', () => {
  for (let length = 0; length < 50; length++) expect(unpack(pack('t'.repeat(length)))).toBe('t'.repeat(length))
})

test('A UUID takes 16 bytes, an address 25, and a SHA-256 in base64url 32', () => {
  const packed = [randomUUID(), `0x${'aB'.repeat(20)}`, randomBytes(32).toString('base64url')].map((text) => pack(text).length)
  expect(packed).toEqual([16, 25, 32])
})

test('Packed UUIDs sort as the texts do, between the bounds of all packed texts', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (one, other) => {
      expect(Math.sign(Buffer.compare(pack(one), pack(other)))).toBe(one < other ? -1 : Number(one > other))
    }),
  )
  fc.assert(
    fc.property(texts, (text) => {
      expect(Buffer.compare(LEAST, pack(text))).toBe(-1)
      expect(Buffer.compare(pack(text), GREATEST)).toBe(-1)
    }),
  )
})
