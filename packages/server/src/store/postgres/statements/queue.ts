import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { WAIT_AT_MOST_MS } from '../connection/server.ts'

type QueuedStart = { start: () => void; timer: NodeJS.Timeout }

/** Admits a limited number of holders at a time. The other callers wait in order, and are refused after `WAIT_AT_MOST_MS`. */
export class Queue {
  readonly #limit: number
  readonly #waiting = new Set<QueuedStart>()
  #holders = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isIdle(): boolean {
    return this.#holders === 0
  }

  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    await this.enter()
    try {
      return await task()
    } finally {
      this.leave()
    }
  }

  /** Each admitted caller calls `leave` once. */
  async enter(): Promise<void> {
    if (this.#holders < this.#limit) this.#holders++
    else await this.#wait()
  }

  leave(): void {
    this.#holders--
    const [next] = this.#waiting
    if (!next) return
    this.#waiting.delete(next)
    this.#holders++
    next.start()
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: QueuedStart = {
        start: () => {
          clearTimeout(waiting.timer)
          resolve()
        },
        timer: setTimeout(() => {
          this.#waiting.delete(waiting)
          reject(new StoreUnavailable('PostgreSQL is too slow: too many statements wait'))
        }, WAIT_AT_MOST_MS),
      }
      this.#waiting.add(waiting)
    })
  }
}
