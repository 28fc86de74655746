/**
 * Two connections to one SQLite file: one writes, the other reads.
 *
 * A commit costs one fsync, however many writes it contains. Therefore all writes that are requested in one turn of the
 * event loop share one transaction. If a write fails, only that write is rolled back. The promise of a write settles
 * after the commit, so an acknowledged write is durable. The reads of one turn share a read transaction, so that locks
 * are taken once.
 *
 * If another process has locked the file, SQLite itself would wait by blocking the event loop. Therefore SQLite's
 * timeout is 0, and this file retries every one or two milliseconds, for up to two seconds.
 */
import { closeSync, existsSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { CHECKPOINT_WITHIN_COMMIT, Checkpoints } from './checkpoints.ts'
import { asUnavailable, isBusy } from './failures.ts'

const RETRY_FOR_MS = 2000
const QUEUE_LIMIT = 20_000

/**
 * If a process commits without a pause, the lock is free for microseconds only, and another process, which retries by a
 * timer, would miss these gaps for hundreds of milliseconds. Therefore this connection pauses for 2 ms after every 20
 * ms of commits while other processes write. A process counts as writing for one second after its last write.
 */
const PAUSE = { length: 2, every: 20, rememberOthersFor: 1000 }

type QueuedRead = { run: () => unknown; resolve: (result: unknown) => void; reject: (error: unknown) => void }

type QueuedWrite = QueuedRead & {
  /** whether the write may change the file by several statements, so that it needs a savepoint to be rolled back alone */
  several: boolean
  requestedAt: number
}

export class SqliteConnection {
  readonly #writer: DatabaseSync
  readonly #reader: DatabaseSync
  readonly #dataVersion: StatementSync
  readonly #checkpoints: Checkpoints
  #writes: QueuedWrite[] = []
  #reads: QueuedRead[] = []
  #flushScheduled = false
  #state: 'open' | 'closing' | 'closed' = 'open'
  #lastDataVersion: number | undefined
  #othersWroteAt = Number.NEGATIVE_INFINITY
  #pausedAt = Number.NEGATIVE_INFINITY

  /** Opens the file. If there is none, creates one that only its owner can read. Throws `StoreUnavailable` if that fails. */
  constructor(path: string) {
    // An absolute path, because SQLite treats names such as `:memory:` or `file:…?mode=ro` specially.
    const file = resolve(path)
    try {
      // Only if the file is missing: closing it would drop the locks of other connections of this process.
      if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
      this.#writer = openWriter(file)
      this.#reader = new DatabaseSync(file, { timeout: 0, readOnly: true })
      this.#dataVersion = this.#writer.prepare('PRAGMA data_version')
      this.#checkpoints = new Checkpoints(file, this.#writer)
    } catch (error) {
      throw new StoreUnavailable(`cannot open ${path} (${(error as Error).message})`, { cause: error })
    }
  }

  /** Prepares a statement that runs within `write` or `writeByOne`. */
  prepareWrite(sql: string): StatementSync {
    return this.#writer.prepare(sql)
  }

  /** Prepares a statement that runs within `read`. */
  prepareRead(sql: string): StatementSync {
    return this.#reader.prepare(sql)
  }

  /** Runs SQL of several statements, such as a migration's, within `write`. */
  execute(sql: string): void {
    try {
      this.#writer.exec(sql)
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  /**
   * Runs a write in the transaction of this turn. Resolves after the commit. If `run` throws, only this write is rolled
   * back.
   */
  write<Result>(run: () => Result): Promise<Result> {
    return this.#enqueue(run, { several: true })
  }

  /** Runs a write of one statement that changes the file. If that statement fails, SQLite rolls it back without a savepoint. */
  writeByOne<Result>(run: () => Result): Promise<Result> {
    return this.#enqueue(run, { several: false })
  }

  /** Reads committed data. */
  read<Result>(run: () => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#reads.length === 0) setImmediate(() => this.#runReads())
      this.#reads.push({ run, resolve: resolve as QueuedRead['resolve'], reject })
    })
  }

  /** Refuses further writes, completes the requested ones, then closes the file. */
  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closing'
    while (this.#writes.length + this.#reads.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await this.#checkpoints.close()
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#reader.close()
    this.#writer.close()
  }

  #enqueue<Result>(run: () => Result, { several }: Pick<QueuedWrite, 'several'>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#state !== 'open') {
        reject(new StoreUnavailable('the store is closed'))
      } else if (this.#writes.length >= QUEUE_LIMIT) {
        reject(new StoreUnavailable('too many writes are waiting'))
      } else {
        this.#writes.push({ run, several, resolve: resolve as QueuedWrite['resolve'], reject, requestedAt: performance.now() })
        this.#scheduleFlush()
      }
    })
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return
    this.#flushScheduled = true
    const now = performance.now()
    const othersWrite = now - this.#othersWroteAt < PAUSE.rememberOthersFor
    if (othersWrite && now - this.#pausedAt >= PAUSE.every) {
      this.#pausedAt = now
      setTimeout(() => this.#flush(), PAUSE.length)
    } else {
      setImmediate(() => this.#flush())
    }
  }

  /** Runs all waiting writes in one transaction, and settles their promises after the commit. */
  #flush(): void {
    this.#flushScheduled = false
    // Reads of the same turn see the data that was committed before it.
    this.#runReads()
    try {
      this.#writer.exec('BEGIN IMMEDIATE')
    } catch (error) {
      this.#retryLater(error)
      return
    }
    const writes = this.#writes
    this.#writes = []
    const settlements: (() => void)[] = []
    try {
      this.#noticeOtherWriters()
      for (const write of writes) settlements.push(this.#runWrite(write))
      this.#writer.exec('COMMIT')
    } catch (error) {
      // The transaction was rolled back, so every write in it fails, including writes that `run` refused.
      endTransaction(this.#writer)
      for (const write of writes) write.reject(asUnavailable(error))
      return
    }
    for (const settle of settlements) settle()
    this.#checkpoints.copyIfDue()
  }

  /** Runs one write in its savepoint. Throws only if the whole transaction was rolled back. */
  #runWrite(write: QueuedWrite): () => void {
    if (write.several) this.#writer.exec('SAVEPOINT write_alone')
    try {
      const result = write.run()
      if (write.several) this.#writer.exec('RELEASE write_alone')
      return () => write.resolve(result)
    } catch (error) {
      // A full disk or an I/O error has rolled back the whole transaction.
      if (!this.#writer.isTransaction) throw error
      if (write.several) this.#writer.exec('ROLLBACK TO write_alone; RELEASE write_alone')
      return () => write.reject(asUnavailable(error))
    }
  }

  /**
   * Another connection has locked the file, or the file cannot be used. Writes that have waited too long fail; the
   * others keep waiting.
   */
  #retryLater(error: unknown): void {
    const oldest = performance.now() - (isBusy(error) ? RETRY_FOR_MS : 0)
    const expired = this.#writes.filter(({ requestedAt }) => requestedAt <= oldest)
    this.#writes = this.#writes.filter(({ requestedAt }) => requestedAt > oldest)
    for (const write of expired) write.reject(asUnavailable(error))
    if (this.#writes.length === 0) return
    this.#flushScheduled = true
    setTimeout(() => this.#flush(), 1 + Math.random() * 2)
  }

  /** `data_version` changes when another connection has committed. */
  #noticeOtherWriters(): void {
    const { data_version: version } = this.#dataVersion.get() as { data_version: number }
    if (this.#lastDataVersion !== undefined && version !== this.#lastDataVersion) this.#othersWroteAt = performance.now()
    this.#lastDataVersion = version
  }

  #runReads(): void {
    const reads = this.#reads
    this.#reads = []
    if (reads.length === 0) return
    const failure = this.#beginReads()
    for (const { run, resolve, reject } of reads) {
      try {
        if (failure) throw failure
        resolve(run())
      } catch (error) {
        reject(asUnavailable(error))
      }
    }
    if (!failure) endTransaction(this.#reader)
  }

  /** Begins a read transaction that sees all earlier commits. Returns the reason if that is not possible. */
  #beginReads(): StoreUnavailable | undefined {
    if (this.#state === 'closed') return new StoreUnavailable('the store is closed')
    try {
      this.#reader.exec('BEGIN')
      return undefined
    } catch (error) {
      // An I/O error prevented the end of the last transaction. The next turn can begin a new one.
      endTransaction(this.#reader)
      return new StoreUnavailable('the SQLite file cannot be read', { cause: error })
    }
  }
}

/**
 * The page cache of the writer. The operating system keeps the pages of the file too. With 2, 4 and 8 MiB, a refresh and a code exchange of random
 * grants among 200,000 took the same processor time, and a process held 3 MiB less with 4 MiB than with 8 (docs/evidence/performance.md).
 */
const CACHE_KIB = 4096

/**
 * While another process opens or closes the file, SQLite reports it as locked, whatever the timeout. Waiting here
 * blocks the event loop, which is harmless: the service is not ready yet.
 */
function openWriter(file: string): DatabaseSync {
  const since = performance.now()
  for (;;) {
    const writer = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false })
    try {
      writer.exec(
        `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB};
         PRAGMA wal_autocheckpoint = ${CHECKPOINT_WITHIN_COMMIT}`,
      )
      return writer
    } catch (error) {
      writer.close()
      if (!isBusy(error) || performance.now() - since >= RETRY_FOR_MS) throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * 15)
  }
}

/** Rolls back the open transaction, if any, so that the next turn can begin one. */
function endTransaction(database: DatabaseSync): void {
  try {
    if (database.isTransaction) database.exec('ROLLBACK')
  } catch {
    // A disk that fails can fail here too.
  }
}
