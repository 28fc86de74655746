/**
 * Deletes rows some time after their end, so that the number of rows depends only on wallets, active grants, sessions, receipts and
 * clients. docs/decisions/0014-upkeep-of-the-store.md gives the reason for each delay.
 */
import { randomUUID } from 'node:crypto'
import type { Lifetimes } from '../model/deps.ts'
import type { CleaningStore, SweptKind } from '../model/operator-store.ts'

/**
 * Seconds from the end of a row to the deletion: a day and an hour. By then everything that the row protects has expired,
 * whatever the settings are: a code expires after at most 600 s, an access token after a day, a challenge after 660 s.
 */
const KEPT_FOR = 86_400 + 3600
/** An assertion or a proof cannot be used after the expiry. One hour allows for clock differences. */
const USE_KEPT_FOR = 3600
/** A login that began with a pushed request ends at most eleven minutes after the request expired. */
const PUSHED_REQUEST_KEPT_FOR = 720
/** `keys list` shows a retired key for this long. */
const RETIRED_KEY_KEPT_FOR = 30 * 86_400

/** The overview of the console shows the last hour. */
const NODE_KEPT_FOR = 3600

/** Seconds between the end of a sweep and the next one. */
export const SWEEP_EVERY = 2
/** Rows of one batch. SQLite runs no other statement for some milliseconds. The rows of `spent` and `endings` are small and many. */
const BATCH: Partial<Record<SweptKind, number>> = { spent: 250, endings: 250 }
const USUAL_BATCH = 100
/** Milliseconds between two batches, in which other statements run. After `BEHIND_AFTER` batches a sweep is behind and pauses less. */
const PAUSE = { usual: 15, behind: 3 }
const BEHIND_AFTER = 200
/** After this many batches a sweep ends and reports the deleted rows. */
const MAX_BATCHES = 2000

/** Seconds. One node cleans. If that node fails, another node takes over when the lease has expired. */
const LEASE = 60
const RENEWED_EVERY = LEASE / 3

export type Sweeping = {
  cleaning: CleaningStore
  lifetimes: Pick<Lifetimes, 'session'>
  now: () => number
  /** Whether no rows of this kind may be deleted at the moment. */
  mustKeep?: (kind: SweptKind) => Promise<boolean>
  /** called at the end of a sweep, once for each kind with deleted rows */
  note: (kind: SweptKind, rows: number) => void
  pause: (milliseconds: number) => Promise<void>
}

/**
 * Returns a function that runs one sweep, which deletes batch after batch until nothing is left to delete. The function does nothing
 * while another node has the lease.
 */
export function createSweeper({
  cleaning,
  lifetimes,
  now,
  mustKeep = async () => false,
  note,
  pause,
}: Sweeping): (stopping?: AbortSignal) => Promise<void> {
  const holder = randomUUID()
  let lease = { isOurs: false, askedAt: Number.NEGATIVE_INFINITY }

  async function holdsLease(at: number): Promise<boolean> {
    // If the clock jumped, forward or back, the age of the lease is unknown.
    if (Math.abs(at - lease.askedAt) < RENEWED_EVERY) return lease.isOurs
    lease = { isOurs: (await cleaning.takeLease('cleaning', holder, at, LEASE)) === 'taken', askedAt: at }
    return lease.isOurs
  }

  return async (stopping) => {
    const deleted = new Map<SweptKind, number>()
    let left = Object.entries(retentionTimes(lifetimes)) as [SweptKind, number][]
    try {
      // One batch of each kind per round, so that no kind waits until another kind is done.
      for (let batches = 0; left.length > 0 && batches < MAX_BATCHES; ) {
        const more: typeof left = []
        for (const [kind, overFor] of left) {
          if (stopping?.aborted || !(await holdsLease(now()))) return
          if (await mustKeep(kind)) continue
          const limit = BATCH[kind] ?? USUAL_BATCH
          const rows = await cleaning.sweep(kind, { overFor, limit, at: now() })
          if (rows > 0) deleted.set(kind, (deleted.get(kind) ?? 0) + rows)
          if (rows < limit) continue
          more.push([kind, overFor])
          await pause(++batches > BEHIND_AFTER ? PAUSE.behind : PAUSE.usual)
        }
        left = more
      }
    } finally {
      for (const [kind, rows] of deleted) note(kind, rows)
    }
  }
}

/** Seconds from the end of a row to the deletion, by kind. */
function retentionTimes(lifetimes: Pick<Lifetimes, 'session'>): Record<SweptKind, number> {
  return {
    grants: KEPT_FOR,
    sessions: KEPT_FOR,
    // A grant can be created in the last second of the receipt's session, so the grant ends up to one session lifetime after the receipt.
    receipts: lifetimes.session + KEPT_FOR,
    keys: RETIRED_KEY_KEPT_FOR,
    spent: USE_KEPT_FOR,
    pushed_requests: PUSHED_REQUEST_KEPT_FOR,
    // By then a signed approval can no longer be used, and the API that asked has read the answer or given up.
    approvals: KEPT_FOR,
    audit_writers: KEPT_FOR,
    nodes: NODE_KEPT_FOR,
    endings: KEPT_FOR,
  }
}
