/** A code exchange that fails between its writes: the client gets 503, repeats the exchange and gets its tokens. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { endGrantsOfWallet } from '../../../../src/domain/consent/end-grants.ts'
import { type App, appOf, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { codeFor, exchangeWith, newDpopKey } from '../../../support/dpop.ts'
import { upgradeKeys } from '../../../support/key-keeping.ts'
import { OPENID, openIdClient } from '../../../support/openid-app.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../../support/postgres.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import type { Answer } from '../../../support/send.ts'
import { startBeside, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE, requestOf, Walk } from '../../../support/walk.ts'

let database: PostgresDatabase
let first: App
let second: App
let publicClient: TestClient

beforeAll(async () => {
  database = await createPostgresDatabase()
  first = await startApp({ postgres: database.address })
  const node = await startBeside(first.grantor, { postgres: database.address })
  second = appOf(node, first.client, new Walk(node))
  publicClient = await first.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/cb'] })
  await node.noticeChanges()
})
afterAll(async () => {
  await second?.close()
  await first?.close()
  await database.drop()
})

/**
 * Fails an exchange between its writes: the row of the grant is reserved, and cannot be claimed. Only the exchange of a code whose session was replaced has
 * several writes on one primary, so the wallet signs in again first.
 */
async function expectFailedExchange(exchange: () => Promise<Answer>): Promise<void> {
  await first.walk.signIn(requestOf(first.client, { prompt: 'login' }))
  const grants = async () => Number((await database.sql`SELECT count(*) AS grants FROM grants`)[0]?.grants)
  const before = await grants()
  await database.sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON grants FOR EACH ROW EXECUTE FUNCTION refuse()`)
  expectRefusal(await exchange(), 'temporarily_unavailable')
  await database.sql.unsafe('DROP FUNCTION refuse() CASCADE')
  expect(await grants()).toBe(before + 1)
}

test('A code exchange that got 503 after its first write succeeds when repeated, and the next use revokes the grant (RFC 6749 §4.1.2)', async () => {
  for (const retried of [first, second]) {
    const code = await first.freshCode()
    await expectFailedExchange(() => first.walk.exchange(first.client, code))
    const tokens = tokensOf(await retried.walk.exchange(retried.client, code))
    expect(await first.isActive(tokens.access_token)).toBe(true)

    expectRefusal(await second.walk.exchange(second.client, code), 'invalid_grant')
    expect(await first.isActive(tokens.access_token)).toBe(false)
    expectRefusal(await first.walk.refresh(first.client, tokens.refresh_token), 'invalid_grant')
  }
})

test('Of fifty simultaneous repetitions of a code exchange that got 503, one gets tokens and the others revoke its grant', async () => {
  const code = await first.freshCode()
  await expectFailedExchange(() => first.walk.exchange(first.client, code))
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => (at % 2 ? first : second).walk.exchange(first.client, code)),
  )
  const [winner, ...more] = answers.filter(({ status }) => status === 200)
  if (!winner) throw new Error('no response was 200')
  expect(more).toEqual([])
  expect(await first.isActive(tokensOf(winner).access_token)).toBe(false)
})

test('A code whose exchange got 503 stays bound to its client and its code_verifier (RFC 6749 §4.1.3, RFC 7636 §4.6)', async () => {
  const code = await first.freshCode(PKCE)
  const verifier = { code_verifier: CODE_VERIFIER }
  await expectFailedExchange(() => first.walk.exchange(first.client, code, verifier))
  const stranger = await first.grantor.createClient()
  expectRefusal(
    await first.walk.exchange({ ...stranger, redirectUris: first.client.redirectUris }, code, verifier),
    'invalid_grant',
  )
  expectRefusal(await first.walk.exchange(first.client, code, { code_verifier: 'x'.repeat(43) }), 'invalid_grant')
  expect((await first.walk.exchange(first.client, code, verifier)).status).toBe(200)
})

test('A refresh token is bound to the DPoP key of the exchange that succeeded, not of one that got 503 (RFC 9449 §5)', async () => {
  const [lost, kept] = [newDpopKey(), newDpopKey()]
  const code = await codeFor(first.walk, publicClient)
  await expectFailedExchange(() => exchangeWith(first.walk, publicClient, code, lost))
  const tokens = tokensOf(await exchangeWith(first.walk, publicClient, code, kept))
  const grant = await first.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)
  expect({ jkt: grant?.dpopJkt }).toEqual(claimsOf(tokens.access_token).cnf)
})

test('A code whose exchange got 503 is refused if the wallet ends any app before the repetition', async () => {
  const { store, clock } = first.grantor
  const wallet = first.walk.wallet.address as `0x${string}`
  for (const ended of [first.client.id, publicClient.id]) {
    const code = await first.freshCode()
    await expectFailedExchange(() => first.walk.exchange(first.client, code))
    await endGrantsOfWallet(store, wallet, ended, clock.now)
    expectRefusal(await second.walk.exchange(second.client, code), 'invalid_grant')
    await endGrantsOfWallet(store, wallet, first.client.id, clock.now)
    expect(await store.grants.listUnendedGrants({ wallet, clientId: first.client.id, limit: 1 })).toEqual([])
  }
})

test('A code exchange is 503 while no key can sign its ID token, and the code can be redeemed once there is a key', async () => {
  const app = await startApp()
  onTestFinished(() => app.close())
  const client = await openIdClient(app.grantor, { idTokenAlgorithm: 'RS256' })
  await upgradeKeys(app.grantor)
  app.grantor.clock.advance(30)
  const code = await app.freshCode(OPENID, client)
  expect((await app.walk.exchange(client, code)).status).toBe(503)
  app.grantor.clock.advance(30)
  expect(Object.keys((await app.walk.exchange(client, code)).json())).toContain('id_token')
})
