/** Limits how many statements run at a time, and how long the others wait. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'

/**
 * A statement that waits longer is refused before the statement is sent. The rest of the time until the caller's deadline remains for the
 * statement itself, so that also an overloaded database acknowledges each row that it changes.
 */
const WAIT_AT_MOST_MS = 1500

type Waiting = { start: () => void; timer: NodeJS.Timeout }

/** Admits a limited number of holders at a time. The other callers wait in order. */
export class Queue {
  /** true during an outage: the queue admits one holder at a time, and other callers are refused at once */
  admitsOne = false
  readonly #limit: number
  readonly #waiting = new Set<Waiting>()
  #holders = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Whether the queue has no holder. Then no caller waits either. */
  get isEmpty(): boolean {
    return this.#holders === 0
  }

  /** Resolves when the caller is admitted; undefined if the caller is admitted at once. Rejects with `StoreUnavailable` after `WAIT_AT_MOST_MS`. */
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

  /** Each admitted caller calls this function once. */
  leave(): void {
    this.#holders--
    const [next] = this.#waiting
    if (!next) return
    this.#waiting.delete(next)
    this.#holders++
    next.start()
  }
}

/** Enters these queues one after the other, and runs a task when all of them have admitted the task. */
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
 * Runs one statement at a time for each row. If another transaction has locked the row, the row occupies one connection of this process,
 * however many requests need the row.
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
