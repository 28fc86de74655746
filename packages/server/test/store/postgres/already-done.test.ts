/**
 * An outcome that was found already done, on PostgreSQL with a synchronous standby. A statement that changes nothing does not wait for the
 * standby. So an ending that only the primary has would be acknowledged, and a failover would revive the grant.
 */

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { endDeclined } from '../../../src/domain/consent/end-grants.ts'
import { endMatching } from '../../../src/domain/consent/end-matching.ts'
import { confirmEnded, hashSessionId } from '../../../src/domain/consent/session.ts'
import { sumOf } from '../../../src/domain/model/pages.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack } from '../../../src/store/packed.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { addressOf } from '../../support/postgres.ts'
import { administrator, type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { someApproval } from '../contract/approvals.ts'
import { drawOf, limitedGrant } from '../contract/draws.ts'
import { bytesOf, livingGrant, NOW, newGrant, rotationOf, someKey, someReceipt, someSession } from '../contract/subject.ts'

let server: PostgresServer
let store: Store
beforeAll(async () => {
  server = await startPostgres()
  await migratePostgres(addressOf(server.urlOf('postgres')), NOW)
})
afterAll(() => server.remove())
beforeEach(async () => {
  store = await open()
})

async function open(statementTimeout = 300): Promise<Store> {
  const address = addressOf(`${server.urlOf('postgres')}?statement_timeout=${statementTimeout}&pool_size=40`)
  const store = await openPostgresStore(address, { clock: 'given' })
  onTestFinished(() => store.close())
  return store
}

/** Requires a standby that does not exist: from then on, commits wait. Or requires none. */
async function requireStandby(name: 'elsewhere' | ''): Promise<void> {
  if (name !== '') onTestFinished(() => requireStandby(''))
  const admin = await administrator(server)
  await admin.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
  await admin`SELECT pg_reload_conf()`
  // Each process of the server applies the setting at its own time.
  const doCommitsWait = async () =>
    (await open()).checkWritable().then(
      () => false,
      () => true,
    )
  await expect.poll(doCommitsWait).toBe(name !== '')
}

const outcomeOf = (call: () => Promise<unknown>): Promise<unknown> =>
  call().catch((error: unknown) => (error instanceof StoreUnavailable ? 'unavailable' : error))

type Case = { what: string; prepare: (store: Store) => Promise<(store: Store) => Promise<unknown>>; expected: unknown }

/** Each case changes something, and returns a call that finds the change already done. */
const CASES: Case[] = [
  {
    what: 'the ending of a grant',
    async prepare(store) {
      const { id } = await livingGrant(store)
      await store.grants.endGrant(id, 'revoked', NOW)
      return ({ grants }) => grants.endGrant(id, 'revoked', NOW)
    },
    expected: 'ended_before',
  },
  {
    what: 'the ending of several grants',
    async prepare(store) {
      const { id } = await livingGrant(store)
      await store.grants.endGrant(id, 'revoked', NOW)
      return ({ grants }) => grants.endGrants([id], { reason: 'user', attemptId: randomUUID(), at: NOW })
    },
    expected: [],
  },
  {
    what: 'the revocation of an access token whose grant ended',
    async prepare(store) {
      const { id: grantId, clientId } = await livingGrant(store)
      const token = { grantId, clientId, jti: 'one', expiresAt: NOW + 60, at: NOW }
      await store.grants.endGrant(grantId, 'revoked', NOW)
      return ({ grants }) => grants.revokeAccessToken(token)
    },
    expected: 'grant_ended_before',
  },
  {
    what: 'the revocation of an access token',
    async prepare(store) {
      const { id: grantId, clientId } = await livingGrant(store)
      const token = { grantId, clientId, jti: 'one', expiresAt: NOW + 60, at: NOW }
      await store.grants.revokeAccessToken(token)
      return ({ grants }) => grants.revokeAccessToken(token)
    },
    expected: 'revoked_before',
  },
  {
    what: 'the revocation of an access token that has no grant',
    async prepare({ spent }) {
      const token = { hash: randomUUID(), clientId: randomUUID(), at: NOW }
      await spent.revokeClientToken({ ...token, attemptId: randomUUID() })
      return ({ spent }) => spent.confirmSpent(token.hash)
    },
    expected: undefined,
  },
  {
    what: 'a refresh within the retry window',
    async prepare(store) {
      const grant = await livingGrant(store)
      await store.grants.rotateRefreshToken(rotationOf(grant, 0))
      return async ({ grants }) => (await grants.rotateRefreshToken(rotationOf(grant, 0))).kind
    },
    expected: 'repeated',
  },
  {
    what: 'a refresh by the same attempt',
    async prepare(store) {
      const grant = await livingGrant(store)
      const rotation = rotationOf(grant, 0)
      await store.grants.rotateRefreshToken(rotation)
      return async ({ grants }) => (await grants.rotateRefreshToken(rotation)).kind
    },
    expected: 'rotated',
  },
  {
    what: 'the redemption of a code by the same attempt',
    async prepare({ grants }) {
      const grant = newGrant()
      await grants.redeemCode(grant, 'attempt', NOW)
      return async ({ grants }) => (await grants.redeemCode(grant, 'attempt', NOW)).kind
    },
    expected: 'redeemed',
  },
  {
    what: 'an approval that was asked for before',
    async prepare(store) {
      const approval = someApproval(await livingGrant(store))
      await store.approvals.ask(approval, NOW)
      return async ({ approvals }) => (await approvals.ask(approval, NOW))?.id === approval.id
    },
    expected: true,
  },
  {
    what: 'the answer to an approval',
    async prepare(store) {
      const approval = someApproval(await livingGrant(store))
      await store.approvals.ask(approval, NOW)
      await store.approvals.answer(approval, { receiptId: 'receipt', isLast: false, at: NOW })
      return ({ approvals }) => approvals.answer(approval, { receiptId: 'receipt', isLast: false, at: NOW })
    },
    expected: 'answered',
  },
  {
    what: 'the use of an approval by the same attempt',
    async prepare(store) {
      const approval = someApproval(await livingGrant(store))
      const use = { clientId: approval.clientId, attemptId: 'attempt', signedFor: 600, at: NOW }
      await store.approvals.ask(approval, NOW)
      await store.approvals.answer(approval, { receiptId: 'receipt', isLast: false, at: NOW })
      await store.approvals.useApproval(approval, use)
      return async ({ approvals }) => (await approvals.useApproval(approval, use)).kind
    },
    expected: 'used',
  },
  {
    what: 'a draw with the same key',
    async prepare(store) {
      const request = drawOf(await limitedGrant(store))
      await store.draws.draw(request)
      return async ({ draws }) => (await draws.draw(request)).kind
    },
    expected: 'drawn',
  },
  {
    what: 'a return of a draw',
    async prepare(store) {
      const request = drawOf(await limitedGrant(store))
      await store.draws.draw(request)
      await store.draws.giveBack(request, { amount: 100, at: NOW })
      return async ({ draws }) => (await draws.giveBack(request, { amount: 100, at: NOW })).kind
    },
    expected: 'returned',
  },
  {
    what: 'the spending of a code',
    async prepare({ grants }) {
      const grant = newGrant()
      await grants.spendCode(grant, 'attempt', NOW)
      return ({ grants }) => grants.spendCode(grant, 'another', NOW)
    },
    expected: undefined,
  },
  {
    what: 'the start of a session',
    async prepare({ sessions }) {
      const session = someSession()
      await sessions.startSession(session, 'attempt')
      return ({ sessions }) => sessions.startSession(session, 'attempt')
    },
    expected: 'started',
  },
  {
    what: 'the ending of a session',
    async prepare({ sessions }) {
      const session = someSession()
      await sessions.startSession(session, 'attempt')
      await sessions.endSession(session.hash, 'one', NOW)
      return ({ sessions }) => sessions.endSession(session.hash, 'two', NOW)
    },
    expected: 'ended_before',
  },
  {
    what: 'the ending of several sessions',
    async prepare({ sessions }) {
      const session = someSession()
      await sessions.startSession(session, 'attempt')
      await sessions.endSession(session.hash, 'one', NOW)
      return ({ sessions }) => sessions.endSessions([session.hash], 'two', NOW)
    },
    expected: [],
  },
  {
    what: 'the logout of a session',
    async prepare({ sessions }) {
      const [sessionId, now] = [randomUUID(), () => NOW]
      const session = someSession({ hash: hashSessionId(sessionId) })
      await sessions.startSession(session, 'attempt')
      await sessions.endSession(session.hash, 'one', NOW)
      return (store) => confirmEnded({ store, now }, sessionId)
    },
    expected: undefined,
  },
  {
    what: 'the ending of all grants of a client',
    async prepare(store) {
      const { clientId } = await livingGrant(store)
      const end = (store: Store) => sumOf(endMatching(store, { clientId }, { reason: 'operator', now: () => NOW }))
      await end(store)
      return end
    },
    expected: 0,
  },
  {
    what: 'the append of lines to the audit trail',
    async prepare({ audit }) {
      const batch = { writer: randomUUID(), number: 1, lines: [], at: NOW }
      await audit.append(batch)
      return ({ audit }) => audit.append(batch)
    },
    expected: expect.any(String),
  },
  {
    what: 'the replacement of a session',
    async prepare({ sessions }) {
      const session = someSession()
      await sessions.startSession(session, 'attempt')
      await sessions.replaceSession(session.hash, 'next', NOW)
      return ({ sessions }) => sessions.replaceSession(session.hash, 'next', NOW)
    },
    expected: undefined,
  },
  {
    what: 'the insertion of a receipt',
    async prepare({ receipts, wallets }) {
      const receipt = someReceipt({ sealed: bytesOf(randomUUID()) })
      await wallets.rememberProof(receipt.wallet)
      await receipts.insertReceipt(receipt, 0)
      return ({ receipts }) => receipts.insertReceipt(receipt, 0)
    },
    expected: 'inserted',
  },
  {
    what: 'the withdrawal of a receipt',
    async prepare({ receipts, wallets }) {
      const receipt = someReceipt()
      await wallets.rememberProof(receipt.wallet)
      await receipts.insertReceipt(receipt, 0)
      await receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW)
      return ({ receipts }) => receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW)
    },
    expected: undefined,
  },
  {
    what: 'the withdrawal of several receipts',
    async prepare({ receipts, wallets }) {
      const receipt = someReceipt()
      await wallets.rememberProof(receipt.wallet)
      await receipts.insertReceipt(receipt, 0)
      await receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW)
      return ({ receipts }) => receipts.withdrawReceipts(receipt.wallet, [receipt.id], NOW)
    },
    expected: undefined,
  },
  {
    what: 'the ending of what a user declined',
    async prepare({ receipts, wallets }) {
      const receipt = someReceipt()
      await wallets.rememberProof(receipt.wallet)
      await receipts.insertReceipt(receipt, 0)
      await receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW)
      const later = { ...receipt, id: randomUUID() }
      return (store) => endDeclined({ store, now: () => NOW }, later, receipt.scopes, 0)
    },
    expected: 0,
  },
  {
    what: 'a pushed request',
    async prepare({ pushedRequests }) {
      const request = { id: randomUUID(), clientId: randomUUID(), request: 'sealed', expiresAt: NOW + 60 }
      await pushedRequests.push(request)
      return ({ pushedRequests }) => pushedRequests.push(request)
    },
    expected: undefined,
  },
  {
    what: 'the deletion of a client',
    prepare: async () => (store) => store.clients.deleteClient(randomUUID()),
    expected: 'unknown',
  },
  {
    what: 'the retirement of a key',
    async prepare({ keys }) {
      const key = someKey()
      await keys.insertKey(key)
      await keys.retireKey(key.id, key.kind, NOW)
      return ({ keys }) => keys.retireKey(key.id, key.kind, NOW)
    },
    expected: 'unknown',
  },
  {
    what: 'the confirmation of a restoration',
    async prepare({ restorations }) {
      const { number } = await restorations.beginRestoration(NOW)
      await restorations.confirmRestoration(number, NOW)
      return ({ restorations }) => restorations.confirmRestoration(number, NOW)
    },
    expected: undefined,
  },
  {
    what: 'the deletion of a webhook',
    prepare: async () => (store) => store.webhooks.deleteWebhook(randomUUID()),
    expected: 'unknown',
  },
  {
    what: 'the deletion of a resource',
    prepare: async () => (store) => store.resources.deleteResource('https://gone.example.com/'),
    expected: 'unknown',
  },
]

