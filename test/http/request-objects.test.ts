/** Request objects (RFC 9101): a request that the client signed, by value, at authorize and inside a pushed request. */
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { aClientHost } from '../support/client-host.ts'
import { assertionOf, newClientKey, oldRsaKeys, type TestKey } from '../support/client-key.ts'
import { push, pushed, requestObjectOf } from '../support/pushed.ts'
import { changeClient, outcomeOf } from '../support/signed-app.ts'
import type { TestClient } from '../support/start.ts'
import { noticeOf, parameterOf, requestOf, Walk } from '../support/walk.ts'

let app: App
let client: TestClient
const key = newClientKey()

beforeAll(async () => {
  app = await startApp()
  client = await app.grantor.createClient({
    scopes: ['enhancement', 'profile'],
    resources: ['https://api.example.com/', 'urn:x:y'],
    jwks: { keys: [key.jwk] },
  })
})
afterAll(() => app.close())

const objectOf = (claims: Record<string, unknown> = {}, header = {}, by: TestKey = key) =>
  requestObjectOf(app.grantor, client, by, claims, header)

const come = async (request: string, more: Record<string, string> = {}, walk = app.walk) =>
  walk.authorize({ client_id: client.id, request, ...more })

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

describe('a good request object is the request', () => {
  test.each(['ES256', 'PS256', 'EdDSA'] as const)('signed with %s, by any of the client’s keys', async (alg) => {
    const own = newClientKey(alg)
    const keyed = await app.grantor.createClient({ jwks: { keys: [newClientKey('ES256', 'older').jwk, own.jwk] } })
    const request = await requestObjectOf(app.grantor, keyed, own)
    expect(outcomeOf(await app.walk.authorize({ client_id: keyed.id, request }))).toBe('code')
  })

  test('its parameters come out as those of a query: state byte for byte, iss, scope, several resources, max_age a number', async () => {
    const asked = { state: 'a b+ü"', scope: 'profile', resource: ['https://api.example.com/', 'urn:x:y'], max_age: 99999 }
    const { location } = await come(await objectOf(asked))
    expect(location).toContain('&state=a%20b%2B%C3%BC%22&iss=')
    expect(parameterOf(location, 'iss')).toBe(app.grantor.authUrl)
    const tokens = tokensOf(await app.walk.exchange(client, parameterOf(location, 'code'), { resource: 'urn:x:y' }))
    expect([tokens.scope, claimsOf(tokens.access_token).aud]).toEqual(['profile', 'urn:x:y'])
    expect(outcomeOf(await come(await objectOf({ max_age: 0, prompt: 'none' })))).toBe('login_required')
  })

  test('without response_type it is as bare as a bare request, and the answer too (RFC 9207)', async () => {
    const { location } = await come(await objectOf({ response_type: undefined }))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+$/)
  })

  test('only what is inside counts (§6.3)', async () => {
    const outside = {
      redirect_uri: 'https://evil.example/',
      scope: 'admin',
      state: 'outside',
      response_type: 'token',
      prompt: 'login',
    }
    const { location } = await come(await objectOf(), outside)
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+&iss=[^&]+$/)
    const without = await come(await objectOf({ redirect_uri: undefined }), { redirect_uri: 'https://app.example.net/callback' })
    expect([without.status, noticeOf(without)]).toEqual([400, 'redirect_uri_missing'])
    const foreign = await come(await objectOf({ redirect_uri: 'https://evil.example/' }), {
      redirect_uri: 'https://app.example.net/callback',
    })
    expect([foreign.status, noticeOf(foreign)]).toEqual([400, 'redirect_uri_mismatch'])
  })

  test('its own faults go to the redirect URI and with the state inside', async () => {
    const { location } = await come(await objectOf({ scope: 'admin', state: 'inside' }), { state: 'outside' })
    expect([parameterOf(location, 'error'), parameterOf(location, 'state')]).toEqual(['invalid_scope', 'inside'])
  })

  test('it goes through the login', async () => {
    const walk = new Walk(app.grantor)
    const { to } = await walk.signIn({ client_id: client.id, request: await objectOf({ state: 's' }) })
    expect([parameterOf(to, 'state'), parameterOf(to, 'iss')]).toEqual(['s', app.grantor.authUrl])
  })

  test('one of exp, iat and nbf is enough, a list may name us, and what libraries write as its type is taken', async () => {
    const { authUrl } = app.grantor
    for (const claims of [
      { iat: undefined, nbf: undefined },
      { exp: undefined, nbf: undefined },
      { exp: undefined, iat: undefined },
      { aud: ['https://other.example', authUrl] },
      { jti: 'x' },
    ])
      expect(outcomeOf(await come(await objectOf(claims))), `with ${JSON.stringify(claims)}`).toBe('code')
    for (const typ of [undefined, 'JWT', 'oauth-authz-req+jwt', 'application/oauth-authz-req+jwt', 'OAuth-Authz-Req+JWT'])
      expect(outcomeOf(await come(await objectOf({}, { typ }))), `as ${typ}`).toBe('code')
  })

  test('keys are read from a jwks_uri as well', async () => {
    const host = await aClientHost((_, response) => response.end(JSON.stringify({ keys: [key.jwk] })))
    const remote = await app.grantor.createClient({ jwksUri: `${host.origin}/jwks` })
    const request = await requestObjectOf(app.grantor, remote, key)
    expect(outcomeOf(await app.walk.authorize({ client_id: remote.id, request }))).toBe('code')
    expect(host.requests).toHaveLength(1)
  })
})

