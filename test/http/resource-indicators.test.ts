import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { expectRefusal, invalidRequest } from '../support/refusals.ts'
import type { TestClient } from '../support/start.ts'

const API = 'https://api.example.com/'
const FILES = 'urn:example:files'

let app: App
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  client = await app.grantor.createClient({ resources: [API, FILES] })
})
afterAll(() => app.close())

const audienceOf = (tokens: { access_token: string }): string => claimsOf(tokens.access_token).aud

describe('whom an access token is for (RFC 8707 §2, RFC 9068 §2.2)', () => {
  test('asked for nothing, it is for the default resource: the auth service itself', async () => {
    expect(audienceOf(await app.freshTokens({}, client))).toBe(app.grantor.authUrl)
  })

  test('asked for one resource at authorize, it is for that one, and so is every refreshed token', async () => {
    const tokens = await app.freshTokens({ resource: API }, client)
    expect(audienceOf(tokens)).toBe(API)
    expect(audienceOf(tokensOf(await app.walk.refresh(client, tokens.refresh_token)))).toBe(API)
  })

  test('asked for several, each token is for one of them: the first, or the one its request names', async () => {
    const resource = [FILES, API]
    const code = await app.freshCode({ resource }, client)
    const first = tokensOf(await app.walk.exchange(client, code, { resource: API }))
    expect(audienceOf(first)).toBe(API)
    const second = tokensOf(await app.walk.refresh(client, first.refresh_token))
    expect(audienceOf(second)).toBe(FILES)
    expect(audienceOf(tokensOf(await app.walk.refresh(client, second.refresh_token, { resource: API })))).toBe(API)
    expect(audienceOf(await app.freshTokens({ resource }, client))).toBe(FILES)
  })

  test('the aud of a token is one string, never a list', async () => {
    expect(typeof audienceOf(await app.freshTokens({ resource: [API, FILES] }, client))).toBe('string')
  })
})

describe('a resource that was not agreed is invalid_target, and nothing is spent (RFC 8707 §2.2)', () => {
  const refused: [string, string, string][] = [
    ['one the client may have but did not ask for', API, FILES],
    ['the default one, once another was asked for', API, 'AUTH_URL'],
    ['one nobody knows', API, 'https://unknown.example.com/'],
    ['the agreed one without its slash', API, 'https://api.example.com'],
    ['the agreed one in capitals', API, 'HTTPS://API.EXAMPLE.COM/'],
    ['the agreed one with a fragment', API, `${API}#x`],
    ['a relative one', API, '/'],
  ]
  test.each(refused)('at the exchange: %s', async (_what, agreed, asked) => {
    const code = await app.freshCode({ resource: agreed }, client)
    const resource = asked === 'AUTH_URL' ? app.grantor.authUrl : asked
    expectRefusal(await app.walk.exchange(client, code, { resource }), 'invalid_target')
    expect((await app.walk.exchange(client, code)).status).toBe(200)
  })

  test.each(refused)('at a refresh: %s', async (_what, agreed, asked) => {
    const { refresh_token } = await app.freshTokens({ resource: agreed }, client)
    const resource = asked === 'AUTH_URL' ? app.grantor.authUrl : asked
    expectRefusal(await app.walk.refresh(client, refresh_token, { resource }), 'invalid_target')
    expect((await app.walk.refresh(client, refresh_token)).status).toBe(200)
  })

  test('two at once, at the exchange and at a refresh: a token is for one', async () => {
    const code = await app.freshCode({ resource: [API, FILES] }, client)
    const redirect_uri = client.redirectUris[0] ?? ''
    const resource = [API, FILES]
    expectRefusal(
      await app.walk.token(client, { grant_type: 'authorization_code', code, redirect_uri, resource }),
      'invalid_target',
    )
    const { refresh_token } = tokensOf(await app.walk.exchange(client, code))
    expectRefusal(await app.walk.token(client, { grant_type: 'refresh_token', refresh_token, resource }), 'invalid_target')
    expect((await app.walk.refresh(client, refresh_token)).status).toBe(200)
  })

  test('empty ones count as absent, and bytes that are not UTF-8 are invalid_request', async () => {
    const { refresh_token } = await app.freshTokens({ resource: API }, client)
    const body = `grant_type=refresh_token&refresh_token=${refresh_token}`
    expectRefusal(await app.walk.token(client, `${body}&resource=%FF`), invalidRequest('resource is not UTF-8.'))
    expect(audienceOf(tokensOf(await app.walk.token(client, `${body}&resource=&resource=`)))).toBe(API)
  })
})
