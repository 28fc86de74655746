/** Runs statements on PostgreSQL. Throws `StoreUnavailable` if a statement has no result before its deadline. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import type { PostgresAddress, Purpose } from '../address.ts'
import type { Cluster, Route } from '../cluster/cluster.ts'
import { Queue } from '../statements/queue.ts'
import type { Statement } from '../statements/statement.ts'
import { failureOf, toStoreError } from './errors.ts'
import { loadCluster } from './load-cluster.ts'
import type { Server, Session } from './server.ts'
import { type Attempt, PATIENCE_MS, ServerGroup } from './server-group.ts'

const STATEMENTS_AT_MOST = 10_000

export class Runner {
  /** The cluster of which the database consists; null on plain PostgreSQL, and before the first search for a server. */
  cluster: Cluster | null = null
  readonly #address: PostgresAddress
  readonly #group: ServerGroup
  /** the rows that are being changed */
  readonly #rows = new Map<string, Queue>()
  #statements = 0
  #closing: Promise<void> | null = null
  #whenIdle: (() => void) | null = null

  /** Sends nothing. The first statement searches for a server. */
  constructor(address: PostgresAddress, purpose: Purpose) {
    this.#address = address
    this.#group = new ServerGroup(address, { purpose, accept: (server) => this.#accept(server) })
  }

  get server(): Server | null {
    return this.#group.server
  }

  async findServer(): Promise<Server> {
    return this.#group.find().catch((error: unknown) => {
      throw toStoreError(error)
    })
  }

  /** Runs statements over one connection, without the deadline and the retries of `run`. */
  async use<Result>(task: (session: Session) => Promise<Result>): Promise<Result> {
    return (await this.findServer()).use(task)
  }

  /** `deadline` replaces the usual deadline, `PATIENCE_MS` after the call. `via` replaces the route of the statement. */
  run<Row>(statement: Statement, deadline?: number, via?: ServerGroup): Promise<Row[]> {
    return this.admit(statement, (usual) => this.execute<Row>(statement, deadline ?? usual, via))
  }

  /** Counts the statement, and runs the task when no other change of the same row is running in this process. */
  async admit<Result>(
    { kind, key }: Pick<Statement, 'kind' | 'key'>,
    task: (deadline: number) => Promise<Result>,
  ): Promise<Result> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
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

  /** Runs an admitted statement, and retries the statement until the deadline if a retry is safe. */
  async execute<Row>(statement: Statement, deadline: number, via?: ServerGroup): Promise<Row[]> {
    let earlier: unknown
    for (let attempt = 1; ; attempt++) {
      const { group, query, within, excuses } = await this.#routeOf({ ...statement, attempt, deadline }, via)
      const each = { ...statement, query, excuses, attempt, deadline }
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

  #routeOf(attempt: Attempt, via: ServerGroup | undefined): Route | Promise<Route> {
    if (this.cluster && !via) return this.cluster.routeOf(attempt)
    return { group: via ?? this.#group, query: attempt.query }
  }

  /** Opens the cluster if the extension was created after the node found the server. */
  async noteExtension(): Promise<void> {
    const { server } = this.#group
    if (!server?.state) return
    server.state.hasShards = true
    await this.#accept(server)
  }

  /** Opens the cluster if a search finds one. */
  async #accept(server: Server): Promise<void> {
    if (!server.state?.hasShards) return
    const { checkMachines, openCluster } = await loadCluster()
    await checkMachines(server)
    const run = <Row>(statement: Statement, via?: ServerGroup) => this.run<Row>(statement, undefined, via)
    this.cluster ??= openCluster({ address: this.#address, group: this.#group, run })
  }

  /** Refuses new statements, waits for the statements that are waiting or running, and closes the connections. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    if (this.#statements > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await Promise.all([this.#group.close(), this.cluster?.close()])
  }
}
