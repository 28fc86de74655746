import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../support/app.ts'
import { expectJson, expectRefusal, headersOf, invalidRequest } from '../support/refusals.ts'
import type { Answer } from '../support/send.ts'
import type { TestClient } from '../support/start.ts'
import { parameterOf, requestOf } from '../support/walk.ts'

let app: App
let other: TestClient
let codeOnly: TestClient

beforeAll(async () => {
  app = await startApp()
  other = await app.grantor.createClient({ redirectUris: ['https://other.example.net/callback'] })
  codeOnly = await app.grantor.createClient({ grantTypes: ['authorization_code'] })
})
afterAll(() => app.close())

describe('successes', () => {
  test('the token response has exactly the fields of the specification, and its headers (RFC 6749 §5.1)', async () => {
    const answer = await app.walk.exchange(app.client, await app.freshCode())
    const body = expectJson(answer)
    expect(Object.keys(body)).toEqual(['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope'])
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: 'enhancement' })
  })

  test('the bare request of the specification is answered with a code and nothing else', async () => {
    const { location } = await app.walk.authorize(requestOf(app.client))
    expect(location).toBe(`https://app.example.net/callback?code=${parameterOf(location, 'code')}`)
  })

  test('a revocation is answered 200 with an empty body, never to be kept by a cache (RFC 7009 §2.2)', async () => {
    const answer = await app.walk.revoke(app.client, (await app.freshTokens()).refresh_token)
    expect({ status: answer.status, body: answer.body, length: answer.headers['content-length'] }).toEqual({
      status: 200,
      body: '',
      length: '0',
    })
    expect(headersOf(answer)).toEqual({ 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' })
  })

  test('an inactive token is exactly {"active":false} (RFC 7662 §2.2)', async () => {
    const answer = await app.walk.introspect(app.client, 'unknown')
    expectJson(answer)
    expect(answer.body).toBe('{"active":false}')
  })
})

describe('missing and empty parameters are invalid_request (RFC 6749 §5.2)', () => {
  test.each([
    ['/oauth/token', '', 'grant_type'],
    ['/oauth/token', 'grant_type=', 'grant_type'],
    ['/oauth/token', 'grant_type=authorization_code&redirect_uri=https://app.example.net/callback', 'code'],
    ['/oauth/token', 'grant_type=authorization_code&code=&redirect_uri=https://app.example.net/callback', 'code'],
    ['/oauth/token', 'grant_type=authorization_code&code=x', 'redirect_uri'],
    ['/oauth/token', 'grant_type=authorization_code&code=x&redirect_uri=', 'redirect_uri'],
    ['/oauth/token', 'grant_type=refresh_token', 'refresh_token'],
    ['/oauth/token', 'grant_type=refresh_token&refresh_token=', 'refresh_token'],
    ['/oauth/introspect', '', 'token'],
    ['/oauth/introspect', 'token=', 'token'],
    ['/oauth/introspect', 'token', 'token'],
    ['/oauth/revoke', 'token_type_hint=refresh_token', 'token'],
    ['/oauth/revoke', 'token=&token_type_hint=refresh_token', 'token'],
  ])('%s with %j: %s is required', async (path, body, parameter) => {
    expectRefusal(await app.walk.call(path, app.client, body), invalidRequest(`${parameter} is required.`))
  })

  test('who asks is settled first: without credentials the same requests are 401', async () => {
    expectRefusal(await app.walk.call('/oauth/token', { id: app.client.id, secret: '' }, ''), 'invalid_client')
  })
})

