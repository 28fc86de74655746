/**
 * Prepares the statements of the store, and sends the few statements that most requests need in batches
 * (docs/decisions/0017-postgresql.md).
 */
import { createHash } from 'node:crypto'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import type { PostgresAddress, Purpose } from '../address.ts'
import { failureOf } from '../connection/errors.ts'
import { Runner } from '../connection/runner.ts'
import { Batches } from './batches.ts'
import { SharedRuns } from './shared-runs.ts'
import {
  type Clock,
  COMMIT,
  compile,
  compileForMany,
  type ForMany,
  type Kind,
  type Named,
  type Place,
  type Query,
  type Statement,
} from './statement.ts'
import { written } from './values.ts'

/** The shortest time between two commits that only confirm earlier commits, whatever the rate of repeated requests is. */
const CONFIRM_EVERY_MS = 20
/**
 * The number of batches of one statement that run at a time. On a cluster, each machine gets only a part of the rows, so one batch of reads runs at a
 * time on each machine: reads wait for no commit. Twice as many rows in a batch cost the workers a third less for each row (decision 0018).
 */
const AT_ONCE = { usual: 2, readsOfMachine: 1 } as const

/**
 * `deadline` replaces the usual deadline, `PATIENCE_MS` after the call. `instance` is the start time of a server: the statement fails on every
 * other server.
 */
export type Ask<Row> = (named?: Named, deadline?: number, instance?: string) => Promise<Row[]>

export type Batched = ForMany & {
  /** the column that returns the key of the row */
  column: string
  /** whether `forMany` skips rows that another transaction has locked. `one` is then run for each skipped row, and waits for the lock */
  skipsLocked: boolean
}

/** A statement that is sent in batches. `together`: the statement for many rows. */
type Batchable = Pick<Batched, 'kind' | 'place' | 'column'> & {
  alone: (named: Named) => Query
  together: (inputs: readonly Input[]) => Query
}
type Input = { statement: Batchable; named: Named; values: readonly (string | null)[]; deadline: number }

export class Connection extends Runner {
  readonly #clock: Clock
  readonly #confirmations = new SharedRuns(CONFIRM_EVERY_MS)
  /** on a cluster: the batches of reads for each machine */
  readonly #reads = new Map<string, Batches<Input, unknown>>()

  /** Sends nothing. The first statement searches for a server. */
  constructor(address: PostgresAddress, clock: Clock, purpose: Purpose = 'store') {
    super(address, purpose)
    this.#clock = clock
  }

  /** Whether the rows of a table can be on several machines. true before the first search for a server. */
  get isDistributed(): boolean {
    // A connection that was checked before the extension existed can report its state later.
    return this.cluster !== null || (this.server?.state?.isDistributed ?? true)
  }

  /** Reads with a statement that has no values and is not prepared. */
  query<Row>(text: string): Promise<Row[]> {
    return this.run<Row>({ kind: 'read', query: { name: '', text, values: [] } })
  }

  /**
   * Prepares a statement with `:names` in place of values. `:at` is the time of this connection's clock. `place` is the row that the
   * statement concerns, or the table if the statement concerns several rows. Tables without a row for each wallet or request need no `place`.
   */
  prepare<Row>(kind: Kind, sql: string, place?: Place): Ask<Row> {
    const prepared = this.#compile(sql)
    // The values are converted before the statement is queued. A value that cannot be converted is a defect of the caller.
    return async (named = {}, deadline, instance) =>
      this.run<Row>({ kind, query: prepared(named), place, key: keyOf(place, named), instance }, deadline)
  }

  /**
   * Prepares a statement that changes rows of several tables. If the tables are distributed, these rows are on several machines, and `apart` is
   * called instead.
   */
  prepareTogether<Row>(batched: Batched, apart: Ask<Row>): Ask<Row> {
    const ask = this.prepareBatched<Row>(batched)
    return (named) => (this.isDistributed ? apart(named) : ask(named))
  }

  /** Prepares `forMany`, which runs once for all rows. */
  prepareForMany<Row>({
    kind,
    forMany,
    parameters,
    place,
  }: ForMany): (rows: readonly Named[], deadline: number) => Promise<Row[]> {
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    return async (rows, deadline) =>
      this.run<Row>({ kind, query: { name, text, values: valuesOf(rows.map(rowValues)) }, place }, deadline)
  }