describe('anything else is invalid_request_object (§6, §7)', () => {
  /** Refused at the app where the query has its redirect URI, else on a page; and as JSON where it is pushed. */
  async function expectRefused(request: string, reason?: string, error = 'invalid_request_object'): Promise<void> {
    const told = await come(request, { redirect_uri: 'https://app.example.net/callback', state: 'outside' })
    expect([parameterOf(told.location, 'error'), parameterOf(told.location, 'state')]).toEqual([error, 'outside'])
    if (reason !== undefined) expect(app.grantor.events.at(-1)?.reason).toBe(reason)
    for (const more of [{}, { redirect_uri: 'https://evil.example/' }]) {
      const page = await come(request, more)
      expect([page.status, noticeOf(page), page.headers.location]).toEqual([400, 'request_unusable', undefined])
    }
    const answer = await push(app.walk, client, { client_id: client.id, request })
    expect({ status: answer.status, error: answer.json().error }).toEqual({ status: 400, error })
  }

  const other = '2f6c54f6-9df4-4cf1-a1d2-52a4ff4e4c5f'
  test.each<[string, Record<string, unknown>, string]>([
    ['another client’s id', { client_id: other }, 'request_object_of_another_client'],
    ['no client_id', { client_id: undefined }, 'request_object_of_another_client'],
    ['another issuer', { iss: other }, 'request_object_issuer_wrong'],
    ['no issuer', { iss: undefined }, 'request_object_issuer_wrong'],
    ['another audience', { aud: 'https://other.example' }, 'request_object_audience_wrong'],
    ['a list without us', { aud: ['https://other.example'] }, 'request_object_audience_wrong'],
    ['no audience', { aud: undefined }, 'request_object_audience_wrong'],
    ['a request inside', { request: 'x.y.z' }, 'request_object_within_another'],
    ['a request_uri inside', { request_uri: 'https://x.example/' }, 'request_object_within_another'],
    ['an expiry that is text', { exp: '2099-01-01' }, 'request_object_time_malformed'],
    ['an iat that is null', { iat: null }, 'request_object_time_malformed'],
    ['a scope that is a list', { scope: ['enhancement'] }, 'request_object_parameter_malformed'],
    ['a redirect_uri that is an object', { redirect_uri: {} }, 'request_object_parameter_malformed'],
    ['a state that is true', { state: true }, 'request_object_parameter_malformed'],
    ['a max_age of one and a half', { max_age: 1.5 }, 'request_object_parameter_malformed'],
    ['a state that is no text at all', { state: '\ud800' }, 'request_object_parameter_malformed'],
    ['a resource that is no text', { resource: [1.5] }, 'request_object_parameter_malformed'],
  ])('%s', async (_, claims, reason) => {
    await expectRefused(await objectOf(claims), reason)
  })

  test('out of date: expired, not yet, without an end too old, or made to last', async () => {
    const at = app.grantor.clock.now()
    await expectRefused(await objectOf({ exp: at }), 'request_object_expired')
    await expectRefused(await objectOf({ nbf: at + 60 }), 'request_object_of_the_future')
    await expectRefused(await objectOf({ iat: at + 60 }), 'request_object_of_the_future')
    await expectRefused(await objectOf({ exp: at + 86_400 }), 'request_object_lives_too_long')
    expect(outcomeOf(await come(await objectOf({ nbf: at + 10, iat: at + 10 }))), 'clocks that differ a little').toBe('code')
  })

  test('a request object without exp lives ten minutes from iat, or from nbf if it has no iat', async () => {
    const at = app.grantor.clock.now()
    for (const from of ['iat', 'nbf']) {
      const without = { exp: undefined, iat: undefined, nbf: undefined }
      expect(outcomeOf(await come(await objectOf({ ...without, [from]: at - 599 }))), `from ${from}`).toBe('code')
      await expectRefused(await objectOf({ ...without, [from]: at - 600 }), 'request_object_expired')
    }
    expect(outcomeOf(await come(await objectOf({ exp: at + 1, iat: at - 86_400 })))).toBe('code')
  })

  test('a request object without any time claim is refused: it could be replayed for ever', async () => {
    await expectRefused(await objectOf({ exp: undefined, iat: undefined, nbf: undefined }), 'request_object_without_time')
  })

  test('an assertion that authenticates the client is no request, whatever it says (§10.8)', async () => {
    const claims = { ...requestOf(client), response_type: 'code' }
    await expectRefused(await assertionOf(app.grantor, client.id, key, claims), 'request_object_is_an_assertion')
    await expectRefused(await objectOf({}, { typ: 'client-authentication+jwt' }), 'request_object_type_wrong')
    for (const typ of ['at+jwt', 'dpop+jwt', 'logout+jwt'])
      await expectRefused(await objectOf({}, { typ }), 'request_object_type_wrong')
  })

  test('another key, another client’s key, or a key the header brings along', async () => {
    const stranger = newClientKey()
    await expectRefused(await objectOf({}, {}, stranger), 'request_object_signature_wrong')
    await expectRefused(await objectOf({}, { jwk: stranger.jwk, kid: undefined }, stranger), 'request_object_signature_wrong')
    await expectRefused(await objectOf({}, { kid: 'unknown' }), 'request_object_signature_wrong')
  })

  test('unsigned, signed with a shared secret, or with another algorithm than the key’s', async () => {
    const claims = claimsOf(await objectOf())
    const sealed = (header: object, signature: (signed: string) => string) => {
      const signed = `${base64url({ kid: key.kid, ...header })}.${base64url(claims)}`
      return `${signed}.${signature(signed)}`
    }
    await expectRefused(
      sealed({ alg: 'none' }, () => ''),
      'request_object_malformed',
    )
    await expectRefused(
      sealed({ alg: 'none' }, () => 'AA'),
      'request_object_signature_wrong',
    )
    for (const secret of [client.secret, JSON.stringify(key.jwk), String(key.jwk.x)]) {
      const mac = (signed: string) => createHmac('sha256', secret).update(signed).digest('base64url')
      await expectRefused(sealed({ alg: 'HS256' }, mac), 'request_object_signature_wrong')
    }
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const jwk = { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa' }
    await changeClient(app.grantor, client, { jwks: { keys: [key.jwk, jwk] } })
    const { SignJWT } = await import('jose')
    await expectRefused(
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'rsa' }).sign(rsa.privateKey),
      'request_object_signature_wrong',
    )
    await changeClient(app.grantor, client, {})
  })

  test.each(Object.entries(oldRsaKeys()))('signed with a registered RSA key %s', async (_, own) => {
    await changeClient(app.grantor, client, { jwks: { keys: [key.jwk, own.jwk] } })
    await expectRefused(await objectOf({}, {}, own), 'client_key_unusable')
    await changeClient(app.grantor, client, {})
  })

  test('what is no JWT of three parts: encrypted, changed, doubled, too long', async () => {
    const good = await objectOf()
    const [head, , tail] = good.split('.')
    const changed = `${head}.${base64url({ ...claimsOf(good), scope: 'profile' })}.${tail}`
    await expectRefused(changed, 'request_object_signature_wrong')
    for (const text of ['x', 'x.y.z', 'a.b.c.d.e', `${good}.x`, `${good}=`, `${head}.${base64url('[]')}.${tail}`])
      await expectRefused(text, 'request_object_malformed')
  })

  test('of a client whose keys cannot be had', async () => {
    const remote = await app.grantor.createClient({ jwksUri: 'https://127.0.0.1:1/jwks' })
    const request = await requestObjectOf(app.grantor, remote, key)
    expect(outcomeOf(await app.walk.authorize(requestOf(remote, { request })))).toBe('invalid_request_object')
    expect(app.grantor.events.at(-1)?.reason).toBe('client_keys_unavailable')
  })

  test('a client without registered keys: request_not_supported', async () => {
    const request = await requestObjectOf(app.grantor, app.client, key)
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client, { request })))).toBe('request_not_supported')
  })
})

