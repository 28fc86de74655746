/** Introspection responses as signed JWTs (RFC 9701). */
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { describe, expect } from 'vitest'
import type { App } from '../../../support/app.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { expectJson, expectRefusal, headersOf } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import type { TestClient } from '../../../support/start.ts'

const API = 'https://api.example.com/'
const SIGNED = 'application/token-introspection+jwt'

const test = base.extend('api', FILE, ({ app }) => app.grantor.createClient({ redirectUris: [], resourceServer: API }))

const introspect = (app: App, api: TestClient, token: string, accept: string, of = api) =>
  app.walk.call('/oauth/introspect', of, { token }, { accept })
const tokenForApi = async (app: App) => (await app.freshTokens({ resource: API })).access_token

/** The claims of a signed response, verified with the published keys, as a resource server does. */
async function verify(app: App, api: TestClient, answer: Answer, of = api) {
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

describe('Signed introspection responses (RFC 9701)', () => {
  test('A signed introspection response has iss, aud, iat and the JSON response in token_introspection (RFC 9701 §5)', async ({
    app,
    api,
  }) => {
    const token = await tokenForApi(app)
    const plain = expectJson(await introspect(app, api, token, 'application/json'))
    expect(await verify(app, api, await introspect(app, api, token, SIGNED))).toEqual({
      iss: app.grantor.authUrl,
      aud: api.id,
      iat: app.grantor.clock.now(),
      token_introspection: plain,
    })
    expect(plain).toMatchObject({ active: true, aud: API })
  })

  test('A signed introspection response to a client that is no resource server has no audience of the token', async ({
    app,
    api,
  }) => {
    const token = await tokenForApi(app)
    const { token_introspection: answer } = await verify(
      app,
      api,
      await introspect(app, api, token, SIGNED, app.client),
      app.client,
    )
    expect(answer).toMatchObject({ active: true })
    expect(answer).not.toHaveProperty('aud')
  })

  test('A signed introspection response on an inactive token has only active: false (RFC 9701 §5)', async ({ app, api }) => {
    const { access_token: notForApi } = await app.freshTokens()
    for (const token of ['unknown', notForApi]) {
      expect((await verify(app, api, await introspect(app, api, token, SIGNED))).token_introspection).toEqual({ active: false })
    }
  })

  test.for(['ES256', 'RS256', 'EdDSA'] as const)(
    'An introspection response is signed with the algorithm that the client is registered for: %s (RFC 9701 §6)',
    async (introspectionSigned, { app, api }) => {
      const own = await app.grantor.createClient({ redirectUris: [], resourceServer: API, introspectionSigned })
      const answer = await introspect(app, api, await tokenForApi(app), SIGNED, own)
      expect(decodeProtectedHeader(answer.body).alg).toBe(introspectionSigned)
      expect((await verify(app, api, answer, own)).token_introspection).toMatchObject({ active: true })
    },
  )

  test.for([SIGNED, SIGNED.toUpperCase(), `application/json;q=0.5, ${SIGNED}`, `${SIGNED};q=0.9`])(
    'A client that accepts a JWT gets a signed introspection response: Accept: %s',
    async (accept, { app, api }) => {
      await verify(app, api, await introspect(app, api, 'unknown', accept))
    },
  )
})

describe('Introspection responses in JSON', () => {
  test.for(['', '*/*', 'application/*', 'application/json', 'application/jwt', `${SIGNED};q=0`, `${SIGNED};q=0.000`])(
    'A client that does not ask for a JWT gets JSON: Accept: %s',
    async (accept, { app, api }) => {
      expect(expectJson(await introspect(app, api, 'unknown', accept))).toEqual({ active: false })
    },
  )

  test('A client that is registered for an algorithm, but does not ask for a JWT, gets JSON (RFC 9701 §4)', async ({ app }) => {
    const own = await app.grantor.createClient({ redirectUris: [], resourceServer: API, introspectionSigned: 'ES256' })
    expect(expectJson(await app.walk.introspect(own, await tokenForApi(app)))).toMatchObject({ active: true })
  })

  test('An introspection error is JSON even if the client asks for a JWT', async ({ app, api }) => {
    expectRefusal(await introspect(app, api, 'x', SIGNED, { ...api, secret: 'wrong' }), 'invalid_client')
  })
})

test('A signed introspection response is not accepted as an access token (RFC 9701 §8.1)', async ({ app, api }) => {
  const { body } = await introspect(app, api, await tokenForApi(app), SIGNED)
  expect(expectJson(await app.walk.introspect(api, body))).toEqual({ active: false })
})
