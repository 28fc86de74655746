/** A person can switch scopes off at the login. The signed text, the grant and the tokens have exactly the scopes left on. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConsent } from '../../../../src/protocol/wallet/read-consent.ts'
import { type App, claimsOf, tokensOf } from '../../../support/app.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { API, outcomeOf, receiptsOf, signedClient, standingReceipts, startSignedApp } from '../../../support/signed-app.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

const BOTH = 'enhancement profile'

let app: App
beforeEach(async () => {
  app = await startSignedApp()
})
afterEach(() => app.close())

const signIn = (scope: string, left?: string, walk = app.walk) => walk.signIn(requestOf(app.client, { scope }), walk.wallet, left)
const outcomeFor = async (scope: string) => outcomeOf(await app.walk.authorize(requestOf(app.client, { scope })))

/** The tokens of a login for both scopes. `left` names the scopes that the person left on; without it, both stay on. */
const tokensFor = async (left?: string, walk = app.walk) =>
  tokensOf(await walk.exchange(app.client, (await signIn(BOTH, left, walk)).code))

async function requestText(challenge: string, more: Record<string, unknown> = {}) {
  return app.walk.loginApi('/login/message', {
    login_challenge: challenge,
    address: app.walk.wallet.address,
    chain_id: 1,
    ...more,
  })
}

describe('Scopes that were left on', () => {
  test('The signed text names exactly the scopes that the person left on, in its statement and in its ReCap', async () => {
    const challenge = await app.walk.challenge(requestOf(app.client, { scope: BOTH, resource: API }))
    for (const [scope, scopes] of [
      ['profile', ['profile']],
      ['enhancement', ['enhancement']],
      ['profile enhancement', ['enhancement', 'profile']],
      [undefined, ['enhancement', 'profile']],
    ] as const) {
      const { message } = (await requestText(challenge, { scope })).json()
      expect(readConsent(message as string)?.grants).toEqual([{ resource: API, scopes }])
      expect(message).toContain(`'oauth': '${scopes.join('+')}' for '${API}'.`)
    }
  })

  test('The token, the grant and the receipt have exactly the scopes that the person left on', async () => {
    const tokens = await tokensFor('profile')
    expect(tokens.scope).toBe('profile')
    expect(claimsOf(tokens.access_token).scope).toBe('profile')
    expect((await app.walk.introspect(app.client, tokens.access_token)).json().scope).toBe('profile')
    expect((await app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id))?.scopes).toEqual(['profile'])
    expect((await receiptsOf(app.grantor, app.walk.wallet)).map(({ scopes }) => scopes)).toEqual([['profile']])
  })

  test('The token response states which of the requested scopes were left on (RFC 6749 §5.1)', async () => {
    expect((await tokensFor('enhancement')).scope).toBe('enhancement')
    expect((await tokensFor()).scope).toBe(BOTH)
  })

  test('The order and the repetition of the scopes left on have no effect', async () => {
    const tokens = await tokensFor('profile enhancement profile')
    expect(tokens.scope).toBe(BOTH)
  })

  test('A later request within the scopes left on gets a code, and a wider one leads to the login', async () => {
    await signIn(BOTH, 'profile')
    expect(await outcomeFor('profile')).toBe('code')
    expect(await outcomeFor(BOTH)).toBe('login')
    expect(await outcomeFor('enhancement')).toBe('login')
  })

  test('A refresh for a scope that was switched off is refused, and a refresh without scope keeps the scopes left on', async () => {
    const tokens = await tokensFor('profile')
    for (const scope of [BOTH, 'enhancement', 'profile enhancement']) {
      expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token, { scope }), 'invalid_scope')
    }
    const next = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    expect(next.scope).toBe('profile')
    expect(claimsOf(next.access_token).scope).toBe('profile')
  })
})

