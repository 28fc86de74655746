/**
 * Two connections to one SQLite file: a writer whose moves share the commit of their tick, and a reader.
 *
 * A commit costs one fsync whoever is in it, so all moves asked for in one turn of the event loop are committed
 * together, each undone alone where it fails. A promise settles only after that commit: durable before acknowledged.
 * Reads of one turn share one read transaction, begun after the last of them was asked for: locks are taken once.
 *
 * SQLite would wait for another process's lock by blocking the event loop. So its own waiting is off (timeout 0)
 * and a busy file is tried again from here, with jitter, until two seconds have passed.
 */
import { closeSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { StoreUnavailable } from '../../grants/ports.ts'

const BUSY_FOR_MS = 2000
const QUEUE_AT_MOST = 20_000

/** SQLite result codes that mean "not now" rather than "wrong": BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB. */
const UNAVAILABLE = new Set([5, 6, 7, 8, 10, 11, 13, 14, 15, 26])
const BUSY = new Set([5, 6])

type Move = {
  run: () => unknown
  /** whether it may change by several statements, so that it needs a savepoint to be undone alone */
  several: boolean
  settle: (result: unknown) => void
  fail: (error: unknown) => void
  since: number
}

export class Connection {
  readonly #writer: DatabaseSync
  readonly #reader: DatabaseSync
  readonly #savepoint: StatementSync
  readonly #release: StatementSync
  readonly #beginRead: StatementSync
  readonly #endRead: StatementSync
  readonly #leaveRead: StatementSync
  #queue: Move[] = []
  #reads: ((current: boolean) => void)[] = []
  #scheduled = false
  #closing = false
  #closed = false

  /** Opens the file, creating it readable by its owner only. Throws `StoreUnavailable` where that cannot be done. */
  constructor(path: string) {
    // Absolute, so that no name means something else to SQLite than to the file system (`:memory:`, `file:…?mode=ro`).
    const file = resolve(path)
    try {
      closeSync(openSync(file, 'a', 0o600))
      this.#writer = openWriter(file)
      this.#reader = new DatabaseSync(file, { timeout: 0, readOnly: true })
      this.#savepoint = this.#writer.prepare('SAVEPOINT move')
      this.#release = this.#writer.prepare('RELEASE move')
      this.#beginRead = this.#reader.prepare('BEGIN')
      this.#endRead = this.#reader.prepare('COMMIT')
      this.#leaveRead = this.#reader.prepare('ROLLBACK')
    } catch (error) {
      throw new StoreUnavailable(`cannot open ${path}`, { cause: error })
    }
  }

  /** Prepares a statement that is part of moves. */
  prepareWrite(sql: string): StatementSync {
    return this.#writer.prepare(sql)
  }

  prepareRead(sql: string): StatementSync {
    return this.#reader.prepare(sql)
  }

  /** Runs SQL of several statements: a migration's, in its move. */
  execute(sql: string): void {
    rethrow(() => this.#writer.exec(sql))
  }

  /** Runs a move in the tick's shared transaction. What it returns is told after the commit; what it throws undoes it alone. */
  write<Result>(run: () => Result): Promise<Result> {
    return this.#ask(run, true)
  }

  /** Runs a move that changes by one statement at most. Such a statement is undone by itself where it fails, without a savepoint. */
  writeByOne<Result>(run: () => Result): Promise<Result> {
    return this.#ask(run, false)
  }

  #ask<Result>(run: () => Result, several: boolean): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#closing || this.#queue.length >= QUEUE_AT_MOST) {
        reject(new StoreUnavailable(this.#closing ? 'the store is closed' : 'too many writes are waiting'))
        return
      }
      this.#queue.push({ run, several, settle: resolve as (result: unknown) => void, fail: reject, since: performance.now() })
      this.#schedule()
    })
  }

  /** Reads what is committed. */
  read<Result>(run: () => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const fail: (error: unknown) => void = reject
      if (this.#reads.length === 0) setImmediate(() => this.#readAll())
      this.#reads.push((current) => {
        try {
          if (this.#closed) throw new StoreUnavailable('the store is closed')
          if (!current) throw new StoreUnavailable('the SQLite file cannot be read anew')
          resolve(run())
        } catch (error) {
          fail(asUnavailable(error))
        }
      })
    })
  }

  #readAll(): void {
    const reads = this.#reads
    this.#reads = []
    if (reads.length === 0) return
    // A file that fails is told by the reads themselves: each of them can do without the others.
    const shared = reads.length > 1 && !this.#closed && succeeds(this.#beginRead)
    const current = shared || this.#closed || this.#isBetweenReads()
    for (const read of reads) read(current)
    // An I/O error may have ended it already.
    if (shared && this.#reader.isTransaction && !succeeds(this.#endRead)) this.#isBetweenReads()
  }

  /** Whether no earlier read transaction is left, which would show the file as it was then; leaves one where there is. */
  #isBetweenReads(): boolean {
    return !this.#reader.isTransaction || succeeds(this.#leaveRead)
  }

  /** Takes no more writes, answers those asked for before, then closes the file. */
  async close(): Promise<void> {
    this.#closing = true
    while (this.#queue.length + this.#reads.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    if (this.#closed) return
    this.#closed = true
    this.#reader.close()
    this.#writer.close()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    // Asked for in the same turn, they are answered from what was committed before it.
    this.#readAll()
    try {
      this.#writer.exec('BEGIN IMMEDIATE')
    } catch (error) {
      this.#later(error)
      return
    }
    const moves = this.#queue
    this.#queue = []
    const settlements: (() => void)[] = []
    try {
      for (const move of moves) settlements.push(this.#attempt(move))
      this.#writer.exec('COMMIT')
    } catch (error) {
      // Nothing of this tick is durable: every move in it failed, the refused ones included.
      this.#rollBack()
      for (const move of moves) move.fail(asUnavailable(error))
      return
    }
    for (const settle of settlements) settle()
  }

  /** One move in its savepoint. Throws only where the whole transaction is lost. */
  #attempt(move: Move): () => void {
    if (move.several) this.#savepoint.run()
    try {
      const result = move.run()
      if (move.several) this.#release.run()
      return () => move.settle(result)
    } catch (error) {
      // A full disk or an I/O error has rolled everything back already.
      if (!this.#writer.isTransaction) throw error
      if (move.several) this.#writer.exec('ROLLBACK TO move; RELEASE move')
      return () => move.fail(asUnavailable(error))
    }
  }

  /** Leaves no transaction open, so that the next tick can begin its own. */
  #rollBack(): void {
    try {
      if (this.#writer.isTransaction) this.#writer.exec('ROLLBACK')
    } catch {
      // A disk that fails can fail here too. The transaction is over all the same, and its moves are told.
    }
  }

  /** The file is locked by another process: those that waited too long are told, the others try again soon. */
  #later(error: unknown): void {
    const patience = BUSY.has(resultCode(error)) ? BUSY_FOR_MS : 0
    const since = performance.now() - patience
    const over = this.#queue.filter((move) => move.since <= since)
    this.#queue = this.#queue.filter((move) => move.since > since)
    for (const move of over) move.fail(asUnavailable(error))
    if (this.#queue.length === 0) return
    this.#scheduled = true
    setTimeout(() => this.#flush(), 1 + Math.random() * 15)
  }
}

/**
 * Another process may be opening or closing the file at this moment; SQLite calls it locked then, whatever its timeout.
 * Waiting here stops the process, which is no harm: nothing is served yet.
 */
function openWriter(file: string): DatabaseSync {
  const since = performance.now()
  for (;;) {
    const writer = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false })
    try {
      writer.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 4000',
      )
      return writer
    } catch (error) {
      writer.close()
      if (!BUSY.has(resultCode(error)) || performance.now() - since >= BUSY_FOR_MS) throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * 15)
  }
}

function succeeds(statement: StatementSync): boolean {
  try {
    statement.run()
    return true
  } catch {
    return false
  }
}

/** The primary result code of a SQLite error, or -1 for anything else. */
function resultCode(error: unknown): number {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : -1
}

function asUnavailable(error: unknown): unknown {
  return UNAVAILABLE.has(resultCode(error)) ? new StoreUnavailable('the SQLite file cannot be used', { cause: error }) : error
}

function rethrow<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw asUnavailable(error)
  }
}
