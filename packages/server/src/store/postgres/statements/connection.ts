/**
 * Prepares the statements of the store, and sends the few statements that most requests need in batches
 * (docs/decisions/0017-postgresql.md).
 */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import type { ConnectionPurpose, PostgresAddress } from '../address.ts'
import type { ServerState } from '../connection/client.ts'
import { failureOf, toStoreError } from '../connection/errors.ts'
import { Runner } from '../connection/runner.ts'
import type { PostgresSession, Server } from '../connection/server.ts'
import { ServerGroup } from '../connection/server-group.ts'
import { onePrimary } from '../one-primary.ts'
import { type LoadPlacement, loadNoPlacement, type Placement } from '../placement.ts'
import { type Batchable, Batches, type BatchInput } from './batches.ts'
import {
  type Ask,
  type Batched,
  type Clock,
  COMMIT,
  compile,
  compileForMany,
  type ForMany,
  keyOf,
  type NamedValues,
  nameOf,
  type Query,
  type RowLocation,
  type Statement,
  type StatementKind,
} from './statement.ts'
import { withLock, withLocks } from './wallet-lock.ts'

export type ConnectionOptions = { clock: Clock; purpose?: ConnectionPurpose; loadPlacement?: LoadPlacement | undefined }

export class PostgresConnection {
  /** Where the rows are. Another placement replaces the first one when a search, or a read of the revision, finds its extension. */
  placement: Placement
  readonly #address: PostgresAddress
  readonly #clock: Clock
  readonly #loadPlacement: LoadPlacement
  readonly #group: ServerGroup
  readonly #runner: Runner
  readonly #onePrimary: Placement
  /** the batches that different statements share */
  readonly #shared = new Map<string, Batches<BatchInput, unknown>>()
  #closing: Promise<void> | null = null

  /** Sends nothing. The first statement searches for a server. */
  constructor(address: PostgresAddress, { clock, purpose = 'store', loadPlacement = loadNoPlacement }: ConnectionOptions) {
    this.#address = address
    this.#clock = clock
    this.#loadPlacement = loadPlacement
    this.#group = new ServerGroup(address, { purpose, accept: (server) => this.#accept(server) })
    this.#runner = new Runner((attempt) => this.placement.routeOf(attempt))
    this.#onePrimary = onePrimary({ group: this.#group, connection: this })
    this.placement = this.#onePrimary
  }

