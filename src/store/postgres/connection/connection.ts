/**
 * The store's access to PostgreSQL: statements in, rows out, and `StoreUnavailable` if there are none in time.
 *
 * `pg` pools the connections. Here are its limits, retries, and the batches of the few statements that most requests need:
 * docs/decisions/0014-one-statement-for-many-rows.md.
 */
import { createHash } from 'node:crypto'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { Batches } from './batches.ts'
import { codeOf, type Failure, failureOf, NotSent, toStoreError, Unreplicated } from './errors.ts'
import { Machines, type Place, READ_SHARDS, type Shard } from './machines.ts'
import { passThrough, Queue, RowQueues } from './queue.ts'
import { findServer, type PostgresAddress, type Server } from './server.ts'
import { SharedRuns } from './shared-runs.ts'
import { type ColumnType, compile, compileForMany, type Named } from './statement.ts'
import { written } from './values.ts'

/** How long a statement is tried, in milliseconds. A caller waits at most that long, and for one statement more. */
const PATIENCE_MS = 2000
const STATEMENTS_AT_MOST = 10_000
const PAUSE_AT_MOST_MS = 1000
/** Connections to a server that takes no writes are used for reads for so long before another server is looked for. */
const READ_ONLY_FOR_MS = 1000
/** Of a change of several rows that lie on several machines, so many are under way at a time. */
const ROWS_AT_ONCE = 8
/** Of the rows that a change of several rows skipped, so many are waited for at a time. */
const SKIPPED_AT_ONCE = 2
/** A node makes a commit that only waits for the standby at most this often, however often callers repeat their requests. */
const CONFIRM_EVERY_MS = 20
/** How often a node reads on which machine each shard lies. */
const SHARDS_EVERY_MS = 5000
/** How often a node checks the settings of every machine, which costs each machine a new connection. */
const MACHINES_EVERY_MS = 10_000

/**
 * - `read`: changes nothing
 * - `move`: repeated, it changes nothing more and returns what the first time would have returned, or as much as matters
 * - `once`: repeated after it took effect, it would return something else, so it is not retried if that is unknown
 */
export type Kind = 'read' | 'move' | 'once'

/**
 * Whose clock gives the moment of a change: `database` (what callers pass as `at` is ignored, so that nodes whose clocks
 * differ agree), or `given` (`at` as it is passed, for tests, which move time themselves).
 */
export type Clock = 'database' | 'given'

/** `deadline`: until when the statement is tried, if not for the usual time. */
export type Ask<Row> = (named?: Named, deadline?: number) => Promise<Row[]>

/** A statement for one row, and the same for many: `forMany` reads its parameters from the columns of `input`. */
export type ForMany = {
  kind: 'read' | 'move'
  one: string
  forMany: string
  /** the parameters, and the types of their columns */
  parameters: Readonly<Record<string, ColumnType>>
  /** the row that is meant */
  place: Required<Place>
}

export type Batched = ForMany & {
  /** the column that returns the key of the row */
  column: string
  /** rows that others have locked are missing in the answer for many; a statement of their own waits for them */
  skipsLocked: boolean
}

/** The code of a statement that ran into its timeout. */
const STATEMENT_TIMEOUT = '57014'

type Side = 'read' | 'write'
type Query = { name: string; text: string; values: unknown[] }
/** A statement with its values, and the row that it concerns. `instance`: the only server on which it may run. */
type Statement = { kind: Kind; query: Query; place: Place | undefined; key: string | undefined; instance?: string }
type Attempt = Statement & { attempt: number; deadline: number }
type Input = { named: Named; values: readonly (string | null)[]; deadline: number }

/** A commit that changes nothing. It waits for the synchronous standby, and with it for every commit before. */
const COMMIT = `CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'grantor', '') END`
const COMMIT_HERE = `SELECT true AS success, ${COMMIT}`
const COMMIT_ON_ALL_MACHINES = `SELECT success FROM run_command_on_all_nodes($$SELECT ${COMMIT}$$)`

