/** Clients that authenticate with their own keys: `private_key_jwt` (RFC 7523, OpenID Connect Core §9). */
import { createHash, randomUUID } from 'node:crypto'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pack } from '../../../../src/store/packed.ts'
import { type App, appOf, startApp, tokensOf } from '../../../support/app.ts'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import { storedBytes } from '../../../support/rows.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { startBeside, startGrantor, type TestClient } from '../../../support/start.ts'
import { basic, Walk } from '../../../support/walk.ts'
import { another, type KeyedApp, key, registration, startKeyedApp } from './keyed-app.ts'

let app: App
let client: TestClient
let assertion: KeyedApp['assertion']
let revokeBy: KeyedApp['revokeBy']
let expectRefused: KeyedApp['expectRefused']
beforeAll(async () => {
  ;({ app, client, assertion, revokeBy, expectRefused } = await startKeyedApp())
})
afterAll(() => app.close())

describe('Client assertions that are accepted', () => {
  test.each(['ES256', 'PS256', 'EdDSA'] as const)(
    'An assertion that is signed with %s is accepted (RFC 7518 §3, RFC 8037 §3)',
    async (alg) => {
      const own = newClientKey(alg)
      const of = await app.grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [own.jwk] } })
      expect((await revokeBy(await assertion({}, {}, own, of))).status).toBe(200)
    },
  )

  test('An assertion by any key of the client is accepted, with or without a kid (RFC 7515 §4.1.4)', async () => {
    expect((await revokeBy(await assertion({}, {}, another))).status).toBe(200)
    expect((await revokeBy(await assertion({}, { kid: undefined }, another))).status).toBe(200)
  })

  test('An assertion for the issuer is accepted, and one for an endpoint only if the client is registered for that (RFC 7523 §3)', async () => {
    const { authUrl } = app.grantor
    expect((await revokeBy(await assertion({ aud: authUrl }))).status).toBe(200)
    const endpoints = [`${authUrl}/oauth/token`, `${authUrl}/oauth/par`]
    for (const aud of endpoints) {
      const answer = await revokeBy(await assertion({ aud }))
      expect([answer.status, app.grantor.events.at(-1)?.reason], `aud ${aud}`).toEqual([401, 'assertion_audience_wrong'])
    }
    await changeClient(app.grantor, client, { assertionAudience: 'endpoint' })
    for (const aud of [authUrl, ...endpoints]) expect((await revokeBy(await assertion({ aud }))).status, `aud ${aud}`).toBe(200)
    await changeClient(app.grantor, client, { assertionAudience: 'issuer' })
  })

  test.each([undefined, 'JWT', 'jwt', 'client-authentication+jwt', 'application/client-authentication+jwt'])(
    'An assertion of the type %s is accepted',
    async (typ) => {
      expect((await revokeBy(await assertion({}, { typ }))).status).toBe(200)
    },
  )

  test('An assertion beside the client’s own client_id is accepted (RFC 7521 §4.2)', async () => {
    expect((await revokeBy(await assertion(), { client_id: client.id })).status).toBe(200)
  })

  test('An assertion from a clock that is 10 seconds ahead is accepted, and so is one without iat and nbf', async () => {
    const ahead = app.grantor.clock.now() + 10
    expect((await revokeBy(await assertion({ iat: ahead, nbf: ahead }))).status).toBe(200)
    expect((await revokeBy(await assertion({ iat: undefined }))).status).toBe(200)
  })

  test('An assertion that is valid for an hour is accepted', async () => {
    expect((await revokeBy(await assertion({ exp: app.grantor.clock.now() + 3600 }))).status).toBe(200)
  })

  test('An assertion authenticates a client for the code exchange, refresh, introspection and revocation', async () => {
    const own = await app.grantor.createClient(registration)
    const sign = async () => asserting(await assertion({}, {}, key, own))
    const code = await app.freshCode({}, own)
    const redirect_uri = own.redirectUris[0] ?? ''
    const exchange = await post(app.grantor, '/oauth/token', {
      grant_type: 'authorization_code',
      code,
      redirect_uri,
      ...(await sign()),
    })
    const { refresh_token } = tokensOf(exchange)
    const refreshed = tokensOf(
      await post(app.grantor, '/oauth/token', { grant_type: 'refresh_token', refresh_token, ...(await sign()) }),
    )
    const before = await post(app.grantor, '/oauth/introspect', { token: refreshed.access_token, ...(await sign()) })
    expect(before.json()).toMatchObject({ active: true, client_id: own.id })
    expect((await post(app.grantor, '/oauth/revoke', { token: refreshed.refresh_token, ...(await sign()) })).status).toBe(200)
    const after = await post(app.grantor, '/oauth/introspect', { token: refreshed.access_token, ...(await sign()) })
    expect(after.body).toBe('{"active":false}')
  })
})

