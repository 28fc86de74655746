/**
 * Runs the store's statements on PostgreSQL. Throws `StoreUnavailable` if a statement has no result before its deadline.
 *
 * `pg` pools the connections. This file has the limits, the retries, and the batches of the few statements that most requests need
 * (docs/decisions/0014-one-statement-for-many-rows.md).
 */
import { createHash } from 'node:crypto'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { Batches } from './batches.ts'
import { codeOf, type Failure, failureOf, NotSent, toStoreError, Unreplicated } from './errors.ts'
import { Machines, type Place, READ_SHARDS, type Shard } from './machines.ts'
import { passThrough, Queue, RowQueues } from './queue.ts'
import { findServer, type PostgresAddress, type Server } from './server.ts'
import { SharedRuns } from './shared-runs.ts'
import { type Clock, type ColumnType, compile, compileForMany, type Named } from './statement.ts'
import { written } from './values.ts'

/** A statement is not retried after this time in milliseconds. A caller waits at most this long, and for the statement that was sent last. */
const PATIENCE_MS = 2000
const STATEMENTS_AT_MOST = 10_000
const PAUSE_AT_MOST_MS = 1000
/** If a server becomes read-only, the node reads from the server for at least this long before the node searches for another one. */
const READ_ONLY_FOR_MS = 1000
/** The number of rows that are changed at a time if a change concerns several rows on several machines. */
const ROWS_AT_ONCE = 8
/** The number of skipped rows that a change of several rows waits for at a time. */
const SKIPPED_AT_ONCE = 2
/** The shortest time between two commits that only confirm earlier commits, whatever the rate of repeated requests is. */
const CONFIRM_EVERY_MS = 20
/** How often a node reads the machine of each shard. */
const SHARDS_EVERY_MS = 5000
/** How often a node checks the settings of every machine. Each check opens a new connection on every machine. */
const MACHINES_EVERY_MS = 10_000

/**
 * - `read`: changes nothing
 * - `move`: can be repeated. The repetition changes nothing more, and returns what the caller needs of the first result
 * - `once`: returns another result if it is repeated after it took effect. It is not retried if it may have taken effect
 */
export type Kind = 'read' | 'move' | 'once'

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

/** PostgreSQL's error code for a statement that exceeded `statement_timeout`. */
const STATEMENT_TIMEOUT = '57014'

type Side = 'read' | 'write'
type Query = { name: string; text: string; values: unknown[] }
/** A statement with its values and its row. `instance`: the statement may run on this server only. */
type Statement = { kind: Kind; query: Query; place: Place | undefined; key: string | undefined; instance?: string }
type Attempt = Statement & { attempt: number; deadline: number }
type Input = { named: Named; values: readonly (string | null)[]; deadline: number }

/** A commit that changes nothing. When the synchronous standby has this commit, the standby also has every earlier commit. */
const COMMIT = `CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'grantor', '') END`
const COMMIT_HERE = `SELECT true AS success, ${COMMIT}`
const COMMIT_ON_ALL_MACHINES = `SELECT success FROM run_command_on_all_nodes($$SELECT ${COMMIT}$$)`

export class Connection {
  readonly #address: PostgresAddress
  readonly #clock: Clock
  /** Reads leave one connection for changes, and changes leave one for reads, if the pool has more than one connection. */
  readonly #queues: Record<Side, Queue>
  readonly #rows = new RowQueues()
  readonly #machines: Machines
  readonly #confirmations = new SharedRuns(CONFIRM_EVERY_MS)
  #shardsReadAt = Number.NEGATIVE_INFINITY
  #machinesCheckedAt = Number.NEGATIVE_INFINITY
  #statements = 0
  #server: Server | null = null
  #search: Promise<Server> | null = null
  #noSearchBefore = 0
  #pause = 0
  /** the time of the first failure since the last success, for reads and for changes */
  readonly #failingSince: Record<Side, number | null> = { read: null, write: null }
  #closing: Promise<void> | null = null
  #whenIdle: (() => void) | null = null

