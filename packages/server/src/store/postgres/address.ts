/** The address of the database, and what it means for a connection of `pg`. */
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { LATE_BY_AT_MOST } from '../../domain/model/request-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'

/** Has the shape of the parsed setting `GRANTOR_DATABASE_URL`. */
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

/** The address of one server. */
export type ServerAddress = Omit<PostgresAddress, 'servers'> & {
  host: string
  port: number
  purpose: ConnectionPurpose
  /** settings of each connection, beside those of its purpose */
  settings?: Readonly<Record<string, string>>
}

/** `migration`: one connection, without time limits, to the server that accepts writes. */
export type ConnectionPurpose = 'store' | 'migration'

/**
 * A change has the time at which its statement began, before any wait for a lock. If the wait were longer than `LATE_BY_AT_MOST`, the change of
 * the transaction that held the lock would seem to be in the future.
 */
const STATEMENT_TIMEOUT_AT_MOST_MS = (LATE_BY_AT_MOST - 1) * 1000
/** A connection is closed if the server sends nothing for this time after the statement timeout. */
const SILENCE_MS = 500

const statementTimeoutOf = ({ statementTimeoutMs }: ServerAddress) => Math.min(statementTimeoutMs, STATEMENT_TIMEOUT_AT_MOST_MS)

export function clientOptions(address: ServerAddress): pg.ClientConfig {
  return {
    host: address.host,
    port: address.port,
    user: address.user ?? userInfo().username,
    // A function, because `pg` replaces an empty password by one from the environment or from a file.
    password: () => address.password ?? '',
    database: address.database,
    // If `ssl` and `sslnegotiation` are set, `pg` does not read PGSSLMODE and PGSSLNEGOTIATION.
    ssl: readTls(address.tls),
    sslnegotiation: 'postgres',
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    types: { getTypeParser: parserOf as never },
    connectionTimeoutMillis: address.connectTimeoutMs,
    ...(address.purpose === 'store' ? { query_timeout: statementTimeoutOf(address) + SILENCE_MS } : {}),
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
 *   (docs/decisions/0017-postgresql.md).
 * - `jit`: up to PostgreSQL 17, `enable_seqscan = off` makes the estimated cost of a statement without a usable index very high.
 *   PostgreSQL would compile such a statement to machine code at each execution.
 * - `citus.max_adaptive_executor_pool_size`: a statement on all shards uses one connection to each machine, which Citus keeps. Otherwise Citus opens
 *   more for each such statement, which costs six times the statement (docs/decisions/0018-citus.md). Plain PostgreSQL ignores it.
 */
export function settingsOf(address: ServerAddress): Record<string, string> {
  if (address.purpose === 'migration') return { lock_timeout: '10000', ...address.settings }
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
    'citus.max_adaptive_executor_pool_size': '1',
    ...address.settings,
  }
}

const INT8: number = pg.types.builtins.INT8

/** Parses bigint as a number, because all values are far below 2^53. `pg` parses the other types. */
function parserOf(type: number, format: 'text' = 'text'): unknown {
  return type === INT8 ? Number : pg.types.getTypeParser(type, format)
}

function readTls(tls: PostgresAddress['tls']): ConnectionOptions | false {
  if (!tls) return false
  const read = (path: string | undefined): Buffer | undefined => (path === undefined ? undefined : readFile(path))
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: tls.verify !== 'require',
    // `verify-ca` checks the issuer of the certificate, but not the host name.
    ...(tls.verify === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ca: read(tls.rootCert),
    cert: read(tls.cert),
    key: read(tls.key),
  }
}

function readFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new StoreUnavailable(`cannot read ${path}`, { cause: error })
  }
}
