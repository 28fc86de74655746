/** The client credentials grant (RFC 6749 §4.4): the content and the validity of its tokens. */
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type App, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { expectJson, expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import { send } from '../../../support/send.ts'
import { LIFETIMES, type TestClient } from '../../../support/start.ts'

const API = 'https://api.example.com/'

let app: App
let client: TestClient
let apiServer: TestClient

beforeAll(async () => {
  app = await startApp()
  client = await app.grantor.createClient({
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scopes: ['reports', 'history', 'openid'],
    defaultScopes: ['reports', 'openid'],
    resources: [API],
  })
  apiServer = await app.grantor.createClient({ redirectUris: [], resourceServer: API })
})
afterAll(() => app.close())

const requestToken = (more: Record<string, string | string[]> = {}, of = client) =>
  app.walk.token(of, { grant_type: 'client_credentials', ...more })

test('A client credentials token never has a scope with a limit, because no wallet signs the limit', async () => {
  const uri = 'https://limited.example/'
  await app.grantor.store.resources.insertResource({
    uri,
    name: 'Limited',
    scopes: [
      { name: 'stats', description: 'read numbers' },
      { name: 'pay', description: 'pay', limit: { uses: 3 } },
    ],
    openTo: ['registered'],
    createdAt: 0,
  })
  const own = { redirectUris: [], grantTypes: ['client_credentials' as const], resources: [uri] }
  const of = await app.grantor.createClient({ ...own, scopes: ['stats', 'pay'], defaultScopes: ['stats', 'pay'] })
  await vi.waitFor(
    async () => expect((await requestToken({ resource: uri }, of)).json()).toMatchObject({ scope: 'stats' }),
    5_000,
  )
  expectRefusal(await requestToken({ resource: uri, scope: 'pay' }, of), 'invalid_scope')
  expectRefusal(await requestToken({ resource: uri, scope: 'stats pay' }, of), 'invalid_scope')
})

describe('The token response of the client credentials grant (RFC 6749 §4.4.3)', () => {
  test('A client credentials response has no refresh token, has the client’s default scopes, and writes nothing (RFC 6749 §4.4.3)', async () => {
    const before = await app.grantor.rows()
    expect(expectJson(await requestToken())).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: LIFETIMES.accessToken,
      scope: 'reports',
    })
    expect(await app.grantor.rows()).toEqual(before)
  })

  test('A client credentials token is a JWT whose sub is the client_id (RFC 9068 §2.2)', async () => {
    const { access_token } = tokensOf(await requestToken({ scope: 'history reports', resource: API }))
    const keys = (await send(app.grantor.authUrl, { path: '/oauth/jwks' })).json() as unknown as JSONWebKeySet
    const currentDate = new Date(app.grantor.clock.now() * 1000)
    const { payload, protectedHeader } = await jwtVerify(access_token, createLocalJWKSet(keys), { currentDate, typ: 'at+jwt' })
    expect(protectedHeader.typ).toBe('at+jwt')
    expect(payload).toEqual({
      iss: app.grantor.authUrl,
      sub: client.id,
      client_id: client.id,
      aud: API,
      iat: app.grantor.clock.now(),
      exp: app.grantor.clock.now() + LIFETIMES.accessToken,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      scope: 'history reports',
    })
  })

  test('The audience of a client credentials token is the requested resource, or GRANTOR_DEFAULT_RESOURCE without one (RFC 8707 §2.2)', async () => {
    const audience = async (more = {}) => claimsOf(tokensOf(await requestToken(more)).access_token).aud
    expect(await audience()).toBe(app.grantor.authUrl)
    expect(await audience({ resource: app.grantor.authUrl })).toBe(app.grantor.authUrl)
    expect(await audience({ resource: API })).toBe(API)
  })

  test('A client that authenticates with private_key_jwt gets a client credentials token (RFC 7523 §2.2)', async () => {
    const key = newClientKey()
    const own = await app.grantor.createClient({
      redirectUris: [],
      grantTypes: ['client_credentials'],
      authMethod: 'private_key_jwt',
      jwks: { keys: [key.jwk] },
    })
    const answer = await post(app.grantor, '/oauth/token', {
      grant_type: 'client_credentials',
      ...asserting(await assertionOf(app.grantor, own.id, key)),
    })
    expect(expectJson(answer)).toMatchObject({ scope: 'enhancement' })
  })
})

