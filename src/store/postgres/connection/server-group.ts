/** A list of addresses of which one server is in use: the search for this server, its limits, and what each failure means for it. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { type Failure, failureOf, isSilence, isTimeout, NotSent, Unreplicated } from './errors.ts'
import { passThrough, Queue } from './queue.ts'
import { findServer, type PostgresAddress, type Server, type ServerOptions } from './server.ts'
import type { Kind, Statement } from './statement.ts'

/** A statement is not retried after this time in milliseconds. A caller waits at most this long, and for the statement that was sent last. */
export const PATIENCE_MS = 2000
const PAUSE_AT_MOST_MS = 1000
/** If a server becomes read-only, the node reads from the server for at least this long before the node searches for another one. */
const READ_ONLY_FOR_MS = 1000

type Side = 'read' | 'write'

export type Attempt = Statement & {
  attempt: number
  deadline: number
  /** Whether an error does not concern the server. */
  excuses?: ((error: unknown) => boolean) | undefined
}

export class ServerGroup {
  readonly #address: PostgresAddress
  readonly #options: ServerOptions
  /** Reads leave one connection for changes, and changes leave one for reads, if the pool has more than one connection. */
  readonly #queues: Record<Side, Queue>
  #server: Server | null = null
  #search: Promise<Server> | null = null
  #noSearchBefore = 0
  #pause = 0
  /** the time of the first failure since the last success, for reads and for changes */
  readonly #failingSince: Record<Side, number | null> = { read: null, write: null }

  constructor(address: PostgresAddress, options: ServerOptions = {}) {
    this.#address = address
    this.#options = options
    const limit = Math.max(1, address.poolSize - 1)
    this.#queues = { read: new Queue(limit), write: new Queue(limit) }
  }

  /** The server in use. */
  get server(): Server | null {
    return this.#server
  }

  /** The server in use, or the one that a search finds. All callers share one search. After a failed search there is a pause without searches. */
  async find(): Promise<Server> {
    if (this.#server) return this.#server
    if (!this.#search && performance.now() < this.#noSearchBefore)
      throw new NotSent(new StoreUnavailable('PostgreSQL could not be reached a moment ago'))
    this.#search ??= this.#look()
    return this.#search
  }

  /** The server is not used for further statements. Running statements continue. */
  leave(server: Server): void {
    if (this.#server === server) this.#server = null
    void server.close()
  }

  async close(): Promise<void> {
    await this.#search?.catch(() => undefined)
    await this.#server?.close()
  }

  /** Runs one attempt of a statement. Throws the error of the driver. */
  async run<Row>(attempt: Attempt): Promise<Row[]> {
    if (performance.now() > attempt.deadline) throw new StoreUnavailable('PostgreSQL is too slow')
    const side = sideOf(attempt)
    return passThrough([this.#queues[side]], async () => {
      let server: Server | null = null
      try {
        server = this.#server ?? (await this.find())
        const rows = await send<Row>(server, attempt)
        // Another server may lack what this server returned, and the next statement runs on the other server.
        if (attempt.kind !== 'once' && this.#server !== server) throw new Error('another server took over meanwhile')
        this.#succeeded(side)
        return rows
      } catch (error) {
        if (!attempt.excuses?.(error)) this.#noteFailure(side, server, error, attempt.attempt)
        throw error
      }
    })
  }

  /** Retries only in the first seconds of an outage. Later, retries would add load to a slow database. */
  isWorthRetrying({ kind, deadline, attempt }: Attempt, failure: Failure): boolean {
    if (failure === 'defect' || failure === 'exhausted' || failure === 'unreplicated') return false
    if ((failure === 'lost' || failure === 'machine_lost') && kind === 'once') return false
    const now = performance.now()
    if (now >= deadline - 30) return false
    const since = this.#failingSince[sideOf({ kind })] ?? now
    return (
      ((failure === 'lost' || failure === 'machine_lost' || failure === 'stale') && attempt === 1) || now - since < PATIENCE_MS
    )
  }

  /** The milliseconds before the next attempt. */
  pauseBefore(attempt: number): number {
    return Math.max(this.#noSearchBefore - performance.now(), 0) + 5 + Math.random() * 25 * attempt
  }

  async #look(): Promise<Server> {
    try {
      this.#server = await findServer(this.#address, this.#options)
      return this.#server
    } catch (error) {
      this.#pause = Math.min(Math.max(this.#pause * 2, 50), PAUSE_AT_MOST_MS)
      this.#noSearchBefore = performance.now() + this.#pause * (0.5 + Math.random() / 2)
      throw error
    } finally {
      this.#search = null
    }
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

  #noteFailure(side: Side, server: Server | null, error: unknown, attempt: number): void {
    if (isOutage(failureOf(error))) this.#failed(side)
    if (server) this.#doubt(server, error, attempt)
  }

  /** If an error concerns the server as a whole, the next attempt searches for a server. Running statements continue. */
  #doubt(server: Server, error: unknown, attempt: number): void {
    const failure = failureOf(error)
    // The server refused a new connection (`max_connections`, or a changed password). The open connections still work.
    if (failure === 'not_sent' && server.isConnected) return server.openNoMore()
    const isGone = failure === 'not_sent' || failure === 'stale' || isSilence(error) || (failure === 'lost' && attempt > 1)
    const isDemoted = failure === 'read_only' && performance.now() - server.since > READ_ONLY_FOR_MS
    if (isGone || isDemoted) this.leave(server)
  }
}

/** Sends a statement over a connection of the pool. Resolves with the rows when the statement is committed. */
async function send<Row>(server: Server, { query, deadline, instance }: Attempt): Promise<Row[]> {
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
    const isStuck = server.hasShards && isTimeout(error)
    client.release(failure === 'lost' || failure === 'unreplicated' || failure === 'stale' || isStuck)
    throw error
  }
}

/** Whether other statements would fail in the same way. */
function isOutage(failure: Failure): boolean {
  return failure === 'not_sent' || failure === 'lost' || failure === 'unreplicated' || failure === 'read_only'
}

const sideOf = ({ kind }: { kind: Kind }): Side => (kind === 'read' ? 'read' : 'write')