describe('Single use of assertions (RFC 7523 §3 item 7)', () => {
  test('An assertion that is used a second time is refused, also at another endpoint', async () => {
    const text = await assertion()
    expect((await revokeBy(text)).status).toBe(200)
    await expectRefused(text, 'assertion_replayed')
    expectRefusal(await post(app.grantor, '/oauth/introspect', { token: 'x', ...asserting(text) }), 'invalid_client')
  })

  test('Of fifty simultaneous uses of one assertion on two nodes exactly one succeeds', async () => {
    const node = await startBeside(app.grantor)
    const second = appOf(node, client, new Walk(node))
    const text = await assertion()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        post(index % 2 ? app.grantor : node, '/oauth/revoke', { token: 'unknown', ...asserting(text) }),
      ),
    )
    await second.close()
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 'invalid_client')
  })

  test('The jti of an assertion that was refused for another reason still works in a valid assertion', async () => {
    const jti = randomUUID()
    await expectRefused(await assertion({ jti }, {}, { ...another, kid: key.kid }), 'assertion_signature_wrong')
    await expectRefused(await assertion({ jti, aud: 'https://elsewhere.example.com' }), 'assertion_audience_wrong')
    expect((await revokeBy(await assertion({ jti }))).status).toBe(200)
  })

  test('Two clients may use the same jti (RFC 7519 §4.1.7)', async () => {
    const own = await app.grantor.createClient(registration)
    const jti = randomUUID()
    expect((await revokeBy(await assertion({ jti }))).status).toBe(200)
    expect((await revokeBy(await assertion({ jti }, {}, key, own))).status).toBe(200)
  })

  test('The store keeps a hash of a used jti until an hour after the assertion expires, and never the jti itself', async () => {
    const jti = randomUUID()
    await revokeBy(await assertion({ jti }))
    const { store, clock, databasePath } = app.grantor
    const hash = createHash('sha256').update(`${client.id}\0${jti}`).digest('base64url')
    for (const form of [jti, Buffer.from(pack(jti)).toString('latin1')]) expect(storedBytes(databasePath)).not.toContain(form)
    await store.cleaning.sweep('spent', { overFor: 3600, limit: 1000, at: clock.now() + 3659 })
    expect(await store.spent.readSpent('assertion', hash)).toBe(true)
    await store.cleaning.sweep('spent', { overFor: 3600, limit: 1000, at: clock.now() + 3660 })
    expect(await store.spent.readSpent('assertion', hash)).toBe(false)
  })

  test('If the store cannot record the use of an assertion, the client gets temporarily_unavailable', async () => {
    const node = await startApp()
    const own = await node.grantor.createClient(registration)
    const text = await assertionOf(node.grantor, own.id, key)
    await node.grantor.store.close()
    expectRefusal(await post(node.grantor, '/oauth/revoke', { token: 'unknown', ...asserting(text) }), 'temporarily_unavailable')
    await node.close()
  })
})