describe('pushed (RFC 9126 §3)', () => {
  const pushObject = async (request: string, more: Record<string, string> = {}) =>
    push(app.walk, client, { client_id: client.id, request, ...more })

  test('its parameters are what the browser comes for, and what stands beside it does not count', async () => {
    const answer = await pushObject(await objectOf({ state: 'inside' }), {
      state: 'outside',
      scope: 'admin',
      redirect_uri: 'https://evil.example/',
    })
    expect(answer.status, `pushed: ${answer.body}`).toBe(201)
    app.grantor.clock.advance(30)
    const { location } = await app.walk.authorize({ client_id: client.id, request_uri: answer.json().request_uri as string })
    expect([parameterOf(location, 'state'), parameterOf(location, 'iss')]).toEqual(['inside', app.grantor.authUrl])
    expect(parameterOf(location, 'code')).not.toBe('')
  })

  test('it counts as it was when it was pushed, also where it expires before the browser comes', async () => {
    const answer = await pushObject(await objectOf({ exp: app.grantor.clock.now() + 10 }))
    app.grantor.clock.advance(20)
    const query = { client_id: client.id, request_uri: answer.json().request_uri as string }
    expect(outcomeOf(await app.walk.authorize(query))).toBe('code')
  })

  test('its faults are told at once', async () => {
    expect((await pushObject(await objectOf({ scope: 'admin' }))).json().error).toBe('invalid_scope')
    expect((await pushObject(await objectOf({ redirect_uri: 'https://evil.example/' }))).json().error).toBe('invalid_request')
  })
})

