/** A redemption on PostgreSQL that fails between its statements. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { type NewGrant } from '../../../src/domain/model/request-store.ts'
import { type Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { newPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { endAll, NOW, newGrant } from '../contract/subject.ts'

async function openNew(): Promise<{ database: PostgresDatabase; store: Store }> {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const store = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => store.close())
  return { database, store }
}

/** Redeems a code while the wallet's epoch cannot be read, so that only the reservation is stored. */
async function reserve({ sql }: PostgresDatabase, store: Store, grant: NewGrant): Promise<void> {
  await sql.begin(async (holder) => {
    await holder.unsafe('LOCK TABLE wallets IN ACCESS EXCLUSIVE MODE')
    await expect(store.grants.redeemCode(grant, randomUUID(), NOW)).rejects.toBeInstanceOf(StoreUnavailable)
  })
}

test('A code whose grant is only reserved has no grant, and the next attempt redeems the code with its own values', async () => {
  const { database, store } = await openNew()
  const grant = newGrant({ dpopJkt: 'key-1' })
  await reserve(database, store, grant)
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
  for (const grant of [one, all]) await reserve(database, store, grant)
  expect(await store.grants.endGrant(one.id, 'operator', NOW)).toBe('ended')
  expect(await endAll(store, { wallet: all.wallet }, 'user', NOW)).toBe(1)
  for (const grant of [one, all]) {
    const taken = { kind: 'taken', grant: { endedAt: NOW } }
    expect(await store.grants.redeemCode(grant, randomUUID(), NOW)).toMatchObject(taken)
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: NOW })
  }
})
