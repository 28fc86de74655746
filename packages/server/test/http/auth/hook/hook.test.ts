/** The hook of the operator over HTTP, with a real receiver, on SQLite and on PostgreSQL. */
import type { ServerResponse } from 'node:http'
import { createTokenCheck } from '@grantor/resource'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { adminResourceOf } from '../../../../src/domain/operators/authorize-operator.ts'
import { CONSOLE_CLIENT_ID, consoleCallbackOf } from '../../../../src/domain/operators/console-client.ts'
import { appOf, claimsOf, type Tokens, tokensOf } from '../../../support/app.ts'
import { allowDevice, authorizedDevice, createDeviceClient, poll } from '../../../support/device.ts'
import { codeFor, exchangeWith, newDpopKey, refreshWith } from '../../../support/dpop.ts'
import { answerWith, HOOK_SECRET, startHook, type TestHook } from '../../../support/hook.ts'
import { OPENID, type OpenIdTokens, openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { createPostgresDatabase } from '../../../support/postgres.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { send } from '../../../support/send.ts'
import { outcomeOf, receiptsOf, signedClient, signInToAccount } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const RESOURCE = 'https://api.example.com/'
const BOTH = 'enhancement profile'

describe.each(['SQLite', 'PostgreSQL'])('On %s', (engine) => {
  let hook: TestHook
  let grantor: Grantor
  let client: TestClient
  let walk: Walk
  let drop: () => Promise<void> = async () => undefined

  beforeAll(async () => {
    hook = await startHook()
    const database = engine === 'PostgreSQL' ? await createPostgresDatabase() : undefined
    if (database) drop = database.drop
    grantor = await startGrantor({
      environment: { ...hook.environment, GRANTOR_HOOK_TIMEOUT_MS: '10000' },
      admin: true,
      ...(database && { postgres: database.address }),
    })
    client = await grantor.createClient({ scopes: ['enhancement', 'profile'], resources: [RESOURCE] })
  })
  afterAll(async () => {
    await grantor.close()
    await hook.close()
    await drop()
  })

  beforeEach(async () => {
    hook.answer = { answer: 'yes' }
    walk = new Walk(grantor)
    await walk.signIn(requestOf(client))
    hook.questions.length = 0
    grantor.events.length = 0
  })

  const freshTokens = (more = {}): Promise<Tokens> => appOf(grantor, client, walk).freshTokens({ scope: BOTH, ...more })
  const grantOf = ({ access_token }: Tokens) => grantor.store.grants.readGrant(claimsOf(access_token).grant_id)
  const refresh = ({ refresh_token }: Tokens, more = {}) => walk.refresh(client, refresh_token, more)
  const eventsOf = (event: string) => grantor.events.filter((each) => each.event === event)
  const no = { answer: 'no', reason: 'not on the list' }
  const hang = (): void => undefined

  function expectAway(answer: Answer): void {
    expect([answer.status, answer.json().error, answer.headers['retry-after']]).toEqual([503, 'temporarily_unavailable', '5'])
    expect(answer.body).not.toContain('hook')
  }

  describe('Before a code', () => {
    test('The hook gets one signed question with the wallet, the client, the scopes and the resources, and its yes issues the code', async () => {
      const answer = await walk.authorize(requestOf(client, { scope: BOTH, resource: RESOURCE }))
      expect(outcomeOf(answer)).toBe('code')
      expect(hook.questions).toEqual([
        {
          issuer: grantor.authUrl,
          occasion: 'code',
          wallet: walk.wallet.address,
          wallet_kind: 'ordinary',
          chain_id: 1,
          auth_time: expect.any(Number),
          client_id: client.id,
          client_name: client.name,
          scopes: ['enhancement', 'profile'],
          resources: [RESOURCE],
        },
      ])
      const { path, headers, body } = hook.host.requests.at(-1) ?? { path: '', headers: {}, body: '' }
      expect([path, headers['content-type'], headers['accept-encoding']]).toEqual([
        '/grantor?token=t',
        'application/json',
        'identity',
      ])
      expect(JSON.parse(body)).toMatchObject({ type: 'hook.question', timestamp: expect.stringMatching(/Z$/) })
      expect(eventsOf('hook_allowed')).toMatchObject([
        { client_id: client.id, occasion: 'code', scopes: BOTH, audit_id: expect.any(String) },
      ])
    })

    test('A no is access_denied at the redirect URI, and nothing of the request is stored (RFC 6749 §4.1.2.1)', async () => {
      hook.answer = no
      const answer = await walk.authorize(requestOf(client, { scope: BOTH, state: 's' }))
      expect([parameterOf(answer.location, 'error'), parameterOf(answer.location, 'state')]).toEqual(['access_denied', 's'])
      expect(parameterOf(answer.location, 'error_description')).toBe('The operator does not allow this.')
      expect(eventsOf('hook_refused')).toMatchObject([
        { client_id: client.id, occasion: 'code', scopes: BOTH, note: 'not on the list', audit_id: expect.any(String) },
      ])
      expect(eventsOf('code_issued')).toEqual([])
    })

    test('A hook without an answer is a page with 503 and Retry-After, and temporarily_unavailable with prompt=none', async () => {
      hook.answer = (_, response) => response.writeHead(500).end()
      const page = await walk.authorize(requestOf(client))
      expect([page.status, noticeOf(page), page.headers['retry-after']]).toEqual([503, 'unavailable', '5'])
      expect(eventsOf('code_issued')).toEqual([])
      const silent = await walk.authorize(requestOf(client, { prompt: 'none' }))
      expect(parameterOf(silent.location, 'error')).toBe('temporarily_unavailable')
      hook.answer = { answer: 'yes' }
      expect(outcomeOf(await walk.authorize(requestOf(client)))).toBe('code')
    })

    test('Fewer scopes narrow the first tokens, and the grant keeps the consent: a refresh gets all scopes once the hook allows them', async () => {
      hook.answer = { answer: 'fewer', scopes: ['profile'] }
      const tokens = await freshTokens()
      expect([tokens.scope, claimsOf(tokens.access_token).scope]).toEqual(['profile', 'profile'])
      expect((await grantOf(tokens))?.scopes).toEqual(['enhancement', 'profile'])
      hook.answer = { answer: 'yes' }
      expect(tokensOf(await refresh(tokens)).scope).toBe(BOTH)
      expect(hook.questions.at(-1)).toMatchObject({ occasion: 'refresh', scopes: ['enhancement', 'profile'] })
    })

    test('A pushed request is not spent by a no, nor by a hook without an answer (RFC 9126 §4)', async () => {
      const pushed = await walk.call('/oauth/par', client, requestOf(client))
      const { request_uri } = pushed.json() as { request_uri: string }
      const request = { client_id: client.id, request_uri }
      hook.answer = no
      expect(outcomeOf(await walk.authorize(request))).toBe('access_denied')
      hook.answer = (_, response) => response.writeHead(503).end()
      expect((await walk.authorize(request)).status).toBe(503)
      hook.answer = { answer: 'yes' }
      expect(outcomeOf(await walk.authorize(request))).toBe('code')
    })

    test('At a sign-in a no leads to the app with access_denied and starts no session, so another wallet can sign in', async () => {
      const other = new Walk(grantor, walk.wallet)
      hook.answer = no
      const answer = await other.complete(await other.prove(await other.challenge(requestOf(client))))
      expect([answer.status, parameterOf(movingTo(answer), 'error')]).toEqual([200, 'access_denied'])
      expect(answer.headers['set-cookie'] ?? []).toEqual([])
      expect(eventsOf('session_started')).toEqual([])
      hook.answer = (question, response) =>
        answerWith(response, { answer: question.wallet === walk.wallet.address ? 'no' : 'yes' })
      other.wallet = testWallet(1)
      expect((await other.signIn(requestOf(client))).code).not.toBe('')
    })

    test('At a sign-in a hook without an answer is a page with 503, and the browser finishes the same sign-in when it repeats the request', async () => {
      const other = new Walk(grantor, walk.wallet)
      const path = await other.prove(await other.challenge(requestOf(client)))
      hook.answer = (_, response) => response.writeHead(500).end()
      const page = await other.complete(path)
      expect([page.status, noticeOf(page), page.headers['retry-after']]).toEqual([503, 'unavailable', '5'])
      expect(eventsOf('session_started')).toEqual([])
      hook.answer = { answer: 'yes' }
      expect(parameterOf(movingTo(await other.complete(path)), 'code')).not.toBe('')
    })

    test('At a confirmation a no leads to the app, and after a 503 the same form can be posted again', async () => {
      const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
      expect(hook.questions, 'not before the user has answered').toEqual([])
      hook.answer = (_, response) => response.writeHead(500).end()
      expect((await walk.confirm(page, 'allow')).status).toBe(503)
      hook.answer = no
      const refused = await walk.confirm(page, 'allow')
      expect(parameterOf(movingTo(refused), 'error')).toBe('access_denied')
      expect(eventsOf('consent_confirmed')).toEqual([])
      hook.answer = { answer: 'yes' }
      expect(parameterOf(movingTo(await walk.confirm(page, 'allow')), 'code')).not.toBe('')
      const asked = hook.questions.length
      await walk.confirm(page, 'deny')
      expect(hook.questions, 'a refusal of the user needs no hook').toHaveLength(asked)
    })

    test('Under the rule signed, the receipt of a refused sign-in covers the request later, without another signature', async () => {
      const signed = await signedClient(grantor)
      const other = new Walk(grantor, walk.wallet)
      await signInToAccount(other)
      hook.answer = no
      const path = await other.prove(await other.challenge(requestOf(signed)))
      expect(parameterOf(movingTo(await other.complete(path)), 'error')).toBe('access_denied')
      hook.answer = { answer: 'yes' }
      expect(outcomeOf(await other.authorize(requestOf(signed)))).toBe('code')
      expect((await receiptsOf(grantor, other.wallet)).filter(({ clientId }) => clientId === signed.id)).toHaveLength(1)
    })

    test('The hook is not called for the account page, for an exchange of a code, for client credentials, nor for the console', async () => {
      const code = await appOf(grantor, client, walk).freshCode()
      const asked = hook.questions.length
      hook.answer = no
      expect((await walk.exchange(client, code)).status).toBe(200)
      await signInToAccount(new Walk(grantor, walk.wallet))
      const machine = await grantor.createClient({ grantTypes: ['client_credentials'], redirectUris: [] })
      expect((await walk.token(machine, { grant_type: 'client_credentials' })).status).toBe(200)
      const console = {
        client_id: CONSOLE_CLIENT_ID,
        redirect_uri: consoleCallbackOf(grantor.adminUrl),
        ...PKCE,
        resource: adminResourceOf(grantor.adminUrl),
      }
      expect((await new Walk(grantor, walk.wallet).signIn(console)).code).not.toBe('')
      expect(hook.questions).toHaveLength(asked)
    })
  })

  describe('At a device', () => {
    test('Fewer scopes reach the device; a no leaves the request open, so another wallet can allow it (RFC 8628 §3.3)', async () => {
      const device = await createDeviceClient(grantor, { defaultScopes: ['enhancement', 'profile'] })
      const asked = await authorizedDevice(walk, device)
      hook.answer = no
      const page = await allowDevice(new Walk(grantor, walk.wallet), asked)
      expect([page.status, noticeOf(page)]).toEqual([403, 'device_not_allowed'])
      expect(eventsOf('device_allowed')).toEqual([])
      expectRefusal(await poll(walk, device, asked), 'authorization_pending')
      hook.answer = { answer: 'fewer', scopes: ['enhancement'] }
      expect((await allowDevice(new Walk(grantor, testWallet(1)), asked)).status).toBe(200)
      grantor.clock.advance(6)
      const tokens = tokensOf(await poll(walk, device, asked))
      expect(tokens.scope).toBe('enhancement')
      expect(hook.questions.at(-1)).toMatchObject({ occasion: 'device', scopes: ['enhancement', 'profile'] })
      hook.answer = { answer: 'yes' }
      expect(tokensOf(await walk.refresh(device, tokens.refresh_token)).scope).toBe(BOTH)
    })

    test('A hook without an answer is a page with 503, and the device can still be allowed', async () => {
      const device = await createDeviceClient(grantor)
      const asked = await authorizedDevice(walk, device)
      hook.answer = (_, response) => response.writeHead(500).end()
      const page = await allowDevice(new Walk(grantor, walk.wallet), asked)
      expect([page.status, noticeOf(page)]).toEqual([503, 'unavailable'])
      hook.answer = { answer: 'yes' }
      expect((await allowDevice(new Walk(grantor, walk.wallet), asked)).status).toBe(200)
    })
  })

  describe('Claims of the platform in an answer', () => {
    const PLAN = 'https://platform.example/plan'
    const OTHER = 'https://other.example.com/'
    const planOf = ({ access_token }: Tokens) => [claimsOf(access_token).aud, claimsOf(access_token)[PLAN]]
    /** Answers with the plan for each resource of the question. */
    const plan = (value: unknown) => (question: { resources: string[] }, response: ServerResponse) => {
      const claims = Object.fromEntries(question.resources.map((uri) => [uri, { [PLAN]: [value, uri] }]))
      answerWith(response, { answer: 'yes', claims })
    }
    const appWithTwoApis = () => grantor.createClient({ resources: [RESOURCE, OTHER] })

    test('Claims are in the access token of their resource only, and each refresh asks again for the resource of the next token', async () => {
      const app = await appWithTwoApis()
      hook.answer = plan('free')
      const first = await appOf(grantor, app, walk).freshTokens({ resource: [RESOURCE, OTHER] })
      expect(hook.questions.at(-1)?.resources).toEqual([RESOURCE, OTHER])
      expect(planOf(first)).toEqual([RESOURCE, ['free', RESOURCE]])
      hook.answer = plan('pro')
      const second = tokensOf(await walk.refresh(app, first.refresh_token, { resource: OTHER }))
      expect(planOf(second)).toEqual([OTHER, ['pro', OTHER]])
      hook.answer = { answer: 'yes' }
      const third = tokensOf(await walk.refresh(app, second.refresh_token, { resource: OTHER }))
      expect(planOf(third), 'an answer without claims').toEqual([OTHER, undefined])
    })

    test('Claims for one resource never reach the token for another one', async () => {
      const app = await appWithTwoApis()
      hook.answer = { answer: 'yes', claims: { [OTHER]: { [PLAN]: 'pro' } } }
      const code = await appOf(grantor, app, walk).freshCode({ resource: [RESOURCE, OTHER] })
      expect(planOf(tokensOf(await walk.exchange(app, code)))).toEqual([RESOURCE, undefined])
    })

    test('The introspection of the resource server, and the check of @grantor/resource, have the claims; that of the app has none (RFC 7662 §2.2)', async () => {
      const api = await grantor.createClient({ redirectUris: [], resourceServer: RESOURCE })
      hook.answer = { answer: 'yes', claims: { [RESOURCE]: { [PLAN]: { name: 'pro', seats: 3 } } } }
      const { access_token } = await freshTokens({ resource: RESOURCE })
      const introspected = async (by: TestClient) => (await walk.introspect(by, access_token)).json()
      expect(await introspected(api)).toMatchObject({ active: true, aud: RESOURCE, [PLAN]: { name: 'pro', seats: 3 } })
      expect(Object.keys(await introspected(client)).filter((name) => name.includes('/'))).toEqual([])
      const check = createTokenCheck({ issuer: grantor.authUrl, audience: RESOURCE, now: grantor.clock.now })
      const { claims } = await check({ method: 'GET', url: '/', headers: { authorization: `Bearer ${access_token}` } })
      expect(claims[PLAN]).toEqual({ name: 'pro', seats: 3 })
    })

    test('1,024 bytes of claims pass through the code, and fewer scopes come with them', async () => {
      const claims = { [RESOURCE]: { [PLAN]: '' } }
      claims[RESOURCE] = { [PLAN]: 'x'.repeat(1024 - JSON.stringify(claims).length) }
      hook.answer = { answer: 'fewer', scopes: ['profile'], claims }
      const tokens = await freshTokens({ resource: RESOURCE })
      expect(tokens.scope).toBe('profile')
      expect(claimsOf(tokens.access_token)).toMatchObject(claims[RESOURCE])
    })

    test('A device gets the claims, and a repeated refresh within the retry window gets those of the first answer', async () => {
      const device = await createDeviceClient(grantor)
      const asked = await authorizedDevice(walk, device)
      hook.answer = plan('free')
      await allowDevice(new Walk(grantor, walk.wallet), asked)
      const tokens = tokensOf(await poll(walk, device, asked))
      expect(planOf(tokens)).toEqual([grantor.authUrl, ['free', grantor.authUrl]])
      for (const value of ['pro', 'team']) {
        hook.answer = plan(value)
        const repeated = tokensOf(await walk.refresh(device, tokens.refresh_token))
        expect(planOf(repeated)).toEqual([grantor.authUrl, ['pro', grantor.authUrl]])
      }
    })
  })

  describe('At a refresh', () => {
    test('A no is invalid_grant, the row does not change, and the same refresh token works when the hook says yes', async () => {
      const tokens = await freshTokens()
      const before = await grantOf(tokens)
      hook.answer = no
      expectRefusal(await refresh(tokens), 'invalid_grant')
      expect(await grantOf(tokens)).toEqual(before)
      expect(eventsOf('hook_refused')).toMatchObject([{ occasion: 'refresh', grant_id: before?.id, note: 'not on the list' }])
      expect(eventsOf('grant_ended')).toEqual([])
      hook.answer = { answer: 'yes' }
      expect((await refresh(tokens)).status).toBe(200)
    })

    test('A hook without an answer is 503 with Retry-After, the row does not change, and the same refresh token works later', async () => {
      const tokens = await freshTokens()
      const before = await grantOf(tokens)
      hook.answer = (_, response) => response.writeHead(500).end()
      expectAway(await refresh(tokens))
      expect(await grantOf(tokens)).toEqual(before)
      hook.answer = { answer: 'yes' }
      expect((await refresh(tokens)).status).toBe(200)
    })

    test('Fewer scopes narrow one access token; the question has the scopes and the resource of the request', async () => {
      const tokens = await freshTokens({ resource: RESOURCE })
      hook.answer = { answer: 'fewer', scopes: ['profile'] }
      const second = tokensOf(await refresh(tokens))
      expect([second.scope, claimsOf(second.access_token).scope]).toEqual(['profile', 'profile'])
      expect((await walk.introspect(client, second.access_token)).json()).toMatchObject({ active: true, scope: 'profile' })
      hook.answer = { answer: 'yes' }
      const third = tokensOf(await refresh(second, { scope: 'enhancement', resource: RESOURCE }))
      expect(third.scope).toBe('enhancement')
      expect(hook.questions.at(-1)).toMatchObject({
        occasion: 'refresh',
        scopes: ['enhancement'],
        resources: [RESOURCE],
        grant_id: (await grantOf(tokens))?.id,
      })
      expect(tokensOf(await refresh(third)).scope).toBe(BOTH)
    })

    test('A refused request does not reach the hook, and a replay ends the grant while the hook does not respond', async () => {
      const tokens = await freshTokens()
      const second = tokensOf(await refresh(tokens))
      await refresh(second)
      const asked = hook.questions.length
      hook.answer = hang
      expectRefusal(await walk.refresh(client, 'grr.x.y'), 'invalid_grant')
      expectRefusal(await refresh(second, { scope: 'admin' }), 'invalid_scope')
      expectRefusal(await refresh(tokens), 'invalid_grant')
      expect((await grantOf(tokens))?.endReason).toBe('refresh_replayed')
      expect(hook.questions).toHaveLength(asked)
    })

    test('Simultaneous refreshes with one token share one question, and get the same refresh token and the same scopes', async () => {
      const tokens = await freshTokens()
      const asked = hook.questions.length
      let answers = 0
      hook.answer = (_, response) =>
        void setTimeout(
          () => answerWith(response, answers++ === 0 ? { answer: 'fewer', scopes: ['profile'] } : { answer: 'yes' }),
          50,
        )
      const all = (await Promise.all([1, 2, 3, 4, 5].map(() => refresh(tokens)))).map(tokensOf)
      expect(new Set(all.map(({ refresh_token }) => refresh_token)).size).toBe(1)
      expect(all.map(({ scope }) => scope)).toEqual(Array(5).fill('profile'))
      expect(hook.questions).toHaveLength(asked + 1)
    })

    test('A repeated refresh within the retry window gets the same answer without a question, also while the hook does not respond', async () => {
      const tokens = await freshTokens()
      hook.answer = { answer: 'fewer', scopes: ['profile'] }
      const second = tokensOf(await refresh(tokens))
      for (const answer of [{ answer: 'yes' }, no, hang]) {
        hook.answer = answer
        const again = tokensOf(await refresh(tokens))
        expect([again.refresh_token, again.scope]).toEqual([second.refresh_token, 'profile'])
      }
      hook.answer = { answer: 'yes' }
      expect(tokensOf(await refresh(second)).scope, 'the next refresh is a new question').toBe(BOTH)
    })

    test('A public client with DPoP keeps its refresh token after a no and after a 503, and its next proof is accepted (RFC 9449 §5)', async () => {
      const spa = await grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] })
      const key = newDpopKey()
      const tokens = tokensOf(await exchangeWith(walk, spa, await codeFor(walk, spa), key))
      hook.answer = no
      expectRefusal(await refreshWith(walk, spa, tokens.refresh_token, key), 'invalid_grant')
      hook.answer = (_, response) => response.writeHead(500).end()
      expectAway(await refreshWith(walk, spa, tokens.refresh_token, key))
      expectRefusal(await refreshWith(walk, spa, tokens.refresh_token, newDpopKey()), 'invalid_grant')
      hook.answer = { answer: 'yes' }
      const again = tokensOf(await refreshWith(walk, spa, tokens.refresh_token, key))
      expect(again.token_type).toBe('DPoP')
    })

    test('The ID token and the userinfo response have the claims of the narrowed scopes only (OpenID Connect Core §5.4)', async () => {
      const openId = await openIdClient(grantor)
      const tokens: OpenIdTokens = await openIdTokens(walk, openId, OPENID)
      const userinfo = async (token: string) =>
        (await send(grantor.authUrl, { path: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } })).json()
      expect(Object.keys(await userinfo(tokens.access_token)).length).toBeGreaterThan(1)
      // `openid` is required: the hook cannot take it away beside other scopes.
      hook.answer = { answer: 'fewer', scopes: ['openid'] }
      const second = tokensOf(await walk.refresh(openId, tokens.refresh_token)) as unknown as OpenIdTokens
      expect(second.scope).toBe('openid')
      expect(await userinfo(second.access_token)).toEqual({ sub: walk.wallet.address })
      const claims = claimsOf(second.id_token)
      expect(Object.keys(claims)).toEqual(expect.arrayContaining(['sub', 'auth_time', 'acr']))
      expect(Object.keys(claimsOf(tokens.id_token)).filter((name) => !(name in claims))).toContain('chain_id')
      hook.answer = { answer: 'fewer', scopes: ['wallet'] }
      expect(tokensOf(await walk.refresh(openId, second.refresh_token)).scope).toBe('openid wallet')
      hook.answer = { answer: 'yes' }
    })
  })

  test('An answer with valid_for counts again for that time at the same wallet, client, scopes and resources, and no longer', async () => {
    if (engine === 'PostgreSQL') return // the clock of the test does not move the clock of PostgreSQL
    hook.answer = { answer: 'fewer', scopes: ['profile'], valid_for: 30 }
    const request = requestOf(client, { scope: BOTH })
    await walk.authorize(request)
    hook.answer = { answer: 'yes', valid_for: 1_000_000 }
    const { scope } = await freshTokens()
    expect([scope, hook.questions.length]).toEqual(['profile', 1])
    await walk.authorize(requestOf(client, { scope: 'profile' }))
    expect(hook.questions, 'other scopes').toHaveLength(2)
    grantor.clock.advance(30)
    expect((await freshTokens()).scope).toBe(BOTH)
    grantor.clock.advance(299)
    await walk.authorize(request)
    expect(hook.questions).toHaveLength(3)
    grantor.clock.advance(1)
    await walk.authorize(request)
    expect(hook.questions, 'five minutes at most').toHaveLength(4)
  })

  test('While the secret is being changed, each question has a signature of both secrets', async () => {
    const previous = `whsec_${Buffer.alloc(32, 'other').toString('base64')}`
    const other = await startGrantor({
      environment: { ...hook.environment, GRANTOR_HOOK_SECRET: previous, GRANTOR_HOOK_SECRET_PREVIOUS: HOOK_SECRET },
    })
    const app = await other.createClient()
    expect((await new Walk(other).signIn(requestOf(app))).code).not.toBe('')
    await other.close()
  })
})
