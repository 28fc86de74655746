/** Request objects (RFC 9101): requests that the client signed, passed by value or inside a pushed request. */
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { aClientHost } from '../../../support/client-host.ts'
import { assertionOf, newClientKey, oldRsaKeys, type TestKey } from '../../../support/client-key.ts'
import { push, pushed, requestObjectOf } from '../../../support/pushed.ts'
import { changeClient, outcomeOf } from '../../../support/signed-app.ts'
import type { TestClient } from '../../../support/start.ts'
import { noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

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

const authorizeWith = async (request: string, more: Record<string, string> = {}, walk = app.walk) =>
  walk.authorize({ client_id: client.id, request, ...more })

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

describe('Valid request objects (RFC 9101)', () => {
  test.each(['ES256', 'PS256', 'EdDSA'] as const)(
    'A request object that is signed with %s, by any key of the client, is accepted (RFC 9101)',
    async (alg) => {
      const own = newClientKey(alg)
      const keyed = await app.grantor.createClient({ jwks: { keys: [newClientKey('ES256', 'older').jwk, own.jwk] } })
      const request = await requestObjectOf(app.grantor, keyed, own)
      expect(outcomeOf(await app.walk.authorize({ client_id: keyed.id, request }))).toBe('code')
    },
  )

  test('The parameters state, scope, resource and max_age in a request object have the same effect as in a query', async () => {
    const parameters = { state: 'a b+ü"', scope: 'profile', resource: ['https://api.example.com/', 'urn:x:y'], max_age: 99999 }
    const { location } = await authorizeWith(await objectOf(parameters))
    expect(location).toContain('&state=a%20b%2B%C3%BC%22&iss=')
    expect(parameterOf(location, 'iss')).toBe(app.grantor.authUrl)
    const tokens = tokensOf(await app.walk.exchange(client, parameterOf(location, 'code'), { resource: 'urn:x:y' }))
    expect([tokens.scope, claimsOf(tokens.access_token).aud]).toEqual(['profile', 'urn:x:y'])
    expect(outcomeOf(await authorizeWith(await objectOf({ max_age: 0, prompt: 'none' })))).toBe('login_required')
  })

  test('A request object without response_type gets a code without iss (RFC 9207)', async () => {
    const { location } = await authorizeWith(await objectOf({ response_type: undefined }))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+$/)
  })

  test('Only the parameters inside the request object count (RFC 9101 §6.3)', async () => {
    const outside = {
      redirect_uri: 'https://evil.example/',
      scope: 'admin',
      state: 'outside',
      response_type: 'token',
      prompt: 'login',
    }
    const { location } = await authorizeWith(await objectOf(), outside)
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+&iss=[^&]+$/)
    const without = await authorizeWith(await objectOf({ redirect_uri: undefined }), {
      redirect_uri: 'https://app.example.net/callback',
    })
    expect([without.status, noticeOf(without)]).toEqual([400, 'redirect_uri_missing'])
    const foreign = await authorizeWith(await objectOf({ redirect_uri: 'https://evil.example/' }), {
      redirect_uri: 'https://app.example.net/callback',
    })
    expect([foreign.status, noticeOf(foreign)]).toEqual([400, 'redirect_uri_mismatch'])
  })

  test('An error in a request object goes to its redirect URI with its state', async () => {
    const { location } = await authorizeWith(await objectOf({ scope: 'admin', state: 'inside' }), { state: 'outside' })
    expect([parameterOf(location, 'error'), parameterOf(location, 'state')]).toEqual(['invalid_scope', 'inside'])
  })

  test('After a login, the response to a request object has its state and iss', async () => {
    const walk = new Walk(app.grantor)
    const { to } = await walk.signIn({ client_id: client.id, request: await objectOf({ state: 's' }) })
    expect([parameterOf(to, 'state'), parameterOf(to, 'iss')]).toEqual(['s', app.grantor.authUrl])
  })

  test('A request object needs one of exp, iat and nbf, and may have a list of audiences and the types that libraries use', async () => {
    const { authUrl } = app.grantor
    for (const claims of [
      { iat: undefined, nbf: undefined },
      { exp: undefined, nbf: undefined },
      { exp: undefined, iat: undefined },
      { aud: ['https://other.example', authUrl] },
      { jti: 'x' },
    ])
      expect(outcomeOf(await authorizeWith(await objectOf(claims))), `with ${JSON.stringify(claims)}`).toBe('code')
    for (const typ of [undefined, 'JWT', 'oauth-authz-req+jwt', 'application/oauth-authz-req+jwt', 'OAuth-Authz-Req+JWT'])
      expect(outcomeOf(await authorizeWith(await objectOf({}, { typ }))), `as ${typ}`).toBe('code')
  })

  test('A request object is verified with the keys of the client’s jwks_uri', async () => {
    const host = await aClientHost((_, response) => response.end(JSON.stringify({ keys: [key.jwk] })))
    const remote = await app.grantor.createClient({ jwksUri: `${host.origin}/jwks` })
    const request = await requestObjectOf(app.grantor, remote, key)
    expect(outcomeOf(await app.walk.authorize({ client_id: remote.id, request }))).toBe('code')
    expect(host.requests).toHaveLength(1)
  })
})

