/** The validity of exchanged tokens (RFC 8693), on both engines: an exchanged token is never valid longer than what it was exchanged from. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOKEN_EXCHANGE } from '../../../../src/protocol/oauth/grant-types.ts'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { aClientHost } from '../../../support/client-host.ts'
import { ACCESS_TOKEN_TYPE, API, type ExchangeApp, FILES, MCP, startExchangeApp } from '../../../support/exchange-app.ts'
import { createPostgresDatabase } from '../../../support/postgres.ts'
import { expectJson, expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE, requestOf, Walk } from '../../../support/walk.ts'

const SUBJECT_REFUSED = invalidRequest('The subject_token is invalid, expired, revoked, or not for this client.')

describe.each(['sqlite', 'postgres'] as const)('Exchanged tokens on %s', (engine) => {
  let app: ExchangeApp
  let cleanUp = async () => {}

  beforeAll(async () => {
    const database = engine === 'postgres' ? await createPostgresDatabase() : null
    app = await startExchangeApp(database ? { postgres: database.address } : {})
    cleanUp = async () => {
      await app.close()
      await database?.drop()
    }
  })
  afterAll(() => cleanUp())

  /** A token of the app for MCP, the token for API that MCP got for it, and the token for FILES that API got for that. */
  async function chain() {
    const tokens = await app.freshTokens({ resource: MCP, scope: 'enhancement profile openid', response_type: 'code' })
    const forApi = tokensOf(await app.exchange(tokens.access_token)).access_token
    const forFiles = tokensOf(await app.exchange(forApi, { resource: FILES }, { client: app.api })).access_token
    return { tokens, subject: tokens.access_token, forApi, forFiles }
  }
  type Chain = Awaited<ReturnType<typeof chain>>

  const activities = async ({ subject, forApi, forFiles }: Chain) => [
    await app.isActive(subject, app.mcp),
    await app.isActive(forApi, app.api),
    await app.isActive(forFiles, app.api),
  ]
  const userinfo = (token: string) =>
    send(app.grantor.authUrl, { path: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } })
  /** Holds against the whole chain: no token is active, and none can be exchanged. */
  async function expectEnded(of: Chain) {
    expect(await activities(of)).toEqual([false, false, false])
    for (const token of [of.subject, of.forApi, of.forFiles]) expect((await userinfo(token)).status).toBe(401)
    expectRefusal(await app.exchange(of.subject), SUBJECT_REFUSED)
    expectRefusal(await app.exchange(of.forApi, { resource: FILES }, { client: app.api }), SUBJECT_REFUSED)
  }
  const lastReason = () => app.grantor.events.at(-1)?.reason

  test('Introspection of an exchanged token by a resource server has the nine members, aud and act (RFC 8693 §4.1)', async () => {
    const { forApi, forFiles } = await chain()
    const expected = {
      active: true,
      client_id: app.mcp.id,
      exp: claimsOf(forApi).exp,
      iat: expect.any(Number),
      iss: app.grantor.authUrl,
      jti: claimsOf(forApi).jti,
      scope: 'enhancement profile openid',
      sub: app.walk.wallet.address,
      token_type: 'Bearer',
      aud: API,
      act: { sub: app.mcp.id },
    }
    for (const caller of [app.api, app.mcp]) expect(expectJson(await app.walk.introspect(caller, forApi))).toEqual(expected)
    expect(expectJson(await app.walk.introspect(app.api, forFiles)).act).toEqual({ sub: app.api.id, act: { sub: app.mcp.id } })
  })

  test('An exchanged token is inactive for the app whose token was exchanged (RFC 7662 §4)', async () => {
    const { forApi, subject } = await chain()
    expect(await app.isActive(forApi, app.client)).toBe(false)
    expect(await app.isActive(subject, app.client)).toBe(true)
  })

  test('Userinfo accepts an exchanged token with openid, and reads its grant (OpenID Connect Core §5.3)', async () => {
    const { forApi, tokens } = await chain()
    const { address } = app.walk.wallet
    expect(expectJson(await userinfo(forApi))).toMatchObject({
      sub: address,
      picture: `${app.grantor.authUrl}/oauth/picture/${address}`,
    })
    await app.walk.revoke(app.client, tokens.refresh_token)
    expect((await userinfo(forApi)).status).toBe(401)
  })

  test.each<[string, (of: Chain) => Promise<unknown>]>([
    ['the app revokes the refresh token', ({ tokens }) => app.walk.revoke(app.client, tokens.refresh_token)],
    ['the app revokes the subject token alone', ({ subject }) => app.walk.revoke(app.client, subject)],
    [
      'the operator ends the grant',
      ({ subject }) => app.grantor.store.grants.endGrant(claimsOf(subject).grant_id, 'operator', app.grantor.clock.now()),
    ],
  ])('As soon as %s, exchanged tokens are inactive and cannot be exchanged', async (_, end) => {
    const of = await chain()
    expect(await activities(of)).toEqual([true, true, true])
    await end(of)
    await expectEnded(of)
  })

  test('A subject token that was revoked a moment ago is invalid_request, and the audit log has the reason (RFC 8693 §2.2.2)', async () => {
    const of = await chain()
    await app.walk.revoke(app.client, of.subject)
    expectRefusal(await app.exchange(of.subject), SUBJECT_REFUSED)
    expect(lastReason()).toBe('subject_token_revoked')
    await app.walk.revoke(app.client, of.tokens.refresh_token)
    expectRefusal(await app.exchange(of.subject), SUBJECT_REFUSED)
    expect(lastReason()).toBe('subject_token_grant_ended')
  })

  test('The client that exchanged a token can revoke the new token, which ends that token and those exchanged from it (RFC 7009 §2.1)', async () => {
    const of = await chain()
    expect((await app.walk.revoke(app.mcp, of.forApi)).status).toBe(200)
    expect(app.grantor.events.at(-1)).toMatchObject({ event: 'access_token_revoked', reason: 'revoked', client_id: app.mcp.id })
    expect(await activities(of)).toEqual([true, false, false])
    expect((await app.walk.refresh(app.client, of.tokens.refresh_token)).status, 'the grant stays valid').toBe(200)
    expectRefusal(await app.exchange(of.forApi, { resource: FILES }, { client: app.api }), SUBJECT_REFUSED)
    expect(lastReason()).toBe('subject_token_revoked')
  })

  test('No other client can revoke an exchanged token: not the app, not the API, and not a later actor (RFC 7009 §2.1)', async () => {
    const of = await chain()
    for (const client of [app.client, app.api]) expectRefusal(await app.walk.revoke(client, of.forApi), 'invalid_grant')
    expectRefusal(await app.walk.revoke(app.mcp, of.forFiles), 'invalid_grant')
    expectRefusal(await app.walk.revoke(app.mcp, of.subject), 'invalid_grant')
    expect(await activities(of)).toEqual([true, true, true])
  })

  test.each(['client', 'mcp', 'api'] as const)(
    'While the client %s of a chain is disabled, the tokens that it received or exchanged are inactive',
    async (name) => {
      const of = await chain()
      const position = { client: 0, mcp: 1, api: 2 }[name]
      await changeClient(app.grantor, app[name], { disabledAt: app.grantor.clock.now() })
      const forFiles = await app.grantor.createClient({ redirectUris: [], resourceServer: FILES })
      const callers = [app.mcp, app.api, forFiles]
      const tokens = [of.subject, of.forApi, of.forFiles]
      for (let at = position; at < 3; at++) {
        const caller = callers[at] ?? app.mcp
        if (caller.id !== app[name].id) expect(await app.isActive(tokens[at] ?? '', caller), `token ${at}`).toBe(false)
        expect((await userinfo(tokens[at] ?? '')).status).toBe(401)
      }
      if (name === 'client') {
        expectRefusal(await app.exchange(of.subject), SUBJECT_REFUSED)
        expect(lastReason()).toBe('subject_token_client_disabled')
      }
      if (name !== 'api') expectRefusal(await app.exchange(of.forApi, { resource: FILES }, { client: app.api }), SUBJECT_REFUSED)
      await changeClient(app.grantor, app[name], { disabledAt: null })
      expect(await activities(of)).toEqual([true, true, true])
    },
  )

  test('An earlier actor in act has no rights: it can neither introspect nor exchange the token of a later actor (RFC 8693 §4.1)', async () => {
    const { forFiles } = await chain()
    expect(claimsOf(forFiles).act).toEqual({ sub: app.api.id, act: { sub: app.mcp.id } })
    expect(await app.isActive(forFiles, app.mcp)).toBe(false)
    expectRefusal(await app.exchange(forFiles), SUBJECT_REFUSED)
  })

  test('A refresh of the app ends no exchanged token, and an earlier access token can still be exchanged until it expires', async () => {
    const of = await chain()
    const refreshed: Answer = await app.walk.refresh(app.client, of.tokens.refresh_token, { resource: MCP })
    expect(refreshed.status).toBe(200)
    expect(await activities(of)).toEqual([true, true, true])
    expect((await app.exchange(of.subject)).status).toBe(200)
    expect((await app.exchange(tokensOf(refreshed).access_token)).status).toBe(200)
  })

  test('The audience of an exchanged token is its new resource alone: the client that exchanged it cannot use it at its own API', async () => {
    const { forApi } = await chain()
    expect(claimsOf(forApi).aud).toBe(API)
    const secondServer = await app.grantor.createClient({ redirectUris: [], resourceServer: MCP })
    expect(await app.isActive(forApi, secondServer)).toBe(false)
  })
})