describe('Refusals of the client credentials grant', () => {
  test('A client that uses a grant type it is not registered for gets unauthorized_client (RFC 6749 §5.2)', async () => {
    expectRefusal(await requestToken({}, app.client), 'unauthorized_client')
    expectRefusal(
      await app.walk.token(client, { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://x.example' }),
      'unauthorized_client',
    )
    expectRefusal(await app.walk.refresh(client, 'x'), 'unauthorized_client')
    const page = await app.walk.authorize({ client_id: client.id, redirect_uri: 'https://app.example.net/callback' })
    expect(page.status).toBe(400)
  })

  test.each(['admin', 'reports admin', 'openid', 'reports openid', 'reports  history', '"'])(
    'A client credentials request for the scope %j gets invalid_scope (RFC 6749 §5.2)',
    async (scope) => {
      expectRefusal(await requestToken({ scope }), 'invalid_scope')
    },
  )

  test('A client whose only scope is openid gets invalid_scope for the client credentials grant', async () => {
    const own = await app.grantor.createClient({ grantTypes: ['client_credentials'], redirectUris: [], scopes: ['openid'] })
    expectRefusal(await requestToken({}, own), 'invalid_scope')
  })

  test.each<[string, string | string[]]>([
    ['that is not registered for the client', 'https://other.example.com/'],
    ['and a second one', [API, 'https://auth.example.com/']],
    ['with a fragment', `${API}#x`],
  ])('A client credentials request for a resource %s gets invalid_target (RFC 8707 §2)', async (_, resource) => {
    expectRefusal(await requestToken({ resource }), 'invalid_target')
  })

  test('A token request with a wrong secret is invalid_client, and one without grant_type is invalid_request (RFC 6749 §5.2)', async () => {
    expectRefusal(
      await app.walk.token({ id: client.id, secret: 'wrong' }, { grant_type: 'client_credentials' }),
      'invalid_client',
    )
    expectRefusal(await app.walk.token(client, {}), invalidRequest('grant_type is required.'))
  })
})

describe('The validity of a client credentials token', () => {
  const isActive = (token: string, of = client) => app.isActive(token, of)

  test('A client credentials token is active for its client and for the server of its resource, with nine members, and aud for the server (RFC 7662 §2.2)', async () => {
    const { access_token } = tokensOf(await requestToken({ resource: API }))
    for (const [caller, more] of [
      [client, {}],
      [apiServer, { aud: API }],
    ] as const) {
      expect(expectJson(await app.walk.introspect(caller, access_token))).toEqual({
        active: true,
        client_id: client.id,
        exp: app.grantor.clock.now() + LIFETIMES.accessToken,
        iat: app.grantor.clock.now(),
        iss: app.grantor.authUrl,
        jti: claimsOf(access_token).jti,
        scope: 'reports',
        sub: client.id,
        token_type: 'Bearer',
        ...more,
      })
    }
    expect(await isActive(access_token, app.client), 'inactive for any other client').toBe(false)
  })

  test('A client credentials token is inactive once its own client has revoked it, and other tokens stay active (RFC 7009 §2)', async () => {
    const [revoked, other] = [tokensOf(await requestToken()).access_token, tokensOf(await requestToken()).access_token]
    expectRefusal(await app.walk.revoke(app.client, revoked), 'invalid_grant')
    expect(await isActive(revoked), 'another client cannot revoke it').toBe(true)
    for (const time of ['once', 'again']) expect((await app.walk.revoke(client, revoked)).status, `${time} revoked`).toBe(200)
    expect([await isActive(revoked), await isActive(other)]).toEqual([false, true])
    await app.grantor.store.cleaning.sweep('spent', {
      overFor: 3600,
      limit: 100,
      at: app.grantor.clock.now() + LIFETIMES.accessToken + 3599,
    })
    expect(await isActive(revoked), 'the revocation is kept until an hour after the expiry').toBe(false)
  })

  test('A client credentials token is active until the second of its expiry', async () => {
    const { access_token } = tokensOf(await requestToken())
    app.grantor.clock.advance(LIFETIMES.accessToken - 1)
    expect(await isActive(access_token)).toBe(true)
    app.grantor.clock.advance(1)
    expect(await isActive(access_token)).toBe(false)
  })

  test('A client credentials token is inactive while its client is disabled or not registered for the grant', async () => {
    const { secret: _, ...record } = client
    const { access_token } = tokensOf(await requestToken({ resource: API }))
    for (const change of [{ disabledAt: app.grantor.clock.now() }, { grantTypes: [] }]) {
      await app.grantor.store.clients.replaceClient({ ...record, ...change })
      await app.grantor.noticeChanges()
      expect(await isActive(access_token, apiServer)).toBe(false)
    }
    await app.grantor.store.clients.replaceClient(record)
    await app.grantor.noticeChanges()
    expect(await isActive(access_token, apiServer)).toBe(true)
  })

  test('A node that could not read the store for more than 50 seconds gives no client credentials token, because the client may be disabled', async () => {
    const { grantor, walk } = await startApp()
    const own = await grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
    const request = () => walk.token(own, { grant_type: 'client_credentials' })
    tokensOf(await request())
    await grantor.store.close()
    await expect(grantor.noticeChanges()).rejects.toThrow()
    grantor.clock.advance(50)
    await expect(grantor.noticeChanges()).rejects.toThrow()
    tokensOf(await request())
    grantor.clock.advance(1)
    expectRefusal(await request(), 'temporarily_unavailable')
    await grantor.close()
  })

  test('Introspection and revocation of a client credentials token are 503 if the store cannot be read', async () => {
    const node = await startApp()
    const own = await node.grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
    const { access_token } = tokensOf(await node.walk.token(own, { grant_type: 'client_credentials' }))
    await node.grantor.store.close()
    expectRefusal(await node.walk.introspect(own, access_token), 'temporarily_unavailable')
    expectRefusal(await node.walk.revoke(own, access_token), 'temporarily_unavailable')
    await node.close()
  })
})
