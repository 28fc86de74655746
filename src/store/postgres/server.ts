/** One PostgreSQL server out of those the settings name: found, and checked to be fit. */
import { userInfo } from 'node:os'
import { LATE_BY_AT_MOST, StoreUnavailable } from '../../grants/ports.ts'
import { createSockets, type Tls } from './sockets.ts'
import { Wire } from './wire.ts'

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

/** A server that was found. */
export type Server = {
  /** the connection it was asked over */
  wire: Wire
  /** another one */
  open(): Promise<Wire>
  /** waits for nothing: all connections are gone, and what was under way with them */
  destroy(): void
  /** whether its rows lie on several machines */
  distributed: boolean
  /** milliseconds after which it is taken for dead when it says nothing */
  silentAtMost: number
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
  const statementTimeout = Math.min(address.statementTimeoutMs, STATEMENT_AT_MOST_MS)
  const silentAtMost = statementTimeout + 1000
  const login = {
    user: address.user ?? userInfo().username,
    password: address.password ?? '',
    database: address.database,
    applicationName: address.applicationName,
    ...(purpose === 'store' ? { statementTimeout, silentAtMost } : { lockTimeout: 10_000 }),
  }
  const open = async () => Wire.open(await sockets.open(), login, address.connectTimeoutMs)
  try {
    const wire = await open()
    const { distributed } = await checkFit(wire, purpose === 'migration' ? 'read-write' : address.target, silentAtMost)
    return { wire, open, destroy: sockets.destroy, distributed, silentAtMost }
  } catch (error) {
    sockets.destroy()
    throw error
  }
}

/**
 * A server that is a standby is not written to; one that acknowledges before it has stored is not trusted, nor one that
 * has a synchronous standby and does not wait for it: a promotion would forget what was acknowledged.
 */
async function checkFit(wire: Wire, target: PostgresAddress['target'], silentAtMost: number): Promise<{ distributed: boolean }> {
  const [state] = await wire.query<{ read_only: boolean; forgetful: boolean; distributed: boolean }>(
    `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
            current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off' OR (
              current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> '') AS forgetful,
            EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') OR version() !~ '^PostgreSQL [0-9.]+(devel|beta[0-9]+|rc[0-9]+)?( |$)' AS distributed`,
    undefined,
    silentAtMost,
  )
  if (target === 'read-write' && state?.read_only !== false) throw new StoreUnavailable('no PostgreSQL server takes writes')
  if (state?.forgetful)
    throw new StoreUnavailable('this PostgreSQL acknowledges before it has stored: turn fsync and synchronous_commit on')
  return { distributed: state?.distributed ?? true }
}