test('A token exchange is 503 if the store cannot be read, and no token is issued', async () => {
  const app = await startExchangeApp()
  const subject = await app.subjectToken()
  await app.grantor.store.close()
  expectRefusal(await app.exchange(subject), 'temporarily_unavailable')
  await app.close()
})

test('A token of an unregistered client is exchanged and introspected without a fetch of its metadata document', async () => {
  const document: Record<string, unknown> = { client_name: 'Agent Tools', redirect_uris: ['http://localhost/callback'] }
  const host = await aClientHost((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
  const clientId = `${host.origin}/client.json`
  Object.assign(document, { client_id: clientId, token_endpoint_auth_method: 'none' })
  const grantor = await startGrantor({ clientMetadata: true })
  const registration = { redirectUris: [], scopes: ['openid'], resourceServer: grantor.authUrl, exchangeResources: [API] }
  const mcp = await grantor.createClient(registration)
  const walk = new Walk(grantor)
  const unregistered = { id: clientId, secret: '', redirectUris: ['http://localhost:33418/callback'] } as unknown as TestClient
  const request = { ...requestOf(unregistered), ...PKCE, response_type: 'code', scope: 'openid wallet' }
  const { code } = await walk.signIn(request)
  const { access_token } = tokensOf(await walk.exchange(unregistered, code, { code_verifier: CODE_VERIFIER }))
  const form = { grant_type: TOKEN_EXCHANGE, subject_token: access_token, subject_token_type: ACCESS_TOKEN_TYPE, resource: API }
  const fetchesBefore = host.requests.length

  const exchanged = expectJson(await walk.token(mcp, form))
  expect(exchanged.scope).toBe('openid')
  expect(expectJson(await walk.introspect(mcp, exchanged.access_token as string))).toMatchObject({
    active: true,
    sub: walk.wallet.address,
    act: { sub: mcp.id },
  })
  expect(host.requests).toHaveLength(fetchesBefore)
  await grantor.close()
})
