import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { WAIT_AT_MOST_MS } from './server.ts'

/**
 * Runs one statement at a time for each row, in the order of the calls. If another transaction has locked the row, the row occupies one
 * connection of this process, however many requests need the row.
 */
export class RowQueues {
  /** resolves when the last statement of the row has ended */
  readonly #last = new Map<string, Promise<unknown>>()

  async run<Result>(row: string, task: () => Promise<Result>): Promise<Result> {
    const earlier = this.#last.get(row)
    const calledAt = performance.now()
    const result = earlier ? earlier.then(() => startInTime(task, calledAt)) : task()
    const ended = result.catch(() => undefined)
    this.#last.set(row, ended)
    try {
      return await result
    } finally {
      if (this.#last.get(row) === ended) this.#last.delete(row)
    }
  }
}

function startInTime<Result>(task: () => Promise<Result>, calledAt: number): Promise<Result> {
  if (performance.now() - calledAt > WAIT_AT_MOST_MS) throw new StoreUnavailable('PostgreSQL is too slow: the row is in use')
  return task()
}