describe('grant types', () => {
  test.each([
    'password',
    'client-credentials',
    'implicit',
    'Authorization_Code',
    'authorization_code ',
    'urn:ietf:params:oauth:grant-type:device_code',
    '\0',
    '💥',
  ])('the grant type %j is unsupported_grant_type (RFC 6749 §5.2)', async (grant_type) => {
    expectRefusal(await app.walk.token(app.client, { grant_type }), 'unsupported_grant_type')
  })

  test('a client not registered for refresh tokens is unauthorized_client, and its answers hold none', async () => {
    const tokens = await app.freshTokens({}, codeOnly)
    expect(Object.keys(tokens)).toEqual(['access_token', 'token_type', 'expires_in', 'scope'])
    const mine = await app.freshTokens()
    expectRefusal(await app.walk.refresh(codeOnly, mine.refresh_token), 'unauthorized_client')
    expect((await app.walk.refresh(app.client, mine.refresh_token)).status).toBe(200)
  })

  test('a resource server without redirect URIs may exchange nothing: unauthorized_client', async () => {
    const resourceServer = await app.grantor.createClient({ redirectUris: [], resourceServer: 'https://api.example.com/' })
    const code = await app.freshCode()
    expectRefusal(
      await app.walk.exchange({ ...resourceServer, redirectUris: app.client.redirectUris }, code),
      'unauthorized_client',
    )
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })
})

describe('every bad code and refresh token is the one invalid_grant, to the letter (RFC 6749 §5.2)', () => {
  const bad: [string, () => Promise<Answer>][] = [
    ['an unknown code', async () => app.walk.exchange(app.client, 'unknown')],
    ['a code of one character', async () => app.walk.exchange(app.client, '.')],
    ['a refresh token as a code', async () => app.walk.exchange(app.client, (await app.freshTokens()).refresh_token)],
    ['an access token as a code', async () => app.walk.exchange(app.client, (await app.freshTokens()).access_token)],
    [
      "another client's code",
      async () => app.walk.exchange({ ...other, redirectUris: app.client.redirectUris }, await app.freshCode()),
    ],
    [
      'another redirect URI',
      async () => app.walk.exchange({ ...app.client, redirectUris: other.redirectUris }, await app.freshCode()),
    ],
    [
      'a redirect URI with one more slash',
      async () =>
        app.walk.exchange({ ...app.client, redirectUris: ['https://app.example.net/callback/'] }, await app.freshCode()),
    ],
    ['an unknown refresh token', async () => app.walk.refresh(app.client, 'unknown')],
    ['an access token as a refresh token', async () => app.walk.refresh(app.client, (await app.freshTokens()).access_token)],
    ['a code as a refresh token', async () => app.walk.refresh(app.client, await app.freshCode())],
    ["another client's refresh token", async () => app.walk.refresh(other, (await app.freshTokens()).refresh_token)],
    [
      'a revoked refresh token',
      async () => {
        const { refresh_token } = await app.freshTokens()
        await app.walk.revoke(app.client, refresh_token)
        return app.walk.refresh(app.client, refresh_token)
      },
    ],
    [
      'a used code',
      async () => {
        const code = await app.freshCode()
        await app.walk.exchange(app.client, code)
        return app.walk.exchange(app.client, code)
      },
    ],
    [
      'an expired code',
      async () => {
        const code = await app.freshCode()
        app.grantor.clock.advance(60)
        return app.walk.exchange(app.client, code)
      },
    ],
  ]
  test.each(bad)('%s', async (_what, attempt) => {
    expectRefusal(await attempt(), 'invalid_grant')
  })
})

test.each([
  ['scope', 'unknown', 'invalid_scope'],
  ['scope', 'enhancement  profile', 'invalid_scope'],
  ['scope', ' ', 'invalid_scope'],
  ['scope', 'enhancement "', 'invalid_scope'],
  ['scope', 'profile', 'invalid_scope'],
  ['resource', 'https://unknown.example.com/', 'invalid_target'],
  ['resource', 'not a URI', 'invalid_target'],
  ['resource', 'https://api.example.com/', 'invalid_target'],
] as const)('a refresh with %s=%j, which was not granted, is %s, and moves nothing', async (name, value, error) => {
  const { refresh_token } = await app.freshTokens()
  expectRefusal(await app.walk.refresh(app.client, refresh_token, { [name]: value }), error)
  expect((await app.walk.refresh(app.client, refresh_token)).status).toBe(200)
})
