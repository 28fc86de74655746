/** The API for the login server: authentication, requests and statuses. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { CHALLENGE_LIFETIME } from '../../../../src/domain/model/deps.ts'
import { send } from '../../../support/send.ts'
import { type Grantor, startGrantor, TEST_LOGIN_SECRET, type TestClient } from '../../../support/start.ts'
import { type Answer, basic, LOGIN_SERVER, PKCE, requestOf, Walk } from '../../../support/walk.ts'

const POSTS = ['/login/message', '/login/accept', '/login/reject'] as const

let grantor: Grantor
let client: TestClient
let walk: Walk
let challenge: string

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ name: 'Mÿ App', scopes: ['enhancement', 'profile'] })
  walk = new Walk(grantor)
  challenge = await walk.challenge(requestOf(client))
})
afterAll(() => grantor.close())

const claim = () => ({ login_challenge: challenge, address: walk.wallet.address, chain_id: 1 })
const describeChallenge = (query: string, headers: Record<string, string> = { authorization: LOGIN_SERVER }) =>
  send(grantor.authUrl, { path: `/login/challenge${query}`, headers })

function expectRefused(answer: Answer, status: number, error: string): void {
  expect(answer.status).toBe(status)
  expect(answer.json()).toEqual({ error, error_description: expect.stringMatching(/^[\x20-\x7e]+$/) as string })
  expectJson(answer)
}

function expectJson({ headers }: Answer): void {
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(headers['cache-control']).toBe('no-store')
  expect(headers.pragma).toBe('no-cache')
  expect(headers['x-content-type-options']).toBe('nosniff')
  expect(headers).not.toHaveProperty('set-cookie')
  expect(headers).not.toHaveProperty('access-control-allow-origin')
}

describe('Authentication of the login server', () => {
  const wrong: [what: string, authorization: string | null][] = [
    ['no credentials', null],
    ['a wrong secret', basic('login-server', `${TEST_LOGIN_SECRET}x`)],
    ['a part of the secret', basic('login-server', TEST_LOGIN_SECRET.slice(0, -1))],
    ['an empty secret', basic('login-server', '')],
    ['the secret as user name', basic(TEST_LOGIN_SECRET, TEST_LOGIN_SECRET)],
    ['another name', basic('login_server', TEST_LOGIN_SECRET)],
    ['another case', basic('Login-Server', TEST_LOGIN_SECRET)],
    ['the secret as a bearer token', `Bearer ${TEST_LOGIN_SECRET}`],
    ['credentials that are not base64', `Basic login-server:${TEST_LOGIN_SECRET}`],
    ['an empty Authorization header', ''],
  ]

  test('While GRANTOR_LOGIN_SECRET is being changed, the login API accepts the previous secret too, and no other one', async () => {
    const previous = 'the-login-secret-that-was-replaced-01234'
    const changing = await startGrantor({ loginSecretPrevious: previous })
    onTestFinished(() => changing.close())
    const status = async (secret: string) => {
      const path = '/login/challenge?login_challenge=none'
      return (await send(changing.authUrl, { path, headers: { authorization: basic('login-server', secret) } })).status
    }
    expect(await Promise.all([TEST_LOGIN_SECRET, previous, `${previous}x`].map(status))).toEqual([400, 400, 401])
    const refusedBefore = await describeChallenge('?login_challenge=none', { authorization: basic('login-server', previous) })
    expect(refusedBefore.status).toBe(401)
  })

  test.each(wrong)(
    'A login API request with %s is 401, with the same body for any challenge and any request body',
    async (_, authorization) => {
      const headers = authorization === null ? {} : { authorization }
      const answers = [
        await describeChallenge(`?login_challenge=${challenge}`, headers),
        ...(await Promise.all(POSTS.map((path) => post(path, JSON.stringify(claim()), headers)))),
        // an unauthenticated client does not learn whether the body is malformed, too large or of the wrong type
        await post('/login/accept', '{', headers),
        await post('/login/accept', 'x', { ...headers, 'content-type': 'text/plain' }),
        await post('/login/accept', 'x'.repeat(20_000), { ...headers, connection: 'close' }),
      ]
      for (const answer of answers) {
        expectRefused(answer, 401, 'invalid_client')
        expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/)
      }
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
    },
  )

  test('A client’s credentials are refused at the login API, and the login server’s credentials at the introspection endpoint', async () => {
    expectRefused(
      await describeChallenge(`?login_challenge=${challenge}`, { authorization: basic(client.id, client.secret) }),
      401,
      'invalid_client',
    )
    const introspected = await walk.introspect({ id: 'login-server', secret: TEST_LOGIN_SECRET }, 'x')
    expect(introspected.status).toBe(401)
  })

  test('The login API ignores a login secret in the query or the body', async () => {
    const secrets = `client_id=login-server&client_secret=${TEST_LOGIN_SECRET}`
    expectRefused(await describeChallenge(`?login_challenge=${challenge}&${secrets}`, {}), 401, 'invalid_client')
    expectRefused(
      await post('/login/accept', JSON.stringify({ ...claim(), client_secret: TEST_LOGIN_SECRET }), {}),
      401,
      'invalid_client',
    )
  })
})

const post = (path: string, body: string, headers: Record<string, string> = { authorization: LOGIN_SERVER }) =>
  send(grantor.authUrl, { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body })

describe('The description of a login challenge', () => {
  test('GET /login/challenge returns the app, host, scopes, resources, chains, expiry times and the address for another device', async () => {
    const fresh = await walk.challenge(requestOf(client, { scope: 'profile enhancement' }))
    const answer = await describeChallenge(`?login_challenge=${fresh}`)
    expect(answer.status).toBe(200)
    expectJson(answer)
    expect(answer.json()).toEqual({
      purpose: 'app',
      client_name: 'Mÿ App',
      client_host: 'app.example.net',
      scopes: [
        { name: 'profile', description: 'See your profile' },
        { name: 'enhancement', description: 'Use the enhancement features for you' },
      ],
      may_choose_scopes: false,
      resources: [grantor.authUrl],
      chain_ids: [1, 8453],
      expires_at: grantor.clock.now() + CHALLENGE_LIFETIME,
      until: grantor.clock.now() + 30 * 86_400,
      resume_url: expect.stringMatching(`^${grantor.authUrl}/login/resume\\?login_challenge=[A-Za-z0-9_-]+$`),
      cross_device: {
        url: expect.stringMatching(`^${grantor.authUrl}/phone\\?[A-Za-z0-9_-]+$`),
        continue_url: `${grantor.authUrl}/login/cross-device/complete?login_challenge=${fresh}`,
        code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/),
        signed: false,
      },
    })
  })

  test('GET /login/challenge allows a choice of scopes for a client with the consent rule signed', async () => {
    const signed = await grantor.createClient({ consent: 'signed' })
    const fresh = await walk.challenge(requestOf(signed))
    expect((await describeChallenge(`?login_challenge=${fresh}`)).json().may_choose_scopes).toBe(true)
  })

  test('GET /login/challenge for the account page returns no app, no scopes and no resources', async () => {
    const { location } = await new Walk(grantor).browse({ path: '/account' })
    expect((await describeChallenge(location.slice(location.indexOf('?')))).json()).toMatchObject({
      purpose: 'account',
      client_name: '',
      client_host: new URL(grantor.authUrl).host,
      scopes: [],
      may_choose_scopes: false,
      resources: [],
      until: grantor.clock.now() + CHALLENGE_LIFETIME,
    })
  })

  test.each([
    ['a port', 'http://localhost:3000/cb', 'localhost:3000'],
    ['capitals', 'https://APP.Example.NET/', 'app.example.net'],
  ])('GET /login/challenge returns the normalized host of a redirect URI with %s', async (_, uri, host) => {
    const native = await grantor.createClient({ type: 'native', redirectUris: [uri] })
    const fresh = await walk.challenge(requestOf(native, PKCE))
    expect((await describeChallenge(`?login_challenge=${fresh}`)).json().client_host).toBe(host)
  })

  test('GET /login/challenge returns a private-use scheme as client_scheme, never as client_host (RFC 8252 §7.1)', async () => {
    const native = await grantor.createClient({ type: 'native', redirectUris: ['login.bank.example:/cb'] })
    const fresh = await walk.challenge(requestOf(native, PKCE))
    const described = (await describeChallenge(`?login_challenge=${fresh}`)).json()
    expect(described).toMatchObject({ client_host: '', client_scheme: 'login.bank.example' })
  })

  test.each(['', '?', '?login_challenge=', '?login_challenge=x', '?login_challenge=%FF', '?LOGIN_CHALLENGE=x'])(
    'GET /login/challenge with the query %j is 400',
    async (query) => {
      expectRefused(await describeChallenge(query), 400, 'invalid_request')
    },
  )

  test('GET /login/challenge with a repeated login_challenge is 400', async () => {
    expectRefused(await describeChallenge(`?login_challenge=${challenge}&login_challenge=${challenge}`), 400, 'invalid_request')
  })

  test('GET /login/challenge is 409 for a used challenge, and 403 for a challenge of a client that was disabled', async () => {
    const browser = new Walk(grantor)
    const used = (await browser.signIn(requestOf(client))).challenge
    expectRefused(await describeChallenge(`?login_challenge=${used}`), 409, 'already_used')
    const going = await grantor.createClient()
    const begun = await browser.challenge(requestOf(going, { prompt: 'login' }))
    await grantor.store.clients.replaceClient({ ...going, disabledAt: grantor.clock.now() })
    await grantor.noticeChanges()
    expectRefused(await describeChallenge(`?login_challenge=${begun}`), 403, 'client_not_allowed')
  })
})

describe('Malformed login API requests', () => {
  const bodies: [what: string, body: string][] = [
    ['no JSON', 'login_challenge=x'],
    ['truncated JSON', '{"login_challenge":'],
    ['an empty body', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['a number', '1'],
    ['an empty object', '{}'],
    ['a prototype of its own', '{"__proto__":{"login_challenge":"x"},"address":"x","chain_id":1}'],
    ['a constructor of its own', '{"constructor":{"prototype":{"x":1}},"login_challenge":"x","address":"x","chain_id":1}'],
    ['bytes that are no UTF-8', '{"login_challenge":"\xff\xfe","address":"x","chain_id":1}'],
    ['deep nesting', `${'['.repeat(5000)}${']'.repeat(5000)}`],
  ]
  test.each(bodies)('A login API request with %s in its body is 400', async (_, body) => {
    for (const path of POSTS) {
      const answer = await send(grantor.authUrl, {
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', authorization: LOGIN_SERVER },
        body: Buffer.from(body, 'latin1'),
      })
      expectRefused(answer, 400, 'invalid_request')
    }
  })

  const values: unknown[] = [null, '', 0, true, [], {}, ['x'], { toString: 'x', valueOf: 'x' }, { toString: null }]
  test.each(['login_challenge', 'address', 'chain_id'])(
    'A login API request without %s, or with a value of the wrong type, is 400',
    async (name) => {
      for (const value of [...values.filter((each) => name !== 'chain_id' || each !== 0), undefined]) {
        expectRefused(await walk.loginApi('/login/message', { ...claim(), [name]: value }), 400, 'invalid_request')
        expectRefused(
          await walk.loginApi('/login/accept', { ...claim(), signature: `0x${'1'.repeat(130)}`, [name]: value }),
          400,
          'invalid_request',
        )
      }
    },
  )

  test.each(['1', 1.5, -1.5, 1e20, '0x1', Number.MAX_SAFE_INTEGER + 1])(
    'A login API request with the chain_id %j is 400',
    async (chain_id) => {
      expectRefused(await walk.loginApi('/login/message', { ...claim(), chain_id }), 400, 'invalid_request')
    },
  )

  test('A login API request with a malformed client_ip is processed as one with a valid client_ip', async () => {
    for (const client_ip of [...values, 'x', '1.2.3.4, 5.6.7.8', '::1%eth0', 'x'.repeat(5000)]) {
      expect((await walk.loginApi('/login/message', { ...claim(), client_ip })).status).toBe(200)
      expectRefused(
        await walk.loginApi('/login/message', { ...claim(), login_challenge: 'x', client_ip }),
        400,
        'invalid_request',
      )
    }
  })

  test('The login API ignores unknown fields', async () => {
    expect(
      (await walk.loginApi('/login/message', { ...claim(), nonce: 'mine', domain: 'evil.example', __other: {} })).status,
    ).toBe(200)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'text/json',
  ])('A login API request with the content type %s is 415', async (type) => {
    const answer = await post('/login/accept', JSON.stringify(claim()), { authorization: LOGIN_SERVER, 'content-type': type })
    expectRefused(answer, 415, 'unsupported_media_type')
    expect(answer.json().error_description).toMatch(/application\/json/)
  })

  test('The login API ignores the query of a POST', async () => {
    expectRefused(await post(`/login/reject?login_challenge=${challenge}`, '{}'), 400, 'invalid_request')
  })
})

describe('The choice of scopes under the consent rule session', () => {
  test.each(['enhancement', 'profile', 'enhancement profile admin', '', 'enhancement  profile', '"'])(
    'Under the consent rule session, the choice of the scopes %j is 400 if the app requested enhancement and profile',
    async (scope) => {
      const both = await walk.challenge(requestOf(client, { scope: 'enhancement profile' }))
      const answer = await walk.loginApi('/login/message', { ...claim(), login_challenge: both, scope })
      expectRefused(answer, 400, 'invalid_request')
    },
  )

  test('Under the consent rule session, a login without a choice of scopes is for all requested scopes', async () => {
    const both = await walk.challenge(requestOf(client, { scope: 'enhancement profile' }))
    const text = (more: object) => walk.loginApi('/login/message', { ...claim(), login_challenge: both, ...more })
    const all = (await text({ scope: 'enhancement profile' })).json()
    for (const more of [{}, { scope: null }]) expect((await text(more)).json()).toEqual(all)
  })

  test('Under the consent rule session, all requested scopes may be chosen in any order', async () => {
    const both = await walk.challenge(requestOf(client, { scope: 'enhancement profile' }))
    const answer = await walk.loginApi('/login/message', { ...claim(), login_challenge: both, scope: 'profile enhancement' })
    expect(answer.status).toBe(200)
  })
})

describe('Successful login API requests', () => {
  test('The login API returns the text to sign, and an address after a proof or a denial, and sets no cookie', async () => {
    const message = await walk.loginApi('/login/message', claim())
    expect(message.json()).toEqual({ message: expect.any(String) as string })
    const signature = walk.wallet.sign(message.json().message as string)
    const accepted = await walk.loginApi('/login/accept', { ...claim(), signature })
    const denied = await walk.loginApi('/login/reject', claim())
    const before = `${grantor.authUrl}/login/complete?login_challenge=${challenge}&login_verifier=grv.`
    expect(accepted.json()).toEqual({ status: 'success', redirect_to: expect.stringContaining(before) as string })
    expect(denied.json()).toEqual({ status: 'denied', redirect_to: expect.stringContaining(before) as string })
    for (const answer of [message, accepted, denied]) {
      expect(answer.status).toBe(200)
      expectJson(answer)
    }
    expect((await grantor.rows()).sessions).toHaveLength(1)
  })
})
