import { StoreUnavailable } from '../../../domain/model/store-errors.ts'

export type BreakerOptions = {
  /** Opens at a failure after this many milliseconds without a success. */
  opensAfterMs?: number
  /** Opens after this many failures without a success. */
  opensAfter?: number
}

/**
 * Limits the statements for a server, or for a machine of a cluster, that does not work. While the breaker is open, one task at a time runs, as a
 * trial, and the others are refused. A success closes the breaker.
 */
export class CircuitBreaker {
  isClosed = true
  readonly #options: BreakerOptions
  #failures = 0
  #failingSince = 0
  #running = 0

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  /** `isFailure`: whether an error of the task is a failure of the server. Other errors neither open nor close the breaker. */
  async run<Result>(task: () => Promise<Result>, isFailure: (error: unknown) => boolean): Promise<Result> {
    if (!this.isClosed && this.#running > 0) throw new StoreUnavailable('PostgreSQL does not work at the moment')
    this.#running++
    try {
      const result = await task()
      this.isClosed = true
      this.#failures = 0
      return result
    } catch (error) {
      if (isFailure(error)) this.#countFailure()
      throw error
    } finally {
      this.#running--
    }
  }

  #countFailure(): void {
    const now = performance.now()
    if (this.#failures++ === 0) this.#failingSince = now
    const { opensAfter = 1, opensAfterMs = 0 } = this.#options
    if (this.#failures >= opensAfter && now - this.#failingSince >= opensAfterMs) this.isClosed = false
  }
}
