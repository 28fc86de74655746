/** Limits how many statements run at a time, and how long the others wait. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'

/**
 * A statement that waits longer is refused before it is sent. It leaves the rest of the caller's patience to the statement
 * itself, so that a row that changes is a row that is acknowledged, even if the database is overloaded.
 */
const WAIT_AT_MOST_MS = 1500

type Waiting = { start: () => void; timer: NodeJS.Timeout }

/** Lets a limited number of holders in at a time; the others wait in order. */
export class Queue {
  /** During an outage: one holder at a time. Other callers are refused at once. */
  admitsOne = false
  readonly #limit: number
  readonly #waiting = new Set<Waiting>()
  #holders = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Whether there are neither holders nor waiting callers. */
  get isEmpty(): boolean {
    return this.#holders === 0
  }

  /** Resolves when the caller may go on; undefined if it may at once. Rejects with `StoreUnavailable` if that takes too long. */
  enter(): Promise<void> | undefined {
    if (this.admitsOne && this.#holders > 0) throw new StoreUnavailable('PostgreSQL does not work at the moment')
    if (this.#holders < this.#limit) {
      this.#holders++
      return undefined
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        start: () => {
          clearTimeout(waiting.timer)
          resolve()
        },
        timer: setTimeout(() => {
          this.#waiting.delete(waiting)
          reject(new StoreUnavailable('PostgreSQL is too slow: no connection became free in time'))
        }, WAIT_AT_MOST_MS),
      }
      this.#waiting.add(waiting)
    })
  }

  /** To be called once by each caller that was let in. */
  leave(): void {
    this.#holders--
    const [next] = this.#waiting
    if (!next) return
    this.#waiting.delete(next)
    this.#holders++
    next.start()
  }
}

/** Runs a task when each of these queues has let it in, one after the other. */
export async function passThrough<Result>([first, ...others]: readonly Queue[], task: () => Promise<Result>): Promise<Result> {
  if (!first) return task()
  const waiting = first.enter()
  if (waiting) await waiting
  try {
    return await (others.length > 0 ? passThrough(others, task) : task())
  } finally {
    first.leave()
  }
}

/**
 * One statement at a time for each row: a row that another transaction has locked occupies one connection of this
 * node, however many requests need the row.
 */
export class RowQueues {
  readonly #queues = new Map<string, Queue>()

  async run<Result>(row: string, task: () => Promise<Result>): Promise<Result> {
    let queue = this.#queues.get(row)
    if (!queue) this.#queues.set(row, (queue = new Queue(1)))
    try {
      return await passThrough([queue], task)
    } finally {
      if (queue.isEmpty) this.#queues.delete(row)
    }
  }
}
