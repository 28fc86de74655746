/** Endings of many rows on PostgreSQL: they wait for no row while they hold the locks of others, and one locked row delays no other. */

import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack } from '../../../src/store/packed.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { packedLiteral } from '../../support/fill.ts'
import { newPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { bytesOf, livingGrant, NOW, rotationOf, someReceipt, someSession, someWallet } from '../contract/subject.ts'

async function openNodes(count: number): Promise<{ database: PostgresDatabase; nodes: Store[] }> {
  const database = await newPostgresDatabase()
  // Shorter than the timeout of a statement, so that PostgreSQL reports a deadlock before a waiting statement ends.
  await database.sql.unsafe(`ALTER DATABASE ${database.name} SET deadlock_timeout = '10ms'`)
  await migratePostgres(database.address, NOW)
  const nodes = await Promise.all(Array.from({ length: count }, () => openPostgresStore(database.address, { clock: 'given' })))
  onTestFinished(async () => void (await Promise.all(nodes.map((node) => node.close()))))
  return { database, nodes }
}

const inAnyOrder = <Item>(items: readonly Item[]): Item[] =>
  items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)

async function deadlocksOf({ sql }: PostgresDatabase): Promise<number> {
  const [row] = await sql.unsafe('SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()')
  return Number(row?.deadlocks)
}

/** Repeats what was refused before it was sent, which a busy machine can cause. An attempt that is repeated has the same result. */
async function whenFree<Result>(run: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof StoreUnavailable && error.message.startsWith('PostgreSQL is too slow'))) throw error
    }
  }
}

test('Three nodes that end the same grants, sessions and receipts at once, in any order and during refreshes, end each row once and fail none', async () => {
  const { database, nodes } = await openNodes(3)
  const [first] = nodes as [Store]
  for (let round = 0; round < 4; round++) {
    const wallet = someWallet()
    await first.wallets.rememberProof(wallet)
    const grants = await Promise.all(Array.from({ length: 50 }, () => whenFree(() => livingGrant(first, { wallet }))))
    const sessions = Array.from({ length: 50 }, () => someSession({ wallet }))
    const receipts = Array.from({ length: 50 }, () => someReceipt({ wallet, sealed: bytesOf(randomUUID()) }))
    await Promise.all(sessions.map((session) => whenFree(() => first.sessions.startSession(session, 'login'))))
    await Promise.all(receipts.map((receipt) => whenFree(() => first.receipts.insertReceipt(receipt, 0))))
    const refreshes = grants
      .map((grant) => rotationOf(grant, 0))
      .map((rotation) => whenFree(() => first.grants.rotateRefreshToken(rotation)))
    const endings = nodes.flatMap((node) =>
      Array.from({ length: 2 }, async () => {
        const ids = inAnyOrder(grants.map(({ id }) => id))
        const hashes = inAnyOrder(sessions.map(({ hash }) => hash))
        const withdrawn = inAnyOrder(receipts.map(({ id }) => id))
        const attemptId = randomUUID()
        const [ended, signedOut] = await Promise.all([
          whenFree(() => node.grants.endGrants(ids, { reason: 'user', attemptId, at: NOW })),
          whenFree(() => node.sessions.endSessions(hashes, attemptId, NOW)),
          whenFree(() => node.receipts.withdrawReceipts(wallet, withdrawn, NOW)),
        ])
        return [...ended, ...signedOut]
      }),
    )
    const ended = (await Promise.all(endings)).flat()
    expect(ended.toSorted()).toEqual([...grants.map(({ id }) => id), ...sessions.map(({ hash }) => hash)].toSorted())
    await Promise.all(refreshes)
    expect(await first.grants.listUnendedGrants({ wallet, limit: 1 })).toEqual([])
    expect(await first.receipts.listReceipts(wallet, { limit: 1 })).toEqual([])
  }
  // PostgreSQL adds a connection's counts when the connection is closed.
  await Promise.all(nodes.map((node) => node.close()))
  expect(await deadlocksOf(database)).toBe(0)
})

