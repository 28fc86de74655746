/** The effect of an ending on earlier tokens, codes, logins and consents, from its response on (decisions: the ledger; rules 21 and 22). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endGrantsOfWallet } from '../../../../src/domain/consent/end-grants.ts'
import type { Address } from '../../../../src/protocol/wallet/address.ts'
import { type App, claimsOf, type Tokens, tokensOf } from '../../../support/app.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import {
  endEverything,
  outcomeOf,
  receiptsOf,
  signedClient,
  signInToAccount,
  standingReceipts,
  startSignedApp,
} from '../../../support/signed-app.ts'
import type { TestClient } from '../../../support/start.ts'
import { type Answer, noticeOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
/** a second app of the same wallet, with the consent rule session */
let other: TestClient
let tokens: Tokens
let otherTokens: Tokens

beforeEach(async () => {
  app = await startSignedApp()
  other = await app.grantor.createClient()
  tokens = tokensOf(await app.walk.exchange(app.client, (await app.walk.signIn(requestOf(app.client))).code))
  otherTokens = tokensOf(await app.walk.exchange(other, (await app.walk.signIn(requestOf(other, { prompt: 'login' }))).code))
})
afterEach(() => app.close())

const endApp = (walk = app.walk, of = app.client) => walk.postForm('/account/apps/end', { client_id: of.id })
const expectDone = (answer: Answer, done: string) =>
  expect([answer.status, answer.location]).toEqual([303, `/account?done=${done}#done`])
const grantOf = (accessToken: string) => app.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)
const isSignedIn = async (walk: Walk) => (await walk.browse({ path: '/account' })).status === 200

async function expectEnded(of: Tokens, client: TestClient, reason: string): Promise<void> {
  expect(await app.isActive(of.access_token, client)).toBe(false)
  expectRefusal(await app.walk.refresh(client, of.refresh_token), 'invalid_grant')
  expect(await grantOf(of.access_token)).toMatchObject({ endReason: reason })
}

async function expectActive(of: Tokens, client: TestClient): Promise<void> {
  expect(await app.isActive(of.access_token, client)).toBe(true)
  expect((await app.walk.refresh(client, of.refresh_token)).status).toBe(200)
}

describe('Ending an app on the account page', () => {
  test('When a wallet ends an app, the app’s tokens and consents end at once, and its next request needs a login', async () => {
    expectDone(await endApp(), 'app_ended')
    await expectEnded(tokens, app.client, 'user')
    const receipts = await receiptsOf(app.grantor, app.walk.wallet)
    expect(receipts.filter(({ clientId }) => clientId === app.client.id).every(({ withdrawnAt }) => withdrawnAt !== null)).toBe(
      true,
    )
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('login')
  })

  test('When a wallet ends an app, a code that was issued before cannot be redeemed', async () => {
    const code = await app.freshCode()
    await endApp()
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
  })

  test('When a wallet ends an app, its other apps, its sessions and the tokens of other wallets stay valid', async () => {
    const stranger = new Walk(app.grantor, testWallet(1))
    const theirs = tokensOf(await stranger.exchange(app.client, (await stranger.signIn(requestOf(app.client))).code))
    await endApp()
    await expectActive(otherTokens, other)
    await expectActive(theirs, app.client)
    expect(await isSignedIn(app.walk)).toBe(true)
    expect(await standingReceipts(app.grantor, stranger.wallet)).toBe(1)
    expect(outcomeOf(await app.walk.authorize(requestOf(other)))).toBe('code')
  })

  test('An app that is ended twice stays ended, and a later login gives new valid tokens', async () => {
    await endApp()
    const before = await receiptsOf(app.grantor, app.walk.wallet)
    app.grantor.clock.advance(60)
    await endApp()
    expect(await receiptsOf(app.grantor, app.walk.wallet)).toEqual(before)
    const again = tokensOf(await app.walk.exchange(app.client, (await app.walk.signIn(requestOf(app.client))).code))
    await expectActive(again, app.client)
    await expectEnded(tokens, app.client, 'user')
  })
})

describe('Logins during an ending', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['its app is ended', () => endApp()],
    ['another app of the wallet is ended', () => endApp(app.walk, other)],
    ['all other sessions are ended', () => app.walk.postForm('/account/sessions/end-others', {})],
    ['everything is ended', () => endEverything(new Walk(app.grantor))],
    [
      'the operator ends what the wallet allowed',
      () => endGrantsOfWallet(app.grantor.store, testWallet(0).address as Address, undefined, app.grantor.clock.now),
    ],
  ])(
    'A login starts no session, gives no code and has its receipt withdrawn if %s between its proof and its return',
    async (_, end) => {
      const late = new Walk(app.grantor)
      app.grantor.clock.advance(1)
      const path = await late.prove(await late.challenge(requestOf(app.client)))
      const [receipt] = await receiptsOf(app.grantor, late.wallet)
      await end()
      const answer = await late.complete(path)
      expect([answer.status, noticeOf(answer)]).toEqual([401, 'login_required_again'])
      expect(answer.body).not.toContain('code=')
      expect(late.cookies.has('grantor_session')).toBe(false)
      const after = (await receiptsOf(app.grantor, late.wallet)).find(({ id }) => id === receipt?.id)
      expect(after?.withdrawnAt).toBe(app.grantor.clock.now())
      // the row of its session is not valid either
      expect(
        await app.grantor.store.sessions.listSessions(late.wallet.address as Address, { at: 0, limit: 100 }),
      ).not.toContainEqual(expect.objectContaining({ receiptId: receipt?.id }))
      expect((await late.complete(path)).status).toBe(409)
    },
  )

  test('A login whose text was shown before an ending and signed after it is accepted', async () => {
    const late = new Walk(app.grantor)
    const challenge = await late.challenge(requestOf(app.client))
    const proof = await late.proof(challenge)
    await endApp()
    expect((await late.loginApi('/login/accept', proof)).status).toBe(200)
    expect(await standingReceipts(app.grantor, late.wallet)).toBe(2)
  })
})

