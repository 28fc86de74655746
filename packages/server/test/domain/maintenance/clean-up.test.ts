/** Which rows are deleted, when, and by which node. */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { createSweeper, SWEEP_EVERY } from '../../../src/domain/maintenance/clean-up.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { someApproval } from '../../store/contract/approvals.ts'
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
} from '../../store/contract/subject.ts'
import { newSqlitePath, openTwoNodes } from '../../store/sqlite-file.ts'

const HOUR = 3600
const SESSION = 14 * DAY

/** A node that sweeps, with a clock of its own, and the deletions that it reported. */
function nodeOn(store: Store, at = NOW, pause: (milliseconds: number) => Promise<void> = () => Promise.resolve()) {
  const clock = { at }
  const reported: [string, number][] = []
  const sweep = createSweeper({
    cleaning: store.cleaning,
    lifetimes: { session: SESSION },
    now: () => clock.at,
    note: (kind, rows) => reported.push([kind, rows]),
    pause,
  })
  return { clock, reported, sweep, sum: () => reported.reduce((all, [, rows]) => all + rows, 0) }
}

test('A grant is deleted 25 hours after it ended or expired, when its code and its access tokens have expired too', async () => {
  const [store] = await openTwoNodes()
  const ended = await livingGrant(store)
  const expired = await livingGrant(store, { expiresAt: NOW + HOUR, refreshExpiresAt: NOW + HOUR })
  const spent = newGrant()
  await store.grants.spendCode(spent, randomUUID(), NOW)
  await store.grants.endGrant(ended.id, 'revoked', NOW)
  const { clock, reported, sweep } = nodeOn(store)
  clock.at = NOW + 25 * HOUR - 1
  await sweep()
  expect(reported).toEqual([])
  clock.at = NOW + 25 * HOUR
  await sweep()
  expect(reported).toEqual([['grants', 2]])
  expect(await store.grants.readGrant(expired.id)).not.toBeNull()
  clock.at = NOW + 26 * HOUR
  await sweep()
  expect(await store.grants.readGrant(expired.id)).toBeNull()
})

test('A session is deleted 25 hours after its end, and a receipt 25 hours after the last session that it can have started', async () => {
  const [store] = await openTwoNodes()
  const session = someSession({ epoch: 0 })
  const receipt = someReceipt()
  await store.sessions.startSession(session, randomUUID())
  await store.receipts.insertReceipt(receipt, 0)
  const { clock, reported, sweep } = nodeOn(store)
  clock.at = session.expiresAt + 25 * HOUR - 1
  await sweep()
  expect(reported).toEqual([])
  clock.at += 1
  await sweep()
  expect(reported).toEqual([['sessions', 1]])
  clock.at = receipt.expiresAt + SESSION + 25 * HOUR - 1
  await sweep()
  expect(reported).toHaveLength(1)
  clock.at += 1
  await sweep()
  expect(reported).toEqual([
    ['sessions', 1],
    ['receipts', 1],
  ])
})

test('A retired key is deleted after 30 days, and a wallet is never deleted', async () => {
  const [store] = await openTwoNodes()
  const key = someKey()
  const wallet = someWallet()
  await store.keys.insertKey(key)
  await store.keys.retireKey(key.id, key.kind, NOW)
  await store.wallets.raiseEpoch(wallet)
  const { clock, reported, sweep } = nodeOn(store)
  clock.at = NOW + 30 * DAY - 1
  await sweep()
  expect(reported).toEqual([])
  clock.at = NOW + 3000 * DAY
  await sweep()
  expect(reported).toEqual([['keys', 1]])
  expect(await store.wallets.readEpoch(wallet)).toBe(1)
})

test('One sweep deletes all expired rows, in small steps with pauses, which get shorter after many steps', async () => {
  const [store] = await openTwoNodes()
  const uses = Array.from({ length: 1200 }, (_, index) => ({ hash: `h${index}`, expiresAt: NOW, attemptId: 'a' }))
  await Promise.all(uses.map((use) => store.spent.spend({ kind: 'dpop', ...use })))
  await Promise.all(Array.from({ length: 250 }, () => livingGrant(store, { expiresAt: NOW + 1 })))
  const steps: [kind: string, limit: number][] = []
  const pauses: number[] = []
  let endless = 0
  const cleaning: Store['cleaning'] = {
    ...store.cleaning,
    async sweep(kind, of) {
      steps.push([kind, of.limit])
      // Simulates a table that gets rows as fast as they are deleted.
      if (kind === 'receipts' && endless-- > 0) return of.limit
      return store.cleaning.sweep(kind, of)
    },
  }
  const { clock, reported, sweep } = nodeOn(
    { ...store, cleaning },
    NOW + 10 * DAY,
    async (milliseconds) => void pauses.push(milliseconds),
  )
  await sweep()
  expect(Object.fromEntries(reported)).toEqual({ grants: 250, spent: 1200 })
  expect(new Set(steps.map((each) => each.join(' ')))).toEqual(
    new Set([
      'grants 100',
      'sessions 100',
      'receipts 100',
      'keys 100',
      'spent 250',
      'pushed_requests 100',
      'approvals 100',
      'audit_writers 100',
      'nodes 100',
      'endings 250',
    ]),
  )
  expect(pauses, 'after each step that left something').toEqual([15, 15, 15, 15, 15, 15])
  endless = 300
  clock.at += 5
  await sweep()
  expect(pauses.slice(6)).toEqual([...Array.from({ length: 200 }, () => 15), ...Array.from({ length: 100 }, () => 3)])
})