/** Each kind of rows: prepares fifty of them, and returns the statement that locks the first one, the ending, and the count of those that live. */
const KINDS = [
  {
    kind: 'grants',
    async prepare(store: Store, wallet = someWallet()) {
      const grants = await Promise.all(Array.from({ length: 50 }, () => livingGrant(store, { wallet })))
      const ids = grants.map(({ id }) => id)
      return {
        lock: `SELECT 1 FROM grants WHERE id = ${packedLiteral(ids[20] ?? '')} FOR UPDATE`,
        end: async () => (await store.grants.endGrants(ids, { reason: 'user', attemptId: 'attempt', at: NOW })).length,
        living: `SELECT count(*)::integer AS living FROM grants WHERE wallet = ${packedLiteral(wallet)} AND ended_at IS NULL`,
      }
    },
  },
  {
    kind: 'sessions',
    async prepare(store: Store, wallet = someWallet()) {
      const sessions = Array.from({ length: 50 }, () => someSession({ wallet }))
      await Promise.all(sessions.map((session) => store.sessions.startSession(session, 'login')))
      const hashes = sessions.map(({ hash }) => hash)
      return {
        lock: `SELECT 1 FROM sessions WHERE hash = ${packedLiteral(hashes[20] ?? '')} FOR UPDATE`,
        end: async () => (await store.sessions.endSessions(hashes, 'attempt', NOW)).length,
        living: `SELECT count(*)::integer AS living FROM sessions WHERE wallet = ${packedLiteral(wallet)} AND ended_at IS NULL`,
      }
    },
  },
  {
    kind: 'receipts',
    async prepare(store: Store, wallet = someWallet()) {
      await store.wallets.rememberProof(wallet)
      const receipts = Array.from({ length: 50 }, () => someReceipt({ wallet, sealed: bytesOf(randomUUID()) }))
      await Promise.all(receipts.map((receipt) => store.receipts.insertReceipt(receipt, 0)))
      const ids = receipts.map(({ id }) => id)
      return {
        lock: `SELECT 1 FROM receipts WHERE id = ${packedLiteral(ids[20] ?? '')} FOR UPDATE`,
        end: async () => store.receipts.withdrawReceipts(wallet, ids, NOW).then(() => 50),
        living: `SELECT count(*)::integer AS living FROM receipts WHERE wallet = ${packedLiteral(wallet)} AND withdrawn_at IS NULL`,
      }
    },
  },
  {
    kind: 'grants of a restored database',
    async prepare(store: Store) {
      const grants = await Promise.all(Array.from({ length: 50 }, () => livingGrant(store)))
      return {
        lock: `SELECT 1 FROM grants WHERE id = ${packedLiteral(grants[20]?.id ?? '')} FOR UPDATE`,
        end: async () => (await store.restorations.endEverything(() => NOW)).grants,
        living: 'SELECT count(*)::integer AS living FROM grants WHERE ended_at IS NULL',
      }
    },
  },
]

test.each(KINDS)(
  'If one row of fifty $kind is locked, the others end at once, and the ending waits for the locked row alone',
  async ({ prepare }) => {
    const { database, nodes } = await openNodes(1)
    const { lock, end, living } = await prepare(nodes[0] as Store)
    const ending = await database.sql.begin(async (holder) => {
      await holder.unsafe(lock)
      const ending = end()
      await expect.poll(async () => (await holder.unsafe(living))[0]).toEqual({ living: 1 })
      return { ending }
    })
    expect(await ending.ending).toBe(50)
    expect((await database.sql.unsafe(living))[0]).toEqual({ living: 0 })
  },
)

test('If rows stay locked, their ending fails, and its repetition returns everything that it ended, the first time too', async () => {
  const { database, nodes } = await openNodes(1)
  const [store] = nodes as [Store]
  const grants = await Promise.all(Array.from({ length: 50 }, () => livingGrant(store)))
  const ids = grants.map(({ id }) => id)
  const end = () => store.grants.endGrants(ids, { reason: 'user', attemptId: 'attempt', at: NOW })
  await database.sql.begin(async (holder) => {
    await holder`SELECT 1 FROM grants WHERE id = ANY (${ids.slice(10, 40).map(pack)}) FOR UPDATE`
    const waiting: number[] = []
    const over = new AbortController()
    const ending = end()
      .catch((error: unknown) => error)
      .finally(() => over.abort())
    while (!over.signal.aborted) {
      const [row] = await holder`
        SELECT count(*)::integer AS count FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event IN ('transactionid', 'tuple')`
      waiting.push(Number(row?.count))
    }
    expect(await ending).toBeInstanceOf(StoreUnavailable)
    expect(Math.max(...waiting), 'connections that wait').toBeLessThanOrEqual(2)
    expect((await holder`SELECT count(*)::integer AS ended FROM grants WHERE ended_at IS NOT NULL`)[0]).toEqual({ ended: 20 })
  })
  expect((await end()).toSorted()).toEqual(ids.toSorted())
})
