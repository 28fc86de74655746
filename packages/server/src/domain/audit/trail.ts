/**
 * The audit trail of one process. The chain has one order, so one batch of lines is appended at a time, and the other lines wait. A line that
 * cannot be appended waits in memory until the store works again. The log has the event already.
 */
import type { AuditStore } from '../model/audit-store.ts'
import { ChainWriter, type WriterOptions } from './chain.ts'
import type { AuditEntry } from './entry.ts'

/** Lines of one append. */
const BATCH = 200
/**
 * Milliseconds for which lines that no response waits for are gathered. Without this pause an append would follow each commit of revocations, and
 * halve their rate.
 */
const GATHERED_FOR = 100
/** Lines that wait in memory. Later lines are in the log only. */
const WAITING_AT_MOST = 10_000
/** The part of them that one operator, one wallet or one client may cause, so that the lines of others find room. */
const SHARE = 1 / 4
/** Milliseconds before the next attempt after a failure. */
const PAUSE = { first: 100, most: 5000 }
/** Milliseconds for which `stop` tries to append what is left. Notices and webhooks end before, and a process must end within six seconds. */
const STOP_WITHIN = 2000
/** Seconds without a waiting batch before the next one is reported again. */
const QUIET_FOR = 60
/** Seconds after which the report is repeated while batches come to wait: the chain can have been available in between. */
const REPEATED_AFTER = 600

/**
 * `behind`: lines wait in memory because the store fails. `waiting`: lines wait in the database, outside of the chain. `lost`: too many lines wait, in all or of one caller. `stopped`: the process ends with lines
 * that were not appended.
 */
export type TrailFault = { kind: 'behind' | 'waiting' | 'caught_up' | 'lost' | 'stopped'; lines: number }

export type AuditTrail = {
  /** Resolves when the line is committed, in the chain or in a batch that waits outside of it, or when it is lost. Never rejects. */
  record(entry: AuditEntry): Promise<'written' | 'lost'>
  /** The same for a line that no response waits for. It is appended within a tenth of a second, together with others. */
  recordSoon(entry: AuditEntry): void
  /** Accepts no more lines, and tries to append those that wait. */
  stop(): Promise<void>
}

export type TrailOptions = {
  store: AuditStore
  now: () => number
  /** reports that lines wait, or are lost */
  note: (fault: TrailFault) => void
  /** Resolves after this time, or when the trail has ended: a pause that is left would keep the process alive. */
  pause: (milliseconds: number, ended: AbortSignal) => Promise<void>
  waitingAtMost?: number
} & WriterOptions

export function createAuditTrail(options: TrailOptions): AuditTrail {
  const queue = new LineQueue(options)
  return {
    record: (entry) => queue.record(entry),
    recordSoon: (entry) => queue.recordSoon(entry),
    stop: () => queue.stop(),
  }
}

type WriteOutcome = 'written' | 'lost'
/** `settle` is null for a line that no response waits for. */
type WaitingEntry = { entry: AuditEntry; settle: ((outcome: WriteOutcome) => void) | null }

class LineQueue {
  readonly #writer: ChainWriter
  readonly #now: () => number
  readonly #note: TrailOptions['note']
  readonly #ended = new AbortController()
  readonly #pause: (milliseconds: number) => Promise<void>
  readonly #waitingAtMost: number
  readonly #waiting: WaitingEntry[] = []
  readonly #stopping = Promise.withResolvers<void>()
  /** how many of the waiting lines each operator, wallet or client caused */
  readonly #waitingOf = new Map<string, number>()
  /** how many of the waiting lines a response waits for */
  #awaited = 0
  /** the pause in which lines are gathered is under way */
  #isGathering = false
  /** the pause is over, so the gathered lines are appended */
  #isDue = false
  #running: Promise<void> | null = null
  #isStopping = false
  #isBehind = false
  /** when the last batch came to wait outside of the chain, in epoch seconds */
  #waitedAt = Number.NEGATIVE_INFINITY
  #reportedAt = Number.NEGATIVE_INFINITY
  #isFull = false
  #isGivenUp = false

  constructor({ store, now, note, pause, waitingAtMost = WAITING_AT_MOST, ...options }: TrailOptions) {
    this.#writer = new ChainWriter(store, now, options)
    this.#now = now
    this.#note = note
    this.#pause = (milliseconds) => pause(milliseconds, this.#ended.signal)
    this.#waitingAtMost = waitingAtMost
  }

  record(entry: AuditEntry): Promise<WriteOutcome> {
    return new Promise((settle) => {
      if (this.#add(entry, settle)) this.#start()
      else settle('lost')
    })
  }

