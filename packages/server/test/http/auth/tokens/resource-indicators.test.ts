import { describe, expect } from 'vitest'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { test as base } from '../../../support/fixtures.ts'
import { expectRefusal, invalidRequest } from '../../../support/refusals.ts'

const API = 'https://api.example.com/'
const FILES = 'urn:example:files'

const test = base.extend('client', ({ app }) => app.grantor.createClient({ resources: [API, FILES] }))

const audienceOf = (tokens: { access_token: string }): string => claimsOf(tokens.access_token).aud

describe('The audience of an access token (RFC 8707 §2, RFC 9068 §2.2)', () => {
  test('Without resource, the audience of an access token is the default resource (RFC 9068 §2.2)', async ({ app, client }) => {
    expect(audienceOf(await app.freshTokens({}, client))).toBe(app.grantor.authUrl)
  })

  test('The resource of the authorization request is the audience of the access token, also after a refresh (RFC 8707 §2)', async ({
    app,
    client,
  }) => {
    const tokens = await app.freshTokens({ resource: API }, client)
    expect(audienceOf(tokens)).toBe(API)
    expect(audienceOf(tokensOf(await app.walk.refresh(client, tokens.refresh_token)))).toBe(API)
  })

  test('With several resources, the audience is the first of them, or the one that the token request names (RFC 8707 §2)', async ({
    app,
    client,
  }) => {
    const resource = [FILES, API]
    const code = await app.freshCode({ resource }, client)
    const first = tokensOf(await app.walk.exchange(client, code, { resource: API }))
    expect(audienceOf(first)).toBe(API)
    const second = tokensOf(await app.walk.refresh(client, first.refresh_token))
    expect(audienceOf(second)).toBe(FILES)
    expect(audienceOf(tokensOf(await app.walk.refresh(client, second.refresh_token, { resource: API })))).toBe(API)
    expect(audienceOf(await app.freshTokens({ resource }, client))).toBe(FILES)
  })

  test('The aud of an access token is one string, even with several resources', async ({ app, client }) => {
    expect(typeof audienceOf(await app.freshTokens({ resource: [API, FILES] }, client))).toBe('string')
  })
})

describe('Resources that were not granted (RFC 8707 §2.2)', () => {
  const notGranted: [string, string, string][] = [
    ['a resource that the client may have but did not request', API, FILES],
    ['the default resource, if another was requested', API, 'AUTH_URL'],
    ['an unknown resource', API, 'https://unknown.example.com/'],
    ['the granted resource without its slash', API, 'https://api.example.com'],
    ['the granted resource in capitals', API, 'HTTPS://API.EXAMPLE.COM/'],
    ['the granted resource with a fragment', API, `${API}#x`],
    ['a relative URI', API, '/'],
  ]
  test.for(notGranted)(
    'A code exchange for a resource that was not granted is invalid_target, and the code still works: %s (RFC 8707 §2.2)',
    async ([, granted, requested], { app, client }) => {
      const code = await app.freshCode({ resource: granted }, client)
      const resource = requested === 'AUTH_URL' ? app.grantor.authUrl : requested
      expectRefusal(await app.walk.exchange(client, code, { resource }), 'invalid_target')
      expect((await app.walk.exchange(client, code)).status).toBe(200)
    },
  )

  test.for(notGranted)(
    'A refresh for a resource that was not granted is invalid_target, and the token is not rotated: %s (RFC 8707 §2.2)',
    async ([, granted, requested], { app, client }) => {
      const { refresh_token } = await app.freshTokens({ resource: granted }, client)
      const resource = requested === 'AUTH_URL' ? app.grantor.authUrl : requested
      expectRefusal(await app.walk.refresh(client, refresh_token, { resource }), 'invalid_target')
      expect((await app.walk.refresh(client, refresh_token)).status).toBe(200)
    },
  )

  test('A code exchange or a refresh for two resources is invalid_target, and changes nothing (RFC 8707 §2.2)', async ({
    app,
    client,
  }) => {
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

  test('An empty resource counts as missing, and one that is not UTF-8 is invalid_request', async ({ app, client }) => {
    const { refresh_token } = await app.freshTokens({ resource: API }, client)
    const body = `grant_type=refresh_token&refresh_token=${refresh_token}`
    expectRefusal(await app.walk.token(client, `${body}&resource=%FF`), invalidRequest('resource is not UTF-8.'))
    expect(audienceOf(tokensOf(await app.walk.token(client, `${body}&resource=&resource=`)))).toBe(API)
  })
})
