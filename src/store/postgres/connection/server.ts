/** The PostgreSQL server in use, out of those that the settings name: a pool of connections, each of them checked. */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { userInfo } from 'node:os'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { LATE_BY_AT_MOST } from '../../../domain/model/request-store.ts'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { failureOf, NotSent } from './errors.ts'
import { askEveryMachine, type Reply } from './every-machine.ts'

/** Where the database is. The same shape as the setting `GRANTOR_DATABASE_URL` is read into. */
export type PostgresAddress = {
  /** a name, an IP address, or the folder of a Unix socket */
  servers: readonly { host: string; port: number }[]
  /** if absent, the operating system's user */
  user?: string | undefined
  password?: string | undefined
  database: string
  /** null for no TLS; `require` encrypts without a check of the certificate */
  tls: { verify: 'require' | 'verify-ca' | 'verify-full'; rootCert?: string; cert?: string; key?: string } | null
  target: 'any' | 'read-write'
  /** connections that a node opens at most */
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  applicationName: string
}

/** `migration`: one connection, without limits of time, to the server that takes writes. */
export type Purpose = 'store' | 'migration'

/**
 * A statement uses the time at which it began. If it waited for a lock for longer than `LATE_BY_AT_MOST`, the change of the lock's holder
 * would seem to be in the future.
 */
const STATEMENT_TIMEOUT_AT_MOST_MS = (LATE_BY_AT_MOST - 1) * 1000
/** How much longer than the statement timeout a server may be silent before its connection is closed. */
const SILENCE_MS = 500

/**
 * Connects to all servers at once and returns the pool of the first that is fit; the others are closed. Throws `NotSent`
 * with the reason of the last server if none is fit.
 */
