/** Pushed authorization requests (RFC 9126): the push. request-uri.test.ts covers the use of the `request_uri`. */
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { test } from '../../../support/fixtures.ts'
import { push, pushed, URN } from '../../../support/pushed.ts'
import { expectRefusal, headersOf, invalidRequest } from '../../../support/refusals.ts'
import { storedBytes } from '../../../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { PKCE, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

describe('The push (RFC 9126 §2)', () => {
  test('A valid push gets 201 and a random request_uri for 60 seconds (RFC 9126 §2.2)', async ({ app }) => {
    const answer = await push(app.walk, app.client)
    expect(answer.status).toBe(201)
    expect(answer.json()).toEqual({
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{43}$/),
      expires_in: 60,
    })
    expect(headersOf(answer)).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    expect((await push(app.walk, app.client)).json().request_uri).not.toBe(answer.json().request_uri)
  })

  test('A client authenticates a push as at the token endpoint (RFC 9126 §2.1)', async ({ app }) => {
    const { client, walk } = app
    expectRefusal(await push(walk, { ...client, secret: 'wrong' }), 'invalid_client')
    expectRefusal(await post(app.grantor, '/oauth/par', requestOf(client)), 'invalid_client')
    const open = await app.grantor.createClient({ type: 'public' })
    expect((await push(walk, open, requestOf(open, PKCE))).status).toBe(201)
    expectRefusal(
      await walk.call('/oauth/par', client, requestOf(open, PKCE)),
      invalidRequest('client_id in the body is not the one in the Authorization header.'),
    )
  })

  test('The audience of an assertion at a push may be an endpoint only if the client is registered for that, and never under fapi2 (RFC 9126 §2)', async ({
    app,
  }) => {
    const key = newClientKey()
    const keys = { authMethod: 'private_key_jwt' as const, jwks: { keys: [key.jwk] } }
    const keyed = await app.grantor.createClient({ ...keys, assertionAudience: 'endpoint' })
    const { authUrl } = app.grantor
    for (const aud of [authUrl, `${authUrl}/oauth/token`, `${authUrl}/oauth/par`]) {
      const assertion = asserting(await assertionOf(app.grantor, keyed.id, key, { aud }))
      expect((await post(app.grantor, '/oauth/par', { ...requestOf(keyed), ...assertion })).status).toBe(201)
    }
    const usual = await app.grantor.createClient(keys)
    const strict = await app.grantor.createClient({ ...keys, assertionAudience: 'endpoint', profile: 'fapi2' })
    for (const { id, redirectUris } of [usual, strict]) {
      const assertion = asserting(await assertionOf(app.grantor, id, key, { aud: `${authUrl}/oauth/par` }))
      const request = { client_id: id, redirect_uri: redirectUris[0] ?? '', ...assertion }
      expectRefusal(await post(app.grantor, '/oauth/par', request), 'invalid_client')
    }
  })

  test.for<[string, Record<string, string | string[]>, string]>([
    ['no redirect_uri', { redirect_uri: '' }, 'invalid_request'],
    ['a redirect_uri that is not registered', { redirect_uri: 'https://evil.example/' }, 'invalid_request'],
    [
      'a redirect_uri twice',
      { redirect_uri: ['https://app.example.net/callback', 'https://app.example.net/callback'] },
      'invalid_request',
    ],
    ['a request_uri', { request_uri: `${URN}${'a'.repeat(43)}` }, 'invalid_request'],
    ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
    ['another response_mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['a scope that the client may not have', { scope: 'admin' }, 'invalid_scope'],
    ['a resource that the client may not have', { resource: 'https://other.example/' }, 'invalid_target'],
    ['a plain code challenge', { code_challenge: PKCE.code_challenge, code_challenge_method: 'plain' }, 'invalid_request'],
    ['an unknown prompt', { prompt: 'often' }, 'invalid_request'],
    ['prompt none beside another value', { prompt: 'none login' }, 'invalid_request'],
    ['a max_age that is not a number', { max_age: 'x' }, 'invalid_request'],
    ['registration', { registration: '{}' }, 'registration_not_supported'],
    ['a request object without registered keys', { request: 'x.y.z' }, 'request_not_supported'],
    ['more than a login challenge can hold', { state: 'x'.repeat(8000) }, 'invalid_request'],
  ])('A push with %s is refused and not stored: %s gets %s (RFC 9126 §2.3)', async ([, more, error], { app }) => {
    const before = (await app.grantor.rows()).pushed_requests?.length
    const answer = await push(app.walk, app.client, requestOf(app.client, more))
    expect({ status: answer.status, error: answer.json().error }).toEqual({ status: 400, error })
    expect(answer.headers['cache-control']).toBe('no-store')
    expect((await app.grantor.rows()).pushed_requests?.length, 'nothing is stored').toBe(before)
  })

  test('A push that is not UTF-8 is refused, except for state, which is returned byte for byte', async ({ app }) => {
    const bare = `client_id=${app.client.id}&redirect_uri=https%3A%2F%2Fapp.example.net%2Fcallback`
    expect((await push(app.walk, app.client, `${bare}&scope=%ff`)).json().error).toBe('invalid_request')
    const answer = await push(app.walk, app.client, `${bare}&state=a%20b%2Bc%ff%00`)
    const request_uri = answer.json().request_uri as string
    const { location } = await app.walk.authorize({ client_id: app.client.id, request_uri })
    expect(location).toMatch(/&state=a%20b%2Bc%FF%00$/)
  })

  test('Unused parameters of a push are ignored, even if they are long or repeated', async ({ app }) => {
    const answer = await push(
      app.walk,
      app.client,
      requestOf(app.client, { unknown: 'x'.repeat(9000), display: ['popup', 'page'] }),
    )
    expect(answer.status).toBe(201)
  })

  test('A client without the authorization code grant cannot push', async ({ app }) => {
    const server = await app.grantor.createClient({ grantTypes: [], resourceServer: 'https://api.example.com/' })
    expectRefusal(await push(app.walk, server), 'unauthorized_client')
  })

  test('The store keeps a pushed request sealed, and without the client’s credentials', async ({ app }) => {
    await pushed(app.walk, app.client, { state: 'state-in-plain', login_hint: testWallet(2).address })
    await post(app.grantor, '/oauth/par', {
      ...requestOf(app.client),
      client_secret: app.client.secret,
      client_id: app.client.id,
    })
    const bytes = storedBytes(app.grantor.databasePath)
    expect(bytes).toContain('grp.')
    const digits = testWallet(2).address.slice(2).toLowerCase()
    for (const text of ['state-in-plain', digits, Buffer.from(digits, 'hex').toString('latin1'), app.client.secret])
      expect(bytes).not.toContain(text)
  })

  describe('Limits on pushes (RFC 9126 §2.3)', () => {
    let grantor: Grantor
    let walk: Walk
    beforeEach(async () => {
      grantor = await startGrantor({ limits: { pushes: 3, client_pushes: 5 }, trustedProxies: ['127.0.0.1'] })
      walk = new Walk(grantor)
    })
    afterEach(() => grantor.close())
    const pushFrom = async (network: string, client: TestClient) =>
      (await push(walk, client, requestOf(client, PKCE), { 'x-forwarded-for': network })).status

    test('The pushes of all public clients from one network count towards one limit', async () => {
      const clients = [await grantor.createClient({ type: 'public' }), await grantor.createClient({ type: 'public' })]
      for (let time = 0; time < 3; time++) expect(await pushFrom('203.0.113.1', clients[time % 2] as TestClient)).toBe(201)
      for (const client of clients) expect(await pushFrom('203.0.113.1', client)).toBe(429)
      expect(await pushFrom('2001:db8::1', clients[0] as TestClient)).toBe(201)
    })

    test('The pushes of a public client from one network do not count against another network', async () => {
      const open = await grantor.createClient({ type: 'public' })
      for (let time = 0; time < 10; time++) await pushFrom('203.0.113.1', open)
      expect(await pushFrom('203.0.113.2', open)).toBe(201)
    })

    test('Refused pushes count towards the limit, and store nothing', async () => {
      const open = await grantor.createClient({ type: 'public' })
      for (let time = 0; time < 3; time++) expect((await push(walk, open, {})).status).toBe(400)
      expect((await push(walk, open, requestOf(open, PKCE))).status).toBe(429)
      expect((await grantor.rows()).pushed_requests).toEqual([])
    })

    test('The pushes of a client that authenticates have their own limit, over all networks together', async () => {
      const [closed, other] = [await grantor.createClient(), await grantor.createClient()]
      for (let time = 0; time < 5; time++) expect(await pushFrom(`203.0.113.${time}`, closed)).toBe(201)
      expect(await pushFrom('203.0.113.9', closed)).toBe(429)
      expect(await pushFrom('203.0.113.9', other)).toBe(201)
      expect(await pushFrom('203.0.113.9', { ...closed, secret: 'wrong' }), 'a wrong secret counts as a failure').toBe(401)
    })
  })

  test('A stored request has less than 11,000 characters, and a push that would be longer is refused', async ({ app }) => {
    const long = await push(app.walk, app.client, requestOf(app.client, { state: 'x'.repeat(7_800) }))
    expect(long.status).toBe(201)
    const rows = (await app.grantor.rows()).pushed_requests as { request: string }[]
    const lengths = rows.map(({ request }) => request.length)
    expect(Math.max(...lengths)).toBeGreaterThan(10_000)
    expect(Math.max(...lengths)).toBeLessThan(11_000)
    const longer = await push(app.walk, app.client, requestOf(app.client, { state: 'x'.repeat(8_000) }))
    expect(longer.json().error).toBe('invalid_request')
  })

  test('A public client past the limit gets 429 with Retry-After, and a confidential client is still accepted (RFC 9126 §2.3)', async () => {
    const grantor = await startGrantor({ limits: { pushes: 3 } })
    try {
      const [open, closed] = [await grantor.createClient({ type: 'public' }), await grantor.createClient()]
      const walk = new Walk(grantor)
      const statuses = async (client: TestClient) => {
        const answers = []
        for (let n = 0; n < 5; n++) answers.push(await push(walk, client, requestOf(client, PKCE)))
        return answers.map(({ status }) => status)
      }
      expect(await statuses(open)).toEqual([201, 201, 201, 429, 429])
      expect((await push(walk, open, requestOf(open, PKCE))).headers['retry-after']).toBe('60')
      expect(await statuses(closed)).toEqual([201, 201, 201, 201, 201])
    } finally {
      await grantor.close()
    }
  })
})
