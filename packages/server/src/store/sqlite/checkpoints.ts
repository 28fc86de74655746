/**
 * Checkpoints: they copy the write-ahead log into the database file, so that the log can start again at its beginning.
 *
 * Without this file, SQLite runs a checkpoint within a commit. After refreshes of random grants, that commit copies and
 * syncs thousands of pages, and blocks the event loop for 100 to 500 ms. Therefore a thread copies the log in advance, in
 * steps of 250 changed rows, by PASSIVE checkpoints, which block neither readers nor writers.
 *
 * The log can only start again if it is copied to its end, and a PASSIVE checkpoint does not reach the end while writes
 * continue. Therefore, if the log has 2,000 pages, the writer runs a FULL checkpoint after a step of the thread. A FULL
 * checkpoint takes the write lock, so other processes cannot write meanwhile, copies the last few pages, and takes about
 * as long as a commit.
 *
 * The thread only changes when pages are copied. SQLite decides which pages are safe to copy, and what to sync before. If
 * the thread fails or cannot keep up, SQLite's own checkpoint within a commit copies the rest, at 4,000 pages.
 *
 * A PASSIVE checkpoint never waits, and a FULL checkpoint does not wait with a timeout of 0. A replication program such as
 * Litestream holds the log by a read transaction, and neither kind discards what such a transaction holds.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads'
import { isUnavailable } from './failures.ts'

/** Sizes of the log in pages: when the writer runs a FULL checkpoint, and when SQLite runs one within a commit. */
const FINISH_AT = 2000
export const CHECKPOINT_WITHIN_COMMIT = 4000

/**
 * In changed rows, which are about as many pages. A commit that meets the sync of a step waits for about 10 ms, and
 * longer after larger steps. Smaller steps copy pages that change often more often.
 */
const STEP = 250

/** The thread repeats its checkpoint until one of them copies no more than `FEW_PAGES`. */
const FEW_PAGES = 16
const MOST_PASSES = 10

/** Each step makes a little garbage. Without this limit, the thread keeps up to 16 MiB of it (docs/evidence/performance.md). */
const LIMITS = { maxYoungGenerationSizeMb: 1 } as const

const PASSIVE = 'PRAGMA wal_checkpoint(PASSIVE)'

export class Checkpoints {
  readonly #file: string
  readonly #changedRows: StatementSync
  readonly #fullCheckpoint: StatementSync
  #changedAtLastStep = 0
  #state: 'waiting' | 'copying' | 'ended' = 'waiting'
  #thread: { worker: Worker; ended: Promise<void> } | undefined

  constructor(file: string, writer: DatabaseSync) {
    this.#file = file
    this.#changedRows = writer.prepare('SELECT total_changes() AS count')
    this.#fullCheckpoint = writer.prepare('PRAGMA wal_checkpoint(FULL)')
    // A process that was killed between the write and the sync of a commit left a commit that SQLite reads again, and does not sync. A
    // checkpoint syncs the log before it copies pages. Otherwise an ending that is found there would be acknowledged, and a power failure
    // would revive the grant.
    runCheckpoint(writer.prepare(PASSIVE))
  }

  /** Starts a step of the thread if enough was written since the last step. Called after each commit. */
  copyIfDue(): void {
    const { count } = this.#changedRows.get() as { count: number }
    if (this.#state !== 'waiting' || count - this.#changedAtLastStep < STEP) return
    this.#changedAtLastStep = count
    this.#state = 'copying'
    try {
      // Started on demand: a command that writes a few rows needs no thread.
      this.#thread ??= this.#startThread()
      this.#thread.worker.postMessage('copy')
    } catch (error) {
      this.#giveUp(error)
    }
  }

  /** Ends the thread. Its connection must be closed before the writer's, which removes the log. */
  async close(): Promise<void> {
    this.#state = 'ended'
    if (!this.#thread) return
    this.#thread.worker.ref()
    this.#thread.worker.postMessage('close')
    await this.#thread.ended
  }

  #startThread(): { worker: Worker; ended: Promise<void> } {
    const worker = new Worker(import.meta.filename, { workerData: { copiesLogOf: this.#file }, resourceLimits: LIMITS })
    worker.unref()
    worker.on('error', (error) => this.#giveUp(error))
    worker.on('message', (pagesInLog: number) => this.#finishStep(pagesInLog))
    return { worker, ended: new Promise((resolve) => worker.on('exit', () => resolve())) }
  }

  #finishStep(pagesInLog: number): void {
    if (this.#state !== 'copying') return
    this.#state = 'waiting'
    if (pagesInLog >= FINISH_AT) runCheckpoint(this.#fullCheckpoint)
    // The writes during this step may be enough for another step.
    this.copyIfDue()
  }

  #giveUp(error: unknown): void {
    this.#state = 'ended'
    process.emitWarning(`the checkpoint thread failed, so checkpoints run within commits: ${String(error)}`)
  }
}

/** The thread, with its own connection. The thread answers each `copy` with the number of pages in the log. */
function runThread(file: string, port: MessagePort): void {
  const database = new DatabaseSync(file, { timeout: 0 })
  database.exec('PRAGMA synchronous = FULL')
  const checkpoint = database.prepare(PASSIVE)
  port.on('message', (request: 'copy' | 'close') => {
    if (request === 'copy') {
      port.postMessage(copyInPasses(checkpoint))
    } else {
      database.close()
      port.close()
    }
  })
}

/** Each pass copies the pages that were in the log when the pass began, so each pass has less to copy. */
function copyInPasses(checkpoint: StatementSync): number {
  for (let [pass, before] = [1, 0]; ; pass++) {
    const { log, checkpointed } = runCheckpoint(checkpoint)
    if (checkpointed - before <= FEW_PAGES || pass === MOST_PASSES) return log
    before = checkpointed
  }
}

/** The number of pages in the log, and how many of them are copied; -1 if another checkpoint is running. */
function runCheckpoint(checkpoint: StatementSync): { log: number; checkpointed: number } {
  try {
    return checkpoint.get() as { log: number; checkpointed: number }
  } catch (error) {
    // Committed writes stay in the log. If the disk fails, the next write reports it.
    if (isUnavailable(error)) return { log: -1, checkpointed: -1 }
    throw error
  }
}

const { copiesLogOf } = (workerData ?? {}) as { copiesLogOf?: string }
if (copiesLogOf !== undefined && parentPort) runThread(copiesLogOf, parentPort)
