/**
 * Endings that become visible out of the order of their times, on PostgreSQL: an ending is held open while later ones are committed and read.
 * Each test compares the store with a store that continues at the time of its latest read, which skips the ending.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Ending } from '../../../src/domain/model/ending-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack } from '../../../src/store/packed.ts'
import { createEndingStore } from '../../../src/store/postgres/endings.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import { atLatestRead } from '../../chaos/feed/faulty-feed.ts'
import { packedLiteral } from '../../support/fill.ts'
import { addressOf } from '../../support/postgres-database.ts'
import { administrator, type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { FOLLOWED, promote, startPair } from '../../support/postgres-standby.ts'
import { connect } from '../../support/sql.ts'
import { keyOf, readerOf } from '../contract/ending-order.ts'
import { livingGrant, NOW } from '../contract/subject.ts'

let server: PostgresServer
let url: string
beforeAll(async () => {
  server = await startPostgres({ ...FOLLOWED, max_prepared_transactions: '5' })
  url = server.urlOf('postgres')
  await migratePostgres(addressOf(url), NOW)
})
afterAll(() => server.remove())

async function openStore(): Promise<Store> {
  const store = await openPostgresStore(addressOf(url), { clock: 'given' })
  onTestFinished(() => store.close())
  return store
}

/** Readers by the store's rule, on two nodes, and a reader by the other rule. */
async function openReaders() {
  const connections = [0, 1, 2].map(() => new PostgresConnection(addressOf(url), { clock: 'given' }))
  onTestFinished(async () => void (await Promise.all(connections.map((connection) => connection.close()))))
  const [one, two, three] = connections as [PostgresConnection, PostgresConnection, PostgresConnection]
  const reads = {
    one: readerOf({ endings: createEndingStore(one) }),
    two: readerOf({ endings: createEndingStore(two) }, 2),
    without: readerOf({ endings: createEndingStore(three, atLatestRead) }),
  }
  const found = { one: [] as string[], two: [] as string[], without: [] as string[] }
  const keys = (endings: Ending[]) => endings.map(keyOf)
  return {
    found,
    async read(at: number) {
      for (const name of ['one', 'two', 'without'] as const) found[name].push(...keys(await reads[name](at)))
    },
  }
}

/** A session of its own, whose statements have no timeout. */
function openSession() {
  const sql = connect(url)
  onTestFinished(() => sql.end())
  return sql
}

const END = (id: string) => `UPDATE grants SET ended_at = ${NOW}, end_reason = 'revoked' WHERE id = ${packedLiteral(id)}`

