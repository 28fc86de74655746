/** Lets all callers that need the same task share its runs. */

export class SharedRuns {
  readonly #every: number
  readonly #current = new Map<string, Promise<unknown>>()
  readonly #next = new Map<string, Promise<void>>()

  /** A task runs at most once in `every` milliseconds, however many callers need it. */
  constructor(every: number) {
    this.#every = every
  }

  /**
   * Resolves after a run of the task `key` that began after the call. The calls of one turn of the event loop share a run, and the calls
   * that are made until the next run share that one. If a run fails, the calls that wait for the next one fail with it.
   */
  run(key: string, task: () => Promise<unknown>): Promise<void> {
    const next = this.#next.get(key) ?? this.#runNext(key, task)
    this.#next.set(key, next)
    return next
  }

  async #runNext(key: string, task: () => Promise<unknown>): Promise<void> {
    try {
      await (this.#current.get(key) ?? new Promise((resolve) => setImmediate(resolve)))
    } finally {
      this.#next.delete(key)
    }
    const run = task()
    const current = Promise.all([run, new Promise((resolve) => setTimeout(resolve, this.#every).unref())])
    this.#current.set(key, current)
    // The callers of this run get its failure.
    current.catch(() => undefined).finally(() => this.#current.delete(key))
    await run
  }
}
