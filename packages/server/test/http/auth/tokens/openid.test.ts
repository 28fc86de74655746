/** The code flow of OpenID Connect Core: the authentication request and the ID token. */
import { createHash } from 'node:crypto'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPENID, type OpenIdTokens, openIdTokens, startOpenIdApp } from '../../../support/openid-app.ts'
import { send } from '../../../support/send.ts'
import { changeClient, signedClient, vouchFor } from '../../../support/signed-app.ts'
import { type Grantor, LIFETIMES, type TestClient } from '../../../support/start.ts'
import { encode, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  ;({ grantor, client, walk } = await startOpenIdApp())
})
afterAll(() => grantor.close())

const tokensFor = (more: Record<string, string>, of = client, by = walk): Promise<OpenIdTokens> => openIdTokens(by, of, more)

/** The error of the response, `login` for a redirect to the login page, and an empty text for a code. */
async function errorOf(more: Record<string, string>, of = client, by = walk): Promise<string> {
  const { status, location } = await by.authorize(requestOf(of, more))
  expect(status).toBe(302)
  return location.startsWith(grantor.loginUrl) ? 'login' : parameterOf(location, 'error')
}

/** Verifies an ID token with the published keys, as a client does (OpenID Connect Core §3.1.3.7). */
async function verify(idToken = '', of = client) {
  const keys = createRemoteJWKSet(new URL(`${grantor.authUrl}/oauth/jwks`))
  return jwtVerify(idToken, keys, {
    issuer: grantor.authUrl,
    audience: of.id,
    currentDate: new Date(grantor.clock.now() * 1000),
    algorithms: [of.idTokenAlgorithm],
  })
}

