/** One PostgreSQL server out of those the settings name: found, checked to be fit, and reached over a pool of connections. */
import { userInfo } from 'node:os'
import postgres from 'postgres'
import { LATE_BY_AT_MOST, StoreUnavailable } from '../../grants/ports.ts'
import { createSockets, type Tls } from './sockets.ts'

/** Where the database is. The same shape as the setting `GRANTOR_DATABASE_URL` is read into. */
export type PostgresAddress = {
  /** a name, an IP address, or the folder of a Unix socket */
  servers: readonly { host: string; port: number }[]
  /** the operating system's user when absent */
  user?: string | undefined
  password?: string | undefined
  database: string
  tls: Tls
  target: 'any' | 'read-write'
  /** connections a node opens at most */
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  applicationName: string
}

/**
 * A statement knows the moment it began. One that waited for another's lock for longer than `LATE_BY_AT_MOST` would take
 * what the other stored for something from the future, and nobody waits for its answer by then.
 */
const STATEMENT_AT_MOST_MS = (LATE_BY_AT_MOST - 1) * 1000

export type Sql = postgres.Sql<{ bigint: number }>

export type Server = {
  sql: Sql
  /** when it was found, on the clock of `performance` */
  since: number
  /** waits for what is under way */
  end(): Promise<void>
  /** waits for nothing: the connections are gone, and what was under way with them */
  destroy(): void
}

/** Finds a server that is fit: all are asked at once. Throws the reason of the last one when none is. */
export async function findServer(address: PostgresAddress, purpose: 'store' | 'migration' = 'store'): Promise<Server> {
  const asked = address.servers.map((at) => openServer(address, at, purpose))
  const found = Promise.any(asked)
  void found
    .then((winner) => Promise.all(asked.map(async (other) => (await other) !== winner && (await other).destroy())))
    .catch(() => undefined)
  try {
    return await found
  } catch (error) {
    const reasons = (error as AggregateError).errors as unknown[]
    throw reasons.at(-1)
  }
}

async function openServer(
  address: PostgresAddress,
  { host, port }: PostgresAddress['servers'][number],
  purpose: 'store' | 'migration',
): Promise<Server> {
  const sockets = createSockets(host, port, address.tls, address.connectTimeoutMs)
  const sql = postgres({
    host,
    port,
    socket: sockets.open,
    user: address.user ?? userInfo().username,
    // A function, so that an empty one is not looked up in the environment.
    pass: () => address.password ?? '',
    database: address.database,
    // Agreed on already.
    ssl: false,
    max: purpose === 'store' ? address.poolSize : 1,
    connect_timeout: address.connectTimeoutMs / 1000,
    idle_timeout: 0,
    // Of itself the driver waits up to twenty seconds once its connections broke; how often we try is decided elsewhere.
    backoff: () => 0.05,
    prepare: true,
    fetch_types: false,
    no_subscribe: true,
    onnotice: () => undefined,
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    connection: {
      application_name: address.applicationName,
      ...(purpose === 'store'
        ? { statement_timeout: Math.min(address.statementTimeoutMs, STATEMENT_AT_MOST_MS) }
        : { lock_timeout: 10_000 }),
    },
  } as postgres.Options<{ bigint: postgres.PostgresType<number> }> & { pass: () => string; socket: unknown }) as unknown as Sql
  const server: Server = {
    sql,
    since: performance.now(),
    end: () => sql.end({ timeout: 5 }),
    destroy: () => {
      void sql.end({ timeout: 0 }).catch(() => undefined)
      sockets.destroy()
    },
  }
  try {
    await checkFit(sql, purpose === 'migration' ? 'read-write' : address.target)
    return server
  } catch (error) {
    server.destroy()
    throw error
  }
}

/**
 * A server that is a standby is not written to; one that acknowledges before it has stored is not trusted, nor one that
 * has a synchronous standby and does not wait for it: a promotion would forget what was acknowledged.
 */
async function checkFit(sql: Sql, target: PostgresAddress['target']): Promise<void> {
  const [state] = (await sql.unsafe(
    `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
            current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off' OR (
              current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> '') AS forgetful`,
  )) as { read_only: boolean; forgetful: boolean }[]
  if (target === 'read-write' && state?.read_only !== false) throw new StoreUnavailable('no PostgreSQL server takes writes')
  if (state?.forgetful)
    throw new StoreUnavailable('this PostgreSQL acknowledges before it has stored: turn fsync and synchronous_commit on')
}
