/** The whole flow on PostgreSQL, on two nodes with one database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createUpkeep, type Upkeep } from '../../src/domain/maintenance/upkeep.ts'
import { type App, appOf, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { codeFor, exchangeWith, newDpopKey, proofOf, refreshWith } from '../support/dpop.ts'
import { keepingOf } from '../support/key-keeping.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../support/postgres.ts'
import { pushed } from '../support/pushed.ts'
import { expectRefusal } from '../support/refusals.ts'
import { startBeside } from '../support/start.ts'

let database: PostgresDatabase
let first: App
let second: App
let upkeep: Upkeep

beforeAll(async () => {
  database = await createPostgresDatabase()
  first = await startApp({ postgres: database.address })
  const node = await startBeside(first.grantor, { postgres: database.address })
  second = appOf(node, first.client, first.walk.copy(node))
  upkeep = createUpkeep(node.store, node.deps.clients, node.deps.keys, keepingOf(node))
  await upkeep.noticeChanges()
})
afterAll(async () => {
  await second?.close()
  await first?.close()
  await database.drop()
})

test('Sign-in, code, tokens, refresh, introspection and revocation: each step works on either node', async () => {
  const code = await first.freshCode()
  const tokens = tokensOf(await second.walk.exchange(second.client, code))
  expect(await first.isActive(tokens.access_token)).toBe(true)
  const next = tokensOf(await first.walk.refresh(first.client, tokens.refresh_token))
  const repeated = tokensOf(await second.walk.refresh(second.client, tokens.refresh_token))
  expect(repeated.refresh_token, 'a retry elsewhere gets the same successor').toBe(next.refresh_token)
  expect(await second.isActive(next.access_token)).toBe(true)
  expect((await second.walk.revoke(second.client, next.access_token)).status).toBe(200)
  expect(await first.isActive(next.access_token)).toBe(false)
  expect(await first.isActive(tokens.access_token), 'an access token is revoked alone').toBe(true)
  expect((await first.walk.revoke(first.client, next.refresh_token)).status).toBe(200)
  expect(await second.isActive(tokens.access_token)).toBe(false)
  expectRefusal(await second.walk.refresh(second.client, next.refresh_token), 'invalid_grant')
})

test('What ends on one node is ended on the other from the response on', async () => {
  for (let round = 0; round < 10; round++) {
    const tokens = await first.freshTokens()
    expect(await second.isActive(tokens.access_token)).toBe(true)
    await first.walk.revoke(first.client, tokens.refresh_token)
    expect(await second.isActive(tokens.access_token)).toBe(false)
    expectRefusal(await second.walk.refresh(second.client, tokens.refresh_token), 'invalid_grant')
  }
})

test('One code and one refresh token, used 50 times at once on both nodes, give one grant and one successor', async () => {
  const code = await first.freshCode()
  const at = (index: number) => (index % 2 ? first : second).walk
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => at(index).exchange(first.client, code)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const { refresh_token } = await first.freshTokens()
  const again = await Promise.all(Array.from({ length: 50 }, (_, index) => at(index).refresh(first.client, refresh_token)))
  expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(again.map((answer) => tokensOf(answer).refresh_token)).size).toBe(1)
})

test('A pushed request that is used 50 times at once on both nodes gives one code', async () => {
  const query = await pushed(first.walk, first.client, { state: 's' })
  const at = (index: number) => (index % 2 ? first : second).walk
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => at(index).authorize(query)))
  expect(answers.filter(({ location }) => location.includes('code=grc.'))).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 400)).toHaveLength(49)
})

test('Nodes compare times of the database, whatever their own clocks show', async () => {
  const tokens = await first.freshTokens()
  const now = async () =>
    (await database.sql<{ now: number }[]>`SELECT floor(extract(epoch FROM now()))::bigint AS now`)[0]?.now ?? 0
  const before = await now()
  await first.walk.refresh(first.client, tokens.refresh_token)
  const after = await now()
  const grant = await second.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)
  expect(grant?.rotatedAt).toBeGreaterThanOrEqual(before)
  expect(grant?.rotatedAt).toBeLessThanOrEqual(after)
})

test('A client that is disabled on one node is refused on the other at its next check, twice a second', async () => {
  const { id, secret: _, ...client } = first.client
  await first.grantor.store.clients.replaceClient({ ...client, id, disabledAt: 1 })
  await upkeep.noticeChanges()
  const code = await second.walk.exchange(second.client, 'whatever')
  expect(code.status).toBe(401)
  await first.grantor.store.clients.replaceClient({ ...client, id })
  await upkeep.noticeChanges()
  expect((await second.walk.exchange(second.client, 'whatever')).status).toBe(400)
})

test('Of fifty uses of one DPoP proof on both nodes one succeeds, and the token rotates once (RFC 9449 §11.1)', async () => {
  const key = newDpopKey()
  const publicClient = await first.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/cb'] })
  await upkeep.noticeChanges()
  const tokens = tokensOf(await exchangeWith(first.walk, publicClient, await codeFor(first.walk, publicClient), key))
  const dpop = await proofOf(first.grantor, key)
  const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => (at % 2 ? first : second).walk.token(publicClient, body, { dpop })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(new Set(answers.map((answer) => answer.json().error))).toEqual(new Set([undefined, 'invalid_dpop_proof']))
  const { grant_id } = claimsOf(tokens.access_token)
  expect(await first.grantor.store.grants.readGrant(grant_id)).toMatchObject({ generation: 1, endedAt: null })
  expectRefusal(await refreshWith(first.walk, publicClient, tokens.refresh_token, newDpopKey()), 'invalid_grant')
  expect((await refreshWith(first.walk, publicClient, tokens.refresh_token, key)).status, 'a retry').toBe(200)
})