describe('The ID token (OpenID Connect Core §2)', () => {
  test('An ID token names the wallet, the client, the time and the method of the login, with at_hash and nonce, and nothing else', async () => {
    const signedInAt = grantor.clock.now()
    grantor.clock.advance(90)
    const tokens = await tokensFor({ ...OPENID, nonce: 'n-0S6_WzA2Mj é "' })
    const { payload } = await verify(tokens.id_token)
    const address = walk.wallet.address
    expect(payload).toEqual({
      iss: grantor.authUrl,
      sub: address,
      aud: client.id,
      iat: grantor.clock.now(),
      exp: grantor.clock.now() + LIFETIMES.accessToken,
      auth_time: signedInAt,
      nonce: 'n-0S6_WzA2Mj é "',
      at_hash: createHash('sha256').update(tokens.access_token).digest().subarray(0, 16).toString('base64url'),
      acr: 'urn:grantor:acr:signature',
      amr: ['pop'],
      sid: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      wallet_address: address,
      chain_id: 1,
      account_id: `eip155:1:${address}`,
    })
    expect(tokens.scope).toBe('openid wallet')
  })

  test('Without the scope wallet an ID token has no wallet claim except sub, and without openid there is no ID token', async () => {
    const { payload } = await verify((await tokensFor({ ...OPENID, scope: 'openid enhancement' })).id_token)
    expect(Object.keys(payload).sort()).toEqual(['acr', 'amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'sid', 'sub'])
    expect(await tokensFor({ response_type: 'code', scope: 'wallet', nonce: 'n' })).not.toHaveProperty('id_token')
    expect(await tokensFor({})).not.toHaveProperty('id_token')
  })

  test('A refresh returns an ID token of the same login without nonce, or none if it leaves openid out (OpenID Connect Core §12.2)', async () => {
    const first = await tokensFor({ ...OPENID, nonce: 'once' })
    const { payload: before } = await verify(first.id_token)
    grantor.clock.advance(30)
    const refreshed = (await walk.refresh(client, first.refresh_token)).json() as Record<string, string>
    const { payload } = await verify(refreshed.id_token)
    const { nonce: _, ...same } = before
    expect(payload).toEqual({ ...same, iat: before.iat! + 30, exp: before.exp! + 30, at_hash: expect.any(String) })
    expect(payload.at_hash).not.toBe(before.at_hash)
    const narrowed = await walk.refresh(client, refreshed.refresh_token ?? '', { scope: 'wallet' })
    expect(narrowed.json()).not.toHaveProperty('id_token')
  })

  test.each(['ES256', 'RS256', 'EdDSA'] as const)(
    'An ID token is signed with a published key in the algorithm that the client is registered for: %s',
    async (idTokenAlgorithm) => {
      const other = await grantor.createClient({ scopes: ['openid'] })
      await changeClient(grantor, other, { idTokenAlgorithm })
      const parallel = await Promise.all(Array.from({ length: 5 }, () => tokensFor({ ...OPENID, scope: 'openid' }, other)))
      const of = { ...other, idTokenAlgorithm }
      for (const tokens of parallel) {
        const { protectedHeader } = await verify(tokens.id_token, of)
        expect(protectedHeader).toEqual({ typ: 'JWT', alg: idTokenAlgorithm, kid: expect.any(String) })
        // Access tokens keep their own algorithm.
        expect(decodeProtectedHeader(tokens.access_token).alg).toBe('ES256')
      }
      const kids = new Set(parallel.map(({ id_token }) => decodeProtectedHeader(id_token).kid))
      const published = (await send(grantor.authUrl, { path: '/oauth/jwks' })).json().keys as { kid: string; alg: string }[]
      expect(kids.size, 'one key signs all simultaneous responses').toBe(1)
      expect(published).toContainEqual(expect.objectContaining({ kid: [...kids][0], alg: idTokenAlgorithm }))
    },
  )

  test('An ID token for a wallet that was only vouched for has the acr for vouching and no amr', async () => {
    const browser = new Walk(grantor, testWallet(1))
    await vouchFor(browser, client)
    const { payload } = await verify((await tokensFor(OPENID, client, browser)).id_token)
    expect(payload.acr).toBe('urn:grantor:acr:vouched')
    expect(payload).not.toHaveProperty('amr')
  })

  test('The sid is the same for one client in one session, and differs between clients and between sessions', async () => {
    const other = await grantor.createClient({ scopes: ['openid'] })
    const sid = async (of: TestClient, by = walk) =>
      (await verify((await tokensFor({ ...OPENID, scope: 'openid' }, of, by)).id_token, of)).payload.sid
    expect(await sid(client)).toBe(await sid(client))
    expect(await sid(other)).not.toBe(await sid(client))
    const browser = new Walk(grantor)
    await browser.signIn(requestOf(client))
    expect(await sid(client, browser)).not.toBe(await sid(client))
  })

  test('The ID token after a new login has the nonce of the request and the time of that login (OpenID Connect Core §3.1.2.1)', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(client, { ...OPENID, nonce: 'through-the-login', max_age: '0' }))
    const tokens = (await browser.exchange(client, code)).json() as Record<string, string>
    expect((await verify(tokens.id_token)).payload).toMatchObject({
      nonce: 'through-the-login',
      auth_time: grantor.clock.now(),
    })
  })

  test('An ID token is refused as an access token, and an access token as an id_token_hint', async () => {
    const { id_token, access_token } = await tokensFor(OPENID)
    expect((await walk.introspect(client, id_token)).json()).toEqual({ active: false })
    const asToken = { path: '/oauth/userinfo', headers: { authorization: `Bearer ${id_token}` } }
    expect((await send(grantor.authUrl, asToken)).status).toBe(401)
    expect(await errorOf({ ...OPENID, id_token_hint: access_token, prompt: 'none' })).toBe('login_required')
  })
})

