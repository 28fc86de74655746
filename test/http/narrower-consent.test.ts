/** A person switches scopes off: what is signed, kept, and handed out is exactly what was left on, now and later. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConsent } from '../../src/wallet/read-consent.ts'
import { type App, claimsOf, tokensOf } from '../support/app.ts'
import { expectRefusal } from '../support/refusals.ts'
import { allRows } from '../support/rows.ts'
import { API, outcomeOf, receiptsOf, signedClient, standingReceipts, startSignedApp } from '../support/signed-app.ts'
import { requestOf, Walk } from '../support/walk.ts'

const BOTH = 'enhancement profile'

let app: App
beforeEach(async () => {
  app = await startSignedApp()
})
afterEach(() => app.close())

const signIn = (scope: string, left?: string, walk = app.walk) => walk.signIn(requestOf(app.client, { scope }), walk.wallet, left)
const asking = async (scope: string) => outcomeOf(await app.walk.authorize(requestOf(app.client, { scope })))

/** The tokens of a login for both scopes of which `left` were left on. */
const tokensFor = async (left?: string, walk = app.walk) =>
  tokensOf(await walk.exchange(app.client, (await signIn(BOTH, left, walk)).code))

async function textFor(challenge: string, more: Record<string, unknown> = {}) {
  return app.walk.loginApi('/login/message', {
    login_challenge: challenge,
    address: app.walk.wallet.address,
    chain_id: 1,
    ...more,
  })
}

describe('what is left on', () => {
  test('is exactly what the signed text names, in its sentence and in its ReCap', async () => {
    const challenge = await app.walk.challenge(requestOf(app.client, { scope: BOTH, resource: API }))
    for (const [scope, scopes] of [
      ['profile', ['profile']],
      ['enhancement', ['enhancement']],
      ['profile enhancement', ['enhancement', 'profile']],
      [undefined, ['enhancement', 'profile']],
    ] as const) {
      const { message } = (await textFor(challenge, { scope })).json()
      expect(readConsent(message as string)?.grants).toEqual([{ resource: API, scopes }])
      expect(message).toContain(`'oauth': ${scopes.map((each) => `'${each}'`).join(', ')} for '${API}'.`)
    }
  })

  test('is exactly the token’s scope, the grant’s and the receipt’s', async () => {
    const tokens = await tokensFor('profile')
    expect(tokens.scope).toBe('profile')
    expect(claimsOf(tokens.access_token).scope).toBe('profile')
    expect((await app.walk.introspect(app.client, tokens.access_token)).json().scope).toBe('profile')
    expect((await app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id))?.scopes).toEqual(['profile'])
    expect((await receiptsOf(app.grantor, app.walk.wallet)).map(({ scopes }) => scopes)).toEqual([['profile']])
  })

  test('is told to the app in its token answer, which asked for more (RFC 6749 §5.1)', async () => {
    expect((await tokensFor('enhancement')).scope).toBe('enhancement')
    expect((await tokensFor()).scope).toBe(BOTH)
  })

  test('in any order and however often named comes to the same', async () => {
    const tokens = await tokensFor('profile enhancement profile')
    expect(tokens.scope).toBe(BOTH)
  })

  test('covers as much and no more: the next request for all of it is asked again', async () => {
    await signIn(BOTH, 'profile')
    expect(await asking('profile')).toBe('code')
    expect(await asking(BOTH)).toBe('login')
    expect(await asking('enhancement')).toBe('login')
  })

  test('is never widened by a refresh', async () => {
    const tokens = await tokensFor('profile')
    for (const scope of [BOTH, 'enhancement', 'profile enhancement']) {
      expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token, { scope }), 'invalid_scope')
    }
    const next = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    expect(next.scope).toBe('profile')
    expect(claimsOf(next.access_token).scope).toBe('profile')
  })
})

