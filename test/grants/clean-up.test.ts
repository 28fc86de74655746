/** What leaves the store by itself, when, and who takes it out. */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { createSweeper, SWEEP_EVERY } from '../../src/grants/clean-up.ts'
import type { Store } from '../../src/grants/ports.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'
import {
  DAY,
  livingGrant,
  NOW,
  newGrant,
  rotationOf,
  someKey,
  someReceipt,
  someSession,
  someWallet,
} from '../store/contract/subject.ts'
import { newSqlitePath, openTwoNodes } from '../store/sqlite-file.ts'

const HOUR = 3600
const SESSION = 14 * DAY

/** A node that cleans, by a clock of its own, and what it noted. */
function nodeOn(store: Store, at = NOW) {
  const clock = { at }
  const noted: [string, number][] = []
  const sweep = createSweeper({
    cleaning: store.cleaning,
    lifetimes: { session: SESSION },
    now: () => clock.at,
    note: (kind, rows) => noted.push([kind, rows]),
  })
  return { clock, noted, sweep, sum: () => noted.reduce((all, [, rows]) => all + rows, 0) }
}

test('a grant that ended or expired leaves 25 hours later: by then its code and its access tokens have expired too', async () => {
  const [store] = await openTwoNodes()
  const ended = await livingGrant(store)
  const expired = await livingGrant(store, { expiresAt: NOW + HOUR, refreshExpiresAt: NOW + HOUR })
  const spent = newGrant()
  await store.grants.spendCode(spent, randomUUID(), NOW)
  await store.grants.endGrant(ended.id, 'revoked', NOW)
  const { clock, noted, sweep } = nodeOn(store)
  clock.at = NOW + 25 * HOUR - 1
  await sweep()
  expect(noted).toEqual([])
  clock.at = NOW + 25 * HOUR
  await sweep()
  expect(noted).toEqual([['grants', 2]])
  expect(await store.grants.readGrant(expired.id)).not.toBeNull()
  clock.at = NOW + 26 * HOUR
  await sweep()
  expect(await store.grants.readGrant(expired.id)).toBeNull()
})

test('a session leaves 25 hours after its end, a receipt when no session begun with it can have given a grant that lives', async () => {
  const [store] = await openTwoNodes()
  const session = someSession({ epoch: 0 })
  const receipt = someReceipt()
  await store.sessions.startSession(session, randomUUID())
  await store.receipts.insertReceipt(receipt)
  const { clock, noted, sweep } = nodeOn(store)
  clock.at = session.expiresAt + 25 * HOUR - 1
  await sweep()
  expect(noted).toEqual([])
  clock.at += 1
  await sweep()
  expect(noted).toEqual([['sessions', 1]])
  clock.at = receipt.expiresAt + SESSION + 25 * HOUR - 1
  await sweep()
  expect(noted).toHaveLength(1)
  clock.at += 1
  await sweep()
  expect(noted).toEqual([
    ['sessions', 1],
    ['receipts', 1],
  ])
})

test('a retired key can be seen for 30 days; a client and a wallet stay', async () => {
  const [store] = await openTwoNodes()
  const key = someKey()
  const wallet = someWallet()
  await store.keys.insertKey(key)
  await store.keys.retireKey(key.id, key.kind, NOW)
  await store.wallets.raiseEpoch(wallet)
  const { clock, noted, sweep } = nodeOn(store)
  clock.at = NOW + 30 * DAY - 1
  await sweep()
  expect(noted).toEqual([])
  clock.at = NOW + 3000 * DAY
  await sweep()
  expect(noted).toEqual([['keys', 1]])
  expect(await store.wallets.readEpoch(wallet)).toBe(1)
})