test('A sweep of a table that fills as fast as it is swept reaches every other table, ends, and can be stopped early', async () => {
  const [store] = await openTwoNodes()
  await Promise.all(Array.from({ length: 250 }, () => livingGrant(store, { expiresAt: NOW + 1 })))
  const cleaning: Store['cleaning'] = {
    ...store.cleaning,
    sweep: (kind, of) => (kind === 'spent' ? Promise.resolve(of.limit) : store.cleaning.sweep(kind, of)),
  }
  let pausesTaken = 0
  const stopping = new AbortController()
  const { reported, sweep } = nodeOn({ ...store, cleaning }, NOW + 10 * DAY, async () => {
    if (++pausesTaken === 2500) stopping.abort()
  })
  await sweep(stopping.signal)
  expect(Object.fromEntries(reported)).toMatchObject({ grants: 250, spent: 250 * 1998 })
  await sweep(stopping.signal)
  expect(pausesTaken).toBe(2500)
})

test('One of two nodes sweeps; if it stops, the other one sweeps once the lease has expired', async () => {
  const [store, other] = await openTwoNodes()
  const more = () => Promise.all(Array.from({ length: 150 }, () => livingGrant(store, { expiresAt: NOW + 1 })))
  await more()
  const [here, there] = [nodeOn(store, NOW + 10 * DAY), nodeOn(other, NOW + 10 * DAY)]
  for (let time = 0; time < 5; time++) {
    await Promise.all([here.sweep(), there.sweep()])
    for (const { clock } of [here, there]) clock.at += SWEEP_EVERY
  }
  const [one, two] = here.reported.length > 0 ? [here, there] : [there, here]
  expect(one.sum()).toBe(150)
  expect(two.reported, 'the other did nothing').toEqual([])
  // The first node is killed. It renewed its lease 20 seconds ago at most.
  await more()
  while (two.reported.length === 0 && two.clock.at < one.clock.at + 90) {
    await two.sweep()
    two.clock.at += SWEEP_EVERY
  }
  expect(two.clock.at - one.clock.at, 'seconds').toBeGreaterThan(20)
  expect(two.sum()).toBe(150)
  // When the first node is back, the other one still holds the lease.
  await more()
  one.clock.at = two.clock.at
  await one.sweep()
  expect(one.sum()).toBe(150)
})

test('A sweep that finds nothing writes nothing but its lease, three times a minute', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  const outside = new DatabaseSync(path, { readOnly: true })
  onTestFinished(async () => {
    outside.close()
    await store.close()
  })
  await livingGrant(store)
  // Changes whenever another connection has committed.
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

test('20,000 refreshes add no row to any table', async () => {
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

test('Records of uses are deleted an hour after expiry, pushed requests 12 minutes after expiry or 72 minutes after use', async () => {
  const [store] = await openTwoNodes()
  await store.spent.spend({ kind: 'dpop', hash: 'hash', expiresAt: NOW + 60, attemptId: 'a' })
  for (const id of ['unspent', 'spent'])
    await store.pushedRequests.push({ id, clientId: 'c', request: '{}', expiresAt: NOW + 60 })
  await store.pushedRequests.spendPushed('spent', 'attempt', NOW + 1)
  const { clock, reported, sweep } = nodeOn(store)
  const sweepAt = async (at: number) => {
    reported.length = 0
    clock.at = at
    await sweep()
    return [...reported]
  }
  // A login that began in the last second may read the request for eleven more minutes.
  expect(await sweepAt(NOW + 60 + 719)).toEqual([])
  expect(await sweepAt(NOW + 60 + 720)).toEqual([['pushed_requests', 1]])
  expect(await store.pushedRequests.readPushed('unspent')).toBeNull()
  expect(await sweepAt(NOW + 60 + HOUR - 1)).toEqual([])
  expect(await sweepAt(NOW + 60 + HOUR)).toEqual([['spent', 1]])
  expect(await sweepAt(NOW + 1 + HOUR + 719)).toEqual([])
  expect(await sweepAt(NOW + 1 + HOUR + 720)).toEqual([['pushed_requests', 1]])
})

test('An approval is deleted 25 hours after it expires, answered or not', async () => {
  const [store] = await openTwoNodes()
  const grant = await livingGrant(store)
  const [unanswered, signed] = [someApproval(grant), someApproval(grant)]
  for (const approval of [unanswered, signed]) await store.approvals.ask(approval, NOW)
  await store.approvals.answer(signed, { receiptId: 'receipt', isLast: false, at: NOW + 1 })
  const { clock, reported, sweep } = nodeOn(store)
  clock.at = unanswered.expiresAt + 25 * HOUR - 1
  await sweep()
  expect(reported).toEqual([])
  clock.at += 1
  await sweep()
  expect(reported).toEqual([['approvals', 2]])
})

test('A kind of rows that must be kept is not deleted, and the others are', async () => {
  const [store] = await openTwoNodes()
  const session = someSession({ epoch: 0 })
  await store.sessions.startSession(session, randomUUID())
  const grant = await livingGrant(store)
  await store.grants.endGrant(grant.id, 'revoked', NOW)
  const deleted: string[] = []
  const sweep = createSweeper({
    cleaning: store.cleaning,
    lifetimes: { session: SESSION },
    now: () => session.expiresAt + 25 * HOUR,
    mustKeep: async (kind) => kind === 'grants',
    note: (kind) => deleted.push(kind),
    pause: () => Promise.resolve(),
  })
  await sweep()
  expect(deleted).toEqual(['sessions'])
})
