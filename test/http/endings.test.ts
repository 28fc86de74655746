/** What somebody ends is over when the page says so: tokens, codes and logins of before, and what was signed (decisions: the ledger; rules 21 and 22). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endGrantsOfWallet } from '../../src/domain/consent/end-grants.ts'
import type { Address } from '../../src/wallet/address.ts'
import { type App, claimsOf, type Tokens, tokensOf } from '../support/app.ts'
import { expectRefusal } from '../support/refusals.ts'
import {
  endEverything,
  outcomeOf,
  receiptsOf,
  signedClient,
  signInToAccount,
  standingReceipts,
  startSignedApp,
} from '../support/signed-app.ts'
import type { TestClient } from '../support/start.ts'
import { type Answer, noticeOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let app: App
/** a second app of the same wallet, under the other rule */
let other: TestClient
let tokens: Tokens
let others: Tokens

beforeEach(async () => {
  app = await startSignedApp()
  other = await app.grantor.createClient()
  tokens = tokensOf(await app.walk.exchange(app.client, (await app.walk.signIn(requestOf(app.client))).code))
  others = tokensOf(await app.walk.exchange(other, (await app.walk.signIn(requestOf(other, { prompt: 'login' }))).code))
})
afterEach(() => app.close())

const endApp = (walk = app.walk, of = app.client) => walk.postForm('/account/apps/end', { client_id: of.id })
const expectDone = (answer: Answer, done: string) =>
  expect([answer.status, answer.location]).toEqual([303, `/account?done=${done}`])
const grantOf = (accessToken: string) => app.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)
const sessionHolds = async (walk: Walk) => (await walk.browse({ path: '/account' })).status === 200

async function expectOver(of: Tokens, client: TestClient, reason: string): Promise<void> {
  expect(await app.isActive(of.access_token, client)).toBe(false)
  expectRefusal(await app.walk.refresh(client, of.refresh_token), 'invalid_grant')
  expect(await grantOf(of.access_token)).toMatchObject({ endReason: reason })
}

async function expectAlive(of: Tokens, client: TestClient): Promise<void> {
  expect(await app.isActive(of.access_token, client)).toBe(true)
  expect((await app.walk.refresh(client, of.refresh_token)).status).toBe(200)
}

describe('an app that is ended on the account page', () => {
  test('has lost its tokens at once, and its consents with them', async () => {
    expectDone(await endApp(), 'app_ended')
    await expectOver(tokens, app.client, 'user')
    const receipts = await receiptsOf(app.grantor, app.walk.wallet)
    expect(receipts.filter(({ clientId }) => clientId === app.client.id).every(({ withdrawnAt }) => withdrawnAt !== null)).toBe(
      true,
    )
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('login')
  })

  test('redeems no code of before', async () => {
    const code = await app.freshCode()
    await endApp()
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
  })

  test('leaves alone the wallet’s other apps, its sessions, and every other wallet’s', async () => {
    const stranger = new Walk(app.grantor, testWallet(1))
    const theirs = tokensOf(await stranger.exchange(app.client, (await stranger.signIn(requestOf(app.client))).code))
    await endApp()
    await expectAlive(others, other)
    await expectAlive(theirs, app.client)
    expect(await sessionHolds(app.walk)).toBe(true)
    expect(await standingReceipts(app.grantor, stranger.wallet)).toBe(1)
    expect(outcomeOf(await app.walk.authorize(requestOf(other)))).toBe('code')
  })

  test('stays ended when it is ended again; what is signed afterwards is new', async () => {
    await endApp()
    const before = await receiptsOf(app.grantor, app.walk.wallet)
    app.grantor.clock.advance(60)
    await endApp()
    expect(await receiptsOf(app.grantor, app.walk.wallet)).toEqual(before)
    const again = tokensOf(await app.walk.exchange(app.client, (await app.walk.signIn(requestOf(app.client))).code))
    await expectAlive(again, app.client)
    await expectOver(tokens, app.client, 'user')
  })
})

describe('a login that was under way', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['its app is ended', () => endApp()],
    ['another app of the wallet is ended', () => endApp(app.walk, other)],
    ['all other sessions are ended', () => app.walk.postForm('/account/sessions/end-others', {})],
    ['everything is ended', () => endEverything(new Walk(app.grantor))],
    [
      'the operator ends what the wallet allowed',
      () => endGrantsOfWallet(app.grantor.store, testWallet(0).address as Address, undefined, app.grantor.clock.now()),
    ],
  ])('comes to nothing when %s between proof and return: no session, no code, its receipt withdrawn', async (_, end) => {
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
    // not even its session's row lives
    expect(
      await app.grantor.store.sessions.listSessions(late.wallet.address as Address, { at: 0, limit: 100 }),
    ).not.toContainEqual(expect.objectContaining({ receiptId: receipt?.id }))
    expect((await late.complete(path)).status).toBe(409)
  })

  test('whose text was only shown is signed and goes on: it comes after the ending', async () => {
    const late = new Walk(app.grantor)
    const challenge = await late.challenge(requestOf(app.client))
    const proof = await late.proof(challenge)
    await endApp()
    expect((await late.loginApi('/login/accept', proof)).status).toBe(200)
    expect(await standingReceipts(app.grantor, late.wallet)).toBe(2)
  })
})

