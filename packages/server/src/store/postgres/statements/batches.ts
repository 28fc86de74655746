/**
 * Combines calls of the same statement into one statement over many rows: one message, one commit, one response. A batch contains the
 * calls of one iteration of the event loop, and the calls that waited while other batches were running. If a batch contains one call,
 * the statement for one row is sent, in the same iteration.
 */

import type { Batched, NamedValues, Query } from './statement.ts'

/** After this many milliseconds, a running batch no longer counts towards `atOnce`. */
const SLOW_MS = 20
/**
 * Rows in a batch. The limit is halved after a batch that took longer than `TOO_LONG_MS`, and then grows by `step` after each batch. Calls that are
 * sent alone do not change the limit, so a limit of 1 would remain.
 */
const ROWS = { first: 8, least: 2, most: 64, step: 4 } as const
const TOO_LONG_MS = 250

/** What a batch contains in place of a row that another transaction has locked. */
export const SKIPPED = Symbol('skipped')

/** A statement that is sent in batches. `together`: the statement for many rows. */
export type Batchable = Pick<Batched, 'kind' | 'place' | 'column' | 'skipsLocked'> & {
  alone: (named: NamedValues) => Query
  together: (inputs: readonly BatchInput[]) => Query
}
/** The statement for one row of a batch. */
export type BatchInput = { statement: Batchable; named: NamedValues; values: readonly (string | null)[]; deadline: number }

export type Item<Input, Row> = {
  input: Input
  resolve: (row: Row | undefined) => void
  reject: (error: unknown) => void
}

export type BatchOptions<Input, Row> = {
  /** The number of batches that run at a time. With more of them, each batch would have fewer rows. */
  atOnce: () => number
  runAlone: (input: Input) => Promise<Row | undefined>
  /**
   * Returns the rows in the order of the inputs, and undefined for an input that has no row. `SKIPPED`: the row may be locked, and the statement for
   * one row is run.
   */
  runTogether: (inputs: Input[], first: Input) => Promise<(Row | undefined | typeof SKIPPED)[]>
  /** Whether a failed batch was rolled back. The statement for one row is then run for each input. */
  isRolledBack: (error: unknown) => boolean
}

export class Batches<Input, Row> {
  readonly #options: BatchOptions<Input, Row>
  #waiting: Item<Input, Row>[] = []
  #running = 0
  #willStart = false
  #limit: number = ROWS.first

  constructor(options: BatchOptions<Input, Row>) {
    this.#options = options
  }

  add(input: Input): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      this.#startAfterThisTurn()
    })
  }

  // The event loop reads all sockets that have data before it runs the immediates. The requests that were read in one iteration therefore
  // share one statement. A refresh takes 20 % less processor time in this process, and a code exchange 40 % (docs/evidence/performance.md).
  #startAfterThisTurn(): void {
    if (this.#willStart) return
    this.#willStart = true
    setImmediate(() => {
      this.#willStart = false
      this.#start()
    })
  }

  #start(): void {
    while (this.#waiting.length > 0 && this.#running < this.#options.atOnce())
      void this.#next(this.#waiting.splice(0, this.#limit))
  }

  async #next(items: Item<Input, Row>[]): Promise<void> {
    this.#running++
    let isSlow = false
    const slow = setTimeout(() => {
      isSlow = true
      this.#finish()
    }, SLOW_MS)
    const began = performance.now()
    const [first] = items
    if (items.length > 1 && first) await this.#runTogether(items, first.input)
    else if (first) await this.#runAlone(first)
    clearTimeout(slow)
    if (items.length > 1) this.#adapt(performance.now() - began)
    if (!isSlow) this.#finish()
  }

  #runAlone({ input, resolve, reject }: Item<Input, Row>): Promise<void> {
    return this.#options.runAlone(input).then(resolve, reject)
  }

  async #runTogether(items: Item<Input, Row>[], first: Input): Promise<void> {
    const { runTogether, isRolledBack } = this.#options
    try {
      const rows = await runTogether(
        items.map(({ input }) => input),
        first,
      )
      for (const [index, item] of items.entries()) {
        const row = rows[index]
        if (row === SKIPPED) void this.#runAlone(item)
        else item.resolve(row)
      }
    } catch (error) {
      for (const item of items) {
        if (isRolledBack(error)) void this.#runAlone(item)
        else item.reject(error)
      }
    }
  }

  #adapt(took: number): void {
    this.#limit = took > TOO_LONG_MS ? Math.max(ROWS.least, this.#limit >> 1) : Math.min(ROWS.most, this.#limit + ROWS.step)
  }

  #finish(): void {
    this.#running--
    // With one batch at a time, the next calls of this batch's callers would wait for a whole batch. They are often made in this iteration.
    if (this.#options.atOnce() === 1) this.#startAfterThisTurn()
    else this.#start()
  }
}
