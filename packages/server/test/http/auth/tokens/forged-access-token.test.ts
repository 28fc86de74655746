import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type JWTHeaderParameters, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp } from '../../../support/app.ts'

let app: App
let genuine: string
let kid: string

beforeAll(async () => {
  app = await startApp()
  genuine = (await app.freshTokens()).access_token
  kid = headerOf(genuine).kid
})
afterAll(() => app.close())

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')
const headerOf = (jwt: string): { alg: string; typ: string; kid: string } =>
  JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString('utf8')) as ReturnType<typeof headerOf>

/** A token with the claims of a valid grant of this client, signed with another key. */
function forge(header: Omit<JWTHeaderParameters, 'kid'> & { kid?: string }, key: KeyObject | Uint8Array): Promise<string> {
  return new SignJWT({ ...claimsOf(genuine) }).setProtectedHeader(header as JWTHeaderParameters).sign(key)
}

async function expectForgery(token: string): Promise<void> {
  const answer = await app.walk.introspect(app.client, token)
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '{"active":false}' })
  // revocation treats a forgery as a token that does not exist (RFC 7009 §2.2)
  expect((await app.walk.revoke(app.client, token)).status).toBe(200)
}

describe('Forged access tokens', () => {
  test('The header of an access token has the typ at+jwt, the alg ES256 and a kid (RFC 9068 §2.1)', () => {
    expect(headerOf(genuine)).toEqual({ typ: 'at+jwt', alg: 'ES256', kid })
  })

  test.each([
    ['ES256', 'ec'],
    ['EdDSA', 'ed25519'],
    ['RS256', 'rsa'],
  ])(
    'An access token that an attacker signs with an own %s key under a genuine or an unknown kid is inactive',
    async (alg, kind) => {
      const { privateKey } =
        kind === 'ec'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : kind === 'rsa'
            ? generateKeyPairSync('rsa', { modulusLength: 2048 })
            : generateKeyPairSync('ed25519')
      await expectForgery(await forge({ alg, typ: 'at+jwt', kid }, privateKey))
      await expectForgery(await forge({ alg, typ: 'at+jwt', kid: 'unknown' }, privateKey))
    },
  )

  test('An access token with an HMAC whose secret is the public key is inactive (RFC 8725 §2.1)', async () => {
    const key = app.grantor.deps.keys.maker('sign')
    const pem = key.publicKey.export({ type: 'spki', format: 'pem' })
    const der = key.publicKey.export({ type: 'spki', format: 'der' })
    const jwk = Buffer.from(JSON.stringify(key.publicJwk))
    for (const secret of [Buffer.from(pem), der, jwk])
      await expectForgery(await forge({ alg: 'HS256', typ: 'at+jwt', kid }, secret))
  })

  test.each(['none', 'None', 'NONE', 'nOnE', ''])(
    'An access token with alg %j is inactive, with and without a signature (RFC 8725 §2.1)',
    async (alg) => {
      const [, body, signature] = genuine.split('.')
      const head = encode({ alg, typ: 'at+jwt', kid })
      for (const token of [`${head}.${body}.`, `${head}.${body}`, `${head}.${body}.${signature}`]) await expectForgery(token)
    },
  )

  test.each<[string, Record<string, unknown> | string | number | null | unknown[]]>([
    ['another typ', { typ: 'JWT', alg: 'ES256' }],
    ['no typ', { alg: 'ES256' }],
    ['no alg', { typ: 'at+jwt' }],
    ['no key id', { typ: 'at+jwt', alg: 'ES256', kid: undefined }],
    ['a key id of the wrong type', { typ: 'at+jwt', alg: 'ES256', kid: 7 }],
    ['a list of key ids', { typ: 'at+jwt', alg: 'ES256', kid: ['x'] }],
    ['a key id that is a path', { typ: 'at+jwt', alg: 'ES256', kid: '../../dev/null' }],
    ['the key id __proto__', { typ: 'at+jwt', alg: 'ES256', kid: '__proto__' }],
    ['a key of its own in the header', { typ: 'at+jwt', alg: 'ES256', jwk: { kty: 'EC' } }],
    ['a text instead of an object', 'at+jwt'],
    ['a number instead of an object', 1],
    ['null instead of an object', null],
    ['a list instead of an object', []],
  ])('An access token with genuine claims and signature, but with %s in its header, is inactive', async (_what, header) => {
    const [, body, signature] = genuine.split('.')
    const head = typeof header === 'object' && header !== null && !Array.isArray(header) ? { kid, ...header } : header
    await expectForgery(`${encode(head)}.${body}.${signature}`)
  })

  test('An access token with changed claims and the genuine signature is inactive', async () => {
    const [head, , signature] = genuine.split('.')
    const claims = claimsOf(genuine)
    for (const change of [
      { exp: claims.exp + 1 },
      { scope: 'admin' },
      { sub: '0x0' },
      { client_id: 'x' },
      { grant_id: 'x' },
      { extra: 1 },
    ]) {
      await expectForgery(`${head}.${encode({ ...claims, ...change })}.${signature}`)
    }
  })

  test('A JWT signed with the server’s own key, but with another typ, alg, issuer or claims, is inactive (RFC 9068 §4)', async () => {
    const { privateKey } = app.grantor.deps.keys.maker('sign')
    const signed = (header: unknown, claims: unknown): string => {
      const input = `${encode(header)}.${encode(claims)}`
      return `${input}.${sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
    }
    const [header, claims] = [headerOf(genuine), claimsOf(genuine)]
    expect((await app.walk.introspect(app.client, signed(header, claims))).json().active).toBe(true)
    for (const change of [
      { typ: 'JWT' },
      { typ: 'dpop+jwt' },
      { typ: undefined },
      { alg: 'ES384' },
      { alg: 'none' },
      { alg: undefined },
    ]) {
      await expectForgery(signed({ ...header, ...change }, claims))
    }
    for (const change of [{ iss: app.grantor.loginUrl }, { iss: `${app.grantor.authUrl}/` }, { iss: undefined }, { exp: 1 }]) {
      await expectForgery(signed(header, { ...claims, ...change }))
    }
    for (const body of ['x', 1, null, []]) await expectForgery(signed(header, body))
  })

  test('An access token with one changed character, at any position, is inactive', async () => {
    for (let position = 0; position < genuine.length; position++) {
      const character = genuine[position]
      if (character === '.') continue
      await expectInactive(`${genuine.slice(0, position)}${character === 'A' ? 'B' : 'A'}${genuine.slice(position + 1)}`)
    }
  })

  test('An access token with changed unused bits in its last character is inactive (RFC 4648 §3.5)', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(genuine.at(-1) ?? '')
    for (let spare = 1; spare < 16; spare++) await expectInactive(genuine.slice(0, -1) + alphabet[last ^ spare])
  })

  test.each(['=', '==', ' ', '.', '\n', '\0', '%', 'é', '+', '/', 'A', '.A'])(
    'An access token with %j before, after or between its parts is inactive',
    async (character) => {
      const [head, body, signature] = genuine.split('.')
      for (const token of [
        `${character}${genuine}`,
        `${genuine}${character}`,
        `${head}${character}.${body}.${signature}`,
        `${head}.${body}${character}.${signature}`,
        `${head}.${body}.${character}${signature}`,
      ]) {
        await expectInactive(token)
      }
    },
  )

  test('A truncated access token is inactive', async () => {
    for (let length = 0; length < genuine.length; length += 5) if (length > 0) await expectInactive(genuine.slice(0, length))
  })

  test('The genuine access token is still active after the introspection and revocation of forgeries', async () => {
    expect(await app.isActive(genuine)).toBe(true)
  })
})

test('An access token of another installation with the same issuer is inactive', async () => {
  const elsewhere = await startApp({ settings: { authUrl: app.grantor.authUrl } })
  const { access_token } = await elsewhere.freshTokens()
  await elsewhere.close()
  await expectInactive(access_token)
})

async function expectInactive(token: string): Promise<void> {
  const answer = await app.walk.introspect(app.client, token)
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '{"active":false}' })
}
