/** A client that asks for itself (RFC 6749 §4.4): what it may have, and how long it stands. */
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { asserting, assertionOf, newClientKey, post } from '../support/client-key.ts'
import { expectJson, expectRefusal, invalidRequest } from '../support/refusals.ts'
import { allRows } from '../support/rows.ts'
import { send } from '../support/send.ts'
import type { TestClient } from '../support/start.ts'

const API = 'https://api.example.com/'

let app: App
let client: TestClient
let apiServer: TestClient

beforeAll(async () => {
  app = await startApp()
  client = await app.grantor.createClient({
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scopes: ['reports', 'profile', 'openid'],
    defaultScopes: ['reports', 'openid'],
    resources: [API],
  })
  apiServer = await app.grantor.createClient({ redirectUris: [], resourceServer: API })
})
afterAll(() => app.close())

const ask = (more: Record<string, string | string[]> = {}, of = client) =>
  app.walk.token(of, { grant_type: 'client_credentials', ...more })

describe('the token of a client', () => {
  test('comes without a refresh token, for its default scopes, and writes nothing (§4.4.3)', async () => {
    const before = allRows(app.grantor.databasePath)
    expect(expectJson(await ask())).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'reports',
    })
    expect(allRows(app.grantor.databasePath)).toEqual(before)
  })

  test('is a JWT whose sub is the client’s id, so that nobody takes it for a wallet’s (RFC 9068 §2.2)', async () => {
    const { access_token } = tokensOf(await ask({ scope: 'profile reports', resource: API }))
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
      exp: app.grantor.clock.now() + 600,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      scope: 'profile reports',
    })
  })

  test('is for GRANTOR_DEFAULT_RESOURCE where none is named, or for the one that is (RFC 8707 §2.2)', async () => {
    const audience = async (more = {}) => claimsOf(tokensOf(await ask(more)).access_token).aud
    expect(await audience()).toBe(app.grantor.authUrl)
    expect(await audience({ resource: app.grantor.authUrl })).toBe(app.grantor.authUrl)
    expect(await audience({ resource: API })).toBe(API)
  })

  test('is had by a client’s own key as well (RFC 7523 §2.2)', async () => {
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

describe('a client is refused', () => {
  test('the grant type it is not registered for (§5.2)', async () => {
    expectRefusal(await ask({}, app.client), 'unauthorized_client')
    expectRefusal(
      await app.walk.token(client, { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://x.example' }),
      'unauthorized_client',
    )
    expectRefusal(await app.walk.refresh(client, 'x'), 'unauthorized_client')
    const page = await app.walk.authorize({ client_id: client.id, redirect_uri: 'https://app.example.net/callback' })
    expect(page.status).toBe(400)
  })

  test.each(['admin', 'reports admin', 'openid', 'reports openid', 'reports  profile', '"'])('the scope %j', async (scope) => {
    expectRefusal(await ask({ scope }), 'invalid_scope')
  })

  test('scopes about a user where it has no others', async () => {
    const own = await app.grantor.createClient({ grantTypes: ['client_credentials'], redirectUris: [], scopes: ['openid'] })
    expectRefusal(await ask({}, own), 'invalid_scope')
  })

  test.each<[string, string | string[]]>([
    ['that is not its own', 'https://other.example.com/'],
    ['that is one of two', [API, 'https://auth.example.com/']],
    ['named with a fragment', `${API}#x`],
  ])('a resource %s (RFC 8707 §2)', async (_, resource) => {
    expectRefusal(await ask({ resource }), 'invalid_target')
  })

  test('without its credentials, and without a grant type', async () => {
    expectRefusal(
      await app.walk.token({ id: client.id, secret: 'wrong' }, { grant_type: 'client_credentials' }),
      'invalid_client',
    )
    expectRefusal(await app.walk.token(client, {}), invalidRequest('grant_type is required.'))
  })
})

describe('a client’s own token is active', () => {
  const isActive = (token: string, of = client) => app.isActive(token, of)

  test('with the nine fields of every token, to itself and to the server of its resource (RFC 7662 §2.2)', async () => {
    const { access_token } = tokensOf(await ask({ resource: API }))
    for (const caller of [client, apiServer]) {
      expect(expectJson(await app.walk.introspect(caller, access_token))).toEqual({
        active: true,
        client_id: client.id,
        exp: app.grantor.clock.now() + 600,
        iat: app.grantor.clock.now(),
        iss: app.grantor.authUrl,
        jti: claimsOf(access_token).jti,
        scope: 'reports',
        sub: client.id,
        token_type: 'Bearer',
      })
    }
    expect(await isActive(access_token, app.client), 'to nobody else').toBe(false)
  })

  test('until it is revoked, alone, once and for all (RFC 7009 §2)', async () => {
    const [revoked, other] = [tokensOf(await ask()).access_token, tokensOf(await ask()).access_token]
    expectRefusal(await app.walk.revoke(app.client, revoked), 'invalid_grant')
    expect(await isActive(revoked), 'another client cannot').toBe(true)
    for (const time of ['once', 'again']) expect((await app.walk.revoke(client, revoked)).status, `${time} revoked`).toBe(200)
    expect([await isActive(revoked), await isActive(other)]).toEqual([false, true])
    await app.grantor.store.cleaning.sweep('spent', { overFor: 3600, limit: 100, at: app.grantor.clock.now() + 600 + 3599 })
    expect(await isActive(revoked), 'remembered until an hour after its end').toBe(false)
  })

  test('until its end, to the second', async () => {
    const { access_token } = tokensOf(await ask())
    app.grantor.clock.advance(599)
    expect(await isActive(access_token)).toBe(true)
    app.grantor.clock.advance(1)
    expect(await isActive(access_token)).toBe(false)
  })

  test('until the client is disabled, or may not ask for itself any more', async () => {
    const { secret: _, ...record } = client
    const { access_token } = tokensOf(await ask({ resource: API }))
    for (const change of [{ disabledAt: app.grantor.clock.now() }, { grantTypes: [] }]) {
      await app.grantor.store.clients.replaceClient({ ...record, ...change })
      await app.grantor.noticeChanges()
      expect(await isActive(access_token, apiServer)).toBe(false)
    }
    await app.grantor.store.clients.replaceClient(record)
    await app.grantor.noticeChanges()
    expect(await isActive(access_token, apiServer)).toBe(true)
  })

  test('and where the store cannot tell, the answer is 503 and never “active”', async () => {
    const node = await startApp()
    const own = await node.grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
    const { access_token } = tokensOf(await node.walk.token(own, { grant_type: 'client_credentials' }))
    await node.grantor.store.close()
    expectRefusal(await node.walk.introspect(own, access_token), 'temporarily_unavailable')
    expectRefusal(await node.walk.revoke(own, access_token), 'temporarily_unavailable')
    await node.close()
  })
})
