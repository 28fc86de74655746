/** Consent rule `signed`: the wallet must have signed a consent that covers what is asked for; while one does, nobody is asked again. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clientFaults } from '../../src/domain/clients/client-faults.ts'
import { type App, tokensOf } from '../support/app.ts'
import { allRows } from '../support/rows.ts'
import {
  API,
  FILES,
  outcomeOf,
  receiptsOf,
  signedClient,
  signInToAccount,
  startSignedApp,
  vouchFor,
} from '../support/signed-app.ts'
import type { TestClient } from '../support/start.ts'
import { CODE_VERIFIER, fieldOf, movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let app: App
beforeEach(async () => {
  app = await startSignedApp()
})
afterEach(() => app.close())

/** What this browser's request comes to. */
const asking = async (more: Record<string, string | string[]> = {}, client: TestClient = app.client, walk = app.walk) =>
  outcomeOf(await walk.authorize(requestOf(client, more)))

/** A browser that carries the same session, as if the login had been for something else. */
async function browserWithSession(wallet = testWallet(0)): Promise<Walk> {
  const walk = new Walk(app.grantor, wallet)
  await walk.signIn(requestOf(await app.grantor.createClient()))
  return walk
}

describe('a session alone', () => {
  test('gives no code: the browser goes to the login page, and nothing is written', async () => {
    const walk = await browserWithSession()
    const before = allRows(app.grantor.databasePath)
    expect(await asking({}, app.client, walk)).toBe('login')
    expect(allRows(app.grantor.databasePath)).toEqual(before)
  })

  test('is consent_required to an app that wants nobody asked (OpenID Connect Core §3.1.2.6)', async () => {
    const walk = await browserWithSession()
    const answer = await walk.authorize(requestOf(app.client, { prompt: 'none', state: 's' }))
    expect(outcomeOf(answer)).toBe('consent_required')
    expect(parameterOf(answer.location, 'state')).toBe('s')
    expect(parameterOf(answer.location, 'code')).toBe('')
  })

  test('from the account page gives none either: that signature allows no app anything', async () => {
    const walk = new Walk(app.grantor)
    await signInToAccount(walk)
    expect((await walk.browse({ path: '/account' })).status).toBe(200)
    expect(await asking({}, app.client, walk)).toBe('login')
  })

  test('and no button of the confirmation page stands in for the signature, where the rule became signed meanwhile', async () => {
    const client = await app.grantor.createClient()
    await app.walk.signIn(requestOf(client))
    const page = await app.walk.authorize(requestOf(client, { prompt: 'consent' }))
    expect(fieldOf(page, 'confirmation')).not.toBe('')
    await app.grantor.store.clients.replaceClient({ ...client, consent: 'signed' })
    await app.grantor.noticeChanges()
    const answer = await app.walk.confirm(page, 'allow')
    expect(noticeOf(answer)).toBe('login_required_again')
    expect(answer.body).not.toContain('code=')
  })
})

describe('a covering receipt', () => {
  test('gives a code at once, with no text to sign, to every later request within it', async () => {
    await app.walk.signIn(requestOf(app.client, { scope: 'enhancement profile', resource: [API, FILES] }))
    const signed = (await receiptsOf(app.grantor, app.walk.wallet)).length
    for (const more of [
      { resource: API },
      { scope: 'profile', resource: FILES },
      { scope: 'profile enhancement', resource: [FILES, API] },
    ]) {
      expect([more, await asking(more)]).toEqual([more, 'code'])
    }
    expect(await asking({ resource: API, prompt: 'none' })).toBe('code')
    expect(await receiptsOf(app.grantor, app.walk.wallet)).toHaveLength(signed)
  })

  test('gives it to a session of the same wallet in any browser, however that session was signed for', async () => {
    await app.walk.signIn(requestOf(app.client))
    expect(await asking({}, app.client, await browserWithSession())).toBe('code')
  })

  test('is one receipt, not several put together: two halves cover no whole', async () => {
    await app.walk.signIn(requestOf(app.client, { scope: 'enhancement' }))
    await app.walk.signIn(requestOf(app.client, { scope: 'profile' }))
    expect(await asking({ scope: 'profile' })).toBe('code')
    expect(await asking({ scope: 'enhancement profile' })).toBe('login')
  })
})