describe('a session', () => {
  const handleOf = async (walk: Walk): Promise<string> => {
    const sessions = await app.grantor.store.sessions.listSessions(walk.wallet.address as Address, {
      at: app.grantor.clock.now(),
      limit: 100,
    })
    const page = (await walk.browse({ path: '/account' })).body
    return sessions.map(({ hash }) => hash.slice(0, 16)).find((handle) => !page.includes(`value="${handle}"`)) ?? ''
  }

  test('ended from another browser gives no code from then on; the apps keep what they have', async () => {
    const elsewhere = new Walk(app.grantor)
    await elsewhere.signIn(requestOf(other))
    const code = await (async () =>
      new URL((await elsewhere.authorize(requestOf(other))).location).searchParams.get('code') ?? '')()
    expectDone(await app.walk.postForm('/account/sessions/end', { session: await handleOf(elsewhere) }), 'session_ended')
    expect(await sessionHolds(elsewhere)).toBe(false)
    expect(outcomeOf(await elsewhere.authorize(requestOf(other)))).toBe('login')
    expectRefusal(await elsewhere.exchange(other, code), 'invalid_grant')
    expect(await sessionHolds(app.walk)).toBe(true)
    await expectAlive(others, other)
    await expectAlive(tokens, app.client)
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(3)
  })

  test('signing out ends it in the store, not only in the browser: its cookie is cleared, and worth nothing if kept', async () => {
    const kept = new Map(app.walk.cookies)
    const answer = await app.walk.postForm('/account/sign-out', {})
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'signed_out'])
    expect(answer.headers['set-cookie']).toEqual(['grantor_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0'])
    const thief = new Walk(app.grantor)
    for (const [name, value] of kept) thief.cookies.set(name, value)
    expect(await sessionHolds(thief)).toBe(false)
    expect(outcomeOf(await thief.authorize(requestOf(other)))).toBe('login')
    await expectAlive(tokens, app.client)
  })

  test('ending all others keeps this one, and no other browser’s', async () => {
    const [one, two] = [new Walk(app.grantor), new Walk(app.grantor)]
    await one.signIn(requestOf(other))
    await signInToAccount(two)
    expectDone(await app.walk.postForm('/account/sessions/end-others', {}), 'others_ended')
    expect([await sessionHolds(one), await sessionHolds(two), await sessionHolds(app.walk)]).toEqual([false, false, true])
    expect(outcomeOf(await app.walk.authorize(requestOf(other)))).toBe('code')
  })
})

describe('everything', () => {
  test('ended by one signature: every app, every receipt, every session, and nobody else’s', async () => {
    const [elsewhere, stranger] = [new Walk(app.grantor), new Walk(app.grantor, testWallet(1))]
    await elsewhere.signIn(requestOf(other))
    const theirs = tokensOf(await stranger.exchange(other, (await stranger.signIn(requestOf(other))).code))
    const code = await app.freshCode()
    const lost = new Walk(app.grantor)
    const answer = await endEverything(lost)
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'everything_ended'])
    await expectOver(tokens, app.client, 'user')
    await expectOver(others, other, 'user')
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(0)
    for (const walk of [app.walk, elsewhere, lost]) expect(await sessionHolds(walk)).toBe(false)
    await expectAlive(theirs, other)
    expect(await sessionHolds(stranger)).toBe(true)
    expect(await standingReceipts(app.grantor, stranger.wallet)).toBe(1)
  })
})

test('the operator’s ending of what a wallet allowed withdraws its consents too, of one client or of all', async () => {
  const second = await signedClient(app.grantor)
  await app.walk.signIn(requestOf(second))
  const [wallet, at] = [app.walk.wallet.address as Address, app.grantor.clock.now()]
  await endGrantsOfWallet(app.grantor.store, wallet, app.client.id, at)
  await expectOver(tokens, app.client, 'operator')
  expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('login')
  expect(outcomeOf(await app.walk.authorize(requestOf(second)))).toBe('code')
  await expectAlive(others, other)
  await endGrantsOfWallet(app.grantor.store, wallet, undefined, at)
  expect(outcomeOf(await app.walk.authorize(requestOf(second)))).toBe('login')
  expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(0)
  expect(await app.isActive(others.access_token, other)).toBe(false)
})
