import { createHmac, sign } from 'node:crypto'
import { decodeProtectedHeader, importJWK, jwtVerify, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { openAccessToken, openLiveAccessToken, signAccessToken } from '../../../src/protocol/keys/access-token.ts'
import type { AccessTokenClaims } from '../../../src/protocol/keys/access-token-claims.ts'
import type { SigningKey } from '../../../src/protocol/keys/signing-key.ts'
import { NOW, newKey, ringOf } from './rings.ts'

const ISSUER = 'https://auth.example.com'
const CLAIMS: AccessTokenClaims = {
  iss: ISSUER,
  sub: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  aud: 'https://api.example.com/',
  client_id: '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
  exp: NOW + 600,
  iat: NOW,
  jti: '6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a',
  scope: 'enhancement profile',
  grant_id: '2b8f6c1e-0d3a-4f7b-9c5e-1a2d3f4b5c6d',
}
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const signKey = (algorithm: 'ES256' | 'EdDSA' | 'RS256' = 'ES256') => newKey('sign', NOW, algorithm) as SigningKey

describe.each(['ES256', 'EdDSA', 'RS256'] as const)('Access tokens signed with %s', (algorithm) => {
  const key = signKey(algorithm)
  const ring = ringOf([key])
  const token = signAccessToken(ring, CLAIMS)

  test('An access token is verified by the jose library with the published key alone (RFC 9068 §4)', async () => {
    const published = JSON.parse(JSON.stringify(key.publicJwk)) as Record<string, string>
    const { payload, protectedHeader } = await jwtVerify(token, await importJWK(published, algorithm), {
      issuer: ISSUER,
      audience: CLAIMS.aud,
      typ: 'at+jwt',
      algorithms: [algorithm],
      currentDate: new Date(NOW * 1000),
    })
    expect(payload).toEqual(CLAIMS)
    expect(protectedHeader).toEqual({ typ: 'at+jwt', alg: algorithm, kid: key.id })
  })

  test('An access token opens with the claims that were signed, however old it is', () => {
    expect(openAccessToken(ring, ISSUER, token)).toEqual(CLAIMS)
    expect(
      openAccessToken(
        ringOf([key], () => NOW + 10 ** 9),
        ISSUER,
        token,
      ),
    ).toEqual(CLAIMS)
  })

  test('An expired access token, or one of another issuer, is refused before its signature is checked', () => {
    let checks = 0
    const counted = {
      ...key,
      get publicKey() {
        checks++
        return key.publicKey
      },
    }
    const open = (now: number, issuer = ISSUER) => openLiveAccessToken(ringOf([counted]), token, { issuer, now })
    expect(open(CLAIMS.exp)).toBeUndefined()
    expect(open(NOW, 'https://other.example.com')).toBeUndefined()
    expect(checks).toBe(0)
    expect(open(CLAIMS.exp - 1)).toEqual(CLAIMS)
    expect(checks).toBe(1)
  })

  test('A forged token whose exp cannot be compared with a number is refused like any other', () => {
    const head = part({ typ: 'at+jwt', alg: algorithm, kid: key.id })
    for (const exp of [{ valueOf: 1, toString: 1 }, [[{ toString: null }]], '9'.repeat(12), [NOW + 600], null, undefined]) {
      const forged = `${head}.${part({ ...CLAIMS, exp })}.${Buffer.alloc(64).toString('base64url')}`
      expect(openLiveAccessToken(ring, forged, { issuer: ISSUER, now: NOW })).toBeUndefined()
    }
  })

  test('An access token opens only with the key that its kid names', () => {
    expect(openAccessToken(ringOf([signKey(algorithm)]), ISSUER, token)).toBeUndefined()
    expect(openAccessToken(ringOf([signKey(algorithm), key]), ISSUER, token)).toEqual(CLAIMS)
  })

  test('The published key of an access token contains no private member (RFC 7517 §9.2)', () => {
    const members = { ES256: ['crv', 'kty', 'x', 'y'], EdDSA: ['crv', 'kty', 'x'], RS256: ['e', 'kty', 'n'] }[algorithm]
    expect(new Set(Object.keys(key.publicJwk))).toEqual(new Set([...members, 'alg', 'kid', 'use']))
    expect(key.publicJwk).toMatchObject({ alg: algorithm, kid: key.id, use: 'sig' })
  })

  test('An access token that jose signs with the same key opens', async () => {
    const jwt = new SignJWT({ ...CLAIMS }).setProtectedHeader({ typ: 'at+jwt', alg: algorithm, kid: key.id })
    expect(openAccessToken(ring, ISSUER, await jwt.sign(key.privateKey))).toEqual(CLAIMS)
  })
})

describe('Texts that are not access tokens of this service', () => {
  const key = signKey()
  const ring = ringOf([key])
  const token = signAccessToken(ring, CLAIMS)
  const [head = '', body = '', signature = ''] = token.split('.')
  const signedBy = (header: Record<string, unknown>) =>
    new SignJWT({ ...CLAIMS }).setProtectedHeader(header as { alg: string }).sign(key.privateKey)

  test('An access token of another issuer is refused', () => {
    expect(openAccessToken(ring, 'https://other.example.com', token)).toBeUndefined()
    expect(openAccessToken(ring, `${ISSUER}/`, token)).toBeUndefined()
  })

  test.each([
    ['no type', { alg: 'ES256' }],
    ['the type of an ID token', { alg: 'ES256', typ: 'JWT' }],
    ['the long form of the type', { alg: 'ES256', typ: 'application/at+jwt' }],
    ['no key id', { alg: 'ES256', typ: 'at+jwt', kid: undefined }],
    ['another key id', { alg: 'ES256', typ: 'at+jwt', kid: 'ffffffffff' }],
  ])('A token that is signed with our own key but has %s is refused (RFC 9068 §4)', async (_, header) => {
    expect(openAccessToken(ring, ISSUER, await signedBy({ kid: key.id, ...header }))).toBeUndefined()
  })

  test.each(['none', 'None', '', 'HS256', 'EdDSA', 'RS256', 'ES384', 'es256'])(
    'An access token with alg %j is refused (RFC 8725 §2.1)',
    (alg) => {
      const input = `${part({ typ: 'at+jwt', alg, kid: key.id })}.${body}`
      const pem = key.publicKey.export({ format: 'pem', type: 'spki' })
      const der = key.publicKey.export({ format: 'der', type: 'spki' })
      const macs = [pem, der, JSON.stringify(key.publicJwk)].map((secret) =>
        createHmac('sha256', secret).update(input).digest('base64url'),
      )
      for (const proof of ['', 'AA', signature, ...macs])
        expect(openAccessToken(ring, ISSUER, `${input}.${proof}`)).toBeUndefined()
    },
  )

  test.each(['none', 'ES384', 'HS256', 'RS256', undefined])(
    'An access token with alg %s is refused, even if our own key made a valid signature over it',
    (alg) => {
      const input = `${part({ typ: 'at+jwt', alg, kid: key.id })}.${body}`
      const proof = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')
      expect(openAccessToken(ring, ISSUER, `${input}.${proof}`)).toBeUndefined()
    },
  )

  test('An access token whose alg or kid does not match the key that signed it is refused, if both keys are in the ring', () => {
    const rsa = signKey('RS256')
    const both = ringOf([key, rsa])
    const signedWithRsa = signAccessToken(ringOf([rsa]), CLAIMS)
    expect(openAccessToken(both, ISSUER, signedWithRsa)).toEqual(CLAIMS)
    for (const header of [
      { kid: key.id, alg: 'RS256' },
      { kid: key.id, alg: 'ES256' },
      { kid: rsa.id, alg: 'ES256' },
    ]) {
      const forged = [part({ typ: 'at+jwt', ...header }), ...signedWithRsa.split('.').slice(1)].join('.')
      expect(openAccessToken(both, ISSUER, forged)).toBeUndefined()
    }
  })

  test('An access token is refused if any one of its characters is changed', () => {
    for (let index = 0; index < token.length; index++) {
      const character = token[index] === 'A' ? 'B' : 'A'
      expect(
        openAccessToken(ring, ISSUER, token.slice(0, index) + character + token.slice(index + 1)),
        `${index}`,
      ).toBeUndefined()
    }
  })

  test('An access token with another encoding of the same signature is refused (RFC 4648 §3.5)', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const opening = alphabet.split('').filter((last) => openAccessToken(ring, ISSUER, token.slice(0, -1) + last))
    expect(opening).toEqual([token.at(-1)])
    const der = `${head}.${body}.${derOf(Buffer.from(signature, 'base64url')).toString('base64url')}`
    for (const other of [`${token}=`, `${token}==`, `${token}.`, `${token} `, ` ${token}`, `${token}.x`, der]) {
      expect(openAccessToken(ring, ISSUER, other)).toBeUndefined()
    }
  })

  test('An access token in plain base64 instead of base64url is refused (RFC 7515 §2)', () => {
    const tokens = Array.from({ length: 50 }, () => signAccessToken(ring, CLAIMS))
    const respelled = tokens
      .map((each) => each.replaceAll('-', '+').replaceAll('_', '/'))
      .filter((each, index) => each !== tokens[index])
    expect(respelled.length).toBeGreaterThan(0)
    for (const each of respelled) expect(openAccessToken(ring, ISSUER, each)).toBeUndefined()
  })

  test.each([
    '',
    '.',
    '../..',
    '...',
    'a',
    'a.b',
    'a.b.c',
    'e30.e30.e30',
    `${part([])}.${part([])}.AA`,
    `${part(null)}.e30.AA`,
    `${part('x')}.e30.AA`,
  ])('The text %j is refused as an access token', (text) => {
    expect(openAccessToken(ring, ISSUER, text)).toBeUndefined()
  })

  test('An access token of more than 8,192 characters is refused', () => {
    const long = signAccessToken(ring, { ...CLAIMS, scope: 'a'.repeat(9000) })
    expect(openAccessToken(ring, ISSUER, long)).toBeUndefined()
  })
})

