import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { derSignatureOf, joseSignatureOf } from '../../src/keys/dsa-encoding.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

test('a signature is spelled as Node’s own conversion spells it, both ways, whatever its bytes begin with (RFC 7518 §3.4)', () => {
  let shortened = 0
  // About one in 128 has an integer with a leading zero byte, which one of the spellings leaves out.
  for (let i = 0; i < 1500; i++) {
    const message = Buffer.from(`message ${i}`)
    const der = sign('sha256', message, privateKey)
    const jose = joseSignatureOf(der)
    if (der.length < 70) shortened++
    expect(jose).toHaveLength(64)
    expect(derSignatureOf(jose)).toEqual(der)
    if (i % 10 === 0 || der.length < 70)
      expect(verify('sha256', message, { key: publicKey, dsaEncoding: 'ieee-p1363' }, jose)).toBe(true)
  }
  expect(shortened).toBeGreaterThan(0)
})

test('integers with many leading zeros, none, and the highest bit set come back as they were', () => {
  for (const [r, s] of [
    ['01', 'ff'],
    ['80', '7f'],
    ['00'.repeat(31), `80${'00'.repeat(30)}`],
    [`80${'00'.repeat(31)}`, `7f${'ff'.repeat(31)}`],
    ['00', '00'],
  ] as const) {
    const jose = Buffer.from(r.padStart(64, '0') + s.padStart(64, '0'), 'hex')
    expect(joseSignatureOf(derSignatureOf(jose) ?? Buffer.alloc(0))).toEqual(jose)
  }
})

test('what is not 64 bytes is no signature', () => {
  for (const length of [0, 1, 63, 65, 70, 72, 128]) expect(derSignatureOf(new Uint8Array(length))).toBeUndefined()
})