describe('Ending sessions', () => {
  const handleOf = async (walk: Walk): Promise<string> => {
    const sessions = await app.grantor.store.sessions.listSessions(walk.wallet.address as Address, {
      at: app.grantor.clock.now(),
      limit: 100,
    })
    const page = (await walk.browse({ path: '/account' })).body
    return sessions.map(({ hash }) => hash.slice(0, 16)).find((handle) => !page.includes(`value="${handle}"`)) ?? ''
  }

  test('A session that is ended from another browser gets no code, its codes are refused, and the tokens of the apps stay valid', async () => {
    const elsewhere = new Walk(app.grantor)
    await elsewhere.signIn(requestOf(other))
    const code = await (async () =>
      new URL((await elsewhere.authorize(requestOf(other))).location).searchParams.get('code') ?? '')()
    expectDone(await app.walk.postForm('/account/sessions/end', { session: await handleOf(elsewhere) }), 'session_ended')
    expect(await isSignedIn(elsewhere)).toBe(false)
    expect(outcomeOf(await elsewhere.authorize(requestOf(other)))).toBe('login')
    expectRefusal(await elsewhere.exchange(other, code), 'invalid_grant')
    expect(await isSignedIn(app.walk)).toBe(true)
    await expectActive(otherTokens, other)
    await expectActive(tokens, app.client)
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(3)
  })

  test('A sign-out clears the session cookie and ends the session in the store, so a copied cookie is refused', async () => {
    const kept = new Map(app.walk.cookies)
    const answer = await app.walk.postForm('/account/sign-out', {})
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'signed_out'])
    expect(answer.headers['set-cookie']).toEqual(['grantor_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0'])
    const thief = new Walk(app.grantor)
    for (const [name, value] of kept) thief.cookies.set(name, value)
    expect(await isSignedIn(thief)).toBe(false)
    expect(outcomeOf(await thief.authorize(requestOf(other)))).toBe('login')
    await expectActive(tokens, app.client)
  })

  test('Ending all other sessions keeps the current session and ends those of other browsers', async () => {
    const [one, two] = [new Walk(app.grantor), new Walk(app.grantor)]
    await one.signIn(requestOf(other))
    await signInToAccount(two)
    expectDone(await app.walk.postForm('/account/sessions/end-others', {}), 'others_ended')
    expect([await isSignedIn(one), await isSignedIn(two), await isSignedIn(app.walk)]).toEqual([false, false, true])
    expect(outcomeOf(await app.walk.authorize(requestOf(other)))).toBe('code')
  })
})

describe('Ending everything', () => {
  test('One signature ends every app, receipt and session of a wallet, and leaves those of other wallets', async () => {
    const [elsewhere, stranger] = [new Walk(app.grantor), new Walk(app.grantor, testWallet(1))]
    await elsewhere.signIn(requestOf(other))
    const theirs = tokensOf(await stranger.exchange(other, (await stranger.signIn(requestOf(other))).code))
    const code = await app.freshCode()
    const lost = new Walk(app.grantor)
    const answer = await endEverything(lost)
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'everything_ended'])
    await expectEnded(tokens, app.client, 'user')
    await expectEnded(otherTokens, other, 'user')
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(0)
    for (const walk of [app.walk, elsewhere, lost]) expect(await isSignedIn(walk)).toBe(false)
    await expectActive(theirs, other)
    expect(await isSignedIn(stranger)).toBe(true)
    expect(await standingReceipts(app.grantor, stranger.wallet)).toBe(1)
  })
})

test('When the operator ends a wallet’s grants at one client or at all clients, the consents are withdrawn too', async () => {
  const secondClient = await signedClient(app.grantor)
  await app.walk.signIn(requestOf(secondClient))
  const [wallet, { now }] = [app.walk.wallet.address as Address, app.grantor.clock]
  await endGrantsOfWallet(app.grantor.store, wallet, app.client.id, now)
  await expectEnded(tokens, app.client, 'operator')
  expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('login')
  expect(outcomeOf(await app.walk.authorize(requestOf(secondClient)))).toBe('code')
  await expectActive(otherTokens, other)
  await endGrantsOfWallet(app.grantor.store, wallet, undefined, now)
  expect(outcomeOf(await app.walk.authorize(requestOf(secondClient)))).toBe('login')
  expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(0)
  expect(await app.isActive(otherTokens.access_token, other)).toBe(false)
})
