import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newClientKey } from '../../server/test/support/client-key.ts'
import { jwkSetFaults, openJwkSet, openPublicJwk } from '../src/public-jwk.ts'

const EC = newClientKey('ES256')
const RSA = newClientKey('PS256')
const ED = newClientKey('EdDSA')
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })
const withExponent = (hex: string) => ({ ...RSA.jwk, e: Buffer.from(hex, 'hex').toString('base64url') })
/** An odd number of this many bytes. Its factors do not matter here. */
const modulus = (bytes: number) => Buffer.alloc(bytes, 0xff).toString('base64url')
const curve = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })

describe("A client's public key", () => {
  test.each([EC, RSA, ED])(
    "A client's public key has the one algorithm of its type: $alg (RFC 7518 §3.4, §3.5, RFC 8037 §3.1)",
    ({ alg, jwk }) => {
      expect(openPublicJwk(jwk)).toMatchObject({ algorithm: alg, kid: `key-${alg}` })
      expect(openPublicJwk({ ...jwk, alg, use: 'sig', key_ops: ['verify'] })).toMatchObject({ algorithm: alg })
      expect(openPublicJwk({ ...jwk, kid: undefined })).toMatchObject({ kid: null })
    },
  )

  test("A client's RSA key may have 2048 to 4096 bits and the exponent 65537", () => {
    for (const bytes of [256, 384, 512])
      expect(openPublicJwk({ kty: 'RSA', e: 'AQAB', n: modulus(bytes) })).toMatchObject({ algorithm: 'PS256' })
  })

  test("A client's Ed25519 key may name its algorithm Ed25519 (RFC 9864 §2.2)", () => {
    expect(openPublicJwk({ ...ED.jwk, alg: 'Ed25519' })).toMatchObject({ algorithm: 'EdDSA' })
  })

  test.each<[string, unknown, RegExp]>([
    ['of RSA below 2048 bits', rsa(1024), /1024 bits/],
    [
      'of RSA so long that one verification takes minutes',
      { kty: 'RSA', e: 'AQAB', n: Buffer.alloc(2048, 0xff).toString('base64url') },
      /16384 bits/,
    ],
    ['of RSA with an exponent of 2,000 bits, which slows each verification', withExponent('ff'.repeat(250)), /exponent/],
    ['of RSA of 8192 bits', { kty: 'RSA', e: 'AQAB', n: modulus(1024) }, /8192 bits; use 2048 to 4096/],
    ['of RSA with one bit more than 4096', { kty: 'RSA', e: 'AQAB', n: modulus(513) }, /4104 bits/],
    ['of RSA with an exponent of 2^64', withExponent('010000000000000000'), /exponent/],
    ['of RSA with the exponent 3', withExponent('03'), /exponent/],
    ['of RSA with the exponent 65539', withExponent('010003'), /exponent/],
    ['of RSA with an exponent with a leading zero byte', withExponent('00010001'), /exponent/],
    ['of RSA with the exponent 1, which makes every text its own signature', withExponent('01'), /exponent/],
    ['of RSA whose exponent is even', withExponent('010000'), /exponent/],
    ['of RSA without an exponent', { ...RSA.jwk, e: '' }, /exponent/],
    ['on another curve', curve('P-384'), /neither EC P-256/],
    ['for encryption', { ...EC.jwk, use: 'enc' }, /not for signatures/],
    ['for encryption by its operations', { ...EC.jwk, key_ops: ['deriveKey'] }, /not for signatures/],
    ['for another algorithm of its type', { ...RSA.jwk, alg: 'RS256' }, /another algorithm/],
    ['that is a private key', EC.privateKey.export({ format: 'jwk' }), /holds a secret/],
    ['that is a shared secret', { kty: 'oct', k: 'c2VjcmV0' }, /holds a secret/],
    ['that is not on its curve', { ...EC.jwk, x: EC.jwk.y }, /malformed/],
    ['of RSA without n and e', { kty: 'RSA' }, /malformed/],
    ['of no type', {}, /neither/],
    ['with a kid that is not a text', { ...EC.jwk, kid: 7 }, /kid/],
    ['that is a text', 'key', /not a JWK/],
    ['that is a list', [], /not a JWK/],
    ['that is null', null, /not a JWK/],
  ])("A client's public key is refused if it is one %s", (_, jwk, why) => {
    expect(openPublicJwk(jwk)).toMatch(why)
  })
})

describe("A client's JWK Set", () => {
  test('A registered JWK Set has 1 to 20 usable keys, each with a kid of its own (RFC 7517 §4.5)', () => {
    expect(jwkSetFaults({ keys: [EC.jwk, RSA.jwk, ED.jwk] })).toEqual([])
    expect(jwkSetFaults({ keys: [{ ...EC.jwk, kid: undefined }] })).toEqual([])
    expect(jwkSetFaults({ keys: [EC.jwk, { ...RSA.jwk, kid: EC.kid }] })).toEqual([expect.stringContaining('a different kid')])
    expect(jwkSetFaults({ keys: [EC.jwk, { kty: 'oct', k: 'c2VjcmV0' }, 7] })).toEqual([
      ': key 2 holds a secret: register the public key only',
      ': key 3 is not a JWK (RFC 7517)',
    ])
    expect(jwkSetFaults({ keys: [] })).toEqual(['has no keys'])
    expect(jwkSetFaults({ keys: Array.from({ length: 21 }, (_, index) => ({ ...EC.jwk, kid: `${index}` })) })).toHaveLength(1)
    for (const none of [null, 7, 'keys', [], {}, { keys: {} }, EC.jwk]) expect(jwkSetFaults(none)).toHaveLength(1)
  })

  test('Unusable keys in a published JWK Set are ignored (RFC 7517 §5)', () => {
    const published = { keys: [curve('P-521'), { kty: 'AKP' }, null, EC.jwk, { ...RSA.jwk, use: 'enc' }] }
    expect(openJwkSet(published)).toMatchObject({ keys: [{ kid: EC.kid }], unusable: [null, null, null, RSA.kid] })
    expect(openJwkSet({ keys: [] })).toEqual({ keys: [], unusable: [] })
    for (const none of [null, 'x', [], { keys: 7 }]) expect(openJwkSet(none)).toBeNull()
  })
})