describe('The authentication request (OpenID Connect Core §3.1.2.1)', () => {
  test('With openid, a request without response_type is invalid_request, and a client not registered for openid gets invalid_scope', async () => {
    expect(await errorOf({ scope: 'openid' })).toBe('invalid_request')
    expect(await errorOf(OPENID, await grantor.createClient())).toBe('invalid_scope')
  })

  test('With openid, standard scopes that the client is not registered for and unknown scopes are left out of the grant (RFC 6749 §3.3)', async () => {
    const asked = 'openid profile email address phone offline_access unknown'
    expect((await tokensFor({ ...OPENID, scope: asked })).scope).toBe('openid')
    const only = await grantor.createClient({ scopes: ['openid', 'enhancement'] })
    expect((await tokensFor({ ...OPENID, scope: 'openid wallet enhancement' }, only)).scope).toBe('openid enhancement')
    const named = await grantor.createClient({ scopes: ['openid', 'profile'] })
    expect((await tokensFor({ ...OPENID, scope: asked }, named)).scope, 'registered for profile').toBe('openid profile')
  })

  test('A scope of the platform that the client may not have is invalid_scope with and without openid, and the log names the scope (RFC 6749 §4.1.2.1)', async () => {
    const only = await grantor.createClient({ scopes: ['openid'] })
    for (const [scope, refused] of [
      ['openid enhancement', 'enhancement'],
      ['openid profile enhancement', 'enhancement'],
      ['enhancement email', 'enhancement email'],
      ['profile', 'profile'],
      ['x'.repeat(300), `${'x'.repeat(99)}…`],
    ] as const) {
      expect(await errorOf({ response_type: 'code', scope }, only), `scope ${scope}`).toBe('invalid_scope')
      expect(grantor.events.at(-1), `scope ${scope}`).toMatchObject({
        event: 'authorize_refused',
        reason: 'scope_not_allowed',
        client_id: only.id,
        cause: `scope ${refused}`,
      })
    }
  })

  test('A refresh may repeat the scopes that were left out, but not name more than was granted (OpenID Connect Core §3.1.2.1, RFC 6749 §6)', async () => {
    const scope = 'openid profile email offline_access'
    const tokens = await tokensFor({ ...OPENID, scope })
    const refreshed = await walk.refresh(client, tokens.refresh_token, { scope })
    expect(refreshed.json()).toMatchObject({ scope: 'openid', id_token: expect.any(String) })
    const { refresh_token = '' } = refreshed.json() as Record<string, string>
    for (const more of ['openid wallet', 'openid enhancement', 'profile', 'email']) {
      const refused = (await walk.refresh(client, refresh_token, { scope: more })).json()
      expect(refused.error, `${more}: more than was granted, or without openid`).toBe('invalid_scope')
      expect(grantor.events.at(-1), 'the log names the scopes').toMatchObject({ event: 'refused', cause: `scope ${more}` })
    }
  })

  test('A request without scope and response_type gets a code without iss, even if the client is registered only for openid', async () => {
    const only = await grantor.createClient({ scopes: ['openid'] })
    const { location } = await walk.authorize(requestOf(only))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+$/)
  })

  test.each([
    ['request', 'request_not_supported'],
    ['request_uri', 'request_uri_not_supported'],
    ['registration', 'registration_not_supported'],
    ['response_mode', 'invalid_request'],
  ])('An unsupported value of %s is refused with %s (OpenID Connect Core §6, §7.2.1)', async (name, error) => {
    expect(await errorOf({ ...OPENID, [name]: 'x.y.z' })).toBe(error)
  })

  test('The parameters display, ui_locales, claims_locales and claims, and unknown acr_values, change nothing', async () => {
    const wishes = { display: 'popup', ui_locales: 'fr de', acr_values: 'urn:x', claims: '{"id_token":{"email":null}}' }
    expect((await tokensFor({ ...OPENID, ...wishes, claims_locales: 'zz' })).scope).toBe('openid wallet')
  })

  test('A login older than max_age leads to a new login, or to login_required with prompt=none; an invalid max_age is refused', async () => {
    const browser = new Walk(grantor)
    await browser.signIn(requestOf(client))
    const errorWith = (more: Record<string, string>) => errorOf({ ...OPENID, ...more }, client, browser)
    expect(await errorWith({ max_age: '0' })).toBe('login')
    expect(await errorWith({ max_age: '0', prompt: 'none' })).toBe('login_required')
    grantor.clock.advance(100)
    expect(await errorWith({ max_age: '100' }), 'a code').toBe('')
    expect(await errorWith({ max_age: '99' })).toBe('login')
    for (const max_age of ['-1', '1.5', 'x', '1e3', '12345678901']) expect(await errorWith({ max_age })).toBe('invalid_request')
  })

  test('The consent page checks max_age again when the person allows the request (OpenID Connect Core §3.1.2.1)', async () => {
    const browser = new Walk(grantor)
    await browser.signIn(requestOf(client))
    const page = await browser.authorize(requestOf(client, { ...OPENID, prompt: 'consent', max_age: '100' }))
    expect(page.body).toContain('id="approve"')
    grantor.clock.advance(101)
    expect((await browser.confirm(page, 'allow')).status).toBe(401)
  })

  test('A login_hint for another wallet than the session’s leads to the login, where any wallet may sign; other texts are ignored', async () => {
    const other = testWallet(1)
    expect(await errorOf({ ...OPENID, login_hint: walk.wallet.address.toLowerCase() })).toBe('')
    expect(await errorOf({ ...OPENID, login_hint: 'zoe@example.com' }), 'a hint that is not an address').toBe('')
    expect(await errorOf({ ...OPENID, login_hint: other.address, prompt: 'none' })).toBe('account_selection_required')
    const browser = new Walk(grantor)
    const challenge = await browser.challenge(requestOf(client, { ...OPENID, login_hint: other.address }))
    expect((await browser.describe(challenge)).json()).toMatchObject({ login_hint: other.address })
    const page = await browser.complete(await browser.prove(challenge))
    expect(parameterOf(movingTo(page), 'code')).not.toBe('')
  })

  test('An id_token_hint of any age gets a code for its wallet; another wallet gets the login, or login_required with prompt=none', async () => {
    const { id_token } = await tokensFor(OPENID)
    grantor.clock.advance(3600)
    const hinted = { ...OPENID, id_token_hint: id_token }
    expect(await errorOf({ ...hinted, prompt: 'none' })).toBe('')
    const browser = new Walk(grantor, testWallet(1))
    await browser.signIn(requestOf(client))
    expect(await errorOf({ ...hinted, prompt: 'none' }, client, browser)).toBe('login_required')
    expect(await errorOf(hinted, client, browser)).toBe('login')
  })

  test('If another wallet than that of the id_token_hint signs in, its session starts, but the app gets login_required and no code', async () => {
    const { id_token } = await tokensFor(OPENID)
    const browser = new Walk(grantor, testWallet(1))
    const challenge = await browser.challenge(requestOf(client, { ...OPENID, state: 's', id_token_hint: id_token }))
    const page = await browser.complete(await browser.prove(challenge))
    expect(page.status).toBe(200)
    const to = movingTo(page)
    expect([parameterOf(to, 'error'), parameterOf(to, 'state'), parameterOf(to, 'code')]).toEqual(['login_required', 's', ''])
    expect(await errorOf({}, client, browser), 'a code').toBe('')
    const right = new Walk(grantor)
    const rightChallenge = await right.challenge(requestOf(client, { ...OPENID, id_token_hint: id_token }))
    expect(parameterOf(movingTo(await right.complete(await right.prove(rightChallenge))), 'code')).not.toBe('')
  })

  test('An id_token_hint that is malformed, or was issued to another client, matches no session', async () => {
    const other = await grantor.createClient({ scopes: ['openid'] })
    const { id_token } = await tokensFor({ ...OPENID, scope: 'openid' }, other)
    for (const id_token_hint of [id_token, 'nonsense', 'a.b.c']) {
      expect(await errorOf({ ...OPENID, id_token_hint, prompt: 'none' })).toBe('login_required')
      expect(await errorOf({ ...OPENID, id_token_hint })).toBe('login')
    }
  })

  test('With signed consent a person cannot switch off the scope openid', async () => {
    const signed = await signedClient(grantor, { scopes: ['openid', 'wallet', 'profile'] })
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(
      requestOf(signed, { response_type: 'code', scope: 'openid wallet profile' }),
      browser.wallet,
      'profile',
    )
    const tokens = (await browser.exchange(signed, code)).json() as Record<string, string>
    expect(tokens.scope).toBe('openid profile')
    expect((await verify(tokens.id_token, signed)).payload).not.toHaveProperty('wallet_address')
  })
})

