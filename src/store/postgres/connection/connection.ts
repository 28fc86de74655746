/**
 * The store's access to PostgreSQL: statements in, rows out, and `StoreUnavailable` if there are none in time.
 *
 * `pg` pools the connections. Here are its limits, retries, and the batches of the few statements that most requests need:
 * docs/decisions/0014-one-statement-for-many-rows.md.
 */
import { createHash } from 'node:crypto'
import { StoreUnavailable } from '../../../grants/ports.ts'
import { Batches } from './batches.ts'
import { type Failure, failureOf, NotSent, toStoreError, Unreplicated } from './errors.ts'
import { Queue, RowQueues } from './queue.ts'
import { findServer, type PostgresAddress, type Server } from './server.ts'
import { type ColumnType, compile, compileForMany, type Named } from './statement.ts'
import { written } from './values.ts'

/** How long a statement is tried, in milliseconds. A caller waits at most that long, and for one statement more. */
const PATIENCE_MS = 2000
const STATEMENTS_AT_MOST = 10_000
const PAUSE_AT_MOST_MS = 1000
/** Connections to a server that takes no writes are used for reads for so long before another server is looked for. */
const READ_ONLY_FOR_MS = 1000

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

export type Ask<Row> = (named?: Named) => Promise<Row[]>

/** A statement for one row, and the same for many: `forMany` finds its parameters in the columns of `input`. */
export type Batched = {
  kind: 'read' | 'move'
  one: string
  forMany: string
  /** the parameters, and the types of their columns */
  parameters: Readonly<Record<string, ColumnType>>
  /** the parameter that says which row is meant, and the column that returns it */
  row: { parameter: string; column: string }
  /** rows that others have locked are missing in the answer for many; a statement of their own waits for them */
  skipsLocked: boolean
}

type Side = 'read' | 'write'
type Attempt = { attempt: number; deadline: number }
type Query = { name: string; text: string; values: unknown[] }
type Input = { named: Named; values: readonly (string | null)[]; deadline: number }

/**
 * A commit of its own, which waits for the synchronous standby, and with it for every commit before. A lost commit may have
 * taken effect without the standby: if an administrator ended its connection, or the server restarted.
 */
const CONFIRM: Query = { name: '', text: `SELECT pg_logical_emit_message(true, 'grantor', '')`, values: [] }