test('An access token with the other valid s of its ECDSA signature has the same jti, so revoking one token revokes both', () => {
  const ring = ringOf([signKey()])
  const token = signAccessToken(ring, CLAIMS)
  const bytes = Buffer.from(token.split('.')[2] ?? '', 'base64url')
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const s = order - BigInt(`0x${bytes.subarray(32).toString('hex')}`)
  bytes.write(s.toString(16).padStart(64, '0'), 32, 'hex')
  const twin = `${token.slice(0, token.lastIndexOf('.'))}.${bytes.toString('base64url')}`
  expect(twin).not.toBe(token)
  expect(openAccessToken(ring, ISSUER, twin)).toEqual(openAccessToken(ring, ISSUER, token))
})

test('A token is signed by the key that is in use at that time, and names it in kid', () => {
  const clock = { at: NOW }
  const [old, young] = [signKey(), newKey('sign', NOW + 60, 'EdDSA') as SigningKey]
  const ring = ringOf([old, young], () => clock.at)
  const before = signAccessToken(ring, CLAIMS)
  expect(decodeProtectedHeader(before)).toMatchObject({ kid: old.id, alg: 'ES256' })
  clock.at = NOW + 60
  expect(decodeProtectedHeader(signAccessToken(ring, CLAIMS))).toMatchObject({ kid: young.id, alg: 'EdDSA' })
  expect(openAccessToken(ring, ISSUER, before)).toEqual(CLAIMS)
})

/** r ‖ s as the ASN.1 sequence that other software uses (RFC 3279 §2.2.3). */
function derOf(signature: Buffer): Buffer {
  const integer = (bytes: Buffer) => {
    const [first = 0] = bytes
    const body = first > 0x7f ? Buffer.concat([Buffer.from([0]), bytes]) : bytes
    return Buffer.concat([Buffer.from([2, body.length]), body])
  }
  const sequence = Buffer.concat([integer(signature.subarray(0, 32)), integer(signature.subarray(32))])
  return Buffer.concat([Buffer.from([0x30, sequence.length]), sequence])
}
