/**
 * Takes out what is over, so that rows grow with wallets, living grants, sessions, receipts and clients, and with
 * nothing else. Why each row may leave when it does: docs/decisions/0003-cleaning.md.
 */
import { randomUUID } from 'node:crypto'
import type { Lifetimes } from './deps.ts'
import type { Cleaning, Leaving } from './ports.ts'

/**
 * Seconds for which a row that is over stays: a day, and one hour more. Within them everything it guards has expired
 * by itself, however the lifetimes are or were set: a code lives 600 s at most, an access token a day, a challenge 660 s.
 */
const STAYS_FOR = 86_400 + 3600
/**
 * An assertion or a proof is worthless once it has expired, and a pushed request eleven minutes later, when a login that began with
 * it is over; an hour bears clocks that differ.
 */
const USED_FOR = 3600
/** So long a retired key can still be seen in `keys list`. */
const RETIRED_FOR = 30 * 86_400

/** Seconds between two sweeps; together with the batch it bounds what they ask of the store. */
export const SWEEP_EVERY = 5
/** Rows of one move: some milliseconds, in which nobody else can write on SQLite; and how many a sweep makes at most. Others write in between. */
const USUAL_PACE = { batch: 50, batches: 4 }
/** These come with every request that has one, 2,000 a second at most, and leave as fast; each is a few bytes. */
const PACE: Partial<Record<Leaving, typeof USUAL_PACE>> = {
  spent: { batch: 250, batches: 40 },
  pushed_requests: { batch: 50, batches: 40 },
}

/** Seconds; one node cleans, and when it is gone another takes over after them. */
const LEASE = 60
const RENEWED_EVERY = LEASE / 3

export type Sweeping = {
  cleaning: Cleaning
  lifetimes: Pick<Lifetimes, 'session'>
  now: () => number
  /** told only where something was taken out */
  note: (kind: Leaving, rows: number) => void
}

/** One node's part in the cleaning. What it returns sweeps once, and does nothing while another node has the lease. */
export function createSweeper({ cleaning, lifetimes, now, note }: Sweeping): () => Promise<void> {
  const holder = randomUUID()
  let lease = { isOurs: false, askedAt: Number.NEGATIVE_INFINITY }

  async function holdsLease(at: number): Promise<boolean> {
    // A clock that jumped, either way, tells nothing about how old our lease is.
    if (Math.abs(at - lease.askedAt) < RENEWED_EVERY) return lease.isOurs
    lease = { isOurs: (await cleaning.takeLease('cleaning', holder, at, LEASE)) === 'taken', askedAt: at }
    return lease.isOurs
  }

  return async () => {
    const at = now()
    if (!(await holdsLease(at))) return
    for (const [kind, overFor] of Object.entries(staying(lifetimes)) as [Leaving, number][]) {
      const rows = await sweepKind(cleaning, kind, overFor, at)
      if (rows > 0) note(kind, rows)
    }
  }
}

async function sweepKind(cleaning: Cleaning, kind: Leaving, overFor: number, at: number): Promise<number> {
  const { batch, batches } = PACE[kind] ?? USUAL_PACE
  let rows = 0
  for (let moves = 0; moves < batches && rows === moves * batch; moves++)
    rows += await cleaning.sweep(kind, { overFor, limit: batch, at })
  return rows
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
    pushed_requests: USED_FOR,
  }
}
