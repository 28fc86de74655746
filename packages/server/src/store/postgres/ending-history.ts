/**
 * Which endings a read of PostgreSQL may have missed.
 *
 * An ending has the time at which its statement began. Its transaction becomes visible at its commit, which may be much later: the
 * statement waited for a lock, the commit waited for a synchronous standby, or the transaction was prepared. So endings become visible out
 * of the order of their times, and a read that continued at its latest time would skip endings.
 *
 * A look at the server before each scan returns the transactions that the scan may not see. The next look shows which of them have become
 * visible since. The history of the looks shows how long ago the oldest of those can have begun: the next scan starts there. A transaction
 * that is open for hours costs nothing until its end.
 */
import { LATE_BY_AT_MOST } from '../../domain/model/request-store.ts'

/** One look at a server. Every transaction that is visible to the look is visible to the scan that follows. */
export type Look = {
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
type Mark = Pick<Look, 'at' | 'next'>

export type History = Pick<Look, 'xmax' | 'running'> & { marks: readonly Mark[] }

/**
 * Seconds from the beginning of a statement to the assignment of its transaction id, at most: the statement timeout, which is less than
 * `LATE_BY_AT_MOST`, with the rounding to whole seconds. Two seconds are added for a process that is stopped in between.
 */
export const BEGUN_BEFORE = LATE_BY_AT_MOST + 2

/**
 * The time from which the scan after `look` must read to find every ending that became visible since the previous look: null if that time
 * is unknown.
 */
export function beginOfScan(history: History, look: Look): number | null {
  const last = history.marks.at(-1)
  // The clock was set back. A transaction that began since has a time that is earlier than that of the marks.
  if (!last || look.at < last.at) return null
  const first = firstFinished(history, look)
  const mark = first === null ? last : history.marks.findLast(({ next }) => next <= first)
  return mark ? mark.at : null
}

/**
 * What the scans until the latest look have read: rows of transactions with an id below `oldest`, and with a time until `seen`. The ids alone do
 * not suffice: after a crash PostgreSQL may assign ids again that it had assigned and not stored. Such a transaction begins in the second of the
 * look or later.
 */
export function knownAfter({ marks, xmax, running }: History): { seen: number; oldest: number } {
  return { seen: (marks.at(-1)?.at ?? 0) - 1, oldest: running[0] ?? xmax }
}

/** The first transaction that was not visible to the previous look, and that is visible to this one. */
function firstFinished({ xmax, running }: History, look: Look): number | null {
  const isFinished = (id: number) => id < look.xmax && !look.running.includes(id)
  let next = xmax
  while (look.running.includes(next)) next++
  return [...running, next].find(isFinished) ?? null
}

/** The history with a look. Marks that are older than `within` seconds, or that no open transaction needs, are dropped. */
export function withLook(history: History | null, { at, next, xmax, running }: Look, within: number): History {
  const earlier = history?.marks ?? []
  const last = earlier.at(-1)
  // One mark a second is enough: of two marks with the same time, the first one is about more transactions.
  const isNew = last?.at !== at
  const marks = (last && at < last.at ? [] : earlier).concat(isNew ? [{ at, next }] : [])
  const oldest = running[0] ?? xmax
  const needed = marks.slice(
    Math.max(
      0,
      marks.findLastIndex((mark) => mark.next <= oldest),
    ),
  )
  return { xmax, running, marks: needed.filter((mark) => mark.at >= at - within) }
}
