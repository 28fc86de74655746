/**
 * Requests for the same statement that come while one is under way form one statement over many rows: one message, one
 * commit, one answer. A lone request is sent at once, as a statement of its own.
 */

/** How many batches of one statement run at a time: enough to keep the database busy, few enough for the next batch to fill. */
const AT_ONCE = 2
/** After so many milliseconds, a running batch no longer counts towards that limit. */
const SLOW_MS = 20
/** Rows in a batch. The limit halves after a batch that took too long for its callers, and grows again step by step. */
const ROWS = { first: 8, most: 64, step: 4 } as const
const TOO_LONG_MS = 250

export type Item<Input, Row> = {
  input: Input
  resolve: (row: Row | undefined) => void
  reject: (error: unknown) => void
}

export type BatchOptions<Input, Row> = {
  runAlone: (input: Input) => Promise<Row | undefined>
  /** Returns the rows in the order of the inputs; undefined for an input without one. */
  runTogether: (inputs: Input[]) => Promise<(Row | undefined)[]>
  /** Whether an input without a row gets a statement of its own: its row may have been skipped because it was locked. */
  retriesMissing: boolean
  /** Whether a failed batch was rolled back. Each input is then sent as a statement of its own. */
  isRolledBack: (error: unknown) => boolean
}

export class Batches<Input, Row> {
  readonly #options: BatchOptions<Input, Row>
  #waiting: Item<Input, Row>[] = []
  #running = 0
  #limit: number = ROWS.first

  constructor(options: BatchOptions<Input, Row>) {
    this.#options = options
  }

  add(input: Input): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      this.#start()
    })
  }

  #start(): void {
    while (this.#waiting.length > 0 && this.#running < AT_ONCE) void this.#next(this.#waiting.splice(0, this.#limit))
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
    if (items.length === 1 && first) await this.#runAlone(first)
    else await this.#runTogether(items)
    clearTimeout(slow)
    if (items.length > 1) this.#adapt(performance.now() - began)
    if (!isSlow) this.#finish()
  }

  #runAlone({ input, resolve, reject }: Item<Input, Row>): Promise<void> {
    return this.#options.runAlone(input).then(resolve, reject)
  }

  async #runTogether(items: Item<Input, Row>[]): Promise<void> {
    const { runTogether, retriesMissing, isRolledBack } = this.#options
    try {
      const rows = await runTogether(items.map(({ input }) => input))
      for (const [index, item] of items.entries()) {
        if (rows[index] === undefined && retriesMissing) void this.#runAlone(item)
        else item.resolve(rows[index])
      }
    } catch (error) {
      for (const item of items) {
        if (isRolledBack(error)) void this.#runAlone(item)
        else item.reject(error)
      }
    }
  }

  #adapt(took: number): void {
    this.#limit = took > TOO_LONG_MS ? Math.max(1, this.#limit >> 1) : Math.min(ROWS.most, this.#limit + ROWS.step)
  }

  #finish(): void {
    this.#running--
    this.#start()
  }
}
