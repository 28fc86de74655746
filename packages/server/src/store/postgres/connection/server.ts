/**
 * One running PostgreSQL server: a pool of connections for reads and one for changes. Each new connection is checked: the address may lead to another
 * server meanwhile.
 */
import pg from 'pg'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { clientOptions, type ServerAddress } from '../address.ts'
import type { Statement } from '../statements/statement.ts'
import { applySettings, CheckedClient, forgetful, type ServerState } from './client.ts'
import { failureOf, isTimeout, NotSent, Unreplicated } from './errors.ts'
import { SHARED_CONNECTIONS, sharesConnections } from './pooler.ts'

/**
 * A statement that waits longer for a connection is refused before the statement is sent. The rest of the time until the caller's deadline
 * remains for the statement itself, so that also an overloaded database acknowledges each row that it changes.
 */
export const WAIT_AT_MOST_MS = 1500
/** If a server refuses a new connection (`max_connections`, or a changed password), no connection is opened for this time. */
const REFUSED_FOR_MS = 1000

export type Side = 'read' | 'write'
export const sideOf = ({ kind }: Pick<Statement, 'kind'>): Side => (kind === 'read' ? 'read' : 'write')
export type PostgresSession = { query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]> }

/** The caller must release the client. With `true` the connection is closed; otherwise the pool uses the connection again. */
type Checked = CheckedClient & { release(close?: boolean): void }
/** `waiting`: the functions that refuse the callers that wait for a connection. */
type SidePool = { pool: pg.Pool; size: number; open: number; waiting: Set<(error: Error) => void> }

export class Server {
  readonly since = performance.now()
  /** What the latest connection found. `instance` is the same for all connections. */
  state: ServerState | null = null
  readonly #address: ServerAddress
  readonly #leave: (server: Server) => void
  /** one pool for both if only one connection is allowed */
  readonly #pools: Record<Side, SidePool>
  #refusedUntil = 0
  #closing: Promise<unknown> | null = null

  /** `leave` is called if the address leads to another server that takes writes. */
  constructor(address: ServerAddress, leave: (server: Server) => void) {
    this.#address = address
    this.#leave = leave
    const size = address.purpose === 'migration' ? 1 : address.poolSize
    const write = this.#createPool(Math.ceil(size / 2))
    this.#pools = { write, read: size === 1 ? write : this.#createPool(Math.floor(size / 2)) }
  }

  #createPool(size: number): SidePool {
    const options = clientOptions(this.#address)
    const side: SidePool = {
      size,
      open: 0,
      waiting: new Set(),
      pool: new pg.Pool({
        Client: class extends CheckedClient {
          constructor() {
            super(options)
          }
        },
        max: size,
        idleTimeoutMillis: 0,
        onConnect: (client) => this.#check(client as CheckedClient, side),
      }),
    }
    side.pool.on('error', () => undefined)
    return side
  }

  /** Runs for every new connection. Refuses a server that is read-only, if writes are needed, and a server that is forgetful. */
  async #check(client: CheckedClient, side: SidePool): Promise<void> {
    const { purpose, target } = this.#address
    const state = await applySettings(client, this.#address)
    // The same address may also lead to a replica. A replica can be behind, and return a grant as active after the grant ended.
    const needsWrites = purpose === 'migration' || target === 'read-write' || this.state?.isReadOnly === false
    if (needsWrites && state.isReadOnly) throw new StoreUnavailable('this PostgreSQL server takes no writes')
    if (this.state && this.state.instance !== state.instance) {
      // A virtual address leads to a promoted standby. What the open connections find on the old primary may not be there.
      this.#leave(this)
      throw new StoreUnavailable('the address leads to another PostgreSQL server')
    }
    if (state.isForgetful) throw forgetful('this PostgreSQL')
    this.state = state
    side.open++
    client.once('end', () => side.open--)
  }

