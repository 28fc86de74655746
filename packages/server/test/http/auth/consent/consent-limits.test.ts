/** Codes and tokens end with their consent, and depend on no other consent (decisions: consent rule `signed`). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../../../src/protocol/wallet/address.ts'
import { someReceipt } from '../../../store/contract/subject.ts'
import { type App, claimsOf, tokensOf } from '../../../support/app.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { API, changeClient, outcomeOf, receiptsOf, startSignedApp, vouchFor } from '../../../support/signed-app.ts'
import { LIFETIMES, type TestClient } from '../../../support/start.ts'
import { movingTo, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

const DAY = 86_400

let app: App
beforeEach(async () => {
  app = await startSignedApp({ lifetimes: { session: 60 * DAY, sessionIdle: 60 * DAY } })
})
afterEach(() => app.close())

const grantOf = (accessToken: string) => app.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)

describe('The signed expiry of a consent', () => {
  let end: number
  beforeEach(async () => {
    await app.walk.signIn(requestOf(app.client))
    end = (await receiptsOf(app.grantor, app.walk.wallet))[0]?.expiresAt ?? 0
  })

  test('The grant of a login expires when the signed consent of that login expires', async () => {
    app.grantor.clock.advance(1)
    const { code } = await app.walk.signIn(requestOf(app.client, { prompt: 'consent' }))
    const [receipt] = await receiptsOf(app.grantor, app.walk.wallet)
    const { access_token } = tokensOf(await app.walk.exchange(app.client, code))
    expect(await grantOf(access_token)).toMatchObject({ expiresAt: receipt?.expiresAt, receiptId: receipt?.id, consented: true })
  })

  test('Every later grant under a consent expires with the consent, and no refresh extends the grant', async () => {
    app.grantor.clock.advance(20 * DAY)
    let tokens = await app.freshTokens()
    for (let day = 20; day < 30; day++) {
      expect(await grantOf(tokens.access_token)).toMatchObject({ expiresAt: end })
      expect((await grantOf(tokens.access_token))?.refreshExpiresAt).toBeLessThanOrEqual(end)
      tokens = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
      app.grantor.clock.advance(DAY - 1)
    }
    app.grantor.clock.at = end - 1
    expect(claimsOf(tokensOf(await app.walk.refresh(app.client, tokens.refresh_token)).access_token).exp).toBe(end)
  })

  test('When a consent expires, its access tokens are inactive, its refresh tokens and codes are refused, and a login is required', async () => {
    app.grantor.clock.at = end - 30
    const code = await app.freshCode()
    const tokens = await app.freshTokens()
    expect(tokens.expires_in).toBe(30)
    expect(claimsOf(tokens.access_token).exp).toBe(end)
    app.grantor.clock.at = end - 1
    expect(await app.isActive(tokens.access_token)).toBe(true)
    app.grantor.clock.at = end
    expect(await app.isActive(tokens.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('login')
  })

  test('A newer consent does not extend the grants of an older one', async () => {
    const { access_token, refresh_token } = await app.freshTokens()
    app.grantor.clock.advance(10 * DAY)
    await app.walk.signIn(requestOf(app.client, { prompt: 'consent' }))
    await app.walk.refresh(app.client, refresh_token)
    expect(await grantOf(access_token)).toMatchObject({ expiresAt: end })
    expect(await grantOf((await app.freshTokens()).access_token)).toMatchObject({ expiresAt: end + 10 * DAY })
  })

  test('A grant still expires with its consent if the operator increases the lifetime of grants afterwards', async () => {
    app.grantor.deps.settings.lifetimes.grant = 365 * DAY
    app.grantor.deps.settings.lifetimes.refreshIdle = 365 * DAY
    const tokens = await app.freshTokens()
    const next = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    expect(await grantOf(next.access_token)).toMatchObject({ expiresAt: end, refreshExpiresAt: end })
  })
})

test('A consent counts even after 60 withdrawn consents with later times, from nodes whose clocks were ahead', async () => {
  const { grantor, walk, client } = app
  const issuedAt = grantor.clock.now() + 600
  const withdrawn = { wallet: walk.wallet.address as Address, clientId: client.id, issuedAt, withdrawnAt: issuedAt }
  for (let count = 0; count < 60; count++) await grantor.store.receipts.insertReceipt(someReceipt(withdrawn), 0)
  await walk.signIn(requestOf(client))
  expect(outcomeOf(await walk.authorize(requestOf(client)))).toBe('code')
})

describe('Clients whose consent rule changes from session to signed', () => {
  let client: TestClient
  beforeEach(async () => {
    client = await app.grantor.createClient({ scopes: ['enhancement', 'profile'], resources: [API] })
  })
  const requireSignedConsent = () => changeClient(app.grantor, client, { consent: 'signed' })

  async function expectConsentMissing(tokens: { access_token: string; refresh_token: string }): Promise<void> {
    expectRefusal(await app.walk.refresh(client, tokens.refresh_token), 'invalid_grant')
    expect(await grantOf(tokens.access_token)).toMatchObject({ endReason: 'consent_missing' })
    expect(await app.isActive(tokens.access_token, client)).toBe(false)
  }

  test('After the consent rule becomes signed, tokens that the wallet signed for at this client can be refreshed', async () => {
    const { code } = await app.walk.signIn(requestOf(client))
    const tokens = tokensOf(await app.walk.exchange(client, code))
    await requireSignedConsent()
    expect((await app.walk.refresh(client, tokens.refresh_token)).status).toBe(200)
  })

  test('After the consent rule becomes signed, a refresh of tokens from a session that was signed for another app ends their grant', async () => {
    await app.walk.signIn(requestOf(app.client))
    const tokens = await app.freshTokens({}, client)
    await requireSignedConsent()
    await expectConsentMissing(tokens)
  })

  test('After the consent rule becomes signed, a refresh for a scope that the wallet did not sign for ends the grant', async () => {
    await app.walk.signIn(requestOf(client, { scope: 'enhancement' }))
    const tokens = await app.freshTokens({ scope: 'profile' }, client)
    await requireSignedConsent()
    await expectConsentMissing(tokens)
  })

  test('After the consent rule becomes signed, a refresh of tokens that were only confirmed or vouched for ends their grant', async () => {
    await app.walk.signIn(requestOf(app.client))
    const page = await app.walk.authorize(requestOf(client, { prompt: 'consent' }))
    const to = movingTo(await app.walk.confirm(page, 'allow'))
    const confirmed = tokensOf(await app.walk.exchange(client, parameterOf(to, 'code')))

    const vouched = new Walk(app.grantor)
    await vouchFor(vouched, client)
    const vouchedTokens = tokensOf(
      await vouched.exchange(client, parameterOf((await vouched.authorize(requestOf(client))).location, 'code')),
    )
    await requireSignedConsent()
    await expectConsentMissing(confirmed)
    await expectConsentMissing(vouchedTokens)
  })

  test('After the consent rule becomes signed, a code from a session without a signed consent is refused and writes nothing', async () => {
    await app.walk.signIn(requestOf(app.client))
    const code = await app.freshCode({}, client)
    await requireSignedConsent()
    const before = await app.grantor.store.grants.listGrants({ clientId: client.id, limit: 10 })
    expectRefusal(await app.walk.exchange(client, code), 'invalid_grant')
    expect(await app.grantor.store.grants.listGrants({ clientId: client.id, limit: 10 })).toEqual(before)
  })

  test('After the consent rule becomes signed, a request under a signed consent gets a code, and one for another scope needs a login', async () => {
    await app.walk.signIn(requestOf(client))
    await requireSignedConsent()
    expect(outcomeOf(await app.walk.authorize(requestOf(client)))).toBe('code')
    expect(outcomeOf(await app.walk.authorize(requestOf(client, { scope: 'profile' })))).toBe('login')
  })

  test('After the consent rule becomes signed, earlier access tokens stay active until their own expiry', async () => {
    await app.walk.signIn(requestOf(app.client))
    const tokens = await app.freshTokens({}, client)
    await requireSignedConsent()
    expect(await app.isActive(tokens.access_token, client)).toBe(true)
    expect(claimsOf(tokens.access_token).exp - app.grantor.clock.now()).toBeLessThanOrEqual(LIFETIMES.accessToken)
  })
})

describe('Scopes removed from the client’s registration', () => {
  test('A scope that was removed from the client is in no later token, even if the signed text contains it', async () => {
    const challenge = await app.walk.challenge(requestOf(app.client, { scope: 'enhancement profile' }))
    const path = await app.walk.prove(challenge)
    await changeClient(app.grantor, app.client, { scopes: ['enhancement'], defaultScopes: ['enhancement'] })
    const to = movingTo(await app.walk.complete(path))
    const tokens = tokensOf(await app.walk.exchange(app.client, parameterOf(to, 'code')))
    expect(tokens.scope).toBe('enhancement')
    expect(claimsOf(tokens.access_token).scope).toBe('enhancement')
    expect(tokensOf(await app.walk.refresh(app.client, tokens.refresh_token)).scope).toBe('enhancement')
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token, { scope: 'profile' }), 'invalid_scope')
    expect(parameterOf((await app.walk.authorize(requestOf(app.client, { scope: 'profile' }))).location, 'error')).toBe(
      'invalid_scope',
    )
  })

  test('A code whose only scope was removed from the client gets invalid_scope, and can be redeemed once the scope is back', async () => {
    await app.walk.signIn(requestOf(app.client, { scope: 'profile' }))
    const code = await app.freshCode({ scope: 'profile' })
    await changeClient(app.grantor, app.client, { scopes: ['enhancement'], defaultScopes: ['enhancement'] })
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_scope')
    await changeClient(app.grantor, app.client, {})
    expect(tokensOf(await app.walk.exchange(app.client, code)).scope).toBe('profile')
  })
})