describe('Invalid request objects (RFC 9101 §6, §7)', () => {
  /** The error goes to the redirect URI if the query has a registered one, otherwise to a page. A push gets the error as JSON. */
  async function expectRefused(request: string, reason?: string, error = 'invalid_request_object'): Promise<void> {
    const redirect = await authorizeWith(request, { redirect_uri: 'https://app.example.net/callback', state: 'outside' })
    expect([parameterOf(redirect.location, 'error'), parameterOf(redirect.location, 'state')]).toEqual([error, 'outside'])
    if (reason !== undefined) expect(app.grantor.events.at(-1)?.reason).toBe(reason)
    for (const more of [{}, { redirect_uri: 'https://evil.example/' }]) {
      const page = await authorizeWith(request, more)
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
    ['a list of other audiences', { aud: ['https://other.example'] }, 'request_object_audience_wrong'],
    ['no audience', { aud: undefined }, 'request_object_audience_wrong'],
    ['a request inside', { request: 'x.y.z' }, 'request_object_within_another'],
    ['a request_uri inside', { request_uri: 'https://x.example/' }, 'request_object_within_another'],
    ['an exp that is a string', { exp: '2099-01-01' }, 'request_object_time_malformed'],
    ['an iat that is null', { iat: null }, 'request_object_time_malformed'],
    ['a scope that is a list', { scope: ['enhancement'] }, 'request_object_parameter_malformed'],
    ['a redirect_uri that is an object', { redirect_uri: {} }, 'request_object_parameter_malformed'],
    ['a state that is true', { state: true }, 'request_object_parameter_malformed'],
    ['a max_age of one and a half', { max_age: 1.5 }, 'request_object_parameter_malformed'],
    ['a state that is not valid Unicode', { state: '\ud800' }, 'request_object_parameter_malformed'],
    ['a resource that is not a string', { resource: [1.5] }, 'request_object_parameter_malformed'],
  ])('A request object with %s is refused (RFC 9101 §6, §7)', async (_, claims, reason) => {
    await expectRefused(await objectOf(claims), reason)
  })

  test('A request object that has expired, is not valid yet, or is valid for a day is refused', async () => {
    const at = app.grantor.clock.now()
    await expectRefused(await objectOf({ exp: at }), 'request_object_expired')
    await expectRefused(await objectOf({ nbf: at + 60 }), 'request_object_of_the_future')
    await expectRefused(await objectOf({ iat: at + 60 }), 'request_object_of_the_future')
    await expectRefused(await objectOf({ exp: at + 86_400 }), 'request_object_lives_too_long')
    expect(outcomeOf(await authorizeWith(await objectOf({ nbf: at + 10, iat: at + 10 }))), 'clocks that differ a little').toBe(
      'code',
    )
  })

  test('A request object without exp is valid for ten minutes from iat, or from nbf if it has no iat', async () => {
    const at = app.grantor.clock.now()
    for (const from of ['iat', 'nbf']) {
      const without = { exp: undefined, iat: undefined, nbf: undefined }
      expect(outcomeOf(await authorizeWith(await objectOf({ ...without, [from]: at - 599 }))), `from ${from}`).toBe('code')
      await expectRefused(await objectOf({ ...without, [from]: at - 600 }), 'request_object_expired')
    }
    expect(outcomeOf(await authorizeWith(await objectOf({ exp: at + 1, iat: at - 86_400 })))).toBe('code')
  })

  test('A request object without any time claim is refused, because it could be replayed for ever', async () => {
    await expectRefused(await objectOf({ exp: undefined, iat: undefined, nbf: undefined }), 'request_object_without_time')
  })

  test('A client assertion or another type of JWT is refused as a request object (RFC 9101 §10.8)', async () => {
    const claims = { ...requestOf(client), response_type: 'code' }
    await expectRefused(await assertionOf(app.grantor, client.id, key, claims), 'request_object_is_an_assertion')
    await expectRefused(await objectOf({}, { typ: 'client-authentication+jwt' }), 'request_object_type_wrong')
    for (const typ of ['at+jwt', 'dpop+jwt', 'logout+jwt'])
      await expectRefused(await objectOf({}, { typ }), 'request_object_type_wrong')
  })

  test('A request object by an unregistered key, by a key in its header, or with an unknown kid is refused', async () => {
    const stranger = newClientKey()
    await expectRefused(await objectOf({}, {}, stranger), 'request_object_signature_wrong')
    await expectRefused(await objectOf({}, { jwk: stranger.jwk, kid: undefined }, stranger), 'request_object_signature_wrong')
    await expectRefused(await objectOf({}, { kid: 'unknown' }), 'request_object_signature_wrong')
  })

  test('A request object that is unsigned, signed with a shared secret, or with another algorithm than the key’s is refused', async () => {
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

  test.each(Object.entries(oldRsaKeys()))(
    'A request object that is signed with a registered RSA key %s is refused',
    async (_, own) => {
      await changeClient(app.grantor, client, { jwks: { keys: [key.jwk, own.jwk] } })
      await expectRefused(await objectOf({}, {}, own), 'client_key_unusable')
      await changeClient(app.grantor, client, {})
    },
  )

  test('A request object that was changed, or is not a JWT of three parts, is refused', async () => {
    const good = await objectOf()
    const [head, , tail] = good.split('.')
    const changed = `${head}.${base64url({ ...claimsOf(good), scope: 'profile' })}.${tail}`
    await expectRefused(changed, 'request_object_signature_wrong')
    for (const text of ['x', 'x.y.z', 'a.b.c.d.e', `${good}.x`, `${good}=`, `${head}.${base64url('[]')}.${tail}`])
      await expectRefused(text, 'request_object_malformed')
  })

  test('A request object of a client whose keys are unavailable is answered with temporarily_unavailable (RFC 6749 §4.1.2.1)', async () => {
    const remote = await app.grantor.createClient({ jwksUri: 'https://127.0.0.1:1/jwks' })
    const request = await requestObjectOf(app.grantor, remote, key)
    expect(outcomeOf(await app.walk.authorize(requestOf(remote, { request })))).toBe('temporarily_unavailable')
    expect(app.grantor.events.at(-1)?.reason).toBe('client_keys_unavailable')
  })

  test('A request object of a client without registered keys is request_not_supported', async () => {
    const request = await requestObjectOf(app.grantor, app.client, key)
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client, { request })))).toBe('request_not_supported')
  })
})

