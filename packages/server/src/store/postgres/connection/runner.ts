/** Runs statements on PostgreSQL. Throws `StoreUnavailable` if a statement has no result before its deadline. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import type { Route } from '../placement.ts'
import { Queue } from '../statements/queue.ts'
import type { Statement } from '../statements/statement.ts'
import { failureOf, toStoreError } from './errors.ts'
import { PATIENCE_MS, type ServerGroup, type StatementAttempt } from './server-group.ts'

const STATEMENTS_AT_MOST = 10_000

export class Runner {
  readonly #routeOf: (attempt: StatementAttempt) => Route | Promise<Route>
  /** the rows that are being changed */
  readonly #rows = new Map<string, Queue>()
  #statements = 0
  #isClosing = false
  #whenIdle: (() => void) | null = null

  constructor(routeOf: (attempt: StatementAttempt) => Route | Promise<Route>) {
    this.#routeOf = routeOf
  }

  /** Counts the statement, and runs the task when no other change of the same row is running in this process. */
  async admit<Result>(
    { kind, key }: Pick<Statement, 'kind' | 'key'>,
    task: (deadline: number) => Promise<Result>,
  ): Promise<Result> {
    if (this.#isClosing) throw new StoreUnavailable('the store is closed')
    if (this.#statements >= STATEMENTS_AT_MOST) throw new StoreUnavailable('too many statements are waiting')
    this.#statements++
    try {
      const deadline = performance.now() + PATIENCE_MS
      return kind === 'read' || key === undefined ? await task(deadline) : await this.#runForRow(key, () => task(deadline))
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#statements--
      if (this.#statements === 0) this.#whenIdle?.()
    }
  }

  /**
   * Runs one change of a row at a time. If another transaction has locked the row, the row occupies one connection of this process, however
   * many requests need the row.
   */
  async #runForRow<Result>(row: string, task: () => Promise<Result>): Promise<Result> {
    const queue = this.#rows.get(row) ?? new Queue(1)
    this.#rows.set(row, queue)
    try {
      return await queue.run(task)
    } finally {
      if (queue.isIdle) this.#rows.delete(row)
    }
  }

  /** Runs an admitted statement, and retries the statement until the deadline if a retry is safe. `via` replaces the route of the statement. */
  async execute<Row>(statement: Statement, deadline: number, via?: ServerGroup): Promise<Row[]> {
    let earlier: unknown
    for (let attempt = 1; ; attempt++) {
      const { query } = statement
      const { group, within, excuses, ...routed } = via
        ? { group: via, query }
        : await this.#routeOf({ ...statement, attempt, deadline })
      const each = { ...statement, query: routed.query, excuses, attempt, deadline }
      try {
        return await (within ? within(() => group.run<Row>(each)) : group.run<Row>(each))
      } catch (error) {
        const failure = failureOf(error)
        // The earlier error names the cause. The last one is only the timeout.
        if (failure === 'exhausted' && earlier instanceof Error) throw earlier
        earlier = error
        const pause = group.pauseBeforeRetry(each, failure)
        if (pause === null) throw error
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }
  }

  /** Refuses new statements, and waits for the statements that are waiting or running. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#statements > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }
}