describe('The authentication request as a form post (OpenID Connect Core §3.1.2.1)', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    walk.browse({
      method: 'POST',
      path: '/oauth/authorize',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://app.example.net', ...headers },
      body,
    })

  test('A form post is redirected to the same request as a GET, byte for byte', async () => {
    const query = `client_id=${client.id}&redirect_uri=https%3A%2F%2Fapp.example.net%2Fcallback&response_type=code&scope=openid+wallet&state=%FF%26a%3Db&nonce=%C3%A9`
    // Browsers send the session cookie (SameSite=Lax) only with the GET.
    const answer = await post(query)
    expect([answer.status, answer.body]).toEqual([303, ''])
    expect(answer.location).toMatch(/^\/oauth\/authorize\?/)
    const { location } = await walk.browse({ path: answer.location })
    expect(parameterOf(location, 'code')).not.toBe('')
    expect(location).toContain('&state=%FF%26a%3Db&')
  })

  test('A form post with a repeated parameter is refused, one too long for a URL gets 413, and another content type gets 415', async () => {
    const twice = await post(`${encode(requestOf(client))}&state=a&state=b`)
    expect(noticeOf(await walk.browse({ path: twice.location }))).toBe('malformed_request')
    expect((await post(`client_id=${client.id}&state=${'s'.repeat(12_000)}`)).status).toBe(413)
    expect((await post('{}', { 'content-type': 'application/json' })).status).toBe(415)
  })
})
