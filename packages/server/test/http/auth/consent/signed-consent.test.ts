/** Consent rule `signed`: a request gets a code only if the wallet has signed a consent that covers the request. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clientFaults } from '../../../../src/domain/clients/client-faults.ts'
import { type App, tokensOf } from '../../../support/app.ts'
import type { Answer } from '../../../support/send.ts'
import {
  API,
  FILES,
  outcomeOf,
  receiptsOf,
  signedClient,
  signInToAccount,
  startSignedApp,
  vouchFor,
} from '../../../support/signed-app.ts'
import type { TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, fieldOf, movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
beforeEach(async () => {
  app = await startSignedApp()
})
afterEach(() => app.close())

/** The outcome of an authorization request: a code, the login page or an error. */
const outcomeFor = async (more: Record<string, string | string[]> = {}, client: TestClient = app.client, walk = app.walk) =>
  outcomeOf(await walk.authorize(requestOf(client, more)))

/** A new browser with a session of the wallet, which signed for another client. */
async function browserWithSession(wallet = testWallet(0)): Promise<Walk> {
  const walk = new Walk(app.grantor, wallet)
  await walk.signIn(requestOf(await app.grantor.createClient()))
  return walk
}

describe('A session without a receipt', () => {
  test('Under signed consent a session without a receipt leads to the login page, and nothing is written', async () => {
    const walk = await browserWithSession()
    const before = await app.grantor.rows()
    expect(await outcomeFor({}, app.client, walk)).toBe('login')
    expect(await app.grantor.rows()).toEqual(before)
  })

  test('Under signed consent a session without a receipt gets consent_required with prompt=none (OpenID Connect Core §3.1.2.6)', async () => {
    const walk = await browserWithSession()
    const answer = await walk.authorize(requestOf(app.client, { prompt: 'none', state: 's' }))
    expect(outcomeOf(answer)).toBe('consent_required')
    expect(parameterOf(answer.location, 'state')).toBe('s')
    expect(parameterOf(answer.location, 'code')).toBe('')
  })

  test('Under signed consent a session from the account page leads to the login page', async () => {
    const walk = new Walk(app.grantor)
    await signInToAccount(walk)
    expect((await walk.browse({ path: '/account' })).status).toBe(200)
    expect(await outcomeFor({}, app.client, walk)).toBe('login')
  })

  test('A confirmation does not replace the signature if the consent rule became signed after the page was shown', async () => {
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

describe('A receipt that covers the request', () => {
  test('A request within the scopes and resources of a receipt gets a code at once, without a new signature', async () => {
    await app.walk.signIn(requestOf(app.client, { scope: 'enhancement profile', resource: [API, FILES] }))
    const signed = (await receiptsOf(app.grantor, app.walk.wallet)).length
    for (const more of [
      { resource: API },
      { scope: 'profile', resource: FILES },
      { scope: 'profile enhancement', resource: [FILES, API] },
    ]) {
      expect([more, await outcomeFor(more)]).toEqual([more, 'code'])
    }
    expect(await outcomeFor({ resource: API, prompt: 'none' })).toBe('code')
    expect(await receiptsOf(app.grantor, app.walk.wallet)).toHaveLength(signed)
  })

  test('A receipt is valid for every session of the same wallet, in any browser', async () => {
    await app.walk.signIn(requestOf(app.client))
    expect(await outcomeFor({}, app.client, await browserWithSession())).toBe('code')
  })

  test('A request must be covered by one receipt: two receipts are not combined', async () => {
    await app.walk.signIn(requestOf(app.client, { scope: 'enhancement' }))
    await app.walk.signIn(requestOf(app.client, { scope: 'profile' }))
    expect(await outcomeFor({ scope: 'profile' })).toBe('code')
    expect(await outcomeFor({ scope: 'enhancement profile' })).toBe('login')
  })
})

describe('Requests that need a new signature', () => {
  beforeEach(async () => void (await app.walk.signIn(requestOf(app.client, { resource: API }))))

  test.each<[string, Record<string, string | string[]>]>([
    ['a wider scope than the receipt', { scope: 'enhancement profile', resource: API }],
    ['another scope', { scope: 'profile', resource: API }],
    ['another resource', { resource: FILES }],
    ['one resource more', { resource: [API, FILES] }],
    ['the default resource instead of the signed one', {}],
    ['prompt=consent', { resource: API, prompt: 'consent' }],
    ['prompt=login', { resource: API, prompt: 'login' }],
  ])('A request with %s needs a new signature, and the same request then gets a code at once', async (_, more) => {
    expect(await outcomeFor(more)).toBe('login')
    const { code } = await app.walk.signIn(requestOf(app.client, more))
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
    const { prompt: _prompt, ...again } = more
    expect(await outcomeFor(again)).toBe('code')
  })

  test('A new client needs a new signature even with the same name, redirect URI and scopes', async () => {
    const twin = await signedClient(app.grantor)
    expect(await outcomeFor({ resource: API }, twin)).toBe('login')
    await app.walk.signIn(requestOf(twin, { resource: API }))
    expect(await outcomeFor({ resource: API }, twin)).toBe('code')
  })

  test('Another redirect URI of the same client needs a new signature, because the text names its host (ERC-5573)', async () => {
    const redirectUris = ['https://app.example.net/callback', 'https://other.example/cb', 'https://app.example.net/callback?x']
    const client = await signedClient(app.grantor, { redirectUris })
    await app.walk.signIn(requestOf(client))
    expect(await outcomeFor({}, client)).toBe('code')
    for (const redirect_uri of redirectUris.slice(1)) {
      expect(await outcomeFor({ redirect_uri }, client)).toBe('login')
      expect(await outcomeFor({ redirect_uri, prompt: 'none' }, client)).toBe('consent_required')
    }
    await app.walk.signIn(requestOf(client, { redirect_uri: 'https://other.example/cb' }))
    for (const redirect_uri of redirectUris.slice(0, 2)) expect(await outcomeFor({ redirect_uri }, client)).toBe('code')
  })

  test('An expired consent needs a new signature, from the second of its expiry on', async () => {
    const [receipt] = await receiptsOf(app.grantor, app.walk.wallet)
    app.grantor.clock.at = (receipt?.expiresAt ?? 0) - 3600
    await app.walk.signIn(requestOf(await app.grantor.createClient()))
    app.grantor.clock.advance(3599)
    expect(await outcomeFor({ resource: API })).toBe('code')
    app.grantor.clock.advance(1)
    expect(await outcomeFor({ resource: API })).toBe('login')
    expect(await outcomeFor({ resource: API, prompt: 'none' })).toBe('consent_required')
  })

  test('A withdrawn consent needs a new signature', async () => {
    await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
    expect(await outcomeFor({ resource: API })).toBe('login')
    await app.walk.signIn(requestOf(app.client, { resource: API }))
    expect(await outcomeFor({ resource: API })).toBe('code')
  })

  test('A receipt covers only the wallet that signed it: another wallet needs its own signature', async () => {
    const other = await browserWithSession(testWallet(1))
    expect(await outcomeFor({ resource: API }, app.client, other)).toBe('login')
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

describe('Another loopback port than the one in the consent (RFC 8252 §7.3, §8.6)', () => {
  const at = (port: number, more: Record<string, string> = {}) => ({
    ...PKCE,
    redirect_uri: `http://127.0.0.1:${port}/cb`,
    ...more,
  })
  let native: TestClient
  beforeEach(async () => {
    native = await app.grantor.createClient({ type: 'native', redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/cb'] })
    await app.walk.signIn(requestOf(native, at(5001)))
  })

  /** The confirmation page for another port. */
  async function openConfirmation(port = 6002): Promise<Answer> {
    const page = await app.walk.authorize(requestOf(native, at(port, { state: 'kept' })))
    expect([page.status, page.location, fieldOf(page, 'confirmation') === '']).toEqual([200, '', false])
    expect(page.body).toContain(`127.0.0.1:${port}`)
    return page
  }

  test('A native client gets a code for another loopback port after a click and without a new signature', async () => {
    const signed = (await receiptsOf(app.grantor, app.walk.wallet)).length
    const to = movingTo(await app.walk.confirm(await openConfirmation(), 'allow'))
    expect(to).toMatch(/^http:\/\/127\.0\.0\.1:6002\/cb\?code=grc\.[A-Za-z0-9._-]+&state=kept$/)
    const redeemed = { code_verifier: CODE_VERIFIER, redirect_uri: 'http://127.0.0.1:6002/cb' }
    expect((await app.walk.exchange(native, parameterOf(to, 'code'), redeemed)).status).toBe(200)
    expect(await receiptsOf(app.grantor, app.walk.wallet)).toHaveLength(signed)
  })

  test('Each request for another loopback port needs a click, also after an earlier click', async () => {
    await app.walk.confirm(await openConfirmation(), 'allow')
    await openConfirmation()
  })

  test('With prompt=none a request for another loopback port gets interaction_required (OpenID Connect Core §3.1.2.6)', async () => {
    expect(await outcomeFor(at(6002, { prompt: 'none' }), native)).toBe('interaction_required')
    expect(await outcomeFor(at(5001, { prompt: 'none' }), native)).toBe('code')
  })

  test('A request for the port of any earlier consent gets a code at once', async () => {
    await app.walk.signIn(requestOf(native, at(6002, { prompt: 'consent' })))
    for (const port of [5001, 6002]) expect(await outcomeFor(at(port), native)).toBe('code')
    await openConfirmation(7003)
  })

  test('Another host or path on loopback, and a private-use scheme, need a new signature', async () => {
    for (const redirect_uri of ['com.example.app:/cb', 'http://127.0.0.1/cb?x']) {
      const answer = await app.walk.authorize(requestOf(native, { ...PKCE, redirect_uri }))
      expect(outcomeOf(answer)).toBe(redirect_uri === 'com.example.app:/cb' ? 'login' : 'status 400')
    }
  })

  test('A refusal on the page for another port sends access_denied and state to that port', async () => {
    const to = movingTo(await app.walk.confirm(await openConfirmation(), 'deny'))
    expect([to.split('?')[0], parameterOf(to, 'error'), parameterOf(to, 'state')]).toEqual([
      'http://127.0.0.1:6002/cb',
      'access_denied',
      'kept',
    ])
  })

  test('A click after the consent was withdrawn gives no code', async () => {
    const page = await openConfirmation()
    await app.walk.postForm('/account/apps/end', { client_id: native.id })
    expect(noticeOf(await app.walk.confirm(page, 'allow'))).toBe('login_required_again')
  })

  test('A code from a click expires with the consent, as every code under signed consent', async () => {
    const [receipt] = await receiptsOf(app.grantor, app.walk.wallet)
    app.grantor.clock.at = (receipt?.expiresAt ?? 0) - 3600
    await app.walk.signIn(requestOf(await app.grantor.createClient()))
    app.grantor.clock.advance(3300)
    const page = await openConfirmation()
    const to = movingTo(await app.walk.confirm(page, 'allow'))
    const redeemed = { code_verifier: CODE_VERIFIER, redirect_uri: 'http://127.0.0.1:6002/cb' }
    const { refresh_token } = tokensOf(await app.walk.exchange(native, parameterOf(to, 'code'), redeemed))
    app.grantor.clock.advance(300)
    expect((await app.walk.refresh(native, refresh_token)).json().error).toBe('invalid_grant')
    expect(noticeOf(await app.walk.confirm(page, 'allow'))).toBe('login_required_again')
  })
})

describe('Declined requests', () => {
  test('A declined request gets access_denied and its state, and stores no receipt and no session', async () => {
    const walk = await browserWithSession()
    const challenge = await walk.challenge(requestOf(app.client, { state: 'xyz' }))
    const before = await app.grantor.rows()
    const answer = await walk.complete(await walk.reject(challenge))
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(parameterOf(movingTo(answer), 'error')).toBe('access_denied')
    expect(parameterOf(movingTo(answer), 'state')).toBe('xyz')
    expect(await app.grantor.rows()).toEqual(before)
    expect(await outcomeFor({}, app.client, walk)).toBe('login')
  })

  test('A declined wider request keeps the earlier consent', async () => {
    await app.walk.signIn(requestOf(app.client))
    await app.walk.complete(
      await app.walk.reject(await app.walk.challenge(requestOf(app.client, { scope: 'enhancement profile' }))),
    )
    expect(await outcomeFor()).toBe('code')
  })
})

test('A native client always needs signed consent, because it cannot prove which app sends the request (RFC 8252 §8.6)', async () => {
  const native = await app.grantor.createClient({ type: 'native', consent: 'session', redirectUris: ['com.example.app:/cb'] })
  expect(native.consent).toBe('signed')
  expect(clientFaults({ ...native, consent: 'session' })).toHaveLength(1)
  const walk = await browserWithSession()
  expect(await outcomeFor(PKCE, native, walk)).toBe('login')
  const { code, to } = await walk.signIn(requestOf(native, PKCE))
  expect(to.startsWith('com.example.app:/cb?code=')).toBe(true)
  const tokens = tokensOf(await walk.exchange(native, code, { code_verifier: CODE_VERIFIER }))
  expect(tokens.scope).toBe('enhancement')
  expect(await outcomeFor(PKCE, native, walk)).toBe('code')
})

test('A vouched session never satisfies signed consent, even if the wallet has signed a receipt before', async () => {
  await app.walk.signIn(requestOf(app.client))
  expect(await outcomeFor()).toBe('code')
  const vouched = new Walk(app.grantor)
  await vouchFor(vouched, await app.grantor.createClient())
  expect(vouched.cookies.has('grantor_session')).toBe(true)
  expect(await outcomeFor({}, app.client, vouched)).toBe('login')
  expect(await outcomeFor({ prompt: 'none' }, app.client, vouched)).toBe('login_required')
  app.grantor.deps.settings.loginMayVouch = true
  const own = await vouched.loginApi('/login/accept', {
    login_challenge: await vouched.challenge(requestOf(app.client)),
    address: vouched.wallet.address,
    chain_id: 1,
  })
  expect([own.status, own.json().error]).toEqual([403, 'consent_needs_signature'])
})
