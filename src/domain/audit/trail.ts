/**
 * The audit trail of one process. Lines are appended in batches, because the chain has one order: one batch is under way and the other lines
 * wait. A line that cannot be appended waits in memory until the store works again; the log has it already.
 */
import type { AuditStore } from '../model/audit-store.ts'
import { ChainWriter } from './chain.ts'
import type { AuditEntry } from './entry.ts'

/** Lines of one append. */
const BATCH = 200
/**
 * Milliseconds for which lines that no response waits for are gathered. Without this pause an append would follow each commit of revocations, and
 * halve their rate.
 */
const GATHERED_FOR = 100
/** Lines that wait in memory. Later ones are lost to the trail, and are in the log only. */
const WAITING_AT_MOST = 10_000
/** Milliseconds before the next attempt after a failure. */
const PAUSE = { first: 100, most: 5000 }
/** Milliseconds for which `stop` tries to append what is left. Notices and webhooks end before, and a process must end within six seconds. */
const STOP_WITHIN = 2000

/** `behind`: lines wait because the store fails. `lost`: too many lines wait. `stopped`: the process ends with lines that were not appended. */
export type TrailFault = { kind: 'behind' | 'caught_up' | 'lost' | 'stopped'; lines: number }

export type AuditTrail = {
  /** Resolves when the line is committed, or when it is lost. Never rejects. */
  record(entry: AuditEntry): Promise<'written' | 'lost'>
  /** The same for a line that no response waits for. It is appended within a tenth of a second, together with others. */
  recordSoon(entry: AuditEntry): void
  /** Takes no more lines, and tries to append those that wait. */
  stop(): Promise<void>
}

export type TrailOptions = {
  store: AuditStore
  /** reports that lines wait, or are lost */
  note: (fault: TrailFault) => void
  pause: (milliseconds: number) => Promise<void>
  waitingAtMost?: number
}

/** `settle` is null for a line that no response waits for. */
type Waiting = { entry: AuditEntry; settle: ((outcome: 'written' | 'lost') => void) | null }

export function createAuditTrail({ store, note, pause, waitingAtMost = WAITING_AT_MOST }: TrailOptions): AuditTrail {
  const writer = new ChainWriter(store)
  const waiting: Waiting[] = []
  const stopping = Promise.withResolvers<void>()
  /** how many of the waiting lines a response waits for */
  let awaited = 0
  /** lines that no response waits for are gathered, or were gathered for long enough */
  let isGathering = false
  let isDue = false
  let running: Promise<void> | null = null
  let isStopping = false
  let isBehind = false
  let isFull = false
  let isGivenUp = false

  /** Appends the oldest lines. They stay in the queue until they are committed, so a repeated attempt has the same lines. */
  async function appendBatch(size: number): Promise<void> {
    await writer.append(waiting.slice(0, size).map(({ entry }) => entry))
    for (const { settle } of waiting.splice(0, size)) {
      if (settle) awaited--
      settle?.('written')
    }
  }

  /** Whether the oldest lines are appended now, or wait for more. */
  const mustAppend = (): boolean => waiting.length > 0 && (awaited > 0 || waiting.length >= BATCH || isDue || isStopping)

  async function run(): Promise<void> {
    while (mustAppend()) {
      isDue = false
      const size = Math.min(waiting.length, BATCH)
      for (let wait = PAUSE.first; ; wait = Math.min(wait * 2, PAUSE.most)) {
        try {
          await appendBatch(size)
          break
        } catch {
          if (!isBehind) note({ kind: 'behind', lines: waiting.length })
          isBehind = true
          if (isGivenUp) return
          await (isStopping ? pause(PAUSE.first) : Promise.race([pause(wait), stopping.promise]))
        }
      }
      if (isBehind) note({ kind: 'caught_up', lines: size })
      isBehind = false
      isFull = false
    }
  }

  function start(): void {
    running ??= run().finally(() => {
      running = null
      // A line may have come after the last look at the queue.
      if (waiting.length > 0 && !isStopping) gather()
    })
  }

  /** Appends the lines that wait after a pause, or at once if there are many. */
  function gather(): void {
    if (awaited > 0 || waiting.length >= BATCH) return start()
    if (isGathering) return
    isGathering = true
    void pause(GATHERED_FOR).then(() => {
      isGathering = false
      isDue = true
      start()
    })
  }

  /** False if there is no room. */
  function add(entry: AuditEntry, settle: Waiting['settle']): boolean {
    if (isStopping || waiting.length >= waitingAtMost) {
      // One alarm for each time that the queue is full: every line is in the log.
      if (!isFull) note({ kind: 'lost', lines: 1 })
      isFull = true
      return false
    }
    waiting.push({ entry, settle })
    if (settle) awaited++
    return true
  }

  return {
    record(entry) {
      return new Promise((settle) => {
        if (add(entry, settle)) start()
        else settle('lost')
      })
    },
    recordSoon(entry) {
      if (add(entry, null)) gather()
    },
    async stop() {
      isStopping = true
      stopping.resolve()
      start()
      await Promise.race([running, pause(STOP_WITHIN)])
      isGivenUp = true
      if (waiting.length > 0) note({ kind: 'stopped', lines: waiting.length })
      for (const { settle } of waiting.splice(0)) settle?.('lost')
      awaited = 0
    },
  }
}
