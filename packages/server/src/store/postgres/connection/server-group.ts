/** A list of addresses of which one server is in use: the search for this server, its circuit breakers, and what each failure means for it. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import type { PostgresAddress, ServerAddress } from '../address.ts'
import type { Statement } from '../statements/statement.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { failureOf, isSilence, NotSent, type StatementFailure } from './errors.ts'
import { Server, type Side, sideOf } from './server.ts'

/** A statement is not retried after this time in milliseconds. A caller waits at most this long, and for the statement that was sent last. */
export const PATIENCE_MS = 2000
/** If a server becomes read-only, the node reads from the server for at least this long before the node searches for another one. */
const READ_ONLY_FOR_MS = 1000
/** The node searches again at the earliest this long after a failed search, less up to half at random, so that nodes do not search in step. */
const SEARCH_PAUSE_MS = 400
/** Other statements would fail in the same way. */
const OUTAGES: ReadonlySet<StatementFailure> = new Set(['not_sent', 'lost', 'unreplicated', 'read_only'])

export type StatementAttempt = Statement & {
  attempt: number
  deadline: number
  /** Whether an error does not concern the server. */
  excuses?: ((error: unknown) => boolean) | undefined
}

export type ServerOptions = Partial<Pick<ServerAddress, 'purpose' | 'settings'>> & {
  /** Called for each server that a search finds. If it rejects, the search goes on without this server. */
  accept?: (server: Server) => Promise<void>
}

export class ServerGroup {
  /** the server in use */
  server: Server | null = null
  readonly #address: PostgresAddress
  readonly #options: ServerOptions
  /**
   * After `PATIENCE_MS` without a success, one statement at a time is sent. Otherwise each commit that waits for an absent standby would
   * occupy a process of PostgreSQL until the standby is back.
   */
  readonly #breakers: Record<Side, CircuitBreaker> = {
    read: new CircuitBreaker({ opensAfterMs: PATIENCE_MS }),
    write: new CircuitBreaker({ opensAfterMs: PATIENCE_MS }),
  }
  #search: Promise<Server> | null = null
  #noSearchBefore = 0

  constructor(address: PostgresAddress, options: ServerOptions = {}) {
    this.#address = address
    this.#options = options
  }

  /** The server in use, or the one that a search finds. All callers share one search. After a failed search there is a pause without searches. */
  async find(): Promise<Server> {
    if (this.server) return this.server
    if (!this.#search && performance.now() < this.#noSearchBefore)
      throw new NotSent(new StoreUnavailable('PostgreSQL could not be reached a moment ago'))
    this.#search ??= this.#look().finally(() => (this.#search = null))
    return this.#search
  }

  /** A search can take longer than a statement may wait: `connect_timeout`, and the checks of the connection. The search goes on. */
  async #findBefore(deadline: number): Promise<Server> {
    const { promise: isLate, reject } = Promise.withResolvers<never>()
    const giveUp = () => reject(new NotSent(new StoreUnavailable('PostgreSQL could not be reached in time')))
    const timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()))
    return Promise.race([this.find(), isLate]).finally(() => clearTimeout(timer))
  }

  /** Connects to all servers at once, and uses the first one that passes the checks. */
  async #look(): Promise<Server> {
    const { servers, ...address } = this.#address
    const { purpose = 'store', settings = {}, accept } = this.#options
    const leave = (server: Server) => this.leave(server)
    const opened = servers.map((at) => new Server({ ...address, ...at, purpose, settings }, leave))
    try {
      const accepted = opened.map(async (server) => {
        await server.open()
        await accept?.(server)
        return server
      })
      return (this.server = await Promise.any(accepted))
    } catch (error) {
      this.#noSearchBefore = performance.now() + SEARCH_PAUSE_MS * (0.5 + Math.random() / 2)
      throw error instanceof AggregateError ? error.errors.at(-1) : error
    } finally {
      for (const server of opened) if (server !== this.server) void server.close()
    }
  }

  /** The server is not used for further statements. Running statements continue. */
  leave(server: Server): void {
    if (this.server === server) this.server = null
    void server.close()
  }

  async close(): Promise<void> {
    await this.#search?.catch(() => undefined)
    await this.server?.close()
  }

  /** Runs one attempt of a statement. Throws the error of the driver. */
  run<Row>(attempt: StatementAttempt): Promise<Row[]> {
    const isOutage = (error: unknown) => !attempt.excuses?.(error) && OUTAGES.has(failureOf(error))
    return this.#breakers[sideOf(attempt)].run(() => this.#runOnce(attempt), isOutage)
  }

  async #runOnce<Row>(attempt: StatementAttempt): Promise<Row[]> {
    if (performance.now() > attempt.deadline) throw new StoreUnavailable('PostgreSQL is too slow')
    const server = this.server ?? (await this.#findBefore(attempt.deadline))
    try {
      const rows = await server.send<Row>(attempt, attempt.deadline)
      // Another server may lack what this server returned, and the next statement runs on the other server.
      if (attempt.kind !== 'once' && this.server !== server) throw new Error('another server took over meanwhile')
      return rows
    } catch (error) {
      if (!attempt.excuses?.(error)) this.#noteFailure(server, error, attempt.attempt)
      throw error
    }
  }

  /** If an error concerns the server as a whole, the next attempt searches for a server. */
  #noteFailure(server: Server, error: unknown, attempt: number): void {
    const failure = failureOf(error)
    // While the server refuses new connections, the open connections still work.
    const isUnreachable = failure === 'not_sent' && !server.isConnected
    const isGone = isUnreachable || failure === 'stale' || isSilence(error) || (failure === 'lost' && attempt > 1)
    const isDemoted = failure === 'read_only' && performance.now() - server.since > READ_ONLY_FOR_MS
    if (isGone || isDemoted) this.leave(server)
  }

  /**
   * The milliseconds before the next attempt; null if the statement must not be repeated. Statements are repeated only in the first seconds of an
   * outage: later, this would add load to a slow database.
   */
  pauseBeforeRetry({ kind, attempt, deadline }: StatementAttempt, failure: StatementFailure): number | null {
    if (failure === 'defect' || failure === 'exhausted' || failure === 'unreplicated') return null
    const mayHaveHappened = failure === 'lost' || failure === 'machine_lost'
    if (mayHaveHappened && kind === 'once') return null
    const isFirst = attempt === 1 && (mayHaveHappened || failure === 'stale')
    if (!isFirst && !this.#breakers[sideOf({ kind })].isClosed) return null
    const now = performance.now()
    const pause = Math.max(0, this.#noSearchBefore - now) + 5 + Math.random() * 25 * attempt
    return Math.max(0, Math.min(pause, deadline - now))
  }
}
