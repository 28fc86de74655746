/** Redemptions on PostgreSQL that fail between their statements, and that wait for an ending. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { type NewGrant } from '../../../src/domain/model/request-store.ts'
import { type Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack } from '../../../src/store/packed.ts'
import { migratePostgres, openPostgresStore, storeOn } from '../../../src/store/postgres/index.ts'
import { newPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { connect, type Sql } from '../../support/sql.ts'
import { endAll, NOW, newGrant } from '../contract/subject.ts'
import { Apart } from './apart.ts'

async function openNew(): Promise<{ database: PostgresDatabase; store: Store }> {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const store = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => store.close())
  return { database, store }
}

/** Redeems a code in three steps while the wallet's epoch cannot be read, so that only the reservation is stored. */
async function reserve({ address, sql }: PostgresDatabase, grant: NewGrant): Promise<void> {
  const store = storeOn(new Apart(address, { clock: 'given' }))
  onTestFinished(() => store.close())
  await sql.begin(async (holder) => {
    await holder.unsafe('LOCK TABLE wallets IN ACCESS EXCLUSIVE MODE')
    await expect(store.grants.redeemCode(grant, randomUUID(), NOW)).rejects.toBeInstanceOf(StoreUnavailable)
  })
}

test('A code whose grant is only reserved has no grant, and the next attempt redeems the code with its own values', async () => {
  const { database, store } = await openNew()
  const grant = newGrant({ dpopJkt: 'key-1' })
  await reserve(database, grant)
  expect(await store.grants.readGrant(grant.id)).toBeNull()
  expect(await store.grants.readGrantValidity(grant.id)).toBeNull()
  const retried = await store.grants.redeemCode({ ...grant, refreshKeyId: 'cccccccccc', dpopJkt: 'key-2' }, 'attempt-2', NOW + 5)
  const own = { refreshKeyId: 'cccccccccc', dpopJkt: 'key-2', generation: 0, createdAt: NOW, endedAt: null }
  expect(retried).toMatchObject({ kind: 'redeemed', grant: own })
  expect(await store.grants.readGrant(grant.id)).toMatchObject(own)
  expect((await store.grants.redeemCode(grant, 'attempt-3', NOW)).kind).toBe('taken')
})

test('Ending a grant that is only reserved succeeds, and its code can never be redeemed', async () => {
  const { database, store } = await openNew()
  const [one, all] = [newGrant(), newGrant()]
  for (const grant of [one, all]) await reserve(database, grant)
  expect(await store.grants.endGrant(one.id, 'operator', NOW)).toBe('ended')
  expect(await endAll(store, { wallet: all.wallet }, 'user', NOW)).toBe(1)
  for (const grant of [one, all]) {
    const taken = { kind: 'taken', grant: { endedAt: NOW } }
    expect(await store.grants.redeemCode(grant, randomUUID(), NOW)).toMatchObject(taken)
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: NOW })
  }
})

test('A redemption that waits while everything of its wallet ends reads the new epoch, and the code is refused', async () => {
  const { database, store } = await openNew()
  const grant = newGrant()
  await store.wallets.rememberProof(grant.wallet)
  const ending = await newSession(database)
  await ending`BEGIN`
  await ending`SELECT pg_advisory_xact_lock(hashtextextended(encode(${pack(grant.wallet)}::bytea, 'hex'), 0))`
  const refused = store.grants.redeemCode(grant, randomUUID(), NOW)
  await expect.poll(() => waitingForLocks(database)).toBe(1)
  await ending`UPDATE wallets SET epoch = epoch + 1`
  await ending`COMMIT`
  expect(await refused).toEqual({ kind: 'epoch_raised' })
})

test('While everything of one wallet ends, the codes of other wallets that arrive with its code are redeemed at once', async () => {
  const { database, store } = await openNew()
  const grants = Array.from({ length: 8 }, () => newGrant())
  const held = grants[3]?.wallet ?? ''
  const ending = await newSession(database)
  await ending`BEGIN`
  await ending`SELECT pg_advisory_xact_lock(hashtextextended(encode(${pack(held)}::bytea, 'hex'), 0))`
  const outcomes = grants.map((grant) => store.grants.redeemCode(grant, randomUUID(), NOW))
  const others = await Promise.all(outcomes.filter((_, index) => index !== 3))
  expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(['redeemed']))
  await expect.poll(() => waitingForLocks(database)).toBe(1)
  await ending`COMMIT`
  expect(await outcomes[3]).toMatchObject({ kind: 'redeemed' })
})

test('The epoch of a wallet is raised when the redemptions are committed that read the epoch before', async () => {
  const { database, store } = await openNew()
  const { wallet } = newGrant()
  const redemption = await newSession(database)
  await redemption`BEGIN`
  await redemption`SELECT pg_advisory_xact_lock_shared(hashtextextended(encode(${pack(wallet)}::bytea, 'hex'), 0))`
  const raised = store.wallets.raiseEpoch(wallet)
  await expect.poll(() => waitingForLocks(database)).toBe(1)
  expect(await store.wallets.readEpoch(wallet)).toBe(0)
  await redemption`COMMIT`
  expect(await raised).toBe(1)
})

async function newSession({ url }: PostgresDatabase): Promise<Sql> {
  const sql = connect(url)
  onTestFinished(() => sql.end())
  return sql
}

async function waitingForLocks({ sql }: PostgresDatabase): Promise<number> {
  const [found] = await sql`
    SELECT count(*)::integer AS number FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  return Number(found?.number)
}