export async function findServer(address: PostgresAddress, purpose: Purpose = 'store'): Promise<Server> {
  const tls = address.tls && readTls(address.tls)
  const servers = address.servers.map((at) => new Server(address, { ...at, tls, purpose }))
  const attempts = servers.map(async (server) => {
    const client = await server.acquire()
    client.release()
    if (server.hasShards) await server.checkMachines()
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

/** A client of the pool. The caller releases it: with `true` the connection is closed, otherwise it is used again. */
type Checked = CheckedClient & { release(close?: boolean): void }

export class Server {
  readonly since = performance.now()
  /** Whether rows lie on several machines: known once a connection was opened. */
  distributed = true
  /** Whether it has Citus's list of shards, which says on which machine each row is. */
  hasShards = false
  /** Whether its commits wait for a synchronous standby. */
  isReplicated = true
  /** Identifies the running server: a promoted standby behind the same name is another one. */
  instance = ''
  readonly #pool: pg.Pool
  readonly #size: number
  #takesWrites = false
  readonly #open = new Set<pg.ClientBase>()
  #closing: Promise<void> | null = null

  constructor(
    address: PostgresAddress,
    options: { host: string; port: number; tls: ConnectionOptions | null; purpose: Purpose },
  ) {
    this.#size = options.purpose === 'migration' ? 1 : address.poolSize
    const target = options.purpose === 'migration' ? 'read-write' : address.target
    this.#pool = new pg.Pool({
      ...clientOptions(address, options),
      Client: CheckedClient,
      max: this.#size,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: address.connectTimeoutMs,
      // For every connection, not only the first.
      onConnect: async (client: CheckedClient) => {
        const state = await checkFitness(client, target, settingsOf(address, options.purpose))
        // The same name may also lead to a replica, which returns grants as active that have ended since.
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

  /** Runs statements over one connection: those of a transaction, or several without values in one text. */
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

  /**
   * Rejects with `NotSent` if a machine of the cluster is forgetful. A machine that does not answer is not judged: it changes no rows until
   * it answers, and is checked again then.
   */
  async checkMachines(): Promise<void> {
    const replies = await this.use(({ query }) => query<Reply>(FIND_FORGETFUL)).catch((error: unknown) => {
      if (failureOf(error) === 'defect') throw error
      return []
    })
    const found = replies.find(({ success, result }) => success && result === 't')
    if (found) throw new NotSent(forgetful(`the PostgreSQL at ${found.host}:${found.port}`))
  }

  /** Resolves with a connection that is fit. Rejects with `NotSent`, also if there is none before the deadline. */
  acquire(deadline = Number.POSITIVE_INFINITY): Promise<Checked> {
    return new Promise((resolve, reject) => {
      let isLate = false
      // The bounds are those of a timer. A caller that waited for its turn may come after its deadline.
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

  /** Opens no connection for a second, after the server refused one: it has no room for more, or the password was changed. */
  openNoMore(): void {
    this.#pool.options.max = Math.max(1, this.#open.size)
    setTimeout(() => (this.#pool.options.max = this.#size), 1000).unref()
  }

  /** Closes idle connections now and the others when their statement has ended. */
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
    // A function: pg looks for an empty password in the environment and in a file.
    password: () => address.password ?? '',
    database: address.database,
    // With `ssl` and `sslnegotiation` set, pg does not read PGSSLMODE and PGSSLNEGOTIATION.
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
 * - If a node disappears in the middle of a message, its statement keeps its locks: no statement timeout runs before the Sync that ends the
 *   message. The settings for TCP end the statement if the network is gone, and `transaction_timeout` (PostgreSQL 17 or newer) ends it
 *   if a proxy still acknowledges every packet.
 * - `enable_seqscan`: each statement finds its rows through an index. Without this setting, PostgreSQL reads a table of a few thousand rows
 *   as a whole for a statement over many rows, and keeps that plan while the table grows
 *   (docs/decisions/0044-batches-of-one-turn-and-index-scans.md).
 * - `jit`: up to PostgreSQL 17, a statement that has no index to use counts as very expensive because of `enable_seqscan`, and would be
 *   compiled to machine code each time.
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
  /** Set when a commit did not wait for its standby. */
  unreplicated = false
  /** see `Server` */
  instance = ''
  readonly #startup: Record<string, string>

  constructor(options: pg.ClientConfig) {
    super(options)
    const { user = '', database = '', application_name = '' } = options
    this.#startup = { user, database, application_name }
    // An error without a listener would end the process. The statement that is under way gets it as well.
    this.on('error', () => undefined)
    this.on('notice', ({ routine }) => (this.unreplicated ||= routine === 'SyncRepWaitForLSN'))
    const connection = this.connection as unknown as { attachListeners(stream: Socket): void }
    const attach = connection.attachListeners.bind(connection)
    connection.attachListeners = (stream) => {
      attach(stream)
      catchUnreadable(stream)
    }
  }

  /** Overrides pg, which would add PGOPTIONS, PGREPLICATION and PGAPPNAME. */
  getStartupConf(): Record<string, string> {
    return this.#startup
  }
}

/** pg throws in an event listener at bytes that it cannot read, which would end the process. */
function catchUnreadable(stream: Socket): void {
  for (const read of stream.listeners('data') as ((bytes: Buffer) => void)[]) {
    stream.off('data', read)
    stream.on('data', (bytes: Buffer) => {
      if (stream.destroyed) return
      try {
        read(bytes)
      } catch (error) {
        // Only the kind of error: its message may quote what was read.
        stream.destroy(new Error(`unreadable bytes from PostgreSQL (${error instanceof Error ? error.name : 'thrown'})`))
      }
    })
  }
}

/** Whether a server acknowledges before it has stored, or without its synchronous standby: a promotion would forget what it acknowledged. */
const IS_FORGETFUL = `
  current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off' OR (
    current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> '')`

/** On Citus: which machines are forgetful. */
export const FIND_FORGETFUL = askEveryMachine(`SELECT ${IS_FORGETFUL}`)

const forgetful = (server: string) =>
  new StoreUnavailable(`${server} acknowledges before it has stored: turn fsync and synchronous_commit on`)

type State = {
  read_only: boolean
  forgetful: boolean
  replicated: boolean
  instance: string
  citus: boolean
  other_engine: boolean
}

/** Applies the settings of a connection. Refuses a server that takes no writes, and one that is forgetful. */
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

/** Reads bigint as a number: all values stay far below 2^53. Other types are read by pg. */
function parserOf(type: number, format: 'text' = 'text'): unknown {
  return type === INT8 ? Number : pg.types.getTypeParser(type, format)
}

function readTls({ verify, rootCert, cert, key }: NonNullable<PostgresAddress['tls']>): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: verify !== 'require',
    // `verify-ca` trusts the issuer of the certificate, whatever name the certificate has.
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
