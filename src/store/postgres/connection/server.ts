/** The PostgreSQL server in use, one of the servers in the settings: a pool of connections. Each new connection is checked. */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { userInfo } from 'node:os'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { LATE_BY_AT_MOST } from '../../../domain/model/request-store.ts'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { NotSent } from './errors.ts'

/** The address of the database. Has the shape of the parsed setting `GRANTOR_DATABASE_URL`. */
export type PostgresAddress = {
  /** a name, an IP address, or the folder of a Unix socket */
  servers: readonly { host: string; port: number }[]
  /** if absent, the operating system's user */
  user?: string | undefined
  password?: string | undefined
  database: string
  /** null: no TLS. `require` encrypts without a check of the certificate */
  tls: { verify: 'require' | 'verify-ca' | 'verify-full'; rootCert?: string; cert?: string; key?: string } | null
  target: 'any' | 'read-write'
  /** the maximum number of connections of one process */
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  applicationName: string
}

/** `migration`: one connection, without time limits, to the server that accepts writes. */
export type Purpose = 'store' | 'migration'

/**
 * A change has the time at which its statement began, before any wait for a lock. If the wait were longer than `LATE_BY_AT_MOST`, the change of
 * the transaction that held the lock would seem to be in the future.
 */
const STATEMENT_TIMEOUT_AT_MOST_MS = (LATE_BY_AT_MOST - 1) * 1000
/** A connection is closed if the server sends nothing for this time after the statement timeout. */
const SILENCE_MS = 500

export type ServerOptions = {
  purpose?: Purpose
  /** settings of each connection, beside those of its purpose */
  settings?: Readonly<Record<string, string>>
  /** Called for each server that a search finds. If it rejects, the search goes on without this server. */
  accept?: (server: Server) => Promise<void>
}

/**
 * Connects to all servers at once. Returns the pool of the first server that passes the checks, and closes the others. If no server passes,
 * throws `NotSent` with the error of the last server.
 */
export async function findServer(
  address: PostgresAddress,
  { purpose = 'store', settings = {}, accept }: ServerOptions,
): Promise<Server> {
  const tls = address.tls && readTls(address.tls)
  const servers = address.servers.map((at) => new Server(address, { ...at, tls, purpose, settings }))
  const attempts = servers.map(async (server) => {
    const client = await server.acquire()
    client.release()
    await accept?.(server)
    return server
  })
  try {
    const found = await Promise.any(attempts)
    for (const other of servers) if (other !== found) void other.close()
    return found
  } catch (error) {
    for (const server of servers) void server.close()
    throw (error as AggregateError).errors.at(-1)
  }
}

export type Session = { query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]> }