test('What is found already done is acknowledged only once a synchronous standby has it', async () => {
  const repeats = new Map<string, (store: Store) => Promise<unknown>>()
  for (const { what, prepare } of CASES) repeats.set(what, await prepare(store))
  const repeatAll = async (node: Store) => {
    const outcomes = [...repeats].map(async ([what, repeat]) => [what, await outcomeOf(() => repeat(node))] as const)
    return Object.fromEntries(await Promise.all(outcomes))
  }
  await requireStandby('elsewhere')
  const without = await repeatAll(await open())
  await requireStandby('')
  expect(without).toEqual(Object.fromEntries(CASES.map(({ what }) => [what, 'unavailable'])))
  expect(await repeatAll(await open(2000))).toEqual(Object.fromEntries(CASES.map(({ what, expected }) => [what, expected])))
})

test('A refusal does not wait for a synchronous standby: it acknowledges no change', async () => {
  const grant = await livingGrant(store)
  await store.grants.endGrant(grant.id, 'revoked', NOW)
  await requireStandby('elsewhere')
  const node = await open()
  expect(await node.grants.rotateRefreshToken(rotationOf(grant, 0))).toEqual({ kind: 'ended' })
  expect(await node.grants.endGrant(grant.id, 'revoked', NOW, randomUUID())).toBe('foreign')
  await requireStandby('')
})