describe('one new signature', () => {
  beforeEach(async () => void (await app.walk.signIn(requestOf(app.client, { resource: API }))))

  test.each<[string, Record<string, string | string[]>]>([
    ['a wider scope', { scope: 'enhancement profile', resource: API }],
    ['another scope', { scope: 'profile', resource: API }],
    ['another resource', { resource: FILES }],
    ['one resource more', { resource: [API, FILES] }],
    ['the default resource, which was not signed for', {}],
    ['prompt=consent', { resource: API, prompt: 'consent' }],
    ['prompt=login', { resource: API, prompt: 'login' }],
  ])('is what %s means; the next such request then gets its code at once', async (_, more) => {
    expect(await asking(more)).toBe('login')
    const { code } = await app.walk.signIn(requestOf(app.client, more))
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
    const { prompt: _prompt, ...again } = more
    expect(await asking(again)).toBe('code')
  })

  test('is what a new client means, though it has the same name, redirect URI and scopes', async () => {
    const twin = await signedClient(app.grantor)
    expect(await asking({ resource: API }, twin)).toBe('login')
    await app.walk.signIn(requestOf(twin, { resource: API }))
    expect(await asking({ resource: API }, twin)).toBe('code')
  })

  test('is what another redirect URI of the same client means: its host is the one the text names (ERC-5573: the delegate)', async () => {
    const redirectUris = ['https://app.example.net/callback', 'https://other.example/cb', 'https://app.example.net/callback?x']
    const client = await signedClient(app.grantor, { redirectUris })
    await app.walk.signIn(requestOf(client))
    expect(await asking({}, client)).toBe('code')
    for (const redirect_uri of redirectUris.slice(1)) {
      expect(await asking({ redirect_uri }, client)).toBe('login')
      expect(await asking({ redirect_uri, prompt: 'none' }, client)).toBe('consent_required')
    }
    await app.walk.signIn(requestOf(client, { redirect_uri: 'https://other.example/cb' }))
    for (const redirect_uri of redirectUris.slice(0, 2)) expect(await asking({ redirect_uri }, client)).toBe('code')
  })

  test('is not what another port of a native client’s own device means (RFC 8252 §7.3)', async () => {
    const native = await app.grantor.createClient({
      type: 'native',
      redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/cb'],
    })
    await app.walk.signIn(requestOf(native, { ...PKCE, redirect_uri: 'http://127.0.0.1:5001/cb' }))
    expect(await asking({ ...PKCE, redirect_uri: 'http://127.0.0.1:6002/cb' }, native)).toBe('code')
    expect(await asking({ ...PKCE, redirect_uri: 'com.example.app:/cb' }, native)).toBe('login')
  })

  test('is what an expired consent means, from its last second on', async () => {
    const [receipt] = await receiptsOf(app.grantor, app.walk.wallet)
    app.grantor.clock.at = (receipt?.expiresAt ?? 0) - 3600
    await app.walk.signIn(requestOf(await app.grantor.createClient()))
    app.grantor.clock.advance(3599)
    expect(await asking({ resource: API })).toBe('code')
    app.grantor.clock.advance(1)
    expect(await asking({ resource: API })).toBe('login')
    expect(await asking({ resource: API, prompt: 'none' })).toBe('consent_required')
  })

  test('is what a withdrawn consent means', async () => {
    await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
    expect(await asking({ resource: API })).toBe('login')
    await app.walk.signIn(requestOf(app.client, { resource: API }))
    expect(await asking({ resource: API })).toBe('code')
  })

  test('is what another wallet means: a receipt covers only the wallet that signed it', async () => {
    const other = await browserWithSession(testWallet(1))
    expect(await asking({ resource: API }, app.client, other)).toBe('login')
    await other.signIn(requestOf(app.client, { resource: API }))
    const tokens = tokensOf(
      await other.exchange(
        app.client,
        parameterOf((await other.authorize(requestOf(app.client, { resource: API }))).location, 'code'),
      ),
    )
    expect((await other.introspect(app.client, tokens.access_token)).json().sub).toBe(testWallet(1).address)
  })
})

describe('who declines', () => {
  test('sends access_denied and the state to the app, and nothing is kept: no receipt, no session', async () => {
    const walk = await browserWithSession()
    const challenge = await walk.challenge(requestOf(app.client, { state: 'xyz' }))
    const before = allRows(app.grantor.databasePath)
    const answer = await walk.complete(await walk.reject(challenge))
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(parameterOf(movingTo(answer), 'error')).toBe('access_denied')
    expect(parameterOf(movingTo(answer), 'state')).toBe('xyz')
    expect(allRows(app.grantor.databasePath)).toEqual(before)
    expect(await asking({}, app.client, walk)).toBe('login')
  })

  test('a wider request keeps what was signed before', async () => {
    await app.walk.signIn(requestOf(app.client))
    await app.walk.complete(
      await app.walk.reject(await app.walk.challenge(requestOf(app.client, { scope: 'enhancement profile' }))),
    )
    expect(await asking()).toBe('code')
  })
})

test('a native client is always signed for, whatever its registration says: which app asks cannot be proved (RFC 8252 §8.6)', async () => {
  const native = await app.grantor.createClient({ type: 'native', consent: 'session', redirectUris: ['com.example.app:/cb'] })
  expect(native.consent).toBe('signed')
  expect(clientFaults({ ...native, consent: 'session' })).toHaveLength(1)
  const walk = await browserWithSession()
  expect(await asking(PKCE, native, walk)).toBe('login')
  const { code, to } = await walk.signIn(requestOf(native, PKCE))
  expect(to.startsWith('com.example.app:/cb?code=')).toBe(true)
  const tokens = tokensOf(await walk.exchange(native, code, { code_verifier: CODE_VERIFIER }))
  expect(tokens.scope).toBe('enhancement')
  expect(await asking(PKCE, native, walk)).toBe('code')
})

test('a vouched session never satisfies signed, not even through a receipt the wallet signed before', async () => {
  await app.walk.signIn(requestOf(app.client))
  expect(await asking()).toBe('code')
  const vouched = new Walk(app.grantor)
  await vouchFor(vouched, await app.grantor.createClient())
  expect(vouched.cookies.has('grantor_session')).toBe(true)
  expect(await asking({}, app.client, vouched)).toBe('login')
  expect(await asking({ prompt: 'none' }, app.client, vouched)).toBe('login_required')
  app.grantor.deps.settings.loginMayVouch = true
  const own = await vouched.loginApi('/login/accept', {
    login_challenge: await vouched.challenge(requestOf(app.client)),
    address: vouched.wallet.address,
    chain_id: 1,
  })
  expect([own.status, own.json().error]).toEqual([403, 'consent_needs_signature'])
})