  /** Opens the first connection. Rejects if a pooler shares the connections. */
  async open(): Promise<void> {
    await this.use(() => Promise.resolve())
    if (this.state?.isPooled && (await sharesConnections(this.#address))) throw new StoreUnavailable(SHARED_CONNECTIONS)
  }

  /** Sends a statement. Resolves with the rows when the statement is committed. */
  async send<Row>(statement: Statement, deadline: number): Promise<Row[]> {
    const { query, instance } = statement
    const client = await this.#acquire(sideOf(statement), deadline)
    try {
      if (instance !== undefined && instance !== this.state?.instance)
        throw new StoreUnavailable('PostgreSQL was restarted meanwhile')
      const { command, rows } = await (query.send?.(client) ?? client.query<object>(query))
      // PostgreSQL reported that it is ready for the next statement, but sent no result of this one.
      if (!command) throw new Error('the response of PostgreSQL is incomplete')
      if (client.unreplicated) throw new Unreplicated()
      client.release()
      return rows as Row[]
    } catch (error) {
      const failure = failureOf(error)
      // After a timeout, Citus may still wait for the machine that did not respond. The next statement on this connection would wait too.
      const isStuck = this.state?.hasShards === true && isTimeout(error)
      client.release(failure === 'lost' || failure === 'unreplicated' || failure === 'stale' || isStuck)
      throw error
    }
  }

  /** Runs statements over one connection: the statements of a transaction, or several statements without values in one text. */
  async use<Result>(task: (session: PostgresSession) => Promise<Result>): Promise<Result> {
    const client = await this.#acquire('write', Number.POSITIVE_INFINITY)
    const query: PostgresSession['query'] = async (text, values) =>
      (await client.query(text, values && [...values])).rows as never
    try {
      const result = await task({ query })
      client.release()
      return result
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /**
   * Resolves with a connection that passed the checks. Rejects with `NotSent` if none can be opened, and with `StoreUnavailable` if none becomes
   * free in time.
   */
  #acquire(side: Side, deadline: number): Promise<Checked> {
    const chosen = this.#poolOf(side)
    const { pool, waiting } = chosen
    const isFull = pool.totalCount >= pool.options.max
    const { promise, resolve, reject } = Promise.withResolvers<Checked>()
    const giveUp = (error: Error) => {
      if (error instanceof NotSent) this.#refusedUntil = performance.now() + REFUSED_FOR_MS
      clearTimeout(timer)
      waiting.delete(giveUp)
      reject(error)
    }
    const giveUpLate = () => {
      const late = new StoreUnavailable('PostgreSQL is too slow: no connection in time')
      giveUp(isFull ? late : new NotSent(late))
    }
    // A timer accepts 0 to 2^31 - 1 ms.
    const left = Math.max(0, Math.min(deadline - performance.now(), isFull ? WAIT_AT_MOST_MS : 2 ** 31 - 1))
    const timer = pool.idleCount > pool.waitingCount ? undefined : setTimeout(giveUpLate, left)
    waiting.add(giveUp)
    pool.connect((error, client) => {
      clearTimeout(timer)
      const isLate = !waiting.delete(giveUp)
      if (error || !client) {
        giveUp(new NotSent(error))
        this.#stopOpening(chosen, error)
      }
      // The pool passes the connection on within `release`. If thousands of statements gave up, the calls would exhaust the stack.
      else if (isLate) queueMicrotask(() => client.release())
      else resolve(client as unknown as Checked)
    })
    return promise
  }

  /** If the server refuses new connections, the statements share the open ones, and a side without a connection uses those of the other side. */
  #poolOf(side: Side): SidePool {
    const isRefused = performance.now() < this.#refusedUntil
    const own = this.#pools[side]
    const chosen = isRefused && own.open === 0 ? this.#pools[side === 'read' ? 'write' : 'read'] : own
    const { pool, size, open } = chosen
    pool.options.max = isRefused ? Math.max(1, open) : size
    return chosen
  }

  /**
   * Otherwise the pool would open a connection for each caller that waits, one after the other. If this side has no connection, the callers are
   * refused: their next attempt uses the connections of the other side.
   */
  #stopOpening({ pool, open, waiting }: SidePool, error: unknown): void {
    pool.options.max = open
    if (open === 0) for (const giveUp of waiting) giveUp(new NotSent(error))
  }

  get isConnected(): boolean {
    return this.#pools.read.open + this.#pools.write.open > 0
  }

  /** Closes idle connections at once, and each other connection when its statement has ended. Statements without a connection are not sent. */
  async close(): Promise<void> {
    const sides = [...new Set(Object.values(this.#pools))]
    this.#closing ??= Promise.all(sides.map(({ pool }) => pool.end()))
    for (const { waiting } of sides)
      for (const giveUp of waiting) giveUp(new NotSent(new StoreUnavailable('the node left this PostgreSQL server')))
    await this.#closing
  }
}
