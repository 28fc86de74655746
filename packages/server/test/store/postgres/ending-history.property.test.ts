/** The rule by which a read of the endings on PostgreSQL skips none, on a model of PostgreSQL's transactions and snapshots. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BEGUN_BEFORE,
  beginOfScan,
  type History,
  scannedRows,
  type TransactionSnapshot,
  withSnapshot,
} from '../../../src/store/postgres/ending-history.ts'
import { runs } from '../../support/runs.ts'

const WITHIN = 1000

/** A transaction: when its statement begins, when it gets its id, and when it becomes visible. */
type Transaction = { begunAt: number; id: number; committedAt: number }

/** The ids of the transactions have the order of `assignedAt`. */
function transactionsOf(
  plan: readonly { assignedAt: number; before: number; open: number }[],
): (Transaction & { assignedAt: number })[] {
  return [...plan]
    .sort((one, next) => one.assignedAt - next.assignedAt)
    .map(({ assignedAt, before, open }, index) => ({
      assignedAt,
      begunAt: assignedAt - before,
      id: 100 + index,
      committedAt: assignedAt + open,
    }))
}

/** A snapshot as PostgreSQL makes it: `xmax` follows the last transaction that has finished. */
function snapshotAt(at: number, transactions: ReturnType<typeof transactionsOf>): TransactionSnapshot {
  const assigned = transactions.filter(({ assignedAt }) => assignedAt <= at)
  const finished = assigned.filter(({ committedAt }) => committedAt <= at)
  const xmax = Math.max(99, ...finished.map(({ id }) => id)) + 1
  const running = assigned.filter(({ id, committedAt }) => committedAt > at && id < xmax).map(({ id }) => id)
  return { at: Math.floor(at), next: 100 + assigned.length, xmax, running }
}

const NOTHING = { seen: 0, oldest: 0 }

/** The transactions that no scan found, if a scan reads from `start` on what the snapshot before the scan sees. */
function skippedBy(
  start: (history: History, snapshot: TransactionSnapshot) => number | null,
  snapshots: readonly number[],
  plan: Parameters<typeof transactionsOf>[0],
  known = scannedRows,
) {
  const transactions = transactionsOf(plan)
  const found = new Set<number>()
  let history: History | null = null
  for (const at of snapshots) {
    const snapshot = snapshotAt(at, transactions)
    const begin = history && start(history, snapshot)
    const since = Math.max(snapshot.at - WITHIN, begin === null ? Number.NEGATIVE_INFINITY : begin - BEGUN_BEFORE)
    const { seen, oldest } = history && begin !== null ? known(history) : NOTHING
    for (const { id, begunAt, committedAt } of transactions) {
      const time = Math.floor(begunAt)
      if (committedAt <= at && time >= since && (time > seen || id >= oldest)) found.add(id)
    }
    history = withSnapshot(history, snapshot, WITHIN)
  }
  const last = snapshots.at(-1) ?? 0
  return transactions.filter(({ id, committedAt }) => committedAt <= last && !found.has(id))
}

// Half seconds, so that several things happen in one second. A statement gets its id within three seconds.
const half = (most: number) => fc.integer({ min: 0, max: 2 * most }).map((halves) => halves / 2)
const plans = fc.array(fc.record({ assignedAt: half(120), before: half(3), open: fc.oneof(half(2), half(100)) }), {
  maxLength: 30,
})
const times = fc.array(half(240), { minLength: 2, maxLength: 40 }).map((snapshots) => snapshots.sort((one, next) => one - next))

test('Every transaction that a snapshot sees is in the range of a scan, however long the transaction was open, at any times of snapshots', () => {
  fc.assert(
    fc.property(plans, times, (plan, snapshots) => {
      expect(skippedBy(beginOfScan, snapshots, plan)).toEqual([])
    }),
    { numRuns: 10 * runs },
  )
})

test('A transaction that is the only one, and therefore not below the end of any snapshot, is not skipped', () => {
  const plan = [{ assignedAt: 10, before: 0, open: 80 }]
  const snapshots = [0, 20, 40, 60, 80, 100]
  expect(skippedBy(beginOfScan, snapshots, plan)).toEqual([])
  const withoutNext: typeof beginOfScan = (history, snapshot) =>
    beginOfScan(
      { ...history, positions: snapshots.filter((at) => at < snapshot.at).map((at) => ({ at, next: history.xmax })) },
      snapshot,
    )
  expect(skippedBy(withoutNext, snapshots, plan), 'with the end of the snapshot in place of the next id').toHaveLength(1)
  expect(
    skippedBy(({ positions }) => positions.at(-1)?.at ?? null, snapshots, plan),
    'from the latest snapshot',
  ).toHaveLength(1)
})

test('A row of a transaction that was open at the latest snapshot is read, also if its time is older', () => {
  const plan = [
    { assignedAt: 10, before: 0, open: 20 },
    { assignedAt: 11, before: 0, open: 1 },
  ]
  const snapshots = [0, 20, 40]
  expect(skippedBy(beginOfScan, snapshots, plan)).toEqual([])
  const toEnd: typeof scannedRows = (history) => ({ ...scannedRows(history), oldest: history.xmax })
  expect(
    skippedBy(beginOfScan, snapshots, plan, toEnd),
    'with the end of the snapshot in place of the oldest open one',
  ).toHaveLength(1)
})

test('A row whose transaction began after the latest snapshot is read, also if a crash gave the transaction an id that was assigned before', () => {
  const history = withSnapshot(null, { at: 50, next: 105, xmax: 105, running: [] }, WITHIN)
  const { seen, oldest } = scannedRows(history)
  expect([102 < oldest, 50 <= seen]).toEqual([true, false])
})

test('The history has one position while no transaction is open, and never more positions than seconds', () => {
  let history: History | null = null
  for (let at = 0; at < 100; at += 0.5)
    history = withSnapshot(history, { at: Math.floor(at), next: 100 + at, xmax: 100 + at, running: [] }, WITHIN)
  expect(history?.positions).toHaveLength(1)
  for (let at = 100; at < 5000; at += 0.5)
    history = withSnapshot(history, { at: Math.floor(at), next: 1000 + at, xmax: 1000 + at, running: [500] }, WITHIN)
  expect(history?.positions.length).toBeLessThanOrEqual(WITHIN + 1)
})
