/** One connection to PostgreSQL, and the checks of a new connection. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { type ServerAddress, settingsOf } from '../address.ts'
import { SILENT } from './errors.ts'

export class CheckedClient extends pg.Client {
  /** of the key for the cancellation of statements; `pg` sets it, and its types lack it */
  declare readonly processID: number | null
  /** true if a commit did not wait for its standby */
  unreplicated = false
  /** Replaces the method of `pg`, which would add PGOPTIONS, PGREPLICATION and PGAPPNAME. */
  readonly getStartupConf: () => Record<string, string>

  constructor({ query_timeout: silenceAtMost, ...options }: pg.ClientConfig) {
    super(options)
    usePromises(this, silenceAtMost)
    const { user = '', database = '', application_name = '' } = options
    this.getStartupConf = () => ({ user, database, application_name })
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
}

/**
 * Gives `client.query` a promise and a timeout of our own. A query rejects if it has no result within `silenceAtMost` milliseconds; the
 * caller then closes the connection.
 *
 * What the promise and the `query_timeout` of `pg` hold outlives two collections of the young generation, and so reaches the old one, which
 * is collected with a pause. Beside 1,200 refreshes a second, 4.0 MB a second did, and 0.9 MB without them
 * (docs/decisions/0012-bounds-of-callers.md).
 */
function usePromises(client: pg.Client, silenceAtMost: number | undefined): void {
  const send = client.query.bind(client) as (...query: unknown[]) => unknown
  const query = (config: unknown, values?: unknown[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = silenceAtMost && setTimeout(() => reject(new Error(SILENT)), silenceAtMost)
    send(config, values, (error: Error | null, result: unknown) => {
      clearTimeout(timer)
      if (error) reject(error)
      else resolve(result)
    })
    return promise
  }
  client.query = query as typeof client.query
}

/** If `pg` cannot parse what it received, it throws in its only listener for data. That would end the process. */
function catchUnreadable(stream: Socket): void {
  const [read] = stream.listeners('data') as ((bytes: Buffer) => void)[]
  stream.removeAllListeners('data')
  stream.on('data', (bytes: Buffer) => {
    try {
      read?.(bytes)
    } catch (error) {
      // Only the name of the error: the message may quote the received bytes.
      stream.destroy(new Error(`unreadable bytes from PostgreSQL (${error instanceof Error ? error.name : 'thrown'})`))
    }
  })
}

/** Whether a server acknowledges a commit before the commit is on its disk or on its synchronous standby. Such a commit can be lost. */
export const IS_FORGETFUL = `
  current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off' OR (
    current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> '')`

export const forgetful = (server: string) =>
  new StoreUnavailable(`${server} acknowledges before it has stored: turn fsync and synchronous_commit on`)

export type ServerState = {
  isReadOnly: boolean
  isForgetful: boolean
  /** Whether commits wait for a synchronous standby. */
  isReplicated: boolean
  /** The start time of the server. Identifies the running server: a promoted standby at the same address has another value. */
  instance: string
  /** Whether the connection leads to a pooler, which has a key of its own for the cancellation of statements. */
  isPooled: boolean
  /** Whether the server has Citus's list of shards with the machine of each shard. */
  hasShards: boolean
  /** Whether the tables can be distributed over several machines. */
  isDistributed: boolean
}

/** Applies the settings of a connection, and reads the state of the server. */
export async function applySettings(client: CheckedClient, address: ServerAddress): Promise<ServerState> {
  const { rows } = await client.query<ServerState>(
    `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "isReadOnly",
            ${IS_FORGETFUL} AS "isForgetful",
            current_setting('synchronous_standby_names') <> '' AS "isReplicated",
            pg_postmaster_start_time()::text AS instance,
            pg_backend_pid() IS DISTINCT FROM $2::integer AS "isPooled",
            citus.is_there AS "hasShards",
            citus.is_there OR version() !~ '^PostgreSQL [0-9.]+(devel|beta[0-9]+|rc[0-9]+)?( |$)' AS "isDistributed",
            (SELECT count(set_config(key, value, false)) FROM json_each_text($1)
             WHERE key <> 'transaction_timeout' OR current_setting('server_version_num')::integer >= 170000)
     FROM (SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS is_there) AS citus`,
    [JSON.stringify(settingsOf(address)), client.processID],
  )
  const [state] = rows
  if (!state) throw new StoreUnavailable('PostgreSQL did not report its settings')
  return state
}