  recordSoon(entry: AuditEntry): void {
    if (this.#add(entry, null)) this.#gather()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopping.resolve()
    this.#start()
    await Promise.race([this.#running, this.#pause(STOP_WITHIN)])
    this.#isGivenUp = true
    this.#ended.abort()
    if (this.#waiting.length > 0) this.#note({ kind: 'stopped', lines: this.#waiting.length })
    for (const { settle } of this.#remove(this.#waiting.length)) settle?.('lost')
  }

  /** False if the queue is full. */
  #add(entry: AuditEntry, settle: WaitingEntry['settle']): boolean {
    const causer = causerOf(entry)
    const ofCauser = causer === undefined ? 0 : (this.#waitingOf.get(causer) ?? 0)
    const isFull = this.#waiting.length >= this.#waitingAtMost || ofCauser >= this.#waitingAtMost * SHARE
    if (this.#isStopping || isFull) {
      // One alarm for each time that the queue is full: every line is in the log.
      if (!this.#isFull) this.#note({ kind: 'lost', lines: 1 })
      this.#isFull = true
      return false
    }
    this.#waiting.push({ entry, settle })
    if (causer !== undefined) this.#waitingOf.set(causer, ofCauser + 1)
    if (settle) this.#awaited++
    return true
  }

  #remove(count: number): WaitingEntry[] {
    const removed = this.#waiting.splice(0, count)
    for (const { entry, settle } of removed) {
      if (settle) this.#awaited--
      const causer = causerOf(entry)
      if (causer === undefined) continue
      const left = (this.#waitingOf.get(causer) ?? 0) - 1
      if (left > 0) this.#waitingOf.set(causer, left)
      else this.#waitingOf.delete(causer)
    }
    return removed
  }

  /** Appends the waiting lines after a pause, or at once if there are many. */
  #gather(): void {
    if (this.#awaited > 0 || this.#waiting.length >= BATCH) return this.#start()
    if (this.#isGathering) return
    this.#isGathering = true
    void this.#pause(GATHERED_FOR).then(() => {
      this.#isGathering = false
      this.#isDue = true
      this.#start()
    })
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      // A line may have been added after the last check of the queue.
      if (this.#waiting.length > 0 && !this.#isStopping) this.#gather()
    })
  }

  async #run(): Promise<void> {
    while (this.#mustAppend()) {
      this.#isDue = false
      const size = Math.min(this.#waiting.length, BATCH)
      if (!(await this.#appendWithRetries(size))) return
      if (this.#isBehind) this.#note({ kind: 'caught_up', lines: size })
      this.#isBehind = false
      this.#isFull = false
    }
  }

  /** Whether the oldest lines are appended now. Otherwise they wait for more. */
  #mustAppend(): boolean {
    if (this.#waiting.length === 0) return false
    return this.#awaited > 0 || this.#waiting.length >= BATCH || this.#isDue || this.#isStopping
  }

  /** False if `stop` has given up. */
  async #appendWithRetries(size: number): Promise<boolean> {
    for (let wait = PAUSE.first; ; wait = Math.min(wait * 2, PAUSE.most)) {
      try {
        await this.#append(size)
        return true
      } catch {
        if (!this.#isBehind) this.#note({ kind: 'behind', lines: this.#waiting.length })
        this.#isBehind = true
        if (this.#isGivenUp) return false
        await (this.#isStopping ? this.#pause(PAUSE.first) : Promise.race([this.#pause(wait), this.#stopping.promise]))
      }
    }
  }

  /** One alarm in ten minutes, if appends succeed and fail in turn. */
  #noteWaiting(lines: number): void {
    const now = this.#now()
    if (Math.abs(now - this.#waitedAt) >= QUIET_FOR || Math.abs(now - this.#reportedAt) >= REPEATED_AFTER) {
      this.#note({ kind: 'waiting', lines })
      this.#reportedAt = now
    }
    this.#waitedAt = now
  }

  /** Appends the oldest lines. They stay in the queue until they are committed, so a repeated attempt has the same lines. */
  async #append(size: number): Promise<void> {
    const outcome = await this.#writer.append(this.#waiting.slice(0, size).map(({ entry }) => entry))
    if (outcome === 'waiting') this.#noteWaiting(size)
    for (const { settle } of this.#remove(size)) settle?.('written')
  }
}

/** Who caused a line: undefined for lines of the service itself. */
function causerOf({ operator, wallet, clientId }: AuditEntry): string | undefined {
  return operator ?? wallet ?? clientId
}