describe('Pushed request objects (RFC 9126 §3)', () => {
  const pushObject = async (request: string, more: Record<string, string> = {}) =>
    push(app.walk, client, { client_id: client.id, request, ...more })

  test('The parameters inside a pushed request object count, and those beside it are ignored (RFC 9126 §3)', async () => {
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

  test('A pushed request object can be used even after it has expired', async () => {
    const answer = await pushObject(await objectOf({ exp: app.grantor.clock.now() + 10 }))
    app.grantor.clock.advance(20)
    const query = { client_id: client.id, request_uri: answer.json().request_uri as string }
    expect(outcomeOf(await app.walk.authorize(query))).toBe('code')
  })

  test('An error in a pushed request object is returned at the push', async () => {
    expect((await pushObject(await objectOf({ scope: 'admin' }))).json().error).toBe('invalid_scope')
    expect((await pushObject(await objectOf({ redirect_uri: 'https://evil.example/' }))).json().error).toBe('invalid_request')
  })
})

describe('Clients that must sign their requests (RFC 9101 §10.5)', () => {
  test('A client that must sign is refused without a request object, and accepted with one by value or pushed (RFC 9101 §10.5)', async () => {
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

  test('A request that was pushed unsigned before the client had to sign is refused', async () => {
    const keyed = await app.grantor.createClient({ jwks: { keys: [key.jwk] } })
    const query = await pushed(app.walk, keyed)
    await changeClient(app.grantor, keyed, { requestObjectSigned: true })
    expect(outcomeOf(await app.walk.authorize(query))).toBe('invalid_request')
  })
})
