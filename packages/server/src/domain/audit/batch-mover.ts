/**
 * When a process moves the batches that wait outside of the chain into the chain. One process moves the batches of all: it holds a lease. After a
 * failure it lets the lease expire, so that a process that reaches another machine can take over.
 */
import type { AuditStore, WaitingBatchStore } from '../model/audit-store.ts'
import type { CleaningStore } from '../model/operator-store.ts'
import { type BatchFault, moveWaitingBatches, WaitingBatches } from './waiting-batches.ts'

/** Seconds between two searches for batches of processes that have ended. */
const SEARCHED_EVERY = 60
/** Seconds for which one process moves the batches of all. */
const LEASE = 5
/** Seconds between two reports of moved lines. */
const REPORTED_EVERY = 60

type Options = {
  chain: Pick<AuditStore, 'append' | 'readHead'>
  cleaning: Pick<CleaningStore, 'takeLease'>
  /** the store of the batches that wait outside of the chain; null if there is none */
  waiting: () => WaitingBatchStore | null
  holder: string
  now: () => number
  /** reports a batch that was changed or removed while it waited */
  note: (fault: BatchFault) => void
  /** reports how many lines were moved since the last report, at most once a minute */
  noteMoved: (lines: number) => void
  /** the number of lines that this process has added and that may still wait */
  noteWaiting: (lines: number) => void
}

type BatchMover = {
  /** the waiting batches of this process; null without a store for them */
  batches(): WaitingBatches | null
  /** Moves the batches of all processes if that is due. To be called every second. */
  move(stopping?: AbortSignal): Promise<void>
}

export function createBatchMover({ chain, cleaning, waiting, holder, now, note, noteMoved, noteWaiting }: Options): BatchMover {
  const reportMoved = reportEachMinute(now, noteMoved)
  let batches: WaitingBatches | null = null
  let searchedAt = Number.NEGATIVE_INFINITY
  let failedAt = Number.NEGATIVE_INFINITY

  // If the clock jumped back, the time since then is unknown.
  const isWithin = (seconds: number, since: number): boolean => Math.abs(now() - since) < seconds

  async function moveFrom(store: WaitingBatchStore, stopping: AbortSignal | undefined): Promise<boolean> {
    let isHeld = true
    const mayMove = async (): Promise<boolean> => {
      isHeld = (await cleaning.takeLease('waiting audit lines', holder, now(), LEASE)) === 'taken'
      return isHeld
    }
    try {
      reportMoved(await moveWaitingBatches({ chain, waiting: store, now, note, mayMove, stopping }))
    } catch (error) {
      failedAt = now()
      throw error
    }
    return isHeld && !stopping?.aborted
  }

  return {
    batches() {
      const store = waiting()
      if (store) batches ??= new WaitingBatches(store)
      return batches
    },
    async move(stopping) {
      const store = waiting()
      if (!store) return
      reportMoved(0)
      const lines = batches?.lines ?? 0
      noteWaiting(lines)
      if (lines === 0 && isWithin(SEARCHED_EVERY, searchedAt)) return
      if (isWithin(2 * LEASE, failedAt)) return
      // Fails at once while the chain is unavailable. The waiting batches are on every machine.
      await chain.readHead()
      searchedAt = now()
      if (await moveFrom(store, stopping)) batches?.noteMoved(lines)
    },
  }
}

/** Returns a function that adds up the lines, and reports their sum at most once a minute. */
function reportEachMinute(now: () => number, report: (lines: number) => void): (lines: number) => void {
  let [sum, reportedAt] = [0, Number.NEGATIVE_INFINITY]
  return (lines) => {
    sum += lines
    if (sum === 0 || Math.abs(now() - reportedAt) < REPORTED_EVERY) return
    report(sum)
    ;[sum, reportedAt] = [0, now()]
  }
}
