/** Limits the statements for a server, or for a machine of a cluster, that does not work. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'

export type BreakerOptions = {
  /** Opens at a failure after this many milliseconds without a success. */
  opensAfterMs?: number
  /** Opens after this many failures without a success. */
  opensAfter?: number
  /** After each failure, an open breaker waits for twice as long as before, within these milliseconds, before it is half-open. */
  pauseMs?: { first: number; most: number }
}

export class CircuitBreaker {
  readonly #options: BreakerOptions
  #isClosed = true
  #failures = 0
  #failingSince = 0
  #running = 0
  #pause = 0
  #pausesUntil = 0

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  /**
   * - `closed`: every task runs
   * - `half-open`: one task runs, as a trial. A success closes the breaker
   * - `open`: the trial is running, or the pause after the last failure is not over. Other tasks are refused
   */
  get state(): 'closed' | 'half-open' | 'open' {
    if (this.#isClosed) return 'closed'
    return this.#running > 0 || this.pauseLeft > 0 ? 'open' : 'half-open'
  }

  /** Milliseconds until the next trial may run. */
  get pauseLeft(): number {
    return Math.max(0, this.#pausesUntil - performance.now())
  }

  /** Counts the task as running. The caller reports its outcome with `succeeded` or `failed`, if the outcome says anything about the server. */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.state === 'open') throw new StoreUnavailable('PostgreSQL does not work at the moment')
    this.#running++
    try {
      return await task()
    } finally {
      this.#running--
    }
  }

  succeeded(): void {
    this.#isClosed = true
    this.#failures = 0
    this.#pause = 0
    this.#pausesUntil = 0
  }

  failed(): void {
    const now = performance.now()
    if (this.#failures++ === 0) this.#failingSince = now
    const { opensAfter = 1, opensAfterMs = 0, pauseMs = { first: 0, most: 0 } } = this.#options
    if (this.#failures < opensAfter || now - this.#failingSince < opensAfterMs) return
    this.#isClosed = false
    this.#pause = Math.min(Math.max(this.#pause * 2, pauseMs.first), pauseMs.most)
    this.#pausesUntil = now + this.#pause * (0.5 + Math.random() / 2)
  }
}
