/**
 * Deletes what is over, so that rows grow with wallets, living grants, sessions, receipts and clients, and with nothing
 * else. Why each row may be deleted when it is: docs/decisions/0003-cleaning.md.
 */
import { randomUUID } from 'node:crypto'
import type { Lifetimes } from './deps.ts'
import type { Cleaning, Leaving } from './ports.ts'

/**
 * Seconds for which a row that is over stays: a day, and one hour more. Within them everything it guards has expired
 * by itself, however the lifetimes are or were set: a code lives 600 s at most, an access token a day, a challenge 660 s.
 */
const STAYS_FOR = 86_400 + 3600
/** An assertion or a proof is worthless once it has expired; an hour allows for clocks that differ. */
const USED_FOR = 3600
/** A login that began with a pushed request ends at most eleven minutes after the request expired. */
const PUSHED_FOR = 720
/** So long a retired key can still be seen in `keys list`. */
const RETIRED_FOR = 30 * 86_400

/** Seconds between the end of a sweep and the next one. */
export const SWEEP_EVERY = 2
/** Rows of one step, in which SQLite does nothing else for some milliseconds. The rows of `spent` are small and many. */
const STEP: Partial<Record<Leaving, number>> = { spent: 250 }
const USUAL_STEP = 100
/**
 * Milliseconds between two steps of a sweep, in which other statements run. A sweep is behind after so many steps, and
 * pauses less.
 */
const PAUSE = { usual: 15, behind: 3 }
const BEHIND_AFTER = 200
/** Then a sweep ends, and notes what it deleted. */
const STEPS_AT_MOST = 2000

/** Seconds; one node cleans, and when it is gone another takes over after them. */
const LEASE = 60
const RENEWED_EVERY = LEASE / 3

export type Sweeping = {
  cleaning: Cleaning
  lifetimes: Pick<Lifetimes, 'session'>
  now: () => number
  /** called at the end of a sweep for each kind of which rows were deleted */
  note: (kind: Leaving, rows: number) => void
  /** waits so many milliseconds */
  pause: (milliseconds: number) => Promise<void>
}

/**
 * One node's part in the cleaning. What it returns deletes what is over, step by step, until nothing is left. It does nothing while
 * another node has the lease.
 */
export function createSweeper({ cleaning, lifetimes, now, note, pause }: Sweeping): (stopping?: AbortSignal) => Promise<void> {
  const holder = randomUUID()
  let lease = { isOurs: false, askedAt: Number.NEGATIVE_INFINITY }

  async function holdsLease(at: number): Promise<boolean> {
    // A clock that jumped, either way, tells nothing about how old our lease is.
    if (Math.abs(at - lease.askedAt) < RENEWED_EVERY) return lease.isOurs
    lease = { isOurs: (await cleaning.takeLease('cleaning', holder, at, LEASE)) === 'taken', askedAt: at }
    return lease.isOurs
  }

  return async (stopping) => {
    const deleted = new Map<Leaving, number>()
    let left = Object.entries(staying(lifetimes)) as [Leaving, number][]
    try {
      // One step of each kind that has more to delete, round after round, so that no kind waits for the end of another.
      for (let steps = 0; left.length > 0 && steps < STEPS_AT_MOST; ) {
        const more: typeof left = []
        for (const [kind, overFor] of left) {
          if (stopping?.aborted || !(await holdsLease(now()))) return
          const limit = STEP[kind] ?? USUAL_STEP
          const rows = await cleaning.sweep(kind, { overFor, limit, at: now() })
          if (rows > 0) deleted.set(kind, (deleted.get(kind) ?? 0) + rows)
          if (rows < limit) continue
          more.push([kind, overFor])
          await pause(++steps > BEHIND_AFTER ? PAUSE.behind : PAUSE.usual)
        }
        left = more
      }
    } finally {
      for (const [kind, rows] of deleted) note(kind, rows)
    }
  }
}

/** For how long a row stays once it is over, in seconds. */
function staying(lifetimes: Pick<Lifetimes, 'session'>): Record<Leaving, number> {
  return {
    grants: STAYS_FOR,
    sessions: STAYS_FOR,
    // A session begun with it, at its last moment, can still give a grant that rests on it and lives as long again.
    receipts: lifetimes.session + STAYS_FOR,
    keys: RETIRED_FOR,
    spent: USED_FOR,
    pushed_requests: PUSHED_FOR,
  }
}