test('many rows leave a few at a time, however many are over', async () => {
  const [store] = await openTwoNodes()
  await Promise.all(Array.from({ length: 1000 }, () => livingGrant(store, { expiresAt: NOW + 1 })))
  const { clock, noted, sweep } = nodeOn(store, NOW + 10 * DAY)
  for (let time = 0; time < 6; time++) {
    await sweep()
    clock.at += SWEEP_EVERY
  }
  expect(noted).toEqual(Array.from({ length: 5 }, () => ['grants', 200]))
})

test('of two nodes one cleans; when it is gone, the other goes on once the lease is over', async () => {
  const [store, other] = await openTwoNodes()
  await Promise.all(Array.from({ length: 3000 }, () => livingGrant(store, { expiresAt: NOW + 1 })))
  const [here, there] = [nodeOn(store, NOW + 10 * DAY), nodeOn(other, NOW + 10 * DAY)]
  for (let time = 0; time < 5; time++) {
    await Promise.all([here.sweep(), there.sweep()])
    for (const { clock } of [here, there]) clock.at += SWEEP_EVERY
  }
  const [one, two] = here.noted.length > 0 ? [here, there] : [there, here]
  expect(one.sum()).toBe(1000)
  expect(two.noted, 'the other did nothing').toEqual([])
  // The one is killed. It asked for its lease 20 seconds ago at most.
  while (two.noted.length === 0 && two.clock.at < one.clock.at + 90) {
    await two.sweep()
    two.clock.at += SWEEP_EVERY
  }
  expect(two.clock.at - one.clock.at, 'seconds').toBeGreaterThan(20)
  for (let time = 0; time < 20; time++, two.clock.at += SWEEP_EVERY) await two.sweep()
  expect(two.sum()).toBe(2000)
  // And the first, back again, leaves it to the other.
  one.clock.at = two.clock.at
  await one.sweep()
  expect(one.sum()).toBe(1000)
})

test('a sweep in which nothing is over writes nothing to the disk, beside the lease three times a minute', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  const outside = new DatabaseSync(path, { readOnly: true })
  onTestFinished(async () => {
    outside.close()
    await store.close()
  })
  await livingGrant(store)
  // Changes whenever another connection has committed something.
  const version = () => (outside.prepare('PRAGMA data_version').get() as { data_version: number }).data_version
  const { clock, sweep } = nodeOn(store)
  let changes = 0
  for (let before = version(), seconds = 0; seconds < 600; seconds += SWEEP_EVERY) {
    await sweep()
    clock.at += SWEEP_EVERY
    const after = version()
    if (after !== before) changes += 1
    before = after
  }
  expect(changes).toBe(30)
})

test('20,000 refreshes add no row', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  const grants = await Promise.all(Array.from({ length: 500 }, () => livingGrant(store)))
  const rows = (): unknown => {
    const database = new DatabaseSync(path, { readOnly: true })
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
    const counts = tables.map(({ name }) => [name, database.prepare(`SELECT count(*) AS count FROM "${String(name)}"`).get()])
    database.close()
    return counts
  }
  const before = rows()
  for (let generation = 0; generation < 40; generation++) {
    const at = NOW + 100 + generation
    const outcomes = await Promise.all(
      grants.map((each) => store.grants.rotateRefreshToken(rotationOf(each, generation, { at }))),
    )
    expect(outcomes.every(({ kind }) => kind === 'rotated')).toBe(true)
  }
  expect(rows()).toEqual(before)
})

test('uses leave an hour after their end, ten thousand in one sweep, so they leave as fast as they come', async () => {
  const [store] = await openTwoNodes()
  const uses = Array.from({ length: 10_050 }, (_, index) => ({ hash: `h${index}`, expiresAt: NOW + 60, attemptId: 'a' }))
  await Promise.all(uses.map((use) => store.spent.spend({ kind: 'dpop', ...use })))
  const { clock, noted, sweep } = nodeOn(store)
  clock.at = NOW + 60 + HOUR - 1
  await sweep()
  expect(noted).toEqual([])
  clock.at = NOW + 60 + HOUR
  await sweep()
  expect(noted).toEqual([['spent', 10_000]])
})
