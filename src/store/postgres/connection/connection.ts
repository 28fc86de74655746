/**
 * Runs the store's statements on PostgreSQL. Throws `StoreUnavailable` if a statement has no result before its deadline.
 *
 * `pg` pools the connections. This file has the limits, the retries, and the batches of the few statements that most requests need
 * (docs/decisions/0014-one-statement-for-many-rows.md).
 */
import { createHash } from 'node:crypto'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { Batches, type BatchOptions } from './batches.ts'
import type { Cluster, Route } from './cluster.ts'
import { failureOf, toStoreError } from './errors.ts'
import { loadCluster } from './load-cluster.ts'
import { RowQueues } from './queue.ts'
import type { PostgresAddress, Purpose, Server, Session } from './server.ts'
import { type Attempt, PATIENCE_MS, ServerGroup } from './server-group.ts'
import { SharedRuns } from './shared-runs.ts'
import {
  type Clock,
  COMMIT,
  type ColumnType,
  compile,
  compileForMany,
  type Kind,
  type Named,
  type Place,
  type Query,
  type Statement,
} from './statement.ts'
import { written } from './values.ts'

const STATEMENTS_AT_MOST = 10_000
/** The number of rows that are changed at a time if a change concerns several rows on several machines. */
const ROWS_AT_ONCE = 8
/** The number of skipped rows that a change of several rows waits for at a time. */
const SKIPPED_AT_ONCE = 2
/** The shortest time between two commits that only confirm earlier commits, whatever the rate of repeated requests is. */
const CONFIRM_EVERY_MS = 20

/**
 * `deadline` replaces the usual deadline, `PATIENCE_MS` after the call. `instance` is the start time of a server: the statement fails on every
 * other server.
 */
export type Ask<Row> = (named?: Named, deadline?: number, instance?: string) => Promise<Row[]>

/** A statement for one row, and the same statement for many rows: `forMany` reads its parameters from the columns of `input`. */
export type ForMany = {
  kind: 'read' | 'move'
  one: string
  forMany: string
  /** the parameters, and the types of their columns */
  parameters: Readonly<Record<string, ColumnType>>
  /** the row that the statement concerns */
  place: Required<Place>
}

export type Batched = ForMany & {
  /** the column that returns the key of the row */
  column: string
  /** whether `forMany` skips rows that another transaction has locked. `one` is then run for each skipped row, and waits for the lock */
  skipsLocked: boolean
}

type Input = { named: Named; values: readonly (string | null)[]; deadline: number }

export class Connection {
  readonly #address: PostgresAddress
  readonly #clock: Clock
  readonly #group: ServerGroup
  readonly #rows = new RowQueues()
  readonly #confirmations = new SharedRuns(CONFIRM_EVERY_MS)
  #cluster: Cluster | null = null
  #statements = 0
  #closing: Promise<void> | null = null
  #whenIdle: (() => void) | null = null

  /** Sends nothing. The first statement searches for a server. */
  constructor(address: PostgresAddress, clock: Clock, purpose: Purpose = 'store') {
    this.#address = address
    this.#clock = clock
    this.#group = new ServerGroup(address, { purpose, accept: (server) => this.#accept(server) })
  }

  /** The cluster of which the database consists; null on plain PostgreSQL, and before the first search for a server. */
  get cluster(): Cluster | null {
    return this.#cluster
  }

  /** Runs statements over one connection, without the deadline and the retries of the other methods. */
  async use<Result>(task: (session: Session) => Promise<Result>): Promise<Result> {
    return (await this.#group.find()).use(task)
  }

  /** Reads with a statement that has no values and is not prepared. */
  query<Row>(text: string): Promise<Row[]> {
    return this.#run<Row>({ kind: 'read', query: { name: '', text, values: [] } })
  }

  /**
   * Prepares a statement with `:names` in place of values. `:at` is the time of this connection's clock. `place` is the row that the
   * statement concerns, or the table if the statement concerns several rows. Tables without a row for each wallet or request need no `place`.
   */
  prepare<Row>(kind: Kind, sql: string, place?: Place): Ask<Row> {
    const prepared = this.#compile(sql)
    return async (named = {}, deadline, instance) => {
      // The values are converted before the statement is queued. A value that cannot be converted is a defect of the caller.
      const statement = { kind, query: prepared(named), place, key: keyOf(place, named), ...(instance && { instance }) }
      return this.#admit(statement, (usual) => this.#execute<Row>(statement, deadline ?? usual))
    }
  }

  /**
   * Prepares a statement that changes rows of several tables. If the tables are distributed, these rows are on several machines, and `apart` is
   * called instead.
   */
  prepareTogether<Row>(batched: Batched, apart: Ask<Row>): Ask<Row> {
    const ask = this.prepareBatched<Row>(batched)
    return (named) => (this.#isDistributed ? apart(named) : ask(named))
  }

  /** Prepares a statement for at most one row. Calls are sent as batches, of rows on one machine. */
  prepareBatched<Row>(batched: Batched): Ask<Row> {
    const { kind, one, place } = batched
    const alone = this.prepare<Row>(kind, one, place)
    const { rowValues, createBatches } = this.#compileBatched<Row>(batched)
    const batchesByKey = new Map<string, Batches<Input, Row>>()
    return async (named = {}) => {
      const key = keyOf(place, named)
      const batchKey = this.#batchKeyOf(place, key)
      if (batchKey === undefined) return alone(named)
      const batches = batchesByKey.get(batchKey) ?? createBatches()
      batchesByKey.set(batchKey, batches)
      const values = rowValues(named)
      return this.#admit({ kind, key }, async (deadline) => {
        const found = await batches.add({ named, values, deadline })
        return found === undefined ? [] : [found]
      })
    }
  }

