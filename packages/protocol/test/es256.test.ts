import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { signEs256, verifyEs256 } from '../src/es256.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const raw = { dsaEncoding: 'ieee-p1363' } as const
// One signature in 128 has an r or s with a leading zero byte, which DER leaves out.
const messages = Array.from({ length: 1500 }, (_, index) => Buffer.from(`message ${index}`))

test('An ES256 signature is 64 bytes and Node verifies it, also if r or s begins with a zero byte (RFC 7518 §3.4)', () => {
  const signatures = messages.map((message) => signEs256(message, privateKey))
  expect(signatures.some((signature) => signature[0] === 0 || signature[32] === 0)).toBe(true)
  signatures.forEach((signature, index) => {
    expect(signature).toHaveLength(64)
    expect(verify('sha256', messages[index] as Buffer, { key: publicKey, ...raw }, signature)).toBe(true)
  })
})

test('An ES256 signature that Node made is verified for its own message and key only, also with a leading zero byte (RFC 7518 §3.4)', () => {
  const signatures = messages.map((message) => sign('sha256', message, { key: privateKey, ...raw }))
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  signatures.forEach((signature, index) => expect(verifyEs256(messages[index] as Buffer, publicKey, signature)).toBe(true))
  expect(verifyEs256(Buffer.from('another message'), publicKey, signatures[0] as Buffer)).toBe(false)
  expect(verifyEs256(messages[0] as Buffer, other, signatures[0] as Buffer)).toBe(false)
})

test.each([0, 1, 63, 65, 70, 72, 128])('A signature of %d bytes is refused as an ES256 signature (RFC 7518 §3.4)', (length) => {
  expect(verifyEs256(messages[0] as Buffer, publicKey, Buffer.alloc(length, 1))).toBe(false)
})

test('An ES256 signature whose r or s is zero or not below the order of the curve is refused (RFC 7518 §3.4)', () => {
  const signature = signEs256(messages[0] as Buffer, privateKey)
  for (const bytes of [Buffer.alloc(32), Buffer.alloc(32, 0xff)]) {
    expect(verifyEs256(messages[0] as Buffer, publicKey, Buffer.concat([bytes, signature.subarray(32)]))).toBe(false)
    expect(verifyEs256(messages[0] as Buffer, publicKey, Buffer.concat([signature.subarray(0, 32), bytes]))).toBe(false)
  }
})