  async findServer(): Promise<Server> {
    return this.#group.find().catch((error: unknown) => {
      throw toStoreError(error)
    })
  }

  /** Chooses the placement for the server that a search found. */
  async #accept(server: Server): Promise<void> {
    if (!server.state?.hasShards) return
    const { checkMachines, open } = await this.#loadPlacement()
    await checkMachines(server)
    if (this.placement === this.#onePrimary)
      this.placement = open({ address: this.#address, group: this.#group, connection: this })
  }

  /**
   * What an administrator can change while the server runs: whether commits wait for standbys, and whether the extension of another placement
   * exists.
   */
  async noteState({ isReplicated, hasShards }: Pick<ServerState, 'isReplicated' | 'hasShards'>): Promise<void> {
    const { server } = this.#group
    if (!server?.state) return
    server.state.isReplicated = isReplicated
    if (!hasShards || this.placement !== this.#onePrimary) return
    server.state.hasShards = true
    await this.#accept(server)
  }

  /** Runs statements over one connection, without the deadline and the retries of `run`. */
  async use<Result>(task: (session: PostgresSession) => Promise<Result>): Promise<Result> {
    return (await this.findServer()).use(task)
  }

  /** `deadline` replaces the usual deadline, `PATIENCE_MS` after the call. `via` replaces the route of the statement. */
  run<Row>(statement: Statement, deadline?: number, via?: ServerGroup): Promise<Row[]> {
    return this.#runner.admit(statement, (usual) => this.#runner.execute<Row>(statement, deadline ?? usual, via))
  }

  /** Reads with a statement that has no values and is not prepared. */
  query<Row>(text: string): Promise<Row[]> {
    return this.run<Row>({ kind: 'read', query: { name: '', text, values: [] } })
  }

  /**
   * Prepares a statement with `:names` in place of values. `:at` is the time of this connection's clock. `place` is the row that the
   * statement concerns, or the table if the statement concerns several rows. Tables without a row for each wallet or request need no `place`.
   */
  prepare<Row>(kind: StatementKind, sql: string, place?: RowLocation): Ask<Row> {
    const prepared = this.#compile(sql, place)
    // The values are converted before the statement is queued. A value that cannot be converted is a defect of the caller.
    return async (named = {}, deadline, instance) =>
      this.run<Row>({ kind, query: prepared(named), place, key: keyOf(place, named), instance }, deadline)
  }

  /** Prepares a statement that changes rows of several tables. If these rows can be on several machines, `apart` is called instead. */
  prepareTogether<Row>(batched: Batched, apart: Ask<Row>): Ask<Row> {
    const ask = this.prepareBatched<Row>(batched)
    return (named) => (this.placement.mayCombine('rows') ? ask(named) : apart(named))
  }

  /** Prepares `forMany`, which runs once for all rows. */
  prepareForMany<Row>({
    kind,
    forMany,
    parameters,
    place,
  }: ForMany): (rows: readonly NamedValues[], deadline: number) => Promise<Row[]> {
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    return async (rows, deadline) =>
      this.run<Row>({ kind, query: { name, text, values: valuesOf(rows.map(rowValues)) }, place }, deadline)
  }

  /** Prepares a statement for at most one row. Calls are sent as batches. */
  prepareBatched<Row>(batched: Batched): Ask<Row> {
    const { kind, one, forMany, parameters, place, column, skipsLocked } = batched
    const askAlone = this.prepare<Row>(kind, one, place)
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    const together = (inputs: readonly BatchInput[]) => {
      const query = { name, text, values: valuesOf(inputs.map(({ values }) => values)) }
      return place.lock ? withLocks(query, place.lock, inputs) : query
    }
    const statement: Batchable = { kind, place, column, skipsLocked, alone: this.#compile(one, place), together }
    // One entry for each key that the placement has given since the start of the process.
    const own = new Map<string, Batches<BatchInput, unknown>>()
    return async (named = {}) => {
      const key = keyOf(place, named)
      const batch = this.placement.batchOf(kind, place.table, key)
      if (batch === undefined) return askAlone(named)
      const batchesByKey = batch.isShared ? this.#shared : own
      const batches = batchesByKey.get(batch.key) ?? this.#createBatches(kind)
      batchesByKey.set(batch.key, batches)
      const values = rowValues(named)
      return this.#runner.admit({ kind, key }, async (deadline) => {
        const found = await batches.add({ statement, named, values, deadline })
        return found === undefined ? [] : [found as Row]
      })
    }
  }

  #createBatches(kind: StatementKind): Batches<BatchInput, unknown> {
    return new Batches<BatchInput, unknown>({
      atOnce: () => this.placement.batchesAtOnce(kind),
      runAlone: async (input) => (await this.#runFor(input, { query: input.statement.alone(input.named) }))[0],
      runTogether: (inputs, first) => this.placement.sendBatch(inputs, (batch) => this.#runFor(first, batch)),
      isRolledBack,
    })
  }

  #runFor<Row>(
    { statement: { kind, place }, named, deadline }: BatchInput,
    sent: Pick<Statement, 'query' | 'batch'>,
  ): Promise<Row[]> {
    return this.#runner.execute<Row>({ kind, place, key: keyOf(place, named), ...sent }, deadline)
  }

  /**
   * Prepares a statement that confirms the state of one row (`grants WHERE id = :id`). It resolves when the commit that wrote the row is
   * durable, also on the synchronous standby of the row's machine.
   *
   * A caller needs this after a statement that found its change already done. Such a statement does not wait for the standby. The commit that made
   * the change may not have waited either: an administrator ended the connection of that commit, or the server restarted.
   */
  prepareConfirmation(row: string, place?: RowLocation): (named?: NamedValues, on?: string) => Promise<void> {
    const confirmRow = this.prepare('move', `SELECT ${COMMIT} FROM ${row}`, place)
    return async (named = {}, on) => {
      await this.placement.settle()
      const send = (instance: string | undefined) => confirmRow(named, undefined, instance)
      return this.placement.confirmRow({ row, place, key: keyOf(place, named), on }, send)
    }
  }

  /** Identifies the server that runs the statements, for `confirm`. */
  readInstance(): Promise<string> {
    return this.placement.readInstance()
  }

  /**
   * Confirms all commits that are visible. Simultaneous callers share the confirming commits. `on` is the server on which the commits were
   * found, if the caller has run more than one statement since. Fails on another server, such as a standby that was promoted meanwhile:
   * another server may lack the commit that was found.
   */
  async confirm(on?: string): Promise<void> {
    await this.placement.settle()
    await this.placement.confirm(on)
  }

  /** Refuses new statements, waits for the statements that are waiting or running, and closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#runner
      .close()
      .then(() => Promise.all([this.#group.close(), this.placement.close()]))
      .then(() => undefined)
    return this.#closing
  }

  #compile(sql: string, { lock }: Partial<RowLocation> = {}): (named: NamedValues) => Query {
    const { text, valuesOf } = compile(sql, this.#clock)
    const name = nameOf(text)
    return (named) => {
      const query = { name, text, values: valuesOf(named) }
      return lock ? withLock(query, lock, named) : query
    }
  }
}

/** Whether the statement had no effect, and PostgreSQL responds. */
function isRolledBack(error: unknown): boolean {
  const failure = failureOf(error)
  return !(error instanceof StoreUnavailable) && failure !== 'not_sent' && failure !== 'lost' && failure !== 'unreplicated'
}