describe('Invalid choices of scopes', () => {
  test.each([
    ['an empty text', ''],
    ['only spaces', ' '],
    ['a scope that the app did not request', 'profile enhancement admin'],
    ['a scope that the client is registered for, but did not request', 'offline'],
    ['only a quotation mark', '"'],
    ['two spaces between scopes', 'profile  enhancement'],
    ['a list', ['profile']],
    ['a number', 1],
  ])(
    'An invalid choice of scopes gets 400 invalid_request and stores nothing, and the login can continue: %s',
    async (_, scope) => {
      const client = await signedClient(app.grantor, { scopes: ['enhancement', 'profile', 'offline'] })
      const challenge = await app.walk.challenge(requestOf(client, { scope: BOTH }))
      const proof = await app.walk.proof(challenge)
      const before = await app.grantor.rows()
      for (const answer of [
        await requestText(challenge, { scope }),
        await app.walk.loginApi('/login/accept', { ...proof, scope }),
      ]) {
        expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
      }
      expect(await app.grantor.rows()).toEqual(before)
      expect((await app.walk.loginApi('/login/accept', proof)).status).toBe(200)
    },
  )

  test('A signature over more or fewer scopes than the request names is refused', async () => {
    const challenge = await app.walk.challenge(requestOf(app.client, { scope: BOTH }))
    const [all, some] = [await app.walk.proof(challenge), await app.walk.proof(challenge, app.walk.wallet, 'profile')]
    for (const crossed of [
      { ...all, scope: 'profile' },
      { ...some, scope: BOTH },
      { ...some, scope: 'enhancement' },
      { ...some, scope: undefined },
    ]) {
      expect((await app.walk.loginApi('/login/accept', crossed)).status).toBe(401)
    }
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(0)
  })

  test('With session consent a narrower choice is refused and may_choose_scopes is false; with signed consent it is true', async () => {
    const client = await app.grantor.createClient({ scopes: ['enhancement', 'profile'] })
    const challenge = await app.walk.challenge(requestOf(client, { scope: BOTH }))
    expect((await requestText(challenge, { scope: 'profile' })).status).toBe(400)
    expect((await requestText(challenge, { scope: BOTH })).status).toBe(200)
    const readChallenge = async (of: string) =>
      (await app.walk.describe(of)).json() as { may_choose_scopes: boolean; scopes: { name: string }[] }
    expect(await readChallenge(challenge)).toMatchObject({ may_choose_scopes: false })
    const signed = await readChallenge(await app.walk.challenge(requestOf(app.client, { scope: BOTH })))
    expect(signed).toMatchObject({ may_choose_scopes: true, scopes: [{ name: 'enhancement' }, { name: 'profile' }] })
  })
})

describe('Scopes that were switched off', () => {
  test('A narrower consent replaces the older, wider one of the same client', async () => {
    await signIn(BOTH)
    expect(await outcomeFor(BOTH)).toBe('code')
    await app.walk.signIn(requestOf(app.client, { scope: BOTH, prompt: 'consent' }), app.walk.wallet, 'enhancement')
    expect(await outcomeFor('enhancement')).toBe('code')
    expect(await outcomeFor('profile')).toBe('login')
    expect(await outcomeFor(BOTH)).toBe('login')
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(1)
  })

  test('Switching a scope off ends the earlier tokens that have it, and the new tokens can be refreshed', async () => {
    const before = await tokensFor()
    const narrow = await tokensFor('enhancement', new Walk(app.grantor))
    expect(await app.isActive(before.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, before.refresh_token), 'invalid_grant')
    expect(tokensOf(await app.walk.refresh(app.client, narrow.refresh_token)).scope).toBe('enhancement')
  })

  test('A code or a proof from before a scope was switched off is refused afterwards', async () => {
    await signIn(BOTH)
    const issued = await app.freshCode({ scope: BOTH })
    const other = new Walk(app.grantor)
    const proved = await other.prove(await other.challenge(requestOf(app.client, { scope: BOTH })))
    const narrow = await app.walk.signIn(
      requestOf(app.client, { scope: BOTH, prompt: 'consent' }),
      app.walk.wallet,
      'enhancement',
    )
    expectRefusal(await app.walk.exchange(app.client, issued), 'invalid_grant')
    expect((await other.complete(proved)).status).toBe(401)
    expect(tokensOf(await app.walk.exchange(app.client, narrow.code)).scope).toBe('enhancement')
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(1)
  })

  test('Switching a scope off leaves other apps, and tokens without that scope, unchanged', async () => {
    const other = await signedClient(app.grantor)
    const elsewhere = tokensOf(await app.walk.exchange(other, (await app.walk.signIn(requestOf(other, { scope: BOTH }))).code))
    const enhancement = tokensOf(await app.walk.exchange(app.client, (await signIn('enhancement')).code))
    await signIn(BOTH, 'enhancement')
    expect(await app.isActive(elsewhere.access_token, other)).toBe(true)
    expect(await app.isActive(enhancement.access_token)).toBe(true)
    expect(outcomeOf(await app.walk.authorize(requestOf(other, { scope: BOTH })))).toBe('code')
  })

  test('A scope that was switched off can be switched on again with one new signature', async () => {
    await signIn(BOTH)
    await app.walk.signIn(requestOf(app.client, { scope: BOTH, prompt: 'consent' }), app.walk.wallet, 'enhancement')
    expect((await tokensFor()).scope).toBe(BOTH)
    expect(await outcomeFor(BOTH)).toBe('code')
  })
})