export class Connection {
  readonly #address: PostgresAddress
  readonly #clock: Clock
  /** Neither reads nor changes may occupy every connection, if there is more than one. */
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
  /** since when reads, and since when changes, have failed without a success in between */
  readonly #failingSince: Record<Side, number | null> = { read: null, write: null }
  #closing: Promise<void> | null = null
  #whenIdle: (() => void) | null = null

  /** `server` is one that was found already; otherwise the first statement finds one. */
  constructor(address: PostgresAddress, clock: Clock, server: Server | null = null) {
    this.#address = address
    this.#clock = clock
    this.#server = server
    this.#machines = new Machines(address.poolSize)
    const limit = Math.max(1, address.poolSize - 1)
    this.#queues = { read: new Queue(limit), write: new Queue(limit) }
  }

  /** Whether the database is on a Citus cluster, as the latest connection has shown. */
  get isOnCitus(): boolean {
    return this.#server?.hasShards ?? false
  }

  /** A connection to another server of the same cluster. */
  toServer(at: { host: string; port: number }): Connection {
    return new Connection({ ...this.#address, servers: [at], poolSize: 2 }, this.#clock)
  }

  /** Reads with a statement without values, which is not prepared. */
  query<Row>(text: string): Promise<Row[]> {
    const statement: Statement = { kind: 'read', query: { name: '', text, values: [] }, place: undefined, key: undefined }
    return this.#admit(statement, (deadline) => this.#execute<Row>(statement, deadline))
  }

  /** The machines of a Citus cluster that do not answer at the moment. */
  get machinesAway(): string[] {
    return this.#machines.away
  }

  /**
   * Prepares a statement with `:names` in place of values; `:at` is the moment, by this connection's clock. `place` is the row that the
   * statement concerns, or the table if there are several rows; undefined if the table has no row for each wallet or request.
   */
  prepare<Row>(kind: Kind, sql: string, place?: Place): Ask<Row> {
    const prepared = this.#compile(sql)
    return async (named = {}, deadline) => {
      // Values are written before anything is queued: a value that cannot be written is a defect of its caller.
      const statement = { kind, query: prepared(named), place, key: keyOf(place, named) }
      return this.#admit(statement, (usual) => this.#execute<Row>(statement, deadline ?? usual))
    }
  }

  /** Prepares a statement for at most one row that is sent together with others of its kind, unless rows lie on several machines. */
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
   * Prepares a change of several rows: one statement, or one for each row if the rows lie on several machines. There, a statement over
   * several rows would need a two-phase commit, and Citus acknowledges before the second phase has reached each machine.
   *
   * `forMany` returns in `skipped` the positions of rows that others have locked (`change-of-rows.ts`). It is repeated for these rows. If it
   * gets none of them, each row gets a statement of its own, which waits for the lock.
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
   * Prepares the confirmation of what a statement has found in a row (`grants WHERE id = :id`): it resolves once the row's commit is durable,
   * also on the synchronous standby of the row's machine. A statement that changes nothing does not wait for the standby, and what it found
   * may be a commit that did not wait either, because an administrator ended its connection or the server restarted.
   */
  prepareConfirmation(row: string, place?: Place): (named?: Named) => Promise<void> {
    const confirmRow = this.prepare('move', `SELECT ${COMMIT} FROM ${row}`, place)
    return async (named = {}) => {
      if (!(await this.#presentServer()).hasShards) return this.confirm()
      return this.#confirmations.run(`${row} ${keyOf(place, named)}`, () => confirmRow(named))
    }
  }

  /** Confirms everything that is visible, on all machines. All callers share the commits. */
  async confirm(): Promise<void> {
    const { hasShards, isReplicated, instance } = await this.#presentServer()
    const text = hasShards ? COMMIT_ON_ALL_MACHINES : COMMIT_HERE
    if (hasShards || isReplicated) return this.#confirmations.run(instance, () => this.#confirmOn(instance, text))
  }

  /** Fails on another server, such as a standby that was promoted meanwhile: that one may not have what was found. */
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

  /** An administrator can change while the server runs whether its commits wait for standbys. */
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

  /** Takes no more statements, waits for those that were taken, and closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.#statements > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await this.#search?.catch(() => undefined)
    await this.#server?.close()
  }

  /** Counts the statement in, and runs it when no other change of this node concerns the same row. */
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

  /** Runs a statement, and retries it if that is safe, until the deadline. */
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
        // The earlier error says more than the timeout at the end.
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

  /** Keeps up with shards that move from one machine to another. A failure changes nothing: the next reading is due soon. */
  #readShardsIfDue(server: Server): void {
    const now = performance.now()
    if (now - this.#shardsReadAt < SHARDS_EVERY_MS) return
    this.#shardsReadAt = now
    send<Shard>(server, { name: '', text: READ_SHARDS, values: [] }, now + PATIENCE_MS).then(
      (shards) => this.#machines.update(shards),
      () => undefined,
    )
  }

  /** If a machine is not fit any more, the server is not used until a search finds every machine fit. */
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
   * After seconds without a success, one statement at a time tries whether PostgreSQL works again, and the others are refused
   * at once: each commit that waits for an absent standby occupies a process there until the standby is back.
   */
  #failed(side: Side): void {
    this.#failingSince[side] ??= performance.now()
    if (performance.now() - this.#failingSince[side] > PATIENCE_MS) this.#queues[side].admitsOne = true
  }

  /** One search for all statements, and none during the pause after a search that failed. */
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

  /** If an error concerns the server as a whole, the next attempt searches for a server. Statements under way go on. */
  #doubt(server: Server, error: unknown, attempt: number): void {
    const failure = failureOf(error)
    // No room for one more connection, or a changed password: the open ones are good.
    if (failure === 'not_sent' && server.isConnected) return server.openNoMore()
    const isGone = failure === 'not_sent' || failure === 'stale' || isSilence(error) || (failure === 'lost' && attempt > 1)
    const isDemoted = failure === 'read_only' && performance.now() - server.since > READ_ONLY_FOR_MS
    if (isGone || isDemoted) this.#leave(server)
  }

  #leave(server: Server): void {
    if (this.#server === server) this.#server = null
    void server.close()
  }

  /** Retries only in the first seconds of an outage: later, retries would keep a slow database busy. */
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

/** Sends a statement over a connection of the pool; resolves with its rows once it is committed. */
async function send<Row>(server: Server, query: Query, deadline: number, instance?: string): Promise<Row[]> {
  const client = await server.acquire(deadline)
  try {
    if (instance !== undefined && instance !== client.instance)
      throw new StoreUnavailable('PostgreSQL was started anew meanwhile')
    const { command, rows } = await client.query<Row & object>(query)
    // PostgreSQL was ready for the next statement without having completed this one.
    if (!command) throw new Error('the answer of PostgreSQL is incomplete')
    if (client.unreplicated) throw new Unreplicated()
    client.release()
    return rows
  } catch (error) {
    const failure = failureOf(error)
    // After a timeout, Citus may still wait for the machine that did not answer, and the next statement with it.
    const isStuck = server.hasShards && codeOf(error) === STATEMENT_TIMEOUT
    client.release(failure === 'lost' || failure === 'unreplicated' || failure === 'stale' || isStuck)
    throw error
  }
}

/** pg's own error after `query_timeout`. It has no code. */
function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** Whether a statement failed because the machine of its row failed or did not answer in time. */
function isOfMachine(error: unknown): boolean {
  return failureOf(error) === 'machine_lost' || codeOf(error) === STATEMENT_TIMEOUT || isSilence(error)
}

/** Whether the failure concerns more than its own statement. */
function isOutage(failure: Failure): boolean {
  return failure === 'not_sent' || failure === 'lost' || failure === 'unreplicated' || failure === 'read_only'
}

/** Whether the statement had no effect, and PostgreSQL answers. */
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

/** Asks for each row, some at a time. A failure is thrown in the end, when every row that can be changed has been changed. */
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

/** The name of a prepared statement is a hash of its text, so that no pooler and no other version mistakes it for another statement. */
function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
