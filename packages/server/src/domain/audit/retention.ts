/**
 * Deletes old lines, once a day. First, a new line of the trail names the last line that will be deleted, and its hash. So the chain can be
 * checked from the first remaining line, and a deletion by age differs from a removal by an attacker.
 */
import type { AuditLine, AuditStore } from '../model/audit-store.ts'
import type { CleaningStore } from '../model/operator-store.ts'
import { newEntry, type WriteEntry } from './entry.ts'
import { LINES_DELETED } from './own-events.ts'
import { fieldsOf } from './verify.ts'

const DAY = 86_400
/** Lines of one deletion, and milliseconds until the next one. */
const BATCH = 500
const PAUSE = 15
/** Seconds for which one node may delete. */
const LEASE = 300

export type Retention = {
  store: AuditStore
  cleaning: Pick<CleaningStore, 'takeLease'>
  write: WriteEntry
  holder: string
  days: number
  now: () => number
  pause: (milliseconds: number) => Promise<void>
}

/** Returns a function that deletes the lines that are too old. Call the function every minute. */
export function createLineDeletion({ store, cleaning, write, holder, days, now, pause }: Retention) {
  const holdsLease = async () => (await cleaning.takeLease('audit lines', holder, now(), LEASE)) === 'taken'

  /** The last line that is older than `before`, by binary search; null if no line is. Lines are nearly in the order of their times. */
  async function lastOldLine(first: AuditLine, before: number): Promise<AuditLine | null> {
    if (first.at >= before) return null
    let [old, young] = [first, (await store.readHead()).seq + 1]
    while (young - old.seq > 1) {
      const middle = Math.floor((old.seq + young) / 2)
      const [line] = await store.readLines({ after: middle - 1, limit: 1 })
      if (line && line.at < before) old = line
      else young = middle
    }
    return old
  }

  async function deleteThrough(through: number, stopping: AbortSignal | undefined): Promise<void> {
    for (let deleted = BATCH; deleted === BATCH; ) {
      if (stopping?.aborted || !(await holdsLease())) return
      deleted = await store.deleteLines(through, BATCH)
      await pause(PAUSE)
    }
  }

  return async (stopping?: AbortSignal): Promise<void> => {
    const [first] = await store.readLines({ after: 0, limit: 1 })
    // Whole days, so that one line a day records what was deleted.
    const before = Math.floor(now() / DAY) * DAY - days * DAY
    if (!first || first.at >= before || !(await holdsLease())) return
    const last = await lastOldLine(first, before)
    if (!last) return
    const [recorded] = await store.searchLines({ event: LINES_DELETED }, { limit: 1 })
    const through = recorded && fieldsOf(recorded.line)?.details.through
    // An interrupted deletion is continued without a second line.
    if (typeof through === 'number' && through >= first.seq && through <= last.seq) return deleteThrough(through, stopping)
    const deletion = newEntry({ at: now(), event: LINES_DELETED, details: { through: last.seq, hash: last.hash } })
    if ((await write(deletion)) !== 'lost') await deleteThrough(last.seq, stopping)
  }
}
