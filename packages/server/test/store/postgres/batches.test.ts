/**
 * Requests that are combined into one statement over many rows on PostgreSQL. No request may fail or wait because of another in
 * its batch.
 */

import { inspect } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import type { NewGrant } from '../../../src/domain/model/request-store.ts'
import { type Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack, unpack } from '../../../src/store/packed.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { packedLiteral } from '../../support/fill.ts'
import { addressOf, newPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { keyOf, readerOf } from '../contract/ending-order.ts'
import { DAY, livingGrant, NOW, newGrant, rotationOf } from '../contract/subject.ts'

async function openNew(extra = '', prepare: (database: PostgresDatabase) => Promise<unknown> = async () => undefined) {
  const database = await newPostgresDatabase()
  await prepare(database)
  await migratePostgres(database.address, NOW)
  const store = await openPostgresStore(addressOf(database.url, extra), { clock: 'given' })
  onTestFinished(() => store.close())
  return { database, store }
}

const revocationOf = ({ id, clientId }: { id: string; clientId: string }) => ({
  grantId: id,
  clientId,
  jti: `t-${id}`,
  expiresAt: NOW + DAY,
  at: NOW,
})

const many = (store: Store, count: number) => Promise.all(Array.from({ length: count }, () => livingGrant(store)))

/** Returns the number of transactions that wrote the current versions of the rows. */
async function transactionsOf({ sql }: PostgresDatabase, table = 'grants'): Promise<number> {
  const [row] = await sql.unsafe<{ count: number }[]>(`SELECT count(DISTINCT xmin::text)::integer AS count FROM ${table}`)
  return row?.count ?? 0
}

/** Makes PostgreSQL refuse to update one grant, at once or at the commit. */
async function refuseToMove({ sql }: PostgresDatabase, id: string, when: 'at once' | 'at the commit') {
  await sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.id = ${packedLiteral(id)} THEN RAISE EXCEPTION 'refused' USING ERRCODE = '53100'; END IF; RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON grants
      ${when === 'at once' ? '' : 'DEFERRABLE INITIALLY DEFERRED'} FOR EACH ROW EXECUTE FUNCTION refuse()`)
}

const kindsOf = (outcomes: PromiseSettledResult<{ kind: string }>[]) =>
  outcomes.map((each) => (each.status === 'fulfilled' ? each.value.kind : (each.reason as Error).name))

test('Two hundred concurrent refreshes take fewer than 20 transactions, and each returns its own grant', async () => {
  const { database, store } = await openNew()
  const grants = await many(store, 200)
  const outcomes = await Promise.all(grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, 0))))
  expect(outcomes.map((each) => each.kind === 'rotated' && [each.grant.id, each.grant.generation])).toEqual(
    grants.map(({ id }) => [id, 1]),
  )
  expect(await transactionsOf(database)).toBeLessThan(20)
})

test('Requests that arrive in the same turn of the event loop share one statement and one transaction', async () => {
  const { database, store } = await openNew()
  const grants = await many(store, 8)
  await Promise.all(grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, 0))))
  expect(await transactionsOf(database)).toBe(1)
})

/** The changes that the feed of endings reads, and what each of them adds to the row of the grant. */
const ENDINGS = [
  {
    name: 'revocations of access tokens',
    end: (store: Store, grant: NewGrant) => store.grants.revokeAccessToken(revocationOf(grant)),
    outcomes: { first: 'revoked', again: 'revoked_before' },
    stored: ({ id }: NewGrant) => ({ revokedTokens: { [`t-${id}`]: NOW + DAY }, endedAt: null }),
    key: ({ id }: NewGrant) => `t-${id}`,
  },
  {
    name: 'endings of grants',
    end: (store: Store, { id, clientId }: NewGrant) => store.grants.endGrant(id, 'revoked', NOW, clientId),
    outcomes: { first: 'ended', again: 'ended_before' },
    stored: () => ({ revokedTokens: {}, endedAt: NOW, endReason: 'revoked' }),
    key: ({ id }: NewGrant) => id,
  },
] as const

test.each(ENDINGS)(
  'Simultaneous $name share one transaction, and the feed has each of them',
  async ({ end, outcomes, stored, key }) => {
    const { database, store } = await openNew()
    const grants = await many(store, 8)
    expect(await Promise.all(grants.map((grant) => end(store, grant)))).toEqual(grants.map(() => outcomes.first))
    expect(await transactionsOf(database)).toBe(1)
    for (const grant of grants) expect(await store.grants.readGrant(grant.id)).toMatchObject(stored(grant))
    const endings = await readerOf(store)(NOW)
    expect(endings.map(keyOf).sort()).toEqual(grants.map(key).sort())
  },
)

test.each(ENDINGS)(
  'Simultaneous $name that are repeated write nothing, not even the lock of a row',
  async ({ end, outcomes }) => {
    const { database, store } = await openNew()
    const grants = await many(store, 8)
    const endAll = () => Promise.all(grants.map((grant) => end(store, grant)))
    await endAll()
    const rows = () =>
      database.sql.unsafe('SELECT xmin::text, xmax::text FROM grants UNION ALL SELECT xmin::text, xmax::text FROM spent')
    const before = await rows()
    expect(await endAll()).toEqual(grants.map(() => outcomes.again))
    expect(await rows()).toEqual(before)
  },
)

test.each(ENDINGS)(
  'A locked grant delays no other of simultaneous $name, and takes effect when the lock is released',
  async ({ end, outcomes }) => {
    const { database, store } = await openNew()
    const [held = newGrant(), ...others] = await many(store, 8)
    const { stuck } = await database.sql.begin(async (holder) => {
      await holder`SELECT 1 FROM grants WHERE id = ${pack(held.id)} FOR UPDATE`
      const stuck = end(store, held)
      // The lock is held until all of them have completed.
      expect(await Promise.all(others.map((grant) => end(store, grant)))).toEqual(others.map(() => outcomes.first))
      return { stuck }
    })
    expect(await stuck).toBe(outcomes.first)
  },
)

test('A grant of another client is not ended by a batch that ends others', async () => {
  const { store } = await openNew()
  const [foreign = newGrant(), ...own] = await many(store, 8)
  const outcomes = await Promise.all([
    store.grants.endGrant(foreign.id, 'revoked', NOW, 'another-client'),
    ...own.map(({ id, clientId }) => store.grants.endGrant(id, 'revoked', NOW, clientId)),
  ])
  expect(outcomes).toEqual(['foreign', ...own.map(() => 'ended')])
  expect((await store.grants.readGrant(foreign.id))?.endedAt).toBeNull()
})

test('Pushed requests that arrive in the same turn of the event loop share one statement and one transaction', async () => {
  const { database, store } = await openNew()
  const ids = Array.from({ length: 8 }, (_, index) => `request ${index}`)
  await Promise.all(
    ids.map((id) => store.pushedRequests.push({ id, clientId: 'client', request: `of ${id}`, expiresAt: NOW + 60 })),
  )
  expect(await transactionsOf(database, 'pushed_requests')).toBe(1)
  for (const id of ids) expect(await store.pushedRequests.readPushed(id)).toMatchObject({ id, request: `of ${id}` })
})

test.each(['at once', 'at the commit'] as const)(
  'A change that PostgreSQL refuses %s fails for its own caller only; the others of its batch take effect',
  async (when) => {
    const { database, store } = await openNew()
    const grants = await many(store, 64)
    const refused = grants[40]?.id ?? ''
    await refuseToMove(database, refused, when)
    const outcomes = await Promise.allSettled(grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, 0))))
    expect(kindsOf(outcomes)).toEqual(grants.map(({ id }) => (id === refused ? 'StoreUnavailable' : 'rotated')))
    const stored = await database.sql.unsafe<{ id: Buffer; generation: number }[]>('SELECT id, generation FROM grants')
    expect(stored.filter(({ generation }) => generation === 0).map(({ id }) => unpack(id))).toEqual([refused])
  },
)

test('A locked row delays no other request of its batch, and only the requests for the locked row are refused', async () => {
  const { database, store } = await openNew('pool_size=4')
  const grants = await many(store, 64)
  const held = grants[20]?.id ?? ''
  await database.sql.begin(async (holder) => {
    await holder`SELECT 1 FROM grants WHERE id = ${pack(held)} FOR UPDATE`
    const rotate = (id: string) =>
      store.grants.rotateRefreshToken(rotationOf(grants.find((grant) => grant.id === id) ?? newGrant(), 0))
    const stuck = rotate(held).catch((error: unknown) => error)
    // The lock is held until all of them have completed.
    const others = await Promise.all(grants.filter(({ id }) => id !== held).map(({ id }) => rotate(id)))
    expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(['rotated']))
    expect(await stuck).toBeInstanceOf(StoreUnavailable)
  })
})

test('Twenty requests for one locked row occupy one connection, and no other request fails meanwhile', async () => {
  const { database, store } = await openNew()
  const [held = newGrant(), ...free] = await many(store, 17)
  const others = await database.sql.begin(async (holder) => {
    await holder`SELECT 1 FROM grants WHERE id = ${pack(held.id)} FOR UPDATE`
    const wanting = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0
        ? store.grants.rotateRefreshToken(rotationOf(held, 0))
        : store.grants.endGrant(held.id, 'revoked', NOW)
      ).then(
        () => 'changed',
        () => 'refused',
      ),
    )
    const over = new AbortController()
    const all = Promise.all(wanting).finally(() => over.abort())
    const waiting: number[] = []
    const streams = free.map(async (grant) => {
      const kinds: string[] = []
      for (let generation = 0; !over.signal.aborted; generation++)
        kinds.push((await store.grants.rotateRefreshToken(rotationOf(grant, generation))).kind)
      return kinds
    })
    while (!over.signal.aborted) {
      const [row] = await holder`
        SELECT count(*)::integer AS count FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event IN ('transactionid', 'tuple')`
      waiting.push(row?.count)
    }
    expect(Math.max(...waiting)).toBe(1)
    expect(new Set(await all)).toEqual(new Set(['refused']))
    return Promise.all(streams)
  })
  expect(new Set(others.flat())).toEqual(new Set(['rotated']))
  for (const kinds of others) expect(kinds.length).toBeGreaterThan(10)
})

test('Two nodes that refresh the same grants in opposite order cause no deadlock', async () => {
  // Short enough that PostgreSQL would report a deadlock before a waiting statement times out.
  const { database, store } = await openNew('', ({ sql, name }) =>
    sql.unsafe(`ALTER DATABASE ${name} SET deadlock_timeout = '10ms'`),
  )
  const other = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => other.close())
  const grants = await many(store, 64)
  for (let generation = 0; generation < 5; generation++) {
    const attempts = grants.map((grant) => rotationOf(grant, generation))
    const [one, two] = await Promise.all([
      Promise.all(attempts.map((rotation) => store.grants.rotateRefreshToken(rotation))),
      Promise.all(attempts.toReversed().map((rotation) => other.grants.rotateRefreshToken(rotation))),
    ])
    expect(new Set([...one, ...two].map(({ kind }) => kind))).toEqual(new Set(['rotated']))
  }
  // PostgreSQL adds a connection's counts when the connection is closed.
  await Promise.all([store.close(), other.close()])
  const [row] = await database.sql.unsafe('SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()')
  expect(row?.deadlocks).toBe(0)
})

test('With a single connection, reads succeed under a stream of writes, and writes succeed under a stream of reads', async () => {
  const { store } = await openNew('pool_size=1')
  const [grant = newGrant(), ...others] = await many(store, 20)
  const ended = new AbortController()
  let calls = 0
  const streamOf = async (call: () => Promise<unknown>) => {
    for (; !ended.signal.aborted; calls++) await call()
  }
  const streams = others.map((each, index) =>
    streamOf(() => (index % 2 === 0 ? store.grants.endGrant(each.id, 'revoked', NOW) : store.grants.readGrant(each.id))),
  )
  for (let generation = 0; generation < 20; generation++) {
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, generation))).kind).toBe('rotated')
    expect((await store.grants.readGrant(grant.id))?.generation).toBe(generation + 1)
  }
  ended.abort()
  await Promise.all(streams)
  expect(calls).toBeGreaterThan(100)
})

test('Statements that were prepared before a table was altered still succeed', async () => {
  const { database, store } = await openNew('pool_size=1')
  const grants = await many(store, 30)
  const [{ id } = newGrant()] = grants
  await Promise.all(grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, 0))))
  await store.grants.readGrant(id)
  await database.sql.unsafe('ALTER TABLE grants ALTER COLUMN chain_id TYPE integer')
  expect(await store.grants.readGrant(id)).toMatchObject({ generation: 1, chainId: 8453 })
  const outcomes = await Promise.all(grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, 1))))
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['rotated']))
})

test('An error from PostgreSQL is passed on without the values of the row', async () => {
  const { database, store } = await openNew()
  await database.sql.unsafe(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'broken' USING DETAIL = 'of ' || NEW.wallet, HINT = NEW.wallet, CONSTRAINT = NEW.wallet; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON grants FOR EACH ROW EXECUTE FUNCTION fail()`)
  const grant = newGrant()
  const error: unknown = await store.grants.redeemCode(grant, 'attempt', NOW).catch((error: unknown) => error)
  expect(error).toMatchObject({ message: 'broken', code: 'P0001' })
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(grant.wallet)
})
