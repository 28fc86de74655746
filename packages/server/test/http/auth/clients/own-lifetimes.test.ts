/** Lifetimes and limits that an operator gives one client. */
import { describe, expect } from 'vitest'
import { type App, claimsOf, tokensOf } from '../../../support/app.ts'
import { readFeed } from '../../../support/feed.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { LIFETIMES, type TestClient } from '../../../support/start.ts'
import { requestOf } from '../../../support/walk.ts'

const API = 'https://api.example.com/'
const HOUR = 3600
const LONGEST = { accessToken: 2 * HOUR, refreshIdle: 40 * 86_400, grant: 40 * 86_400 }

const test = base
  .extend('options', { lifetimes: { longest: LONGEST }, trustedProxies: ['127.0.0.1'] })
  .extend('own', FILE, ({ app }) =>
    app.grantor.createClient({
      resources: [API],
      grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
      scopes: ['enhancement', 'reports'],
      accessTokenLifetime: 60,
      codeLifetime: 5,
      refreshIdleLifetime: HOUR,
      grantLifetime: 2 * HOUR,
    }),
  )

async function grantOf(app: App, client: TestClient) {
  await app.walk.signIn(requestOf(client, { prompt: 'login' }))
  const tokens = await app.freshTokens({}, client)
  const grant = await app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)
  if (!grant) throw new Error('no grant')
  return { tokens, grant }
}

describe('Lifetimes of one client', () => {
  test('An access token of a client with a lifetime of its own expires after this time, from each grant type, and expires_in has this time', async ({
    app,
    own,
  }) => {
    const { tokens } = await grantOf(app, own)
    expect(tokens.expires_in).toBe(60)
    expect(claimsOf(tokens.access_token).exp).toBe(app.grantor.clock.now() + 60)
    expect(tokensOf(await app.walk.refresh(own, tokens.refresh_token)).expires_in).toBe(60)
    const clientToken = await app.walk.token(own, { grant_type: 'client_credentials', scope: 'reports' })
    expect(tokensOf(clientToken).expires_in).toBe(60)
    expect((await app.freshTokens()).expires_in).toBe(LIFETIMES.accessToken)
  })

  test('A code of a client with a lifetime of its own expires after this time (RFC 6749 §4.1.2)', async ({ app, own }) => {
    const code = await app.freshCode({}, own)
    app.grantor.clock.advance(5)
    expectRefusal(await app.walk.exchange(own, code), 'invalid_grant')
  })

  test('A grant, and a refresh token that is not used, end after the lifetimes of their client', async ({ app, own }) => {
    const { tokens, grant } = await grantOf(app, own)
    const at = app.grantor.clock.now()
    expect([grant.expiresAt, grant.refreshExpiresAt]).toEqual([at + 2 * HOUR, at + HOUR])
    app.grantor.clock.advance(100)
    await app.walk.refresh(own, tokens.refresh_token)
    const after = await app.grantor.store.grants.readGrant(grant.id)
    expect(after?.refreshExpiresAt).toBe(at + 100 + HOUR)
  })

  test('The text that the wallet signs names the end of the grant of this client', async ({ app, own }) => {
    const challenge = await app.walk.challenge(requestOf(own, { prompt: 'login' }))
    const claim = { login_challenge: challenge, address: app.walk.wallet.address, chain_id: 1 }
    const { message } = (await app.walk.loginApi('/login/message', claim)).json()
    const end = new Date((app.grantor.clock.now() + 2 * HOUR) * 1000).toISOString().replace('.000', '')
    expect(message).toContain(`Expiration Time: ${end}`)
  })

  test('A client may have longer lifetimes than the service gives, up to the operator’s bounds, and never beyond them', async ({
    app,
  }) => {
    const longer = await app.grantor.createClient({ accessTokenLifetime: HOUR, grantLifetime: 35 * 86_400 })
    const { tokens, grant } = await grantOf(app, longer)
    expect(tokens.expires_in).toBe(HOUR)
    expect(grant.expiresAt - grant.createdAt).toBe(35 * 86_400)
    const beyond = await app.grantor.createClient({ accessTokenLifetime: 86_400, codeLifetime: 600, grantLifetime: 31_536_000 })
    const most = await grantOf(app, beyond)
    expect(most.tokens.expires_in).toBe(LONGEST.accessToken)
    expect(most.grant.expiresAt - most.grant.createdAt).toBe(LONGEST.grant)
    const code = await app.freshCode({}, beyond)
    app.grantor.clock.advance(LIFETIMES.code)
    expectRefusal(await app.walk.exchange(beyond, code), 'invalid_grant')
  })

  test('The feed of endings names the longest lifetime that the access token of any client may have', async ({ app }) => {
    const api = await app.grantor.createClient({ resourceServer: API, redirectUris: [] })
    const { messages } = await readFeed(app.grantor, api)
    expect(messages[0]).toMatchObject({ lifetime: LONGEST.accessToken })
  })
})

const LIMITED = {
  status: 429,
  error: 'temporarily_unavailable',
  description: 'Too many requests of this client. Wait and try again.',
  headers: { 'retry-after': '60' },
} as const

describe('Limits of one client (RFC 6585 §4)', () => {
  const limits = { tokenLimit: 2, introspectionLimit: 1, revocationLimit: 1, resourceServer: API }

  test('Requests of a client beyond its limit get 429 with Retry-After, at each endpoint apart, and other clients are served', async ({
    app,
  }) => {
    const client = await app.grantor.createClient({ ...limits, grantTypes: ['client_credentials'], redirectUris: [] })
    const token = () => app.walk.token(client, { grant_type: 'client_credentials' })
    for (let time = 0; time < 2; time++) expect((await token()).status).toBe(200)
    expectRefusal(await token(), LIMITED)
    expect((await app.walk.introspect(client, 'x')).status).toBe(200)
    expectRefusal(await app.walk.introspect(client, 'x'), LIMITED)
    expect((await app.walk.revoke(client, 'x')).status).toBe(200)
    expectRefusal(await app.walk.revoke(client, 'x'), LIMITED)
    for (let time = 0; time < 3; time++) expect((await app.walk.introspect(app.client, 'x')).status).toBe(200)
    app.grantor.clock.advance(60)
    expect((await token()).status).toBe(200)
  })

  test('Requests with a wrong secret do not count towards the limit of the client', async ({ app }) => {
    const client = await app.grantor.createClient({ ...limits, redirectUris: [] })
    for (let time = 0; time < 3; time++)
      expectRefusal(await app.walk.introspect({ ...client, secret: 'wrong' }, 'x'), 'invalid_client')
    expect((await app.walk.introspect(client, 'x')).status).toBe(200)
  })

  test('The limit of a public client is counted for each network, so that one network cannot use it up for the others', async ({
    app,
  }) => {
    const client = await app.grantor.createClient({ type: 'public', requirePkce: true, revocationLimit: 1 })
    const from = (ip: string) => app.walk.call('/oauth/revoke', client, { token: 'x' }, { 'x-forwarded-for': ip })
    expect((await from('203.0.113.1')).status).toBe(200)
    expectRefusal(await from('203.0.113.1'), LIMITED)
    expect((await from('203.0.113.2')).status).toBe(200)
  })
})