test('A node that runs notices within a poll of the revision that the server now waits for a standby', async () => {
  const grant = await livingGrant(store)
  await store.grants.endGrant(grant.id, 'revoked', NOW)
  const endAgain = () => outcomeOf(() => store.grants.endGrant(grant.id, 'revoked', NOW))
  expect(await endAgain()).toBe('ended_before')
  await requireStandby('elsewhere')
  await store.readRevision()
  expect(await endAgain()).toBe('unavailable')
  await requireStandby('')
  await store.readRevision()
  expect(await endAgain()).toBe('ended_before')
})

test('If a batch is lost and its repetition is refused, each refresh that goes alone is acknowledged only once a standby has it', async () => {
  const grants = await Promise.all(Array.from({ length: 8 }, () => livingGrant(store)))
  const admin = await administrator(server)
  // The first batch takes effect. Its repetition is refused as a whole.
  await admin.unsafe(`
    CREATE SEQUENCE batches;
    CREATE FUNCTION refuse_second() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF current_query() LIKE '%unnest%' AND nextval('batches') = 2 THEN RAISE EXCEPTION 'refused' USING ERRCODE = 'P0001'; END IF;
      RETURN NULL; END $$;
    CREATE TRIGGER refuse_second BEFORE UPDATE ON grants FOR EACH STATEMENT EXECUTE FUNCTION refuse_second()`)
  onTestFinished(async () => void (await admin.unsafe('DROP TRIGGER refuse_second ON grants')))
  await requireStandby('elsewhere')
  const node = await open()
  const refreshes = grants.map((grant) => outcomeOf(() => node.grants.rotateRefreshToken(rotationOf(grant, 0))))
  const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%unnest%'"
  await expect.poll(async () => (await admin.unsafe(waiting)).length, { interval: 5 }).toBe(1)
  await admin.unsafe(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS waiting`)
  expect(new Set(await Promise.all(refreshes))).toEqual(new Set(['unavailable']))
  const [row] = await admin`SELECT last_value::integer AS batches FROM batches`
  expect(row, 'the repetition was refused').toEqual({ batches: 2 })
  await requireStandby('')
})

test('What one server had done is not confirmed by another one that took its place meanwhile', async () => {
  const [first, second] = await Promise.all([startPostgres(), startPostgres()])
  onTestFinished(() => Promise.all([first.remove(), second.remove()]).then(() => undefined))
  const grant = newGrant()
  for (const { urlOf } of [first, second]) {
    const address = addressOf(urlOf('postgres'))
    await migratePostgres(address, NOW)
    const node = await openPostgresStore(address, { clock: 'given' })
    await node.grants.redeemCode(grant, 'attempt', NOW)
    if (urlOf === first.urlOf) await node.grants.endGrant(grant.id, 'revoked', NOW)
    await node.close()
  }
  const admin = await administrator(first)
  await admin`ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'`
  await admin`SELECT pg_reload_conf()`
  await second.stop()
  const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}/`
  const address = addressOf(`${first.urlOf('postgres').replace(`127.0.0.1:${first.port}/`, hosts)}?statement_timeout=2000`)
  const node = await openPostgresStore(address, { clock: 'given' })
  onTestFinished(() => node.close())
  const again = outcomeOf(() => node.grants.endGrant(grant.id, 'revoked', NOW))
  const waiting = () => admin`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
  await expect.poll(async () => (await waiting()).length, { interval: 5 }).toBe(1)
  await second.start()
  await first.stop('kill')
  expect(await again).toBe('unavailable')
  const endOnSecond = () => outcomeOf(() => node.grants.endGrant(grant.id, 'revoked', NOW))
  await expect.poll(endOnSecond).toBe('ended')
})

test('A code whose row another attempt reserved is redeemed only once a synchronous standby has the reservation', async () => {
  const grant = newGrant()
  await store.grants.redeemCode(grant, 'attempt', NOW)
  const admin = await administrator(server)
  await admin`UPDATE grants SET attempt_id = ${pack('')} WHERE id = ${pack(grant.id)}`
  await requireStandby('elsewhere')
  const node = await open()
  const redeem = (attemptId: string) => outcomeOf(async () => (await node.grants.redeemCode(grant, attemptId, NOW)).kind)
  expect(await redeem('second')).toBe('unavailable')
  await requireStandby('')
  // The second attempt has claimed nothing.
  expect(await redeem('third')).toBe('redeemed')
})