describe('One authentication method for each client', () => {
  const TWO_METHODS = invalidRequest('Send client credentials in one way only.')

  test('An assertion beside a secret in the header or the body, or a repeated assertion, is invalid_request (RFC 6749 §2.3)', async () => {
    const sent = { token: 't', ...asserting(await assertion()) }
    const { id, secret } = app.client
    expectRefusal(await post(app.grantor, '/oauth/revoke', sent, { authorization: basic(id, secret) }), TWO_METHODS)
    expectRefusal(await post(app.grantor, '/oauth/revoke', { ...sent, client_id: id, client_secret: secret }), TWO_METHODS)
    expectRefusal(
      await post(app.grantor, '/oauth/revoke', { ...sent, client_assertion: ['a', 'b'] }),
      invalidRequest('client_assertion was sent more than once.'),
    )
  })

  test('A client registered for its key has no secret, and cannot authenticate with a secret or with client_id alone', async () => {
    expect(client.secret).toBe('')
    for (const secret of ['', 'guess', client.id]) {
      expectRefusal(
        await post(app.grantor, '/oauth/revoke', { token: 't' }, { authorization: basic(client.id, secret) }),
        'invalid_client',
      )
    }
    expectRefusal(await post(app.grantor, '/oauth/revoke', { token: 't', client_id: client.id }), 'invalid_client')
  })

  test('A client registered for its secret cannot authenticate with a key, even if it has keys for other purposes', async () => {
    const own = await app.grantor.createClient({ jwks: { keys: [key.jwk] } })
    await expectRefused(await assertion({}, {}, key, own), 'auth_method_not_registered')
    expect((await app.walk.revoke(own, 'unknown')).status).toBe(200)
  })
})

describe('Client assertions under the profile fapi2 (FAPI 2.0 Security Profile §5.3.2.1)', () => {
  let strict: TestClient
  beforeAll(async () => {
    strict = await app.grantor.createClient({ profile: 'fapi2', jwks: { keys: [key.jwk] } })
  })

  test('Under fapi2 only the issuer is accepted as the audience of an assertion', async () => {
    expect((await revokeBy(await assertion({}, {}, key, strict))).status).toBe(200)
    await expectRefused(
      await assertion({ aud: `${app.grantor.authUrl}/oauth/token` }, {}, key, strict),
      'assertion_audience_wrong',
    )
  })

  test('Under fapi2 an assertion is valid for at most ten minutes', async () => {
    expect((await revokeBy(await assertion({ exp: app.grantor.clock.now() + 600 }, {}, key, strict))).status).toBe(200)
    await expectRefused(await assertion({ exp: app.grantor.clock.now() + 601 }, {}, key, strict), 'assertion_lives_too_long')
  })
})

test('The library openid-client authenticates with its key: discovery, client credentials, introspection and revocation', async () => {
  const node = await startGrantor()
  const own = await node.createClient({ ...registration, redirectUris: [], grantTypes: ['client_credentials'] })
  const pkcs8 = key.privateKey.export({ format: 'der', type: 'pkcs8' })
  const signing = await crypto.subtle.importKey('pkcs8', pkcs8, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
  const config = await openid.discovery(
    new URL(node.authUrl),
    own.id,
    undefined,
    openid.PrivateKeyJwt({ key: signing, kid: key.kid }),
    {
      // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed; this is loopback
      execute: [openid.allowInsecureRequests],
    },
  )
  expect(config.serverMetadata().token_endpoint_auth_methods_supported).toContain('private_key_jwt')
  const { access_token } = await openid.clientCredentialsGrant(config, { scope: 'enhancement' })
  expect(await openid.tokenIntrospection(config, access_token)).toMatchObject({ active: true, sub: own.id })
  await openid.tokenRevocation(config, access_token)
  expect(await openid.tokenIntrospection(config, access_token)).toEqual({ active: false })
  await node.close()
})

test('Failed assertions count against the client that they name, and a valid assertion is accepted even past the limit', async () => {
  const node = await startApp({ failureLimit: 3 })
  const own = await node.grantor.createClient(registration)
  const other = await node.grantor.createClient(registration)
  const bad = async (of: TestClient) =>
    post(node.grantor, '/oauth/revoke', { token: 't', ...asserting(await assertionOf(node.grantor, of.id, key, { aud: 'x' })) })
  const statuses = []
  for (let round = 0; round < 5; round++) statuses.push((await bad(own)).status)
  expect(statuses).toEqual([401, 401, 401, 429, 429])
  expect((await bad(other)).status, 'another client').toBe(401)
  const good = await post(node.grantor, '/oauth/revoke', {
    token: 't',
    ...asserting(await assertionOf(node.grantor, own.id, key)),
  })
  expect(good.status).toBe(200)
  await node.close()
})
