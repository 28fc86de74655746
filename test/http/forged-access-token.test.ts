import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type JWTHeaderParameters, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp } from '../support/app.ts'

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

/** Claims of a living grant of this client: only the signature is not ours. */
function forge(header: Omit<JWTHeaderParameters, 'kid'> & { kid?: string }, key: KeyObject | Uint8Array): Promise<string> {
  return new SignJWT({ ...claimsOf(genuine) }).setProtectedHeader(header as JWTHeaderParameters).sign(key)
}

async function expectForgery(token: string): Promise<void> {
  const answer = await app.walk.introspect(app.client, token)
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '{"active":false}' })
  // to revocation it is a token like any other that does not exist (RFC 7009 §2.2), and nothing ends
  expect((await app.walk.revoke(app.client, token)).status).toBe(200)
}

describe('a forged access token is inactive, and revoking it ends nothing', () => {
  test('the header of a genuine one: at+jwt, ES256, a key of the JWK Set (RFC 9068 §2.1)', () => {
    expect(headerOf(genuine)).toEqual({ typ: 'at+jwt', alg: 'ES256', kid })
  })

  test.each([
    ['ES256', 'ec'],
    ['EdDSA', 'ed25519'],
    ['RS256', 'rsa'],
  ])('signed by a key of the forger with %s, under our key id', async (alg, kind) => {
    const { privateKey } =
      kind === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : kind === 'rsa'
          ? generateKeyPairSync('rsa', { modulusLength: 2048 })
          : generateKeyPairSync('ed25519')
    await expectForgery(await forge({ alg, typ: 'at+jwt', kid }, privateKey))
    await expectForgery(await forge({ alg, typ: 'at+jwt', kid: 'unknown' }, privateKey))
  })

  test('HMAC with the public key as its secret (RFC 8725 §2.1)', async () => {
    const key = app.grantor.deps.keys.maker('sign')
    const pem = key.publicKey.export({ type: 'spki', format: 'pem' })
    const der = key.publicKey.export({ type: 'spki', format: 'der' })
    const jwk = Buffer.from(JSON.stringify(key.publicJwk))
    for (const secret of [Buffer.from(pem), der, jwk])
      await expectForgery(await forge({ alg: 'HS256', typ: 'at+jwt', kid }, secret))
  })

  test.each(['none', 'None', 'NONE', 'nOnE', ''])('alg %j, with and without a signature (RFC 8725 §2.1)', async (alg) => {
    const [, body, signature] = genuine.split('.')
    const head = encode({ alg, typ: 'at+jwt', kid })
    for (const token of [`${head}.${body}.`, `${head}.${body}`, `${head}.${body}.${signature}`]) await expectForgery(token)
  })

  test.each<[string, Record<string, unknown> | string | number | null | unknown[]]>([
    ['another type', { typ: 'JWT', alg: 'ES256' }],
    ['no type', { alg: 'ES256' }],
    ['no algorithm', { typ: 'at+jwt' }],
    ['no key id', { typ: 'at+jwt', alg: 'ES256', kid: undefined }],
    ['a key id of the wrong type', { typ: 'at+jwt', alg: 'ES256', kid: 7 }],
    ['a list of key ids', { typ: 'at+jwt', alg: 'ES256', kid: ['x'] }],
    ['a key id that is a path', { typ: 'at+jwt', alg: 'ES256', kid: '../../dev/null' }],
    ['a key id that every object has', { typ: 'at+jwt', alg: 'ES256', kid: '__proto__' }],
    ['a key of its own in the header', { typ: 'at+jwt', alg: 'ES256', jwk: { kty: 'EC' } }],
    ['a header that is no object', 'at+jwt'],
    ['a header that is a number', 1],
    ['a header that is null', null],
    ['a header that is a list', []],
  ])('the genuine body and signature under %s', async (_what, header) => {
    const [, body, signature] = genuine.split('.')
    const head = typeof header === 'object' && header !== null && !Array.isArray(header) ? { kid, ...header } : header
    await expectForgery(`${encode(head)}.${body}.${signature}`)
  })

  test('other claims under the genuine signature', async () => {
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

  test('what our own key signed but is no access token: another type, algorithm or issuer named (RFC 9068 §4)', async () => {
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

  test('any single character changed to another of its alphabet, in header, body or signature', async () => {
    for (let position = 0; position < genuine.length; position++) {
      const character = genuine[position]
      if (character === '.') continue
      await expectInactive(`${genuine.slice(0, position)}${character === 'A' ? 'B' : 'A'}${genuine.slice(position + 1)}`)
    }
  })

  test('the unused bits of the last character: one token has one spelling (RFC 4648 §3.5)', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(genuine.at(-1) ?? '')
    for (let spare = 1; spare < 16; spare++) await expectInactive(genuine.slice(0, -1) + alphabet[last ^ spare])
  })

  test.each(['=', '==', ' ', '.', '\n', '\0', '%', 'é', '+', '/', 'A', '.A'])(
    'with %j put before, after or between',
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

  test('cut short by any number of characters', async () => {
    for (let length = 0; length < genuine.length; length += 5) if (length > 0) await expectInactive(genuine.slice(0, length))
  })

  test('and after all of this the genuine one is active', async () => {
    expect(await app.isActive(genuine)).toBe(true)
  })
})

test('a token of another installation is inactive, though its claims name this one', async () => {
  const elsewhere = await startApp({ settings: { authUrl: app.grantor.authUrl } })
  const { access_token } = await elsewhere.freshTokens()
  await elsewhere.close()
  await expectInactive(access_token)
})

async function expectInactive(token: string): Promise<void> {
  const answer = await app.walk.introspect(app.client, token)
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '{"active":false}' })
}