  #compileBatched<Row>({ kind, one, forMany, parameters, place, column, skipsLocked }: Batched) {
    const alone = this.#compile(one)
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    const options: BatchOptions<Input, Row> = {
      runAlone: async ({ named, deadline }) => {
        const statement = { kind, query: alone(named), place, key: keyOf(place, named) }
        return (await this.#execute<Row>(statement, deadline))[0]
      },
      runTogether: async (inputs) => {
        const [first] = inputs
        const query = { name, text, values: valuesOf(inputs.map(({ values }) => values)) }
        const statement = { kind, query, place, key: keyOf(place, first?.named ?? {}), rows: inputs.length }
        const rows = await this.#execute<Row & Named>(statement, first?.deadline ?? 0)
        const found = new Map(rows.map((each) => [each[column], each]))
        return inputs.map(({ named }) => found.get(named[place.key]))
      },
      retriesMissing: skipsLocked,
      isRolledBack,
    }
    return { rowValues, createBatches: () => new Batches(options) }
  }

  /** Rows with the same value may share a batch. undefined: the statement for the row is sent alone. */
  #batchKeyOf(place: Required<Place>, key: string | undefined): string | undefined {
    if (this.#cluster && key !== undefined) return this.#cluster.batchKeyOf(place, key)
    return this.#isDistributed ? undefined : ''
  }

