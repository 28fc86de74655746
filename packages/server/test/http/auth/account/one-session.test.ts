/** The end of a session ends the codes of that session, and nothing else. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { encode, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
})
beforeEach(async () => {
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const codeOf = async (of: Walk) => parameterOf((await of.authorize(requestOf(client))).location, 'code')
const signOut = (of: Walk) => of.postForm('/account/sign-out', {})
const epochOf = (of: Walk) => grantor.store.wallets.readEpoch(of.wallet.address as `0x${string}`)

/** Signs in again in the same browser, as if in another tab. */
const signInAgain = (of: Walk, wallet = of.wallet) => of.signIn(requestOf(client, { prompt: 'login' }), wallet)

describe('Signing out', () => {
  test('Signing out voids the codes of that session, and keeps the codes of the same wallet in another browser', async () => {
    const other = new Walk(grantor)
    await other.signIn(requestOf(client))
    const [own, others] = [await codeOf(walk), await codeOf(other)]
    await signOut(walk)
    expectRefusal(await walk.exchange(client, own), 'invalid_grant')
    expect((await other.exchange(client, others)).status).toBe(200)
    expect(grantor.events).toContainEqual(expect.objectContaining({ reason: 'ended_since_code' }))
  })

  test('Signing out does not stop a login of the same wallet in another browser', async () => {
    const other = new Walk(grantor)
    const path = await other.prove(await other.challenge(requestOf(client)))
    await signOut(walk)
    expect((await other.complete(path)).status).toBe(200)
  })

  test('After signing out, an app can still refresh its tokens', async () => {
    const tokens = (await walk.exchange(client, await codeOf(walk))).json()
    await signOut(walk)
    expect((await walk.refresh(client, tokens.refresh_token as string)).status).toBe(200)
  })
})

describe('Signing in again in the same browser', () => {
  test('Signing in again ends the browser’s earlier session, so a copy of the old cookie stops working (ASVS 7.2.4)', async () => {
    const copy = walk.copy()
    await signInAgain(walk)
    expect((await copy.browse({ path: '/account' })).location).toContain('/login?login_challenge=')
    expect((await walk.browse({ path: '/account' })).status).toBe(200)
  })

  test('Signing in again with the same wallet keeps the codes and logins of other tabs, and does not raise the epoch', async () => {
    const [code, epoch] = [await codeOf(walk), await epochOf(walk)]
    const path = await walk.prove(await walk.challenge(requestOf(client, { prompt: 'login' })))
    await signInAgain(walk)
    await signInAgain(walk)
    expect((await walk.exchange(client, code)).status).toBe(200)
    expect((await walk.complete(path)).status).toBe(200)
    expect(await epochOf(walk)).toBe(epoch)
  })

  test('Signing out after signing in again also voids the codes of the earlier session', async () => {
    const code = await codeOf(walk)
    await signInAgain(walk)
    await signOut(walk)
    expectRefusal(await walk.exchange(client, code), 'invalid_grant')
  })

  test('Signing in again with another wallet voids the codes of the first wallet', async () => {
    const code = await codeOf(walk)
    await signInAgain(walk, testWallet(1))
    expectRefusal(await walk.exchange(client, code), 'invalid_grant')
  })

  test('A browser keeps its session if a new login fails at its last step', async () => {
    const path = await walk.prove(await walk.challenge(requestOf(client, { prompt: 'login' })))
    grantor.clock.advance(61)
    expect(noticeOf(await walk.complete(path))).toBe('expired')
    expect((await walk.browse({ path: '/account' })).status).toBe(200)
  })

  test('Signing in again sends no logout notice to clients, because the person stays signed in', async () => {
    const app = await openIdClient(grantor, { backchannelLogoutUri: 'http://127.0.0.1:9/logout' })
    await openIdTokens(walk, app)
    const before = grantor.events.length
    await signInAgain(walk)
    await new Promise((resolve) => setImmediate(resolve))
    expect(grantor.events.slice(before).map(({ event }) => event)).not.toContain('logout_notice_lost')
  })
})

describe('One challenge in two browsers', () => {
  test('A login that a desktop and a phone complete at the same time with two wallets starts one session', async () => {
    for (let round = 0; round < 10; round++) {
      const [desktop, phone] = [new Walk(grantor, testWallet(1)), new Walk(grantor, testWallet(0))]
      const challenge = await desktop.challenge(requestOf(client))
      const { location } = await phone.browse({ path: `/login/resume?${encode({ login_challenge: challenge })}` })
      const paths = [await desktop.prove(challenge), await phone.prove(parameterOf(location, 'login_challenge'))] as const
      const answers = await Promise.all([desktop.complete(paths[0]), phone.complete(paths[1])])
      const first = answers[0].status === 200 ? 0 : 1
      expect([answers[first].status, answers[1 - first]?.status]).toEqual([200, 409])
      const cookies = [desktop, phone].map((of) => of.cookies.has('grantor_session'))
      expect([cookies[first], cookies[1 - first]]).toEqual([true, false])
    }
  })
})

test('A session whose idle time is shorter than ten minutes stays valid while it is used', async () => {
  const short = await startGrantor({ lifetimes: { sessionIdle: 300 } })
  const app = await short.createClient()
  const visitor = new Walk(short)
  await visitor.signIn(requestOf(app))
  for (let visits = 0; visits < 5; visits++) {
    short.clock.advance(200)
    expect((await visitor.authorize(requestOf(app))).location).toContain('code=')
  }
  await short.close()
})
