/** The limits on the grants of one wallet at one client and on the sessions of one wallet: the oldest beyond the limit end. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createBoundKeeper } from '../../../../src/domain/maintenance/bounds.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/index.ts'
import { type App, appOf, claimsOf, startApp, type Tokens, tokensOf } from '../../../support/app.ts'
import { openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { outcomeOf, receiptsOf, signedClient, signInToAccount, startSignedApp } from '../../../support/signed-app.ts'
import type { TestClient } from '../../../support/start.ts'
import { parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
const start = async (bounds = { grantsPerWalletAndClient: 3, sessionsPerWallet: 2 }) => (app = await startApp({ bounds }))
afterEach(() => app.close())

async function severalTokens(count: number): Promise<Tokens[]> {
  const tokens: Tokens[] = []
  for (let each = 0; each < count; each++) {
    app.grantor.clock.advance(1)
    tokens.push(await app.freshTokens())
  }
  return tokens
}

const superseded = () => app.grantor.events.filter(({ reason }) => reason === 'superseded')

test('If a wallet has more grants at a client than the limit, the oldest end as superseded; grants of other clients and wallets stay', async () => {
  await start()
  const other = await app.grantor.createClient()
  const elsewhere = await app.freshTokens({}, other)
  const stranger = new Walk(app.grantor, testWallet(1))
  const theirs = tokensOf(await stranger.exchange(app.client, (await stranger.signIn(requestOf(app.client))).code))
  const tokens = await severalTokens(5)
  await app.grantor.keepBounds()
  expect(await Promise.all(tokens.map(({ access_token }) => app.isActive(access_token)))).toEqual([
    false,
    false,
    true,
    true,
    true,
  ])
  for (const { refresh_token } of tokens.slice(0, 2))
    expect((await app.walk.refresh(app.client, refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
  expect((await app.walk.refresh(app.client, tokens[2]?.refresh_token ?? '')).status).toBe(200)
  expect(await app.isActive(elsewhere.access_token, other)).toBe(true)
  expect(await app.isActive(theirs.access_token)).toBe(true)
  const ended = tokens.slice(0, 2).map(({ access_token }) => claimsOf(access_token).grant_id)
  expect(
    superseded()
      .map(({ event, grant_id }) => `${event} ${grant_id}`)
      .sort(),
  ).toEqual(ended.map((id) => `grant_ended ${id}`).sort())
  const [first] = ended
  expect(await app.grantor.store.grants.readGrant(first ?? '')).toMatchObject({ endReason: 'superseded' })
})

test('Grants from before the clock was set back do not count towards the limit until the clock has caught up', async () => {
  await start()
  await severalTokens(3)
  // The clock was an hour ahead, so new grants seem to be the oldest.
  app.grantor.clock.advance(-3600)
  await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
  const { access_token } = await app.freshTokens()
  await app.grantor.keepBounds()
  expect(await app.isActive(access_token)).toBe(true)
  expect(superseded()).toEqual([])
  app.grantor.clock.advance(3700)
  await app.freshTokens()
  await app.grantor.keepBounds()
  expect(superseded(), 'once the clock has caught up').toHaveLength(2)
})

test('An expired grant does not count against a valid one, and expired grants beyond the limit end as superseded', async () => {
  await start()
  const [oldest, ...expired] = await severalTokens(8)
  // The app keeps using the first grant, and the others lie idle.
  app.grantor.clock.advance(10 * 86_400)
  const { refresh_token } = tokensOf(await app.walk.refresh(app.client, oldest?.refresh_token ?? ''))
  app.grantor.clock.advance(10 * 86_400)
  await app.walk.signIn(requestOf(app.client))
  await app.grantor.keepBounds()
  expect((await app.walk.refresh(app.client, refresh_token)).status).toBe(200)
  const states = await Promise.all(
    expired.map(async ({ access_token }) => app.grantor.store.grants.readGrant(claimsOf(access_token).grant_id)),
  )
  expect(states.filter((grant) => grant?.endReason === 'superseded').length).toBeGreaterThan(0)
})

test('A limit of more than ten is checked after one of several grants, chosen at random, and then ends all grants beyond it', async () => {
  const bounds = { grantsPerWalletAndClient: 20, sessionsPerWallet: 200 }
  await start(bounds)
  const tokens = await severalTokens(23)
  const { deps } = app.grantor
  const newest = await deps.store.grants.readGrant(claimsOf(tokens.at(-1)?.access_token ?? '').grant_id)
  if (!newest) throw new Error('no grant')
  let random = 10
  const keeper = createBoundKeeper(deps, bounds, () => random)
  keeper.noteGrant(newest)
  await keeper.keep()
  expect(superseded()).toEqual([])
  random = 9
  keeper.noteGrant(newest)
  await keeper.keep()
  expect(superseded()).toHaveLength(3)
})

test('After 60 concurrent exchanges, with two nodes enforcing a limit of 10 grants, exactly 10 grants are valid', async () => {
  const bounds = { grantsPerWalletAndClient: 10, sessionsPerWallet: 200 }
  await start(bounds)
  const { deps, databasePath, keepBounds } = app.grantor
  const node = { ...deps, store: openSqliteStore(databasePath) }
  onTestFinished(() => node.store.close())
  const there = createBoundKeeper(node, bounds)
  const codes = await Promise.all(Array.from({ length: 60 }, () => app.freshCode()))
  const exchanges = codes.map(async (code) => {
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    const grant = await node.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)
    if (grant) there.noteGrant(grant)
    await Promise.all([keepBounds(), there.keep()])
    return tokens
  })
  const tokens = await Promise.all(exchanges)
  await Promise.all([keepBounds(), there.keep()])
  const living = await Promise.all(tokens.map(({ access_token }) => app.isActive(access_token)))
  expect(living.filter(Boolean)).toHaveLength(10)
  expect(new Set(superseded().map(({ grant_id }) => grant_id)).size, 'each grant ended once').toBe(50)
  expect(superseded()).toHaveLength(50)
})

test('One check ends all grants beyond the limit, however many there are, and in turn with the other wallets', async () => {
  await start()
  const stranger = new Walk(app.grantor, testWallet(1))
  await stranger.signIn(requestOf(app.client))
  const theirs = appOf(app.grantor, app.client, stranger)
  await severalTokens(203)
  for (let each = 0; each < 4; each++) await theirs.freshTokens()
  await app.grantor.keepBounds()
  expect(superseded()).toHaveLength(201)
  const wallets = superseded().map(({ wallet }) => wallet)
  expect(wallets.indexOf(stranger.wallet.address), 'before the many grants of the other wallet').toBeLessThan(60)
  expect(await app.grantor.store.grants.listGrants({ clientId: app.client.id, unended: true, limit: 1000 })).toHaveLength(6)
})

test('A check that must stop ends no further grants, and continues on the next run', async () => {
  await start()
  await severalTokens(120)
  const stopping = new AbortController()
  const { grants } = app.grantor.store
  const endGrants = grants.endGrants.bind(grants)
  grants.endGrants = (...ending) => {
    stopping.abort()
    return endGrants(...ending)
  }
  await app.grantor.keepBounds(stopping.signal)
  expect(superseded().length).toBeLessThan(60)
  await app.grantor.keepBounds()
  expect(superseded()).toHaveLength(117)
})

test('A check of the limit on grants that fails is repeated on the next run', async () => {
  await start()
  await severalTokens(4)
  const { grants } = app.grantor.store
  const endGrants = grants.endGrants.bind(grants)
  grants.endGrants = () => Promise.reject(new Error('no answer'))
  await expect(app.grantor.keepBounds()).rejects.toThrow('no answer')
  grants.endGrants = endGrants
  await app.grantor.keepBounds()
  expect(superseded()).toHaveLength(1)
})

test('If a wallet has more sessions than the limit, the oldest ends with logout tokens, and logins go on (Back-Channel Logout §2.5)', async () => {
  await start()
  const receivedPaths: string[] = []
  const receiver = createServer((request, response) => {
    receivedPaths.push(request.url ?? '')
    request.resume().on('end', () => response.writeHead(200).end())
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise((resolve) => receiver.close(() => resolve())))
  const backchannelLogoutUri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/logout`
  const listening = await openIdClient(app.grantor, { backchannelLogoutUri })
  const tokens = await openIdTokens(app.walk, listening)
  const code = await app.freshCode()
  const walks = [new Walk(app.grantor), new Walk(app.grantor), new Walk(app.grantor)] as const
  app.grantor.clock.advance(1)
  for (const walk of walks.slice(0, 2)) await signInToAccount(walk)
  const other = parameterOf((await walks[0].authorize(requestOf(app.client))).location, 'code')
  const underWay = await walks[2].prove(await walks[2].challenge(requestOf(app.client)))
  await app.grantor.keepBounds()
  expect(superseded()).toEqual([expect.objectContaining({ event: 'session_ended', reason: 'superseded' })])
  expect((await app.walk.browse({ path: '/account' })).status, 'the oldest is signed out').toBe(302)
  for (const walk of walks.slice(0, 2)) expect((await walk.browse({ path: '/account' })).status).toBe(200)
  await expect.poll(() => receivedPaths).toEqual(['/logout'])
  expect(await app.isActive(tokens.access_token, listening), 'the grants of the ended session stay valid').toBe(true)
  expect((await app.walk.exchange(app.client, code)).status, 'a code of the ended session is invalid').toBe(400)
  expect((await walks[0].exchange(app.client, other)).status).toBe(200)
  expect((await walks[2].complete(underWay)).status).toBe(200)
})

describe('The limit on receipts of one wallet at one client', () => {
  const receipts = () => receiptsOf(app.grantor, app.walk.wallet)
  /** Signs in so often that the receipts are older than their challenges. */
  async function signInOften(times: number, of: TestClient = app.client): Promise<void> {
    for (let each = 0; each < times; each++) {
      app.grantor.clock.advance(1)
      await app.walk.signIn(requestOf(of, { prompt: 'login' }))
    }
    app.grantor.clock.advance(2 * 3600)
  }

  beforeEach(async () => {
    app = await startSignedApp()
  })

  test('After many sign-ins at one client, its 20 newest receipts are kept; receipts that are younger than 70 minutes are kept too', async () => {
    const other = await signedClient(app.grantor)
    await app.walk.signIn(requestOf(other))
    for (let each = 0; each < 30; each++) {
      app.grantor.clock.advance(1)
      await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    }
    await app.grantor.keepBounds()
    expect(await receipts()).toHaveLength(31)
    app.grantor.clock.advance(2 * 3600)
    await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    await app.grantor.keepBounds()
    const left = await receipts()
    expect(left.filter(({ clientId }) => clientId === app.client.id)).toHaveLength(21)
    expect(left, 'the other client has its own').toHaveLength(22)
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('A receipt that an unended grant or an open session rests on is kept', async () => {
    const first = new Walk(app.grantor)
    const { code } = await first.signIn(requestOf(app.client))
    const { access_token } = tokensOf(await first.exchange(app.client, code))
    const second = new Walk(app.grantor)
    await second.signIn(requestOf(app.client))
    const { grants } = app.grantor.store
    const grantId = claimsOf(access_token).grant_id
    const ofGrant = (await grants.readGrant(grantId))?.receiptId
    await first.postForm('/account/sign-out', {})
    await signInOften(25)
    await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    await app.grantor.keepBounds()
    expect(await receipts(), 'the newest, 20 older ones, and two in use').toHaveLength(23)
    expect((await receipts()).map(({ id }) => id)).toContain(ofGrant)
    await grants.endGrant(grantId, 'user', app.grantor.clock.now())
    await signInOften(1)
    await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    await app.grantor.keepBounds()
    expect((await receipts()).map(({ id }) => id)).not.toContain(ofGrant)
  })

  test('Withdrawn receipts have the same limit of their own', async () => {
    await signInOften(25)
    await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
    await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    await app.grantor.keepBounds()
    expect((await receipts()).filter(({ withdrawnAt }) => withdrawnAt !== null)).toHaveLength(20)
  })
})