describe('a choice that is none', () => {
  test.each([
    ['nothing left on', ''],
    ['only spaces', ' '],
    ['a scope the app did not ask for', 'profile enhancement admin'],
    ['a scope the client may have, but did not ask for now', 'offline'],
    ['no scope at all, only quotes', '"'],
    ['two spaces between', 'profile  enhancement'],
    ['a list', ['profile']],
    ['a number', 1],
  ])('%s is 400 invalid_request for the text and for the proof, and leaves nothing behind', async (_, scope) => {
    const client = await signedClient(app.grantor, { scopes: ['enhancement', 'profile', 'offline'] })
    const challenge = await app.walk.challenge(requestOf(client, { scope: BOTH }))
    const proof = await app.walk.proof(challenge)
    const before = allRows(app.grantor.databasePath)
    for (const answer of [await textFor(challenge, { scope }), await app.walk.loginApi('/login/accept', { ...proof, scope })]) {
      expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
    }
    expect(allRows(app.grantor.databasePath)).toEqual(before)
    expect((await app.walk.loginApi('/login/accept', proof)).status).toBe(200)
  })

  test('a signature over more than is handed in, or over less, is not proven', async () => {
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

  test('a client under session offers none: all or nothing, and the page is told so', async () => {
    const client = await app.grantor.createClient({ scopes: ['enhancement', 'profile'] })
    const challenge = await app.walk.challenge(requestOf(client, { scope: BOTH }))
    expect((await textFor(challenge, { scope: 'profile' })).status).toBe(400)
    expect((await textFor(challenge, { scope: BOTH })).status).toBe(200)
    const described = async (of: string) =>
      (await app.walk.describe(of)).json() as { may_choose_scopes: boolean; scopes: { name: string }[] }
    expect(await described(challenge)).toMatchObject({ may_choose_scopes: false })
    const signed = await described(await app.walk.challenge(requestOf(app.client, { scope: BOTH })))
    expect(signed).toMatchObject({ may_choose_scopes: true, scopes: [{ name: 'enhancement' }, { name: 'profile' }] })
  })
})

describe('what was switched off', () => {
  test('does not come back through an older, wider receipt', async () => {
    await signIn(BOTH)
    expect(await asking(BOTH)).toBe('code')
    await app.walk.signIn(requestOf(app.client, { scope: BOTH, prompt: 'consent' }), app.walk.wallet, 'enhancement')
    expect(await asking('enhancement')).toBe('code')
    expect(await asking('profile')).toBe('login')
    expect(await asking(BOTH)).toBe('login')
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(1)
  })

  test('is over for the tokens of before too: nothing is refreshed that no standing consent names', async () => {
    const before = await tokensFor()
    const narrow = await tokensFor('enhancement', new Walk(app.grantor))
    expect(await app.isActive(before.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, before.refresh_token), 'invalid_grant')
    expect(tokensOf(await app.walk.refresh(app.client, narrow.refresh_token)).scope).toBe('enhancement')
  })

  test('nor do codes of before bring it back, issued or on their way', async () => {
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

  test('leaves alone what names none of it: other scopes, other apps, other wallets', async () => {
    const other = await signedClient(app.grantor)
    const elsewhere = tokensOf(await app.walk.exchange(other, (await app.walk.signIn(requestOf(other, { scope: BOTH }))).code))
    const enhancement = tokensOf(await app.walk.exchange(app.client, (await signIn('enhancement')).code))
    await signIn(BOTH, 'enhancement')
    expect(await app.isActive(elsewhere.access_token, other)).toBe(true)
    expect(await app.isActive(enhancement.access_token)).toBe(true)
    expect(outcomeOf(await app.walk.authorize(requestOf(other, { scope: BOTH })))).toBe('code')
  })

  test('can be switched on again by one new signature', async () => {
    await signIn(BOTH)
    await app.walk.signIn(requestOf(app.client, { scope: BOTH, prompt: 'consent' }), app.walk.wallet, 'enhancement')
    expect((await tokensFor()).scope).toBe(BOTH)
    expect(await asking(BOTH)).toBe('code')
  })
})