  /**
   * Prepares a change of several rows: one statement, or one statement for each row if the table is distributed. On several machines, a
   * statement over several rows would need a two-phase commit, and Citus acknowledges before the second phase has reached each machine.
   *
   * `forMany` returns in `skipped` the positions of the rows that other transactions have locked (`change-of-rows.ts`). `forMany` is repeated
   * for these rows. If all of them are skipped again, `one` is run for each row, and waits for the lock.
   */
  prepareForEach<Row>({ kind, one, forMany, parameters, place }: ForMany): (rows: readonly Named[]) => Promise<Row[]> {
    const askAlone = this.prepare<Row>(kind, one, place)
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    const askForMany = (rows: readonly Named[], deadline: number) => {
      const values = valuesOf(rows.map((row, position) => rowValues({ ...row, position })))
      const statement = { kind, query: { name, text, values }, place, key: undefined }
      return this.#admit(statement, () => this.#execute<Row & { skipped: number | null }>(statement, deadline))
    }
    return async (rows) => {
      if (this.#isDistributed) return askForEach(rows, askAlone, ROWS_AT_ONCE)
      const deadline = performance.now() + PATIENCE_MS
      const changed: Row[] = []
      for (let left = rows; left.length > 0; ) {
        const found = await askForMany(left, deadline)
        const skipped = found.flatMap((each) => (each.skipped === null ? [] : [left[each.skipped] ?? {}]))
        changed.push(...found.filter((each) => each.skipped === null))
        if (skipped.length === left.length)
          return [...changed, ...(await askForEach<Row>(left, (row) => askAlone(row, deadline), SKIPPED_AT_ONCE))]
        left = skipped
      }
      return changed
    }
  }

  /**
   * Prepares the confirmation of what a statement has found in a row (`grants WHERE id = :id`). The confirmation resolves when the row's
   * commit is durable, also on the synchronous standby of the row's machine. A statement that changes nothing does not wait for the standby.
   * The commit that it found may not have waited either: an administrator ended its connection, or the server restarted.
   */
  prepareConfirmation(row: string, place?: Place): (named?: Named, on?: string) => Promise<void> {
    const confirmRow = this.prepare('move', `SELECT ${COMMIT} FROM ${row}`, place)
    return async (named = {}, on) => {
      if (!this.#cluster) await this.#findServer()
      if (!this.#cluster) return this.confirm(on)
      const key = keyOf(place, named)
      const instance = place && key !== undefined ? this.#cluster.instanceOf({ table: place.table, key }, on) : undefined
      return this.#confirmations.run(`${row} ${key} ${instance}`, () => confirmRow(named, undefined, instance))
    }
  }

  /** Identifies the server that runs the statements, for `confirm`: its start time. */
  async readInstance(): Promise<string> {
    if (this.#cluster) return this.#cluster.readInstance()
    if (this.#group.server?.instance) return this.#group.server.instance
    const [row] = await this.query<{ instance: string }>('SELECT pg_postmaster_start_time()::text AS instance')
    return row?.instance ?? ''
  }

  /**
   * Confirms all commits that are visible. Simultaneous callers share the confirming commits. `on` is the server on which the commits were
   * found, if the caller has run more than one statement since. Fails on another server, such as a standby that was promoted meanwhile:
   * another server may lack the commit that was found.
   */
  async confirm(on?: string): Promise<void> {
    const server = this.#cluster ? null : await this.#findServer()
    if (this.#cluster) return this.#cluster.confirm(on)
    const instance = on ?? server?.instance
    if (!server || instance === undefined || !(server.isReplicated || instance !== server.instance)) return
    const query = { name: '', text: `SELECT ${COMMIT}`, values: [] }
    return this.#confirmations.run(instance, () => this.#run({ kind: 'move', query, instance }))
  }

  /** Whether commits wait for standbys is a setting that an administrator can change while the server runs. */
  noteReplication(isReplicated: boolean): void {
    if (this.#group.server) this.#group.server.isReplicated = isReplicated
  }

  /** Refuses new statements, waits for the statements that are waiting or running, and closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.#statements > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await Promise.all([this.#group.close(), this.#cluster?.close()])
  }

  /** Opens the cluster if a search finds one. */
  async #accept(server: Server): Promise<void> {
    if (!server.hasShards) return
    const { checkMachines, openCluster } = await loadCluster()
    await checkMachines(server)
    this.#cluster ??= openCluster({
      address: this.#address,
      group: this.#group,
      run: (statement, group) => this.#run(statement, group),
    })
  }

  async #findServer(): Promise<Server> {
    try {
      return await this.#group.find()
    } catch (error) {
      throw toStoreError(error)
    }
  }

  get #isDistributed(): boolean {
    return this.#group.server?.distributed ?? true
  }

  #compile(sql: string): (named: Named) => Query {
    const { text, valuesOf } = compile(sql, this.#clock)
    const name = nameOf(text)
    return (named) => ({ name, text, values: valuesOf(named).map(written) })
  }

  #run<Row>(statement: Statement, group?: ServerGroup): Promise<Row[]> {
    return this.#admit(statement, (deadline) => this.#execute<Row>(statement, deadline, group))
  }

  /** Counts the statement, and runs the statement when no other change of the same row is running in this process. */
  async #admit<Result>(
    { kind, key }: Pick<Statement, 'kind' | 'key'>,
    run: (deadline: number) => Promise<Result>,
  ): Promise<Result> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
    if (this.#statements >= STATEMENTS_AT_MOST) throw new StoreUnavailable('too many statements are waiting')
    this.#statements++
    try {
      const deadline = performance.now() + PATIENCE_MS
      return kind === 'read' || key === undefined ? await run(deadline) : await this.#rows.run(key, () => run(deadline))
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#statements--
      if (this.#statements === 0) this.#whenIdle?.()
    }
  }

  /** Runs a statement, and retries the statement until the deadline if a retry is safe. */
  async #execute<Row>(statement: Statement, deadline: number, via?: ServerGroup): Promise<Row[]> {
    let earlier: unknown
    for (let attempt = 1; ; attempt++) {
      const route = via ? { group: via, query: statement.query } : await this.#routeOf({ ...statement, attempt, deadline })
      const { group, query, within, excuses }: Route = route
      const each = { ...statement, query, excuses, attempt, deadline }
      try {
        return await (within ? within(() => group.run<Row>(each)) : group.run<Row>(each))
      } catch (error) {
        const failure = failureOf(error)
        // The earlier error names the cause. The last one is only the timeout.
        if (failure === 'exhausted' && earlier instanceof Error) throw earlier
        earlier = error
        if (!group.isWorthRetrying(each, failure)) throw error
        const pause = Math.max(0, Math.min(group.pauseBefore(attempt), deadline - performance.now()))
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }
  }

  #routeOf(attempt: Attempt): Route | Promise<Route> {
    return this.#cluster?.routeOf(attempt) ?? { group: this.#group, query: attempt.query }
  }
}

/** Whether the statement had no effect, and PostgreSQL responds. */
function isRolledBack(error: unknown): boolean {
  const failure = failureOf(error)
  return !(error instanceof StoreUnavailable) && failure !== 'not_sent' && failure !== 'lost' && failure !== 'unreplicated'
}

/** The value of the parameter that names the row. */
function keyOf(place: Place | undefined, named: Named): string | undefined {
  const key = place?.key === undefined ? undefined : named[place.key]
  return typeof key === 'string' ? key : undefined
}

/** Changes each row by a statement, `atOnce` of them at a time. Throws the first failure after all rows were tried. */
async function askForEach<Row>(rows: readonly Named[], ask: Ask<Row>, atOnce: number): Promise<Row[]> {
  const changed: Row[] = []
  const failures: unknown[] = []
  const left = rows.values()
  const next = async () => {
    for (const row of left)
      await ask(row).then(
        (found) => changed.push(...found),
        (error) => failures.push(error),
      )
  }
  await Promise.all(Array.from({ length: atOnce }, next))
  if (failures.length > 0) throw failures[0]
  return changed
}

/** The name of a prepared statement is a hash of its text. Two statements never share a name, also behind a pooler or beside another version. */
function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
