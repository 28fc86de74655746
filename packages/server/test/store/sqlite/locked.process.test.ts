/** Another process holds the lock of the file. A write waits for two seconds without blocking the event loop, and then fails. */
import { expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { isDoneWithin } from '../../support/attempts.ts'
import { NOW, newGrant } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'
import { startStoreProcess } from '../start-process.ts'

async function openLocked() {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  const holder = await startStoreProcess('hold', path)
  return { path, store, holder, redeem: () => store.grants.redeemCode(newGrant(), 'attempt', NOW) }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test("A write waits for another process's lock without blocking the event loop, and succeeds once the lock is released", async () => {
  const { store, holder, redeem } = await openLocked()
  const redeemed = redeem()
  let longest = 0
  for (let turn = 0, before = performance.now(); turn < 30; turn++) {
    await Promise.all([pause(10), store.readRevision()])
    longest = Math.max(longest, performance.now() - before)
    before = performance.now()
  }
  expect(longest, 'the longest iteration of the event loop, in milliseconds').toBeLessThan(1000)
  holder.goOn()
  expect((await redeemed).kind).toBe('redeemed')
})

test('A write to a file that stays locked for two seconds fails with StoreUnavailable, and a later one succeeds without a restart', async () => {
  const { holder, redeem } = await openLocked()
  const before = performance.now()
  const refused = redeem().catch((error: unknown) => error)
  expect(await isDoneWithin(3500, refused)).toBe(true)
  expect(await refused).toBeInstanceOf(StoreUnavailable)
  expect(performance.now() - before).toBeGreaterThan(1900)
  const waiting = redeem()
  holder.goOn()
  expect((await waiting).kind).toBe('redeemed')
})

test('A write that starts to wait later waits for its own two seconds', async () => {
  const { holder, redeem } = await openLocked()
  const early = redeem().then(
    () => 'redeemed',
    () => 'unavailable',
  )
  await pause(1500)
  const late = redeem()
  expect(await early).toBe('unavailable')
  holder.goOn()
  expect((await late).kind).toBe('redeemed')
})

test('If 20,000 writes wait for a lock, the next one fails at once with StoreUnavailable, and the waiting ones succeed', async () => {
  const { holder, redeem } = await openLocked()
  const waiting = Array.from({ length: 20_000 }, redeem)
  const nextTurn = new Promise((resolve) => setImmediate(resolve, 'later'))
  expect(await Promise.race([redeem().catch(String), nextTurn])).toContain('too many writes are waiting')
  holder.goOn()
  const outcomes = await Promise.allSettled(waiting)
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(20_000)
})

test('Closing a store while another process holds the lock waits until the pending write is committed', async () => {
  const { path, store, holder, redeem } = await openLocked()
  const redeemed = redeem()
  const closed = store.close()
  await pause(100)
  holder.goOn()
  const outcome = await redeemed
  if (outcome.kind !== 'redeemed') throw new Error(outcome.kind)
  const { grant } = outcome
  await closed
  const reopened = openSqliteStore(path)
  onTestFinished(() => reopened.close())
  expect(await reopened.grants.readGrant(grant.id)).toEqual(grant)
})