describe('a client that is registered to sign its requests (§10.5)', () => {
  test('is refused every other way, and taken by value and pushed', async () => {
    const strict = await app.grantor.createClient({ jwks: { keys: [key.jwk] }, requestObjectSigned: true })
    const { location } = await app.walk.authorize(requestOf(strict, { state: 's' }))
    expect([parameterOf(location, 'error'), parameterOf(location, 'state')]).toEqual(['invalid_request', 's'])
    const unsigned = await push(app.walk, strict)
    expect([unsigned.status, unsigned.json().error]).toEqual([400, 'invalid_request'])
    const request = await requestObjectOf(app.grantor, strict, key)
    expect(outcomeOf(await app.walk.authorize({ client_id: strict.id, request }))).toBe('code')
    const answer = await push(app.walk, strict, { client_id: strict.id, request })
    const query = { client_id: strict.id, request_uri: answer.json().request_uri as string }
    expect(outcomeOf(await app.walk.authorize(query))).toBe('code')
  })

  test('a request pushed unsigned before the rule came counts no more', async () => {
    const made = await app.grantor.createClient({ jwks: { keys: [key.jwk] } })
    const query = await pushed(app.walk, made)
    await changeClient(app.grantor, made, { requestObjectSigned: true })
    expect(outcomeOf(await app.walk.authorize(query))).toBe('invalid_request')
  })
})