  /** If no `server` is given, the first statement searches for one. */
  constructor(address: PostgresAddress, clock: Clock, server: Server | null = null) {
    this.#address = address
    this.#clock = clock
    this.#server = server
    this.#machines = new Machines(address.poolSize)
    const limit = Math.max(1, address.poolSize - 1)
    this.#queues = { read: new Queue(limit), write: new Queue(limit) }
  }

  /** Whether the database is on a Citus cluster, according to the latest connection. */
  get isOnCitus(): boolean {
    return this.#server?.hasShards ?? false
  }

  /** A connection to another server of the same cluster. */
  toServer(at: { host: string; port: number }): Connection {
    return new Connection({ ...this.#address, servers: [at], poolSize: 2 }, this.#clock)
  }

  /** Reads with a statement that has no values and is not prepared. */
  query<Row>(text: string): Promise<Row[]> {
    const statement: Statement = { kind: 'read', query: { name: '', text, values: [] }, place: undefined, key: undefined }
    return this.#admit(statement, (deadline) => this.#execute<Row>(statement, deadline))
  }

  /** The machines of a Citus cluster that do not respond at the moment. */
  get machinesAway(): string[] {
    return this.#machines.away
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

  /** Prepares a statement for at most one row. Calls are sent as batches, unless the table is distributed over several machines. */
  prepareBatched<Row>({ kind, one, forMany, parameters, place, column, skipsLocked }: Batched): Ask<Row> {
    const alone = this.#compile(one)
    const askAlone = this.prepare<Row>(kind, one, place)
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    const batches = new Batches<Input, Row>({
      runAlone: async ({ named, deadline }) => {
        const statement = { kind, query: alone(named), place, key: keyOf(place, named) }
        return (await this.#execute<Row>(statement, deadline))[0]
      },
      runTogether: async (inputs) => {
        const query = { name, text, values: valuesOf(inputs.map(({ values }) => values)) }
        const rows = await this.#execute<Row & Named>({ kind, query, place, key: undefined }, inputs[0]?.deadline ?? 0)
        const found = new Map(rows.map((each) => [each[column], each]))
        return inputs.map(({ named }) => found.get(named[place.key]))
      },
      retriesMissing: skipsLocked,
      isRolledBack,
    })
    return async (named = {}) => {
      if (this.#isDistributed) return askAlone(named)
      const values = rowValues(named)
      return this.#admit({ kind, key: keyOf(place, named) }, async (deadline) => {
        const found = await batches.add({ named, values, deadline })
        return found === undefined ? [] : [found]
      })
    }
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
      if (!(await this.#presentServer()).hasShards) return this.confirm(on)
      return this.#confirmations.run(`${row} ${keyOf(place, named)}`, () => confirmRow(named))
    }
  }

  /** The start time of the server that runs the statements. Identifies the server for `confirm`. */
  async readInstance(): Promise<string> {
    if (this.#server?.instance) return this.#server.instance
    const [row] = await this.query<{ instance: string }>('SELECT pg_postmaster_start_time()::text AS instance')
    return row?.instance ?? ''
  }

  /**
   * Confirms all commits that are visible on any machine. Simultaneous callers share the confirming commits. `on` is the server on which the
   * commits were found, if the caller has run more than one statement since.
   */
  async confirm(on?: string): Promise<void> {
    const { hasShards, isReplicated, instance: present } = await this.#presentServer()
    const [instance, text] = [on ?? present, hasShards ? COMMIT_ON_ALL_MACHINES : COMMIT_HERE]
    if (hasShards || isReplicated || instance !== present)
      return this.#confirmations.run(instance, () => this.#confirmOn(instance, text))
  }

  /** Fails on another server, such as a standby that was promoted meanwhile: another server may lack the commit that was found. */
  async #confirmOn(instance: string, text: string): Promise<void> {
    const statement: Statement = {
      kind: 'move',
      query: { name: '', text, values: [] },
      place: undefined,
      key: undefined,
      instance,
    }
    const machines = await this.#admit(statement, (deadline) => this.#execute<{ success: boolean }>(statement, deadline))
    if (!machines.every(({ success }) => success)) throw new StoreUnavailable('a machine of the cluster does not commit')
  }

  async #presentServer(): Promise<Server> {
    try {
      return this.#server ?? (await this.#findServer())
    } catch (error) {
      throw toStoreError(error)
    }
  }

  /** Whether commits wait for standbys is a setting that an administrator can change while the server runs. */
  noteReplication(isReplicated: boolean): void {
    if (this.#server) this.#server.isReplicated = isReplicated
  }

  get #isDistributed(): boolean {
    return this.#server?.distributed ?? true
  }

  #compile(sql: string): (named: Named) => Query {
    const { text, valuesOf } = compile(sql, this.#clock)
    const name = nameOf(text)
    return (named) => ({ name, text, values: valuesOf(named).map(written) })
  }

  /** Refuses new statements, waits for the statements that are waiting or running, and closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.#statements > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await this.#search?.catch(() => undefined)
    await this.#server?.close()
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
  async #execute<Row>(statement: Statement, deadline: number): Promise<Row[]> {
    const side = sideOf(statement)
    let earlier: unknown
    for (let attempt = 1; ; attempt++) {
      try {
        const rows = await this.#attempt<Row>({ ...statement, attempt, deadline })
        this.#succeeded(side)
        return rows
      } catch (error) {
        const failure = failureOf(error)
        // The earlier error names the cause. The last one is only the timeout.
        if (failure === 'exhausted' && earlier instanceof Error) throw earlier
        earlier = error
        if (!this.#isWorthRetrying({ kind: statement.kind, failure, deadline, attempt })) throw error
        const pause = Math.max(this.#noSearchBefore - performance.now(), 0) + 5 + Math.random() * 25 * attempt
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(pause, deadline - performance.now()))))
      }
    }
  }

  async #attempt<Row>(attempt: Attempt): Promise<Row[]> {
    const { place, key, deadline, query, instance } = attempt
    if (performance.now() > deadline) throw new StoreUnavailable('PostgreSQL is too slow')
    const side = sideOf(attempt)
    const machine = place && this.#machines.of(place.table, key)
    const queues = [...(machine ? [machine.queue] : []), this.#queues[side]]
    return passThrough(queues, async () => {
      let server: Server | null = null
      try {
        server = this.#server ?? (await this.#findServer())
        if (server.hasShards) {
          this.#readShardsIfDue(server)
          this.#checkMachinesIfDue(server)
        }
        const rows = await send<Row>(server, query, deadline, instance)
        machine?.succeeded()
        // Another server may lack what this server returned, and the next statement runs on the other server.
        if (attempt.kind !== 'once' && this.#server !== server) throw new Error('another server took over meanwhile')
        return rows
      } catch (error) {
        if (machine && isOfMachine(error)) machine.failed()
        else this.#noteFailure(side, server, error, attempt.attempt)
        throw error
      }
    })
  }

  #noteFailure(side: Side, server: Server | null, error: unknown, attempt: number): void {
    if (isOutage(failureOf(error))) this.#failed(side)
    if (server) this.#doubt(server, error, attempt)
  }

  /** Reads the machine of each shard, because shards can move. A failure is ignored: the next read follows soon. */
  #readShardsIfDue(server: Server): void {
    const now = performance.now()
    if (now - this.#shardsReadAt < SHARDS_EVERY_MS) return
    this.#shardsReadAt = now
    send<Shard>(server, { name: '', text: READ_SHARDS, values: [] }, now + PATIENCE_MS).then(
      (shards) => this.#machines.update(shards),
      () => undefined,
    )
  }

  /** If a machine has the wrong settings, the server is not used until a search finds the right settings on every machine. */
  #checkMachinesIfDue(server: Server): void {
    const now = performance.now()
    if (now - Math.max(this.#machinesCheckedAt, server.since) < MACHINES_EVERY_MS) return
    this.#machinesCheckedAt = now
    server.checkMachines().catch(() => this.#leave(server))
  }

  #succeeded(side: Side): void {
    this.#failingSince[side] = null
    this.#pause = 0
    this.#queues[side].admitsOne = false
  }

  /**
   * After `PATIENCE_MS` without a success, one statement at a time is sent, and the others are refused at once. Otherwise each commit that
   * waits for an absent standby would occupy a process of PostgreSQL until the standby is back.
   */
  #failed(side: Side): void {
    this.#failingSince[side] ??= performance.now()
    if (performance.now() - this.#failingSince[side] > PATIENCE_MS) this.#queues[side].admitsOne = true
  }

  /** All statements share one search. After a failed search there is a pause without searches. */
  #findServer(): Promise<Server> {
    if (!this.#search && performance.now() < this.#noSearchBefore)
      throw new NotSent(new StoreUnavailable('PostgreSQL could not be reached a moment ago'))
    this.#search ??= this.#look()
    return this.#search
  }

  async #look(): Promise<Server> {
    try {
      this.#server = await findServer(this.#address)
      return this.#server
    } catch (error) {
      this.#pause = Math.min(Math.max(this.#pause * 2, 50), PAUSE_AT_MOST_MS)
      this.#noSearchBefore = performance.now() + this.#pause * (0.5 + Math.random() / 2)
      throw error
    } finally {
      this.#search = null
    }
  }

  /** If an error concerns the server as a whole, the next attempt searches for a server. Running statements continue. */
  #doubt(server: Server, error: unknown, attempt: number): void {
    const failure = failureOf(error)
    // The server refused a new connection (`max_connections`, or a changed password). The open connections still work.
    if (failure === 'not_sent' && server.isConnected) return server.openNoMore()
    const isGone = failure === 'not_sent' || failure === 'stale' || isSilence(error) || (failure === 'lost' && attempt > 1)
    const isDemoted = failure === 'read_only' && performance.now() - server.since > READ_ONLY_FOR_MS
    if (isGone || isDemoted) this.#leave(server)
  }

  #leave(server: Server): void {
    if (this.#server === server) this.#server = null
    void server.close()
  }

  /** Retries only in the first seconds of an outage. Later, retries would add load to a slow database. */
  #isWorthRetrying({ kind, failure, deadline, attempt }: { kind: Kind; failure: Failure; deadline: number; attempt: number }) {
    if (failure === 'defect' || failure === 'exhausted' || failure === 'unreplicated') return false
    if ((failure === 'lost' || failure === 'machine_lost') && kind === 'once') return false
    const now = performance.now()
    if (now >= deadline - 30) return false
    const since = this.#failingSince[kind === 'read' ? 'read' : 'write'] ?? now
    return (
      ((failure === 'lost' || failure === 'machine_lost' || failure === 'stale') && attempt === 1) || now - since < PATIENCE_MS
    )
  }
}

/** Sends a statement over a connection of the pool. Resolves with the rows when the statement is committed. */
async function send<Row>(server: Server, query: Query, deadline: number, instance?: string): Promise<Row[]> {
  const client = await server.acquire(deadline)
  try {
    if (instance !== undefined && instance !== client.instance)
      throw new StoreUnavailable('PostgreSQL was started anew meanwhile')
    const { command, rows } = await client.query<Row & object>(query)
    // PostgreSQL reported that it is ready for the next statement, but sent no result of this one.
    if (!command) throw new Error('the answer of PostgreSQL is incomplete')
    if (client.unreplicated) throw new Unreplicated()
    client.release()
    return rows
  } catch (error) {
    const failure = failureOf(error)
    // After a timeout, Citus may still wait for the machine that did not respond. The next statement on this connection would wait too.
    const isStuck = server.hasShards && codeOf(error) === STATEMENT_TIMEOUT
    client.release(failure === 'lost' || failure === 'unreplicated' || failure === 'stale' || isStuck)
    throw error
  }
}

/** Whether this is the error of `pg` after `query_timeout`, which has no code. */
function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** Whether a statement failed because the machine of its row failed or did not respond in time. */
function isOfMachine(error: unknown): boolean {
  return failureOf(error) === 'machine_lost' || codeOf(error) === STATEMENT_TIMEOUT || isSilence(error)
}

/** Whether other statements would fail in the same way. */
function isOutage(failure: Failure): boolean {
  return failure === 'not_sent' || failure === 'lost' || failure === 'unreplicated' || failure === 'read_only'
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

const sideOf = ({ kind }: Pick<Statement, 'kind'>): Side => (kind === 'read' ? 'read' : 'write')

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