/** Runs a statement on one server without checking its settings first, for `inspect.ts`. */
export async function queryUnchecked(
  address: PostgresAddress,
  at: { host: string; port: number },
  text: string,
): Promise<Record<string, unknown>[]> {
  const tls = address.tls && readTls(address.tls)
  const client = new CheckedClient({
    ...clientOptions(address, { ...at, tls, purpose: 'store' }),
    connectionTimeoutMillis: address.connectTimeoutMs,
  })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** A client of the pool. The caller must release the client. With `true` the connection is closed; otherwise the pool uses the connection again. */
type Checked = CheckedClient & { release(close?: boolean): void }

export class Server {
  readonly since = performance.now()
  /** Whether the tables are distributed over several machines. true until a connection was opened. */
  distributed = true
  /** Whether the server has Citus's list of shards with the machine of each shard. */
  hasShards = false
  /** Whether commits on this server wait for a synchronous standby. */
  isReplicated = true
  /** Identifies the running server: a promoted standby at the same address has another value. */
  instance = ''
  readonly #pool: pg.Pool
  readonly #size: number
  #takesWrites = false
  readonly #open = new Set<pg.ClientBase>()
  #closing: Promise<void> | null = null

  constructor(
    address: PostgresAddress,
    options: {
      host: string
      port: number
      tls: ConnectionOptions | null
      purpose: Purpose
      settings: Readonly<Record<string, string>>
    },
  ) {
    this.#size = options.purpose === 'migration' ? 1 : address.poolSize
    const target = options.purpose === 'migration' ? 'read-write' : address.target
    this.#pool = new pg.Pool({
      ...clientOptions(address, options),
      Client: CheckedClient,
      max: this.#size,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: address.connectTimeoutMs,
      // Runs for every new connection.
      onConnect: async (client: CheckedClient) => {
        const state = await checkFitness(client, target, {
          ...settingsOf(address, options.purpose),
          ...options.settings,
        })
        // The same address may also lead to a replica. A replica can be behind, and return a grant as active after the grant ended.
        if (state.read_only && this.#takesWrites)
          throw new StoreUnavailable('this connection leads to a server that takes no writes')
        this.#takesWrites = !state.read_only
        this.distributed = state.citus || state.other_engine
        this.hasShards = state.citus
        this.isReplicated = state.replicated
        this.instance = client.instance = state.instance
        this.#open.add(client)
        client.on('end', () => this.#open.delete(client))
      },
    } as unknown as pg.PoolConfig)
    this.#pool.on('error', () => undefined)
  }

  /** Runs statements over one connection: the statements of a transaction, or several statements without values in one text. */
  async use<Result>(task: (session: Session) => Promise<Result>): Promise<Result> {
    const client = await this.acquire()
    const query: Session['query'] = async (text, values) => (await client.query(text, values && [...values])).rows as never
    try {
      const result = await task({ query })
      client.release()
      return result
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** Resolves with a connection that passed the checks. Rejects with `NotSent`, also if no connection is free before the deadline. */
  acquire(deadline = Number.POSITIVE_INFINITY): Promise<Checked> {
    return new Promise((resolve, reject) => {
      let isLate = false
      // A timer accepts 0 to 2^31 - 1 ms. The deadline may have passed while the statement was queued.
      const left = Math.max(0, Math.min(deadline - performance.now(), 2 ** 31 - 1))
      const timer = setTimeout(() => {
        isLate = true
        reject(new NotSent(new StoreUnavailable('no connection to PostgreSQL in time')))
      }, left)
      this.#pool.connect((error, client) => {
        clearTimeout(timer)
        if (error || !client) reject(new NotSent(error))
        else if (isLate) client.release()
        else resolve(client as unknown as Checked)
      })
    })
  }

  /** Whether a connection is open. */
  get isConnected(): boolean {
    return this.#open.size > 0
  }

  /** Opens no connection for a second. Called after the server refused one (`max_connections`, or a changed password). */
  openNoMore(): void {
    this.#pool.options.max = Math.max(1, this.#open.size)
    setTimeout(() => (this.#pool.options.max = this.#size), 1000).unref()
  }

  /** Closes idle connections at once, and each other connection when its statement has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#pool.end()
    return this.#closing
  }
}

function clientOptions(
  address: PostgresAddress,
  { host, port, tls, purpose }: { host: string; port: number; tls: ConnectionOptions | null; purpose: Purpose },
): pg.ClientConfig {
  return {
    host,
    port,
    user: address.user ?? userInfo().username,
    // A function, because `pg` replaces an empty password by one from the environment or from a file.
    password: () => address.password ?? '',
    database: address.database,
    // If `ssl` and `sslnegotiation` are set, `pg` does not read PGSSLMODE and PGSSLNEGOTIATION.
    ssl: tls ?? false,
    sslnegotiation: 'postgres',
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    types: { getTypeParser: parserOf as never },
    ...(purpose === 'store' ? { query_timeout: statementTimeoutOf(address) + SILENCE_MS } : {}),
    application_name: address.applicationName,
  }
}

/**
 * The settings of a connection.
 *
 * - If a node stops in the middle of a message, its statement keeps its locks: the statement timeout starts with the Sync that ends the
 *   message. The settings for TCP end the statement if the network is lost. `transaction_timeout` (PostgreSQL 17 or newer) ends the
 *   statement if a proxy still acknowledges every packet.
 * - `enable_seqscan`: each statement finds its rows through an index. Without this setting, PostgreSQL reads a table of a few thousand rows
 *   as a whole for a statement over many rows, and keeps that plan while the table grows
 *   (docs/decisions/0044-batches-of-one-turn-and-index-scans.md).
 * - `jit`: up to PostgreSQL 17, `enable_seqscan = off` makes the estimated cost of a statement without a usable index very high.
 *   PostgreSQL would compile such a statement to machine code at each execution.
 */
function settingsOf(address: PostgresAddress, purpose: Purpose): Record<string, string> {
  if (purpose === 'migration') return { lock_timeout: '10000' }
  return {
    statement_timeout: String(statementTimeoutOf(address)),
    idle_in_transaction_session_timeout: '2000',
    transaction_timeout: '3000',
    tcp_keepalives_idle: '2',
    tcp_keepalives_interval: '1',
    tcp_keepalives_count: '2',
    tcp_user_timeout: '4000',
    enable_seqscan: 'off',
    jit: 'off',
  }
}

const statementTimeoutOf = ({ statementTimeoutMs }: PostgresAddress) => Math.min(statementTimeoutMs, STATEMENT_TIMEOUT_AT_MOST_MS)

class CheckedClient extends pg.Client {
  /** true if a commit did not wait for its standby */
  unreplicated = false
  /** see `Server` */
  instance = ''
  readonly #startup: Record<string, string>

  constructor(options: pg.ClientConfig) {
    super(options)
    const { user = '', database = '', application_name = '' } = options
    this.#startup = { user, database, application_name }
    // An `error` event without a listener would end the process. The running statement is rejected with the same error.
    this.on('error', () => undefined)
    this.on('notice', ({ routine }) => (this.unreplicated ||= routine === 'SyncRepWaitForLSN'))
    const connection = this.connection as unknown as { attachListeners(stream: Socket): void }
    const attach = connection.attachListeners.bind(connection)
    connection.attachListeners = (stream) => {
      attach(stream)
      catchUnreadable(stream)
    }
  }

  /** Overrides `pg`, which would add PGOPTIONS, PGREPLICATION and PGAPPNAME. */
  getStartupConf(): Record<string, string> {
    return this.#startup
  }
}

/** If `pg` cannot parse what it received, it throws in an event listener. That would end the process. */
function catchUnreadable(stream: Socket): void {
  for (const read of stream.listeners('data') as ((bytes: Buffer) => void)[]) {
    stream.off('data', read)
    stream.on('data', (bytes: Buffer) => {
      if (stream.destroyed) return
      try {
        read(bytes)
      } catch (error) {
        // Only the name of the error: the message may quote the received bytes.
        stream.destroy(new Error(`unreadable bytes from PostgreSQL (${error instanceof Error ? error.name : 'thrown'})`))
      }
    })
  }
}

/** Whether a server acknowledges a commit before the commit is on its disk or on its synchronous standby. Such a commit can be lost. */
export const IS_FORGETFUL = `
  current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off' OR (
    current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> '')`

export const forgetful = (server: string) =>
  new StoreUnavailable(`${server} acknowledges before it has stored: turn fsync and synchronous_commit on`)

type State = {
  read_only: boolean
  forgetful: boolean
  replicated: boolean
  instance: string
  citus: boolean
  other_engine: boolean
}

/** Applies the settings of a connection. Refuses a server that is read-only, if writes are needed, and a server that is forgetful. */
async function checkFitness(
  client: pg.ClientBase,
  target: PostgresAddress['target'],
  settings: Record<string, string>,
): Promise<State> {
  const { rows } = await client.query<State>(
    `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
            ${IS_FORGETFUL} AS forgetful,
            current_setting('synchronous_standby_names') <> '' AS replicated,
            pg_postmaster_start_time()::text AS instance,
            EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS citus,
            version() !~ '^PostgreSQL [0-9.]+(devel|beta[0-9]+|rc[0-9]+)?( |$)' AS other_engine,
            (SELECT count(set_config(key, value, false)) FROM json_each_text($1)
             WHERE key <> 'transaction_timeout' OR current_setting('server_version_num')::integer >= 170000)`,
    [JSON.stringify(settings)],
  )
  const [state] = rows
  if (!state) throw new StoreUnavailable('PostgreSQL did not report its settings')
  if (target === 'read-write' && state.read_only) throw new StoreUnavailable('no PostgreSQL server takes writes')
  if (state.forgetful) throw forgetful('this PostgreSQL')
  return state
}

const INT8: number = pg.types.builtins.INT8

/** Parses bigint as a number, because all values are far below 2^53. `pg` parses the other types. */
function parserOf(type: number, format: 'text' = 'text'): unknown {
  return type === INT8 ? Number : pg.types.getTypeParser(type, format)
}

function readTls({ verify, rootCert, cert, key }: NonNullable<PostgresAddress['tls']>): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: verify !== 'require',
    // `verify-ca` checks the issuer of the certificate, but not the host name.
    ...(verify === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(rootCert === undefined ? {} : { ca: readFile(rootCert) }),
    ...(cert === undefined ? {} : { cert: readFile(cert) }),
    ...(key === undefined ? {} : { key: readFile(key) }),
  }
}

function readFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new StoreUnavailable(`cannot read ${path}`, { cause: error })
  }
}
