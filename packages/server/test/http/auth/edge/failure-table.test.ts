import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import { expectJson, expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import type { Answer } from '../../../support/send.ts'
import { LIFETIMES, type TestClient } from '../../../support/start.ts'
import { parameterOf, requestOf } from '../../../support/walk.ts'

let app: App
let other: TestClient
let codeOnly: TestClient

beforeAll(async () => {
  app = await startApp()
  other = await app.grantor.createClient({ redirectUris: ['https://other.example.net/callback'] })
  codeOnly = await app.grantor.createClient({ grantTypes: ['authorization_code'] })
})
afterAll(() => app.close())

describe('Successful responses', () => {
  test('A token response has the members access_token, token_type, expires_in, refresh_token and scope (RFC 6749 §5.1)', async () => {
    const answer = await app.walk.exchange(app.client, await app.freshCode())
    const body = expectJson(answer)
    expect(Object.keys(body)).toEqual(['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope'])
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: LIFETIMES.accessToken, scope: 'enhancement' })
  })

  test('A minimal authorization request gets a redirect with a code and no other parameter (RFC 6749 §4.1.2)', async () => {
    const { location } = await app.walk.authorize(requestOf(app.client))
    expect(location).toBe(`https://app.example.net/callback?code=${parameterOf(location, 'code')}`)
  })

  test('The response to a revocation is 200 with an empty JSON object that must not be cached (RFC 7009 §2.2)', async () => {
    const answer = await app.walk.revoke(app.client, (await app.freshTokens()).refresh_token)
    expect(expectJson(answer)).toEqual({})
    expect(answer.body).toBe('{}')
  })

  test('The introspection response for an inactive token is exactly {"active":false} (RFC 7662 §2.2)', async () => {
    const answer = await app.walk.introspect(app.client, 'unknown')
    expectJson(answer)
    expect(answer.body).toBe('{"active":false}')
  })
})

describe('Missing and empty parameters (RFC 6749 §5.2)', () => {
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
  ])(
    'A request to %s with the body %j is invalid_request, since %s is required (RFC 6749 §5.2)',
    async (path, body, parameter) => {
      expectRefusal(await app.walk.call(path, app.client, body), invalidRequest(`${parameter} is required.`))
    },
  )

  test('A token request that lacks both credentials and parameters gets 401 invalid_client, not invalid_request', async () => {
    expectRefusal(await app.walk.call('/oauth/token', { id: app.client.id, secret: '' }, ''), 'invalid_client')
  })
})

describe('Grant types', () => {
  test.each([
    'password',
    'client-credentials',
    'implicit',
    'Authorization_Code',
    'authorization_code ',
    'urn:ietf:params:oauth:grant-type:saml2-bearer',
    '\0',
    '💥',
  ])('The grant type %j gets unsupported_grant_type (RFC 6749 §5.2)', async (grant_type) => {
    expectRefusal(await app.walk.token(app.client, { grant_type }), 'unsupported_grant_type')
  })

  test('A client not registered for refresh tokens gets none, and unauthorized_client for a refresh (RFC 6749 §5.2)', async () => {
    const tokens = await app.freshTokens({}, codeOnly)
    expect(Object.keys(tokens)).toEqual(['access_token', 'token_type', 'expires_in', 'scope'])
    const mine = await app.freshTokens()
    expectRefusal(await app.walk.refresh(codeOnly, mine.refresh_token), 'unauthorized_client')
    expect((await app.walk.refresh(app.client, mine.refresh_token)).status).toBe(200)
  })

  test('A resource server without redirect URIs gets unauthorized_client for a code exchange (RFC 6749 §5.2)', async () => {
    const resourceServer = await app.grantor.createClient({ redirectUris: [], resourceServer: 'https://api.example.com/' })
    const code = await app.freshCode()
    expectRefusal(
      await app.walk.exchange({ ...resourceServer, redirectUris: app.client.redirectUris }, code),
      'unauthorized_client',
    )
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })
})

describe('Invalid codes and refresh tokens (RFC 6749 §5.2)', () => {
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
      'another redirect URI than the request’s',
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
  test.each(bad)('A token request with %s gets the same invalid_grant as any other (RFC 6749 §5.2)', async (_what, attempt) => {
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
] as const)(
  'A refresh with %s=%j, which was not granted, gets %s, and the refresh token stays valid (RFC 6749 §6)',
  async (name, value, error) => {
    const { refresh_token } = await app.freshTokens()
    expectRefusal(await app.walk.refresh(app.client, refresh_token, { [name]: value }), error)
    expect((await app.walk.refresh(app.client, refresh_token)).status).toBe(200)
  },
)
