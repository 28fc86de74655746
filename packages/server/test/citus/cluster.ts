/**
 * A Citus cluster of real servers on loopback: a coordinator, and workers that hold the rows. `TEST_CITUS_PG_BIN` names the folder with
 * the programs of a PostgreSQL in which the extension is installed. Each server runs with `fsync` on.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { addressOf, type PostgresDatabase } from '../support/postgres-database.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { connect, type Sql } from '../support/sql.ts'

export type Cluster = {
  coordinator: PostgresServer
  workers: PostgresServer[]
  /** Makes an empty database on every server. */
  newDatabase(options?: NewDatabase): Promise<PostgresDatabase>
  /** Creates the extension in a database that was not joined, and joins the workers. */
  join(name: string): Promise<void>
  /** what all servers have logged since the last call of `forgetLog` */
  log(): string
  /** the same for each server: the coordinator, and the workers after it */
  logs(): string[]
  forgetLog(): void
  close(): Promise<void>
}

/**
 * The workers are joined directly, or through `ports`, in the order of the workers. If `joined` is false, the database is a plain one, without
 * the extension.
 */
type NewDatabase = { name?: string; ports?: readonly number[]; joined?: boolean }

/** Few shards, so that a table is created quickly, but several on each of three workers. */
const SHARDS = 12

const SETTINGS = {
  shared_preload_libraries: "'citus'",
  // Rows move while requests are served.
  wal_level: 'logical',
  'citus.node_conninfo': "'sslmode=disable'",
  'citus.shard_count': String(SHARDS),
  // Each test has a database of its own, and each database a maintenance process on every server.
  max_worker_processes: '64',
  logging_collector: 'on',
  log_directory: "'log'",
  log_filename: "'server.log'",
}

/** Starts a server with the extension that is in no cluster yet. */
export async function startMachine(settings: Record<string, string> = {}): Promise<PostgresServer> {
  const bin = process.env.TEST_CITUS_PG_BIN
  if (!bin) throw new Error('TEST_CITUS_PG_BIN names no PostgreSQL with Citus')
  const server = await startPostgres({ ...SETTINGS, ...settings }, bin)
  await using(server.urlOf('postgres'), async (sql) => {
    // Newer versions of PostgreSQL decode only with the libraries of this setting, and older ones do not have the setting.
    const [setting] = await sql`SELECT FROM pg_settings WHERE name = 'output_plugin_libraries'`
    if (!setting) return
    await sql`ALTER SYSTEM SET output_plugin_libraries = pgoutput, test_decoding, citus`
    await sql`SELECT pg_reload_conf()`
  })
  return server
}

export async function startCluster(workerCount = 3, settings: Record<string, string> = {}): Promise<Cluster> {
  const starts = Array.from({ length: workerCount + 1 }, () => startMachine(settings))
  const [coordinator, ...workers] = (await Promise.all(starts)) as [PostgresServer]
  const servers = [coordinator, ...workers] as PostgresServer[]
  const logs = () => servers.map(({ folder }) => readFileSync(join(folder, 'log/server.log'), 'utf8'))
  let read = servers.map(() => 0)
  const newLogs = () => logs().map((text, index) => text.slice(read[index]))
  return {
    coordinator,
    workers,
    newDatabase: (options) => createClusterDatabase(servers, options),
    join: (name) => joinMachines(servers, { name, ports: portsOf(servers) }),
    log: () => newLogs().join('\n'),
    logs: newLogs,
    forgetLog() {
      read = logs().map(({ length }) => length)
    },
    close: async () => void (await Promise.all(servers.map((server) => server.remove()))),
  }
}

/** The coordinator, and the workers after it. */
type Servers = readonly Pick<PostgresServer, 'port' | 'urlOf'>[]

const portsOf = (servers: Servers) => servers.slice(1).map(({ port }) => port)

/** Makes an empty database on every server of a cluster, and joins the workers. */
export async function createClusterDatabase(
  servers: Servers,
  { name = `grantor_test_${randomBytes(6).toString('hex')}`, ports = portsOf(servers), joined = true }: NewDatabase = {},
): Promise<PostgresDatabase> {
  const [coordinator] = servers as [Servers[number]]
  for (const server of servers) await using(server.urlOf('postgres'), (sql) => sql.unsafe(`CREATE DATABASE ${name}`))
  if (joined) await joinMachines(servers, { name, ports })
  const url = coordinator.urlOf(name)
  const sql = connect(url)
  return {
    name,
    url,
    address: addressOf(url),
    sql,
    async drop() {
      await sql.end()
      for (const server of servers)
        await using(server.urlOf('postgres'), (admin) => admin.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    },
  }
}

async function joinMachines(servers: Servers, { name, ports }: { name: string; ports: readonly number[] }): Promise<void> {
  const [coordinator] = servers as [Servers[number]]
  for (const server of servers) await using(server.urlOf(name), (sql) => sql.unsafe('CREATE EXTENSION citus'))
  await using(coordinator.urlOf(name), async (sql) => {
    await sql`SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`
    for (const port of ports) await sql`SELECT citus_add_node('127.0.0.1', ${port})`
  })
}

/** Runs a task over one connection to a server. */
export async function using<Result>(url: string, task: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = connect(url)
  try {
    return await task(sql)
  } finally {
    await sql.end()
  }
}
