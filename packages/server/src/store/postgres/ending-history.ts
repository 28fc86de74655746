/**
 * Which endings a read of PostgreSQL may have missed.
 *
 * An ending has the time at which its statement began. Its transaction becomes visible at its commit, which may be much later: the
 * statement waited for a lock, the commit waited for a synchronous standby, or the transaction was prepared. So endings become visible out
 * of the order of their times, and a read that continued at its latest time would skip endings.
 *
 * A snapshot of the server before each scan returns the transactions that the scan may not see. The next snapshot shows which of them have become
 * visible since. The history of the snapshots shows how long ago the oldest of those can have begun: the next scan starts there. A transaction
 * that is open for hours costs nothing until its end.
 */
import { LATE_BY_AT_MOST } from '../../domain/model/request-store.ts'

/** The transactions of a server at one time. Every transaction that is visible to the snapshot is visible to the scan that follows. */
export type TransactionSnapshot = {
  /** epoch seconds, read before `next` */
  at: number
  /** the next id of a transaction: every id from here on is assigned after `at` */
  next: number
  /** the first id that is not visible, and neither is any id after it; `next` may be higher */
  xmax: number
  /** the ids below `xmax` of transactions that are not finished, in order */
  running: readonly number[]
}

/** Every transaction id from `next` on was assigned at `at` or later. */
type Position = Pick<TransactionSnapshot, 'at' | 'next'>

export type History = Pick<TransactionSnapshot, 'xmax' | 'running'> & { positions: readonly Position[] }

/**
 * Seconds from the beginning of a statement to the assignment of its transaction id, at most: the statement timeout, which is less than
 * `LATE_BY_AT_MOST`, with the rounding to whole seconds. Two seconds are added for a process that is stopped in between.
 */
export const BEGUN_BEFORE = LATE_BY_AT_MOST + 2

/**
 * The time from which the scan after `snapshot` must read to find every ending that became visible since the previous snapshot: null if that time
 * is unknown.
 */
export function beginOfScan(history: History, snapshot: TransactionSnapshot): number | null {
  const last = history.positions.at(-1)
  // The clock was set back. A transaction that began since has a time that is earlier than that of the positions.
  if (!last || snapshot.at < last.at) return null
  const first = firstFinished(history, snapshot)
  const position = first === null ? last : history.positions.findLast(({ next }) => next <= first)
  return position ? position.at : null
}

/**
 * What the scans until the latest snapshot have read: rows of transactions with an id below `oldest`, and with a time until `seen`. The ids alone do
 * not suffice: after a crash PostgreSQL may assign ids again that it had assigned and not stored. Such a transaction begins in the second of the
 * snapshot or later.
 */
export function scannedRows({ positions, xmax, running }: History): { seen: number; oldest: number } {
  return { seen: (positions.at(-1)?.at ?? 0) - 1, oldest: running[0] ?? xmax }
}

/** The first transaction that was not visible to the previous snapshot, and that is visible to this one. */
function firstFinished({ xmax, running }: History, snapshot: TransactionSnapshot): number | null {
  const isFinished = (id: number) => id < snapshot.xmax && !snapshot.running.includes(id)
  let next = xmax
  while (snapshot.running.includes(next)) next++
  return [...running, next].find(isFinished) ?? null
}

/** The history with a snapshot. Positions that are older than `within` seconds, or that no open transaction needs, are dropped. */
export function withSnapshot(history: History | null, { at, next, xmax, running }: TransactionSnapshot, within: number): History {
  const earlier = history?.positions ?? []
  const last = earlier.at(-1)
  // One position a second is enough: of two positions with the same time, the first one is about more transactions.
  const isNew = last?.at !== at
  const positions = (last && at < last.at ? [] : earlier).concat(isNew ? [{ at, next }] : [])
  const oldest = running[0] ?? xmax
  const needed = positions.slice(
    Math.max(
      0,
      positions.findLastIndex((position) => position.next <= oldest),
    ),
  )
  return { xmax, running, positions: needed.filter((position) => position.at >= at - within) }
}
