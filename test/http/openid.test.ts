/** OpenID Connect Core's code flow: what is asked for, and the ID token. */
import { createHash } from 'node:crypto'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPENID, type OpenIdTokens, openIdTokens, startOpenIdApp } from '../support/openid-app.ts'
import { send } from '../support/send.ts'
import { changeClient, signedClient, vouchFor } from '../support/signed-app.ts'
import type { Grantor, TestClient } from '../support/start.ts'
import { encode, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  ;({ grantor, client, walk } = await startOpenIdApp())
})
afterAll(() => grantor.close())

const tokensFor = (asked: Record<string, string>, of = client, by = walk): Promise<OpenIdTokens> => openIdTokens(by, of, asked)

async function errorOf(asked: Record<string, string>, of = client, by = walk): Promise<string> {
  const { status, location } = await by.authorize(requestOf(of, asked))
  expect(status).toBe(302)
  return location.startsWith(grantor.loginUrl) ? 'login' : parameterOf(location, 'error')
}

/** Checked with the published keys, as a client checks it (OpenID Connect Core §3.1.3.7). */
async function verified(idToken = '', of = client) {
  const keys = createRemoteJWKSet(new URL(`${grantor.authUrl}/oauth/jwks`))
  return jwtVerify(idToken, keys, {
    issuer: grantor.authUrl,
    audience: of.id,
    currentDate: new Date(grantor.clock.now() * 1000),
    algorithms: [of.idTokenAlgorithm],
  })
}

