/** Introspection answered as a signed JWT (RFC 9701). */
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../support/app.ts'
import { expectJson, expectRefusal, headersOf } from '../support/refusals.ts'
import { type Answer, send } from '../support/send.ts'
import type { TestClient } from '../support/start.ts'

const API = 'https://api.example.com/'
const SIGNED = 'application/token-introspection+jwt'

let app: App
let api: TestClient

beforeAll(async () => {
  app = await startApp()
  api = await app.grantor.createClient({ redirectUris: [], resourceServer: API })
})
afterAll(() => app.close())

const ask = (token: string, accept: string, of = api) => app.walk.call('/oauth/introspect', of, { token }, { accept })
const tokenForApi = async () => (await app.freshTokens({ resource: API })).access_token

/** The claims of a signed answer, checked with the published keys as any resource server would. */
async function verified(answer: Answer, of = api) {
  expect(answer.status).toBe(200)
  expect(headersOf(answer)).toEqual({
    'content-type': SIGNED,
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'x-content-type-options': 'nosniff',
  })
  const keys = (await send(app.grantor.authUrl, { path: '/oauth/jwks' })).json() as unknown as JSONWebKeySet
  const currentDate = new Date(app.grantor.clock.now() * 1000)
  const expected = { issuer: app.grantor.authUrl, audience: of.id, typ: 'token-introspection+jwt', currentDate }
  return (await jwtVerify(answer.body, createLocalJWKSet(keys), expected)).payload
}

describe('whoever asks for a signed answer gets one', () => {
  test('with who says it, to whom, when, and the answer as it would be in JSON (§5)', async () => {
    const token = await tokenForApi()
    const plain = expectJson(await ask(token, 'application/json'))
    expect(await verified(await ask(token, SIGNED))).toEqual({
      iss: app.grantor.authUrl,
      aud: api.id,
      iat: app.grantor.clock.now(),
      token_introspection: plain,
    })
    expect(plain.active).toBe(true)
  })

  test('for a token that is not active too, saying nothing else of it (§5)', async () => {
    const { access_token: notForApi } = await app.freshTokens()
    for (const token of ['unknown', notForApi]) {
      expect((await verified(await ask(token, SIGNED))).token_introspection).toEqual({ active: false })
    }
  })

  test.each(['ES256', 'RS256', 'EdDSA'] as const)(
    'signed by %s where it is registered for that (§6)',
    async (introspectionSigned) => {
      const own = await app.grantor.createClient({ redirectUris: [], resourceServer: API, introspectionSigned })
      const answer = await ask(await tokenForApi(), SIGNED, own)
      expect(decodeProtectedHeader(answer.body).alg).toBe(introspectionSigned)
      expect((await verified(answer, own)).token_introspection).toMatchObject({ active: true })
    },
  )

  test.each([SIGNED, SIGNED.toUpperCase(), `application/json;q=0.5, ${SIGNED}`, `${SIGNED};q=0.9`])(
    'however it says so: Accept: %s',
    async (accept) => {
      await verified(await ask('unknown', accept))
    },
  )
})

describe('everybody else gets JSON', () => {
  test.each(['', '*/*', 'application/*', 'application/json', 'application/jwt', `${SIGNED};q=0`, `${SIGNED};q=0.000`])(
    'Accept: %s',
    async (accept) => {
      expect(expectJson(await ask('unknown', accept))).toEqual({ active: false })
    },
  )

  test('also a client that is registered for an algorithm but does not ask (§4)', async () => {
    const own = await app.grantor.createClient({ redirectUris: [], resourceServer: API, introspectionSigned: 'ES256' })
    expect(expectJson(await app.walk.introspect(own, await tokenForApi()))).toMatchObject({ active: true })
  })

  test('and a refusal is JSON to everybody', async () => {
    expectRefusal(await ask('x', SIGNED, { ...api, secret: 'wrong' }), 'invalid_client')
  })
})

test('a signed answer passes for no access token (§8.1)', async () => {
  const { body } = await ask(await tokenForApi(), SIGNED)
  expect(expectJson(await app.walk.introspect(api, body))).toEqual({ active: false })
})