/** What holds an ending open. Each begins the ending of a grant at the time `NOW`, and returns what lets it commit. */
const HELD: Record<string, (id: string) => Promise<() => Promise<unknown>>> = {
  async 'a transaction that stays open'(id) {
    const session = openSession()
    await session.unsafe(`BEGIN; ${END(id)}`)
    return () => session.unsafe('COMMIT')
  },
  async 'a lock of another transaction'(id) {
    // A transaction sees the activity of other connections as it was at its first look, so another connection looks.
    const [session, watcher, store] = [openSession(), openSession(), await openStore()]
    await session.unsafe(`BEGIN; SELECT FROM grants WHERE id = ${packedLiteral(id)} FOR UPDATE`)
    const ended = store.grants.endGrant(id, 'revoked', NOW)
    await expect
      .poll(() =>
        watcher.unsafe(`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE grants%'`),
      )
      .toHaveLength(1)
    return async () => {
      await session.unsafe('COMMIT')
      expect(await ended).toBe('ended')
    }
  },
  async 'a transaction that was prepared'(id) {
    const session = openSession()
    await session.unsafe(`BEGIN; ${END(id)}; PREPARE TRANSACTION '${id}'`)
    return () => session.unsafe(`COMMIT PREPARED '${id}'`)
  },
  async 'a synchronous standby that is away'(id) {
    const [session, admin] = [openSession(), await administrator(server)]
    const wait = async (names: string) => {
      await admin.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
      await admin`SELECT pg_reload_conf()`
    }
    onTestFinished(() => wait(''))
    await wait('missing')
    // The checkpointer applies the setting a moment later.
    const waiting = () => admin`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    let committed: Promise<unknown> = Promise.resolve()
    await expect
      .poll(async () => {
        if ((await waiting()).length === 0) {
          // A commit that has not ended may be about to wait.
          const isOver = await Promise.race([committed.then(() => true), setTimeout(50, false)])
          if (isOver) committed = session.unsafe(`UPDATE grants SET ended_at = NULL WHERE id = ${packedLiteral(id)}; ${END(id)}`)
          await setTimeout(50)
        }
        return waiting()
      })
      .toHaveLength(1)
    return async () => {
      await wait('')
      await committed
    }
  },
}

for (const [what, hold] of Object.entries(HELD)) {
  test(`An ending that is held open by ${what} is read after its commit, though later endings were read before`, async () => {
    const [store, admin] = [await openStore(), await administrator(server)]
    const { read, found } = await openReaders()
    const [held, ...others] = await Promise.all(Array.from({ length: 4 }, () => livingGrant(store)))
    const { id } = held ?? { id: '' }
    await read(NOW - 300)
    const commit = await hold(id)
    // Reads while the held transaction is the only one, and reads after others.
    await read(NOW + 100)
    await read(NOW + 200)
    for (const [index, other] of others.entries()) {
      // Does not wait for the standby.
      await admin`UPDATE grants SET ended_at = ${NOW + 300 + 100 * index}, end_reason = 'revoked' WHERE id = ${pack(other.id)}`
      await read(NOW + 300 + 100 * index)
    }
    for (const name of ['one', 'two', 'without'] as const) {
      expect(found[name]).toEqual(expect.arrayContaining(others.map((other) => other.id)))
      expect(found[name]).not.toContain(id)
    }
    await commit()
    await read(NOW + 900)
    expect(found.one).toContain(id)
    expect(found.two).toContain(id)
    expect(found.without, 'without the rule the ending is skipped').not.toContain(id)
  })
}

test('A transaction that is open for an hour repeats no endings, and its end is followed by one wide read', async () => {
  const [store, session] = [await openStore(), openSession()]
  const { read, found } = await openReaders()
  const old = await livingGrant(store)
  await read(NOW - 300)
  await session.unsafe(`BEGIN; CREATE TEMPORARY TABLE of_another_program ON COMMIT DROP AS SELECT 1`)
  await store.grants.endGrant(old.id, 'revoked', NOW)
  for (let at = NOW; at < NOW + 3600; at += 300) await read(at)
  const isOld = (id: string) => id === old.id
  const once = found.one.filter(isOld).length
  expect(once, 'read again for a few seconds').toBeLessThan(3)
  await session.unsafe('COMMIT')
  for (let at = NOW + 3000; at < NOW + 3100; at += 10) await read(at)
  expect(found.one.filter(isOld)).toHaveLength(once + 1)
  const repeated = found.one.length
  for (let at = NOW + 3200; at < NOW + 3300; at += 10) await read(at)
  expect(found.one).toHaveLength(repeated)
})

test('After the clock of the server was set back, endings with earlier times are read', async () => {
  const store = await openStore()
  const { read, found } = await openReaders()
  await read(NOW + 1000)
  const grant = await livingGrant(store)
  await store.grants.endGrant(grant.id, 'revoked', NOW)
  await read(NOW + 1)
  expect(found.one).toContain(grant.id)
})

test("Endings by the database's clock are read, whatever the clock of the node", async () => {
  const store = await openPostgresStore(addressOf(url))
  onTestFinished(() => store.close())
  const read = readerOf(store)
  await read(1)
  const grant = await livingGrant(store)
  await store.grants.endGrant(grant.id, 'revoked', NOW)
  await store.spent.revokeClientToken({ hash: grant.id, clientId: grant.clientId, attemptId: randomUUID(), at: NOW })
  expect((await read(2)).map(({ kind }) => kind)).toEqual(['grant', 'client_token'])
})

test('A standby is not read, and its promotion and a restart of a server change the instance of the places', {
  timeout: 120_000,
}, async () => {
  const { primary, standby, url: pair } = await startPair()
  await migratePostgres(addressOf(primary.urlOf('postgres')), NOW)
  const of = { within: 3600, limit: 10, at: NOW }
  const readOnly = addressOf(standby.urlOf('postgres'), 'target_session_attrs=any')
  // The standby has stored the migration, and applies it later.
  const onStandby = await poll(() => openPostgresStore(readOnly, { clock: 'given' }))
  onTestFinished(() => onStandby.close())
  await expect(onStandby.endings.readEndings(null, of)).rejects.toThrow(StoreUnavailable)

  const store = await openPostgresStore(addressOf(pair), { clock: 'given' })
  onTestFinished(() => store.close())
  const grant = await livingGrant(store)
  await store.grants.endGrant(grant.id, 'revoked', NOW)
  const before = await store.endings.readEndings(null, of)
  const again = async () => {
    const next = await livingGrant(store)
    await store.grants.endGrant(next.id, 'revoked', NOW)
    const { endings, place } = await store.endings.readEndings(before.place, of)
    expect(endings.map(keyOf)).toContain(next.id)
    // After another instance, everything is read again.
    if (place.instance !== before.place.instance) expect(endings.map(keyOf)).toContain(grant.id)
    return place.instance
  }
  expect(await again()).toBe(before.place.instance)
  await primary.stop('immediate')
  await primary.start()
  const restarted = await poll(again)
  expect(restarted).not.toBe(before.place.instance)
  await primary.stop('kill')
  await promote(standby)
  const promoted = await poll(again)
  expect([before.place.instance, restarted]).not.toContain(promoted)
})

/** Repeats a read until the store can be used. */
async function poll<Result>(read: () => Promise<Result>): Promise<Result> {
  let result: Result | undefined
  await expect.poll(async () => (result = await read().catch(() => undefined))).toBeDefined()
  return result as Result
}