describe('the ID token (OpenID Connect Core §2)', () => {
  test('says who signed in, when, how and where, to this client alone, bound to the access token and the request', async () => {
    const signedInAt = grantor.clock.now()
    grantor.clock.advance(90)
    const tokens = await tokensFor({ ...OPENID, nonce: 'n-0S6_WzA2Mj é "' })
    const { payload } = await verified(tokens.id_token)
    const address = walk.wallet.address
    expect(payload).toEqual({
      iss: grantor.authUrl,
      sub: address,
      aud: client.id,
      iat: grantor.clock.now(),
      exp: grantor.clock.now() + 600,
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

  test('without scope wallet nothing is said of the wallet but sub; without openid there is no ID token', async () => {
    const { payload } = await verified((await tokensFor({ ...OPENID, scope: 'openid enhancement' })).id_token)
    expect(Object.keys(payload).sort()).toEqual(['acr', 'amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'sid', 'sub'])
    expect(await tokensFor({ response_type: 'code', scope: 'wallet', nonce: 'n' })).not.toHaveProperty('id_token')
    expect(await tokensFor({})).not.toHaveProperty('id_token')
  })

  test('a refresh gives a new one of the same sign-in, without nonce (§12.2); a refresh that leaves openid out gives none', async () => {
    const first = await tokensFor({ ...OPENID, nonce: 'once' })
    const { payload: before } = await verified(first.id_token)
    grantor.clock.advance(30)
    const refreshed = (await walk.refresh(client, first.refresh_token)).json() as Record<string, string>
    const { payload } = await verified(refreshed.id_token)
    const { nonce: _, ...same } = before
    expect(payload).toEqual({ ...same, iat: before.iat! + 30, exp: before.exp! + 30, at_hash: expect.any(String) })
    expect(payload.at_hash).not.toBe(before.at_hash)
    const narrowed = await walk.refresh(client, refreshed.refresh_token ?? '', { scope: 'wallet' })
    expect(narrowed.json()).not.toHaveProperty('id_token')
  })

  test.each(['ES256', 'RS256', 'EdDSA'] as const)(
    'is signed in the client’s own algorithm: %s, its key in the JWK Set',
    async (idTokenAlgorithm) => {
      const other = await grantor.createClient({ scopes: ['openid'] })
      await changeClient(grantor, other, { idTokenAlgorithm })
      const races = await Promise.all(Array.from({ length: 5 }, () => tokensFor({ ...OPENID, scope: 'openid' }, other)))
      const of = { ...other, idTokenAlgorithm }
      for (const tokens of races) {
        const { protectedHeader } = await verified(tokens.id_token, of)
        expect(protectedHeader).toEqual({ typ: 'JWT', alg: idTokenAlgorithm, kid: expect.any(String) })
        // What the API checks stays as it was.
        expect(decodeProtectedHeader(tokens.access_token).alg).toBe('ES256')
      }
      const kids = new Set(races.map(({ id_token }) => decodeProtectedHeader(id_token).kid))
      const published = (await send(grantor.authUrl, { path: '/oauth/jwks' })).json().keys as { kid: string; alg: string }[]
      expect(kids.size, 'one key signs for all that ask at once').toBe(1)
      expect(published).toContainEqual(expect.objectContaining({ kid: [...kids][0], alg: idTokenAlgorithm }))
    },
  )

  test('a wallet that was only vouched for is said to be so', async () => {
    const browser = new Walk(grantor, testWallet(1))
    await vouchFor(browser, client)
    const { payload } = await verified((await tokensFor(OPENID, client, browser)).id_token)
    expect(payload.acr).toBe('urn:grantor:acr:vouched')
    expect(payload).not.toHaveProperty('amr')
  })

  test('two clients cannot compare their sid; one client reads the same for one session, another for the next', async () => {
    const other = await grantor.createClient({ scopes: ['openid'] })
    const sid = async (of: TestClient, by = walk) =>
      (await verified((await tokensFor({ ...OPENID, scope: 'openid' }, of, by)).id_token, of)).payload.sid
    expect(await sid(client)).toBe(await sid(client))
    expect(await sid(other)).not.toBe(await sid(client))
    const browser = new Walk(grantor)
    await browser.signIn(requestOf(client))
    expect(await sid(client, browser)).not.toBe(await sid(client))
  })

  test('a code kept for its sign-in page carries nonce and scope through the login (§3.1.2.1)', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(client, { ...OPENID, nonce: 'through-the-login', max_age: '0' }))
    const tokens = (await browser.exchange(client, code)).json() as Record<string, string>
    expect((await verified(tokens.id_token)).payload).toMatchObject({
      nonce: 'through-the-login',
      auth_time: grantor.clock.now(),
    })
  })

  test('an ID token is no access token, and an access token no ID token', async () => {
    const { id_token, access_token } = await tokensFor(OPENID)
    expect((await walk.introspect(client, id_token)).json()).toEqual({ active: false })
    const asToken = { path: '/oauth/userinfo', headers: { authorization: `Bearer ${id_token}` } }
    expect((await send(grantor.authUrl, asToken)).status).toBe(401)
    expect(await errorOf({ ...OPENID, id_token_hint: access_token, prompt: 'none' })).toBe('login_required')
  })
})

describe('the request (§3.1.2.1)', () => {
  test('openid needs response_type; a client that was not registered for it gets invalid_scope', async () => {
    expect(await errorOf({ scope: 'openid' })).toBe('invalid_request')
    expect(await errorOf(OPENID, await grantor.createClient())).toBe('invalid_scope')
  })

  test('with openid, scope values that mean nothing here are ignored, and the answer says what was granted', async () => {
    expect((await tokensFor({ ...OPENID, scope: 'openid email offline_access phone' })).scope).toBe('openid')
    expect(await errorOf({ ...OPENID, scope: 'openid profile' }), 'a scope of this platform that the client may not have').toBe(
      'invalid_scope',
    )
    expect(await errorOf({ response_type: 'code', scope: 'enhancement email' }), 'without openid, as ever').toBe('invalid_scope')
  })

  test('a library that names the same scopes again at each refresh is not refused for those ignored before (§3.1.2.1, RFC 6749 §6)', async () => {
    const scope = 'openid email offline_access'
    const tokens = await tokensFor({ ...OPENID, scope })
    const refreshed = await walk.refresh(client, tokens.refresh_token, { scope })
    expect(refreshed.json()).toMatchObject({ scope: 'openid', id_token: expect.any(String) })
    const { refresh_token = '' } = refreshed.json() as Record<string, string>
    for (const more of ['openid wallet', 'openid profile', 'email']) {
      const refused = (await walk.refresh(client, refresh_token, { scope: more })).json()
      expect(refused.error, `${more}: more than was granted, or not OpenID Connect`).toBe('invalid_scope')
    }
  })

  test('a bare request of a client whose default is openid alone is answered as bare requests are', async () => {
    const only = await grantor.createClient({ scopes: ['openid'] })
    const { location } = await walk.authorize(requestOf(only))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+$/)
  })

  test.each([
    ['request', 'request_not_supported'],
    ['request_uri', 'request_uri_not_supported'],
    ['registration', 'registration_not_supported'],
    ['response_mode', 'invalid_request'],
  ])('%s is refused rather than half-honoured: %s (§6, §7.2.1)', async (name, error) => {
    expect(await errorOf({ ...OPENID, [name]: 'x.y.z' })).toBe(error)
  })

  test('display, ui_locales, acr_values and claims need not be met, and change nothing', async () => {
    const wishes = { display: 'popup', ui_locales: 'fr de', acr_values: 'urn:x', claims: '{"id_token":{"email":null}}' }
    expect((await tokensFor({ ...OPENID, ...wishes, claims_locales: 'zz' })).scope).toBe('openid wallet')
  })

  test('max_age: a login where the last one is longer ago; 0 always; with prompt=none login_required', async () => {
    const browser = new Walk(grantor)
    await browser.signIn(requestOf(client))
    const come = (asked: Record<string, string>) => errorOf({ ...OPENID, ...asked }, client, browser)
    expect(await come({ max_age: '0' })).toBe('login')
    expect(await come({ max_age: '0', prompt: 'none' })).toBe('login_required')
    grantor.clock.advance(100)
    expect(await come({ max_age: '100' }), 'a code').toBe('')
    expect(await come({ max_age: '99' })).toBe('login')
    for (const max_age of ['-1', '1.5', 'x', '1e3', '12345678901']) expect(await come({ max_age })).toBe('invalid_request')
  })

  test('max_age counts to the moment the person allows it, not to the moment the page is shown (Core §3.1.2.1)', async () => {
    const browser = new Walk(grantor)
    await browser.signIn(requestOf(client))
    const page = await browser.authorize(requestOf(client, { ...OPENID, prompt: 'consent', max_age: '100' }))
    expect(page.body).toContain('id="approve"')
    grantor.clock.advance(101)
    expect((await browser.confirm(page, 'allow')).status).toBe(401)
  })

  test('login_hint: an address other than the session’s leads to the login, which another wallet may still sign', async () => {
    const other = testWallet(1)
    expect(await errorOf({ ...OPENID, login_hint: walk.wallet.address.toLowerCase() })).toBe('')
    expect(await errorOf({ ...OPENID, login_hint: 'zoe@example.com' }), 'no address is no hint').toBe('')
    expect(await errorOf({ ...OPENID, login_hint: other.address, prompt: 'none' })).toBe('account_selection_required')
    const browser = new Walk(grantor)
    const challenge = await browser.challenge(requestOf(client, { ...OPENID, login_hint: other.address }))
    expect((await browser.describe(challenge)).json()).toMatchObject({ login_hint: other.address })
    const page = await browser.complete(await browser.prove(challenge))
    expect(parameterOf(movingTo(page), 'code')).not.toBe('')
  })

  test('id_token_hint: the wallet it names gets its code, of any age; another session leads to the login, and silently to login_required', async () => {
    const { id_token } = await tokensFor(OPENID)
    grantor.clock.advance(3600)
    const hinted = { ...OPENID, id_token_hint: id_token }
    expect(await errorOf({ ...hinted, prompt: 'none' })).toBe('')
    const browser = new Walk(grantor, testWallet(1))
    await browser.signIn(requestOf(client))
    expect(await errorOf({ ...hinted, prompt: 'none' }, client, browser)).toBe('login_required')
    expect(await errorOf(hinted, client, browser)).toBe('login')
  })

  test('id_token_hint: whoever signs in as somebody else is signed in here, but the app gets login_required, and no code', async () => {
    const { id_token } = await tokensFor(OPENID)
    const browser = new Walk(grantor, testWallet(1))
    const challenge = await browser.challenge(requestOf(client, { ...OPENID, state: 's', id_token_hint: id_token }))
    const page = await browser.complete(await browser.prove(challenge))
    expect(page.status).toBe(200)
    const to = movingTo(page)
    expect([parameterOf(to, 'error'), parameterOf(to, 'state'), parameterOf(to, 'code')]).toEqual(['login_required', 's', ''])
    expect(await errorOf({}, client, browser), 'a code').toBe('')
    const right = new Walk(grantor)
    const asked = await right.challenge(requestOf(client, { ...OPENID, id_token_hint: id_token }))
    expect(parameterOf(movingTo(await right.complete(await right.prove(asked))), 'code')).not.toBe('')
  })

  test('id_token_hint that names nobody (forged, another client’s, nonsense) is no session’s', async () => {
    const other = await grantor.createClient({ scopes: ['openid'] })
    const { id_token } = await tokensFor({ ...OPENID, scope: 'openid' }, other)
    for (const id_token_hint of [id_token, 'nonsense', 'a.b.c']) {
      expect(await errorOf({ ...OPENID, id_token_hint, prompt: 'none' })).toBe('login_required')
      expect(await errorOf({ ...OPENID, id_token_hint })).toBe('login')
    }
  })

  test('under signed, openid cannot be switched off: without it there would be no sign-in to tell of', async () => {
    const signed = await signedClient(grantor, { scopes: ['openid', 'wallet', 'profile'] })
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(
      requestOf(signed, { response_type: 'code', scope: 'openid wallet profile' }),
      browser.wallet,
      'profile',
    )
    const tokens = (await browser.exchange(signed, code)).json() as Record<string, string>
    expect(tokens.scope).toBe('openid profile')
    expect((await verified(tokens.id_token, signed)).payload).not.toHaveProperty('wallet_address')
  })
})

describe('the request as a form post (§3.1.2.1)', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    walk.browse({
      method: 'POST',
      path: '/oauth/authorize',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://app.example.net', ...headers },
      body,
    })

  test('is asked again as the same GET, byte for byte, since our cookies come along only then', async () => {
    const query = `client_id=${client.id}&redirect_uri=https%3A%2F%2Fapp.example.net%2Fcallback&response_type=code&scope=openid+wallet&state=%FF%26a%3Db&nonce=%C3%A9`
    const answer = await post(query)
    expect([answer.status, answer.body]).toEqual([303, ''])
    expect(answer.location).toMatch(/^\/oauth\/authorize\?/)
    const { location } = await walk.browse({ path: answer.location })
    expect(parameterOf(location, 'code')).not.toBe('')
    expect(location).toContain('&state=%FF%26a%3Db&')
  })

  test('keeps what is repeated, so that it is refused as ever; one too long for an address is 413; another type 415', async () => {
    const twice = await post(`${encode(requestOf(client))}&state=a&state=b`)
    expect(noticeOf(await walk.browse({ path: twice.location }))).toBe('malformed_request')
    expect((await post(`client_id=${client.id}&state=${'s'.repeat(12_000)}`)).status).toBe(413)
    expect((await post('{}', { 'content-type': 'application/json' })).status).toBe(415)
  })
})
