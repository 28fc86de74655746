/** One PostgreSQL server out of those the settings name: found, checked to be fit, and reached over a pool of connections. */
import { readFileSync } from 'node:fs'
import { connect, isIP, Socket } from 'node:net'
import { userInfo } from 'node:os'
import type { ConnectionOptions } from 'node:tls'
import postgres from 'postgres'
import { StoreUnavailable } from '../../grants/ports.ts'
import { unavailable } from './failures.ts'

/** Where the database is. The same shape as the setting `GRANTOR_DATABASE_URL` is read into. */
export type PostgresAddress = {
  /** a name, an IP address, or the folder of a Unix socket */
  servers: readonly { host: string; port: number }[]
  /** the operating system's user when absent */
  user?: string | undefined
  password?: string | undefined
  database: string
  /** null for no TLS; `require` encrypts without looking at the certificate */
  tls: { verify: 'require' | 'verify-ca' | 'verify-full'; rootCert?: string; cert?: string; key?: string } | null
  target: 'any' | 'read-write'
  /** connections a node opens at most */
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
  applicationName: string
}

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
  const sockets = createSockets(host, port)
  const sql = postgres({
    host,
    port,
    socket: sockets.open,
    user: address.user ?? userInfo().username,
    // A function, so that an empty one is not looked up in the environment.
    pass: () => address.password ?? '',
    database: address.database,
    ssl: address.tls === null ? false : tlsOptions(address.tls, host),
    max: purpose === 'store' ? address.poolSize : 1,
    connect_timeout: address.connectTimeoutMs / 1000,
    idle_timeout: 0,
    prepare: true,
    fetch_types: false,
    no_subscribe: true,
    onnotice: () => undefined,
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    connection: {
      application_name: address.applicationName,
      ...(purpose === 'store' ? { statement_timeout: address.statementTimeoutMs } : { lock_timeout: 10_000 }),
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

/** A server that is a standby is not written to; one that acknowledges before it has stored is not trusted. */
async function checkFit(sql: Sql, target: PostgresAddress['target']): Promise<void> {
  const [state] = (await sql.unsafe(
    `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
            current_setting('synchronous_commit') = 'off' OR current_setting('fsync') = 'off' AS forgetful`,
  )) as { read_only: boolean; forgetful: boolean }[]
  if (target === 'read-write' && state?.read_only !== false) throw new StoreUnavailable('no PostgreSQL server takes writes')
  if (state?.forgetful)
    throw new StoreUnavailable('this PostgreSQL acknowledges before it has stored: turn fsync and synchronous_commit on')
}

/** Sockets of our own making, so that all of them can be cut, and no more than a few are opened in a row. */
function createSockets(host: string, port: number) {
  let held: Socket[] = []
  let recent: number[] = []
  let over = false
  return {
    async open(): Promise<Socket> {
      // A proxy in front of a dead server takes a connection and drops it at once; the driver would try again as fast.
      const now = performance.now()
      recent = recent.filter((at) => at > now - 1000)
      recent.push(now)
      if (recent.length > 40) await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 100))
      held = held.filter((socket) => !socket.destroyed)
      const socket = over
        ? new Socket().destroy()
        : connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port, noDelay: true })
      held.push(socket)
      return socket
    },
    destroy(): void {
      over = true
      for (const socket of held) socket.destroy()
    },
  }
}

function tlsOptions(tls: NonNullable<PostgresAddress['tls']>, host: string): ConnectionOptions {
  const { verify, rootCert, cert, key } = tls
  return {
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    minVersion: 'TLSv1.2',
    rejectUnauthorized: verify !== 'require',
    // The certificate's issuer is believed, whatever name it gave.
    ...(verify === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(rootCert === undefined ? {} : { ca: fileOf(rootCert) }),
    ...(cert === undefined ? {} : { cert: fileOf(cert) }),
    ...(key === undefined ? {} : { key: fileOf(key) }),
  }
}

function fileOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw unavailable(error, `cannot read ${path}`)
  }
}
