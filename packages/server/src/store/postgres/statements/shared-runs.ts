/** Runs a task once for all callers that need the task at about the same time. */

export class SharedRuns {
  readonly #every: number
  readonly #current = new Map<string, Promise<unknown>>()
  readonly #next = new Map<string, Promise<void>>()

  /** A task runs at most once in `every` milliseconds, however many callers need it. */
  constructor(every: number) {
    this.#every = every
  }

  /**
   * Resolves after a run of the task `key` that began after the call. The calls of one iteration of the event loop share a run. The calls
   * that are made while a run is in progress share the next run. If a run fails, the calls that wait for the next run fail as well.
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
    // The callers of this run receive its failure through `run`.
    current.catch(() => undefined).finally(() => this.#current.delete(key))
    await run
  }
}