export class Connection {
  readonly #address: PostgresAddress
  readonly #clock: Clock
  /** Neither reads nor changes may occupy every connection, if there is more than one. */
  readonly #queues: Record<Side, Queue>
  readonly #rows = new RowQueues()
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
    const limit = Math.max(1, address.poolSize - 1)
    this.#queues = { read: new Queue(limit), write: new Queue(limit) }
  }

  /** Prepares a statement with `:names` in place of values; `:at` is the moment, by this connection's clock. */
  prepare<Row>(kind: Kind, sql: string): Ask<Row> {
    const prepared = this.#compile(sql)
    return async (named = {}) => {
      // Values are written before anything is queued: a value that cannot be written is a defect of its caller.
      const query = prepared(named)
      return this.#admit(rowOf(kind, named), (deadline) => this.#execute<Row>(kind, query, deadline))
    }
  }

  /** Prepares a statement for at most one row that is sent together with others of its kind, unless rows lie on several machines. */
  prepareBatched<Row>({ kind, one, forMany, parameters, row, skipsLocked }: Batched): Ask<Row> {
    const alone = this.#compile(one)
    const askAlone = this.prepare<Row>(kind, one)
    const { text, rowValues, valuesOf } = compileForMany(forMany, parameters, this.#clock)
    const name = nameOf(text)
    const batches = new Batches<Input, Row>({
      runAlone: async ({ named, deadline }) => (await this.#execute<Row>(kind, alone(named), deadline))[0],
      runTogether: async (inputs) => {
        const query = { name, text, values: valuesOf(inputs.map(({ values }) => values)) }
        const rows = await this.#execute<Row & Named>(kind, query, inputs[0]?.deadline ?? 0)
        const found = new Map(rows.map((each) => [each[row.column], each]))
        return inputs.map(({ named }) => found.get(named[row.parameter]))
      },
      retriesMissing: skipsLocked,
      isRolledBack,
    })
    return async (named = {}) => {
      if (this.#server?.distributed ?? true) return askAlone(named)
      const values = rowValues(named)
      return this.#admit(rowOf(kind, named), async (deadline) => {
        const found = await batches.add({ named, values, deadline })
        return found === undefined ? [] : [found]
      })
    }
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

  /** Counts the statement in, and runs it when no other of this node concerns the same row. */
  async #admit<Result>(row: string, run: (deadline: number) => Promise<Result>): Promise<Result> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
    if (this.#statements >= STATEMENTS_AT_MOST) throw new StoreUnavailable('too many statements are waiting')
    this.#statements++
    try {
      const deadline = performance.now() + PATIENCE_MS
      return row === '' ? await run(deadline) : await this.#rows.run(row, () => run(deadline))
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#statements--
      if (this.#statements === 0) this.#whenIdle?.()
    }
  }

  /** Runs a statement, and retries it as long as that is safe and there is hope. */
  async #execute<Row>(kind: Kind, query: Query, deadline: number): Promise<Row[]> {
    const side = kind === 'read' ? 'read' : 'write'
    let earlier: unknown
    let wasLost = false
    for (let attempt = 1; ; attempt++) {
      try {
        const rows = await this.#attempt<Row>(side, query, { attempt, deadline })
        if (side === 'write' && wasLost) await this.#attempt(side, CONFIRM, { attempt, deadline })
        this.#succeeded(side)
        return rows
      } catch (error) {
        const failure = failureOf(error)
        // That time ran out in the end says less than what the time was spent on.
        if (failure === 'exhausted' && earlier instanceof Error) throw earlier
        earlier = error
        wasLost ||= failure === 'lost'
        if (isOutage(failure)) this.#failed(side)
        if (!this.#isWorthRetrying({ kind, failure, deadline, attempt })) throw error
        const pause = Math.max(this.#noSearchBefore - performance.now(), 0) + 5 + Math.random() * 25 * attempt
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(pause, deadline - performance.now()))))
      }
    }
  }

  async #attempt<Row>(side: Side, query: Query, { attempt, deadline }: Attempt): Promise<Row[]> {
    if (performance.now() > deadline) throw new StoreUnavailable('PostgreSQL is too slow')
    const queue = this.#queues[side]
    const waiting = queue.enter()
    if (waiting) await waiting
    let server: Server | null = null
    try {
      server = this.#server ?? (await this.#findServer())
      return await send<Row>(server, query, deadline)
    } catch (error) {
      if (server) this.#doubt(server, error, attempt)
      throw error
    } finally {
      queue.leave()
    }
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
    if (!isGone && !isDemoted) return
    if (this.#server === server) this.#server = null
    void server.close()
  }

  /** Only in the first seconds of trouble is anything tried twice: retries would keep a slow database busy. */
  #isWorthRetrying({ kind, failure, deadline, attempt }: { kind: Kind; failure: Failure; deadline: number; attempt: number }) {
    if (failure === 'defect' || failure === 'exhausted' || failure === 'unreplicated') return false
    if (failure === 'lost' && kind === 'once') return false
    const now = performance.now()
    if (now >= deadline - 30) return false
    const since = this.#failingSince[kind === 'read' ? 'read' : 'write'] ?? now
    return ((failure === 'lost' || failure === 'stale') && attempt === 1) || now - since < PATIENCE_MS
  }
}

/** Sends a statement over a connection of the pool; resolves with its rows once it is committed. */
async function send<Row>(server: Server, query: Query, deadline: number): Promise<Row[]> {
  const client = await server.acquire(deadline)
  try {
    const { command, rows } = await client.query<Row & object>(query)
    // Ready for the next statement, without a word on this one.
    if (!command) throw new Error('the answer of PostgreSQL is incomplete')
    if (client.unreplicated) throw new Unreplicated()
    client.release()
    return rows
  } catch (error) {
    const failure = failureOf(error)
    client.release(failure === 'lost' || failure === 'unreplicated' || failure === 'stale')
    throw error
  }
}

/** pg's own error after `query_timeout`. It has no code. */
function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** Whether the failure concerns more than its own statement. */
function isOutage(failure: Failure): boolean {
  return failure === 'not_sent' || failure === 'lost' || failure === 'unreplicated' || failure === 'read_only'
}

/** Nothing of the statement took effect, and PostgreSQL is there. */
function isRolledBack(error: unknown): boolean {
  const failure = failureOf(error)
  return !(error instanceof StoreUnavailable) && failure !== 'not_sent' && failure !== 'lost' && failure !== 'unreplicated'
}

/** The row that a change concerns; empty if it concerns several, or none. */
function rowOf(kind: Kind, named: Named): string {
  if (kind === 'read') return ''
  const row = named.grantId ?? named.id ?? named.hash ?? named.wallet
  return typeof row === 'string' ? row : ''
}

/** Prepared under a name that follows from the text: poolers and connections of other versions never mistake it. */
function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