  /** Prepares a statement for at most one row. Calls are sent as batches, on a cluster those for rows of one machine. */
  prepareBatched<Row>(batched: Batched): Ask<Row> {
    const { kind, one, forMany, parameters, place, column, skipsLocked } = batched
    const askAlone = this.prepare<Row>(kind, one, place)
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    const together = (inputs: readonly Input[]) => ({ name, text, values: valuesOf(inputs.map(({ values }) => values)) })
    const statement: Batchable = { kind, place, column, alone: this.#compile(one), together }
    // On a cluster, one entry for each address that a machine has had since the start of the process.
    const own = new Map<string, Batches<Input, unknown>>()
    return async (named = {}) => {
      const key = keyOf(place, named)
      const batchKey = this.#batchKeyOf(batched, key)
      if (batchKey === undefined) return askAlone(named)
      // A machine of a cluster checks each batch, so all reads of the machine share batches.
      const batchesByKey = this.cluster && kind === 'read' ? this.#reads : own
      const batches = batchesByKey.get(batchKey) ?? this.#createBatches(kind, skipsLocked)
      batchesByKey.set(batchKey, batches)
      const values = rowValues(named)
      return this.admit({ kind, key }, async (deadline) => {
        const found = await batches.add({ statement, named, values, deadline })
        return found === undefined ? [] : [found as Row]
      })
    }
  }

  #createBatches(kind: Kind, skipsLocked: boolean): Batches<Input, unknown> {
    return new Batches<Input, unknown>({
      atOnce: () => (this.cluster && kind === 'read' ? AT_ONCE.readsOfMachine : AT_ONCE.usual),
      runAlone: async (input) => (await this.#runInput(input, input.statement.alone(input.named)))[0],
      runTogether: (inputs, first) => (this.cluster ? this.#runApart(inputs, first) : this.#runTogether(inputs, first)),
      // On a cluster, a batch is a transaction of statements for one row each, which skip no row.
      retriesMissing: () => skipsLocked && this.cluster === null,
      isRolledBack,
    })
  }

  /** On a cluster: the statements for the rows in one transaction. */
  #runApart(inputs: Input[], first: Input): Promise<unknown[]> {
    const batch = inputs.map(({ statement: { alone, place }, named }) => ({
      query: alone(named),
      key: keyOf(place, named) ?? '',
    }))
    return this.#runInput(first, { name: '', text: '', values: [] }, batch)
  }

  async #runTogether(inputs: Input[], first: Input): Promise<unknown[]> {
    const { together, column, place } = first.statement
    const rows = await this.#runInput<Named>(first, together(inputs))
    const found = new Map(rows.map((each) => [each[column], each]))
    return inputs.map(({ named }) => found.get(named[place.key]))
  }

  #runInput<Row>(
    { statement: { kind, place }, named, deadline }: Input,
    query: Query,
    batch?: Statement['batch'],
  ): Promise<Row[]> {
    return this.execute<Row>({ kind, query, place, key: keyOf(place, named), batch }, deadline)
  }

  /** Rows with the same value may share a batch. undefined: the statement for the row is sent alone. */
  #batchKeyOf({ kind, place }: Batched, key: string | undefined): string | undefined {
    if (this.cluster && key !== undefined) return this.cluster.batchKeyOf(kind, place.table, key)
    return this.isDistributed ? undefined : ''
  }

  /**
   * Prepares a statement that confirms the state of one row (`grants WHERE id = :id`). It resolves when the commit that wrote the row is
   * durable, also on the synchronous standby of the row's machine.
   *
   * A caller needs this after a statement that found its change already done. Such a statement does not wait for the standby. The commit that made
   * the change may not have waited either: an administrator ended the connection of that commit, or the server restarted.
   */
  prepareConfirmation(row: string, place?: Place): (named?: Named, on?: string) => Promise<void> {
    const confirmRow = this.prepare('move', `SELECT ${COMMIT} FROM ${row}`, place)
    return async (named = {}, on) => {
      if (!this.cluster) await this.findServer()
      if (!this.cluster) return this.confirm(on)
      const key = keyOf(place, named)
      const instance = place && key !== undefined ? this.cluster.instanceOf({ table: place.table, key }, on) : undefined
      return this.#confirmations.run(`${row} ${key} ${instance}`, () => confirmRow(named, undefined, instance))
    }
  }

  /** Identifies the server that runs the statements, for `confirm`: its start time. */
  async readInstance(): Promise<string> {
    if (this.cluster) return this.cluster.readInstance()
    if (this.server?.state) return this.server.state.instance
    const [row] = await this.query<{ instance: string }>('SELECT pg_postmaster_start_time()::text AS instance')
    return row?.instance ?? ''
  }

  /**
   * Confirms all commits that are visible. Simultaneous callers share the confirming commits. `on` is the server on which the commits were
   * found, if the caller has run more than one statement since. Fails on another server, such as a standby that was promoted meanwhile:
   * another server may lack the commit that was found.
   */
  async confirm(on?: string): Promise<void> {
    if (this.cluster) return this.cluster.confirm(on)
    const { state } = await this.findServer()
    if (this.cluster) return this.confirm(on)
    const instance = on ?? state?.instance ?? ''
    const query = { name: '', text: `SELECT ${COMMIT}`, values: [] }
    if (state?.isReplicated || instance !== state?.instance)
      return this.#confirmations.run(instance, () => this.run({ kind: 'move', query, instance }))
  }

  /** Whether commits wait for standbys is a setting that an administrator can change while the server runs. */
  noteReplication(isReplicated: boolean): void {
    if (this.server?.state) this.server.state.isReplicated = isReplicated
  }

  #compile(sql: string): (named: Named) => Query {
    const { text, valuesOf } = compile(sql, this.#clock)
    const name = nameOf(text)
    return (named) => ({ name, text, values: valuesOf(named).map(written) })
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

/** The name of a prepared statement is a hash of its text. Two statements never share a name. */
function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
