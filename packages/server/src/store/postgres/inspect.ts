/** What `grantor doctor` reads about each server of the settings, and about each machine of their Citus cluster. The store refuses some of these servers; this file describes them. */

import type { ClusterHealth } from '../cluster-health.ts'
import type { PostgresAddress } from './address.ts'
import { clientOptions } from './address.ts'
import { CheckedClient } from './connection/client.ts'
import { toStoreError } from './connection/errors.ts'
import { sharesConnections } from './connection/pooler.ts'
import { MIGRATIONS } from './migrations.ts'
import type { LoadPlacement, Reply } from './placement.ts'
import { PostgresConnection } from './statements/connection.ts'

export type PostgresFacts = {
  /** 170004 is 17.4 */
  version: number
  inRecovery: boolean
  fsync: boolean
  fullPageWrites: boolean
  synchronousCommit: string
  synchronousStandbyNames: string
  standbys: number
  /** connections that this role can use at most, on the whole server */
  connections: number
  /** client connections that are open now, to all databases */
  connectionsInUse: number
  isolation: string
  /** whether a pooler shares the connections */
  isShared: boolean
  /** epoch seconds, with fractions */
  now: number
}

// An ordinary role sees every session and standby here, with a part of their columns.
const INSPECT = `
  SELECT current_setting('server_version_num')::integer AS version,
         pg_is_in_recovery() AS in_recovery,
         current_setting('fsync') = 'on' AS fsync,
         current_setting('full_page_writes') = 'on' AS full_page_writes,
         current_setting('synchronous_commit') AS synchronous_commit,
         current_setting('synchronous_standby_names') AS synchronous_standby_names,
         (SELECT count(*)::integer FROM pg_stat_replication) AS standbys,
         current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
           - coalesce(current_setting('reserved_connections', true)::integer, 0) AS connections,
         (SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections_in_use,
         current_setting('default_transaction_isolation') AS isolation,
         EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS citus,
         extract(epoch FROM clock_timestamp())::double precision AS now`

/** `ofCluster`: a machine of the Citus cluster that the settings do not name. */
export type Inspected = { host: string; port: number; ofCluster: boolean } & ({ facts: PostgresFacts } | { problem: string })

/** Each server of the address, in its order, and after them the other machines if the database is on a Citus cluster. */
export async function inspectPostgres(address: PostgresAddress, loadPlacement: LoadPlacement): Promise<Inspected[]> {
  const found = await Promise.all(address.servers.map((at) => inspectServer(address, at, loadPlacement)))
  const servers = found.map(({ server }) => server)
  const machines = found.find((each) => each.machines.length > 0)?.machines ?? []
  const isNamed = ({ host, port }: Inspected) => servers.some((server) => server.host === host && server.port === port)
  return [...servers, ...machines.filter((machine) => !isNamed(machine))]
}

/** One server, and the other machines of its cluster according to this server. */
async function inspectServer(
  address: PostgresAddress,
  at: { host: string; port: number },
  loadPlacement: LoadPlacement,
): Promise<{ server: Inspected; machines: Inspected[] }> {
  try {
    const [row = {}] = await queryUnchecked(address, at, INSPECT)
    const machines = row.citus ? await inspectMachines(address, at, loadPlacement) : []
    const isShared = await sharesConnections({ ...address, ...at, purpose: 'store' })
    return { server: { ...at, ofCluster: false, facts: { ...factsOf(row), isShared } }, machines }
  } catch (error) {
    const failure = toStoreError(error)
    const problem = failure instanceof Error ? failure.message : 'unknown error'
    return { server: { ...at, ofCluster: false, problem }, machines: [] }
  }
}

/** The machines of the cluster, without the one at `at`. */
async function inspectMachines(
  address: PostgresAddress,
  at: { host: string; port: number },
  loadPlacement: LoadPlacement,
): Promise<Inspected[]> {
  const { askEveryMachine } = await loadPlacement()
  const text = askEveryMachine(`SELECT row_to_json(facts) FROM (${INSPECT}) AS facts`)
  const replies = (await queryUnchecked(address, at, text)) as Reply[]
  return replies.filter(({ is_here }) => !is_here).map(machineOf)
}

function machineOf({ host, port, success, result }: Reply): Inspected {
  const at = { host, port, ofCluster: true }
  return success ? { ...at, facts: factsOf(JSON.parse(result) as Record<string, unknown>) } : { ...at, problem: result }
}

function factsOf(row: Record<string, unknown>): PostgresFacts {
  return {
    version: row.version as number,
    inRecovery: row.in_recovery as boolean,
    fsync: row.fsync as boolean,
    fullPageWrites: row.full_page_writes as boolean,
    synchronousCommit: row.synchronous_commit as string,
    synchronousStandbyNames: row.synchronous_standby_names as string,
    standbys: row.standbys as number,
    connections: row.connections as number,
    connectionsInUse: row.connections_in_use as number,
    isolation: row.isolation as string,
    isShared: false,
    now: row.now as number,
  }
}

/** Passes what is known about the machines of the database to `inspect`, as a node here would find it. */
export async function inspectPlacement<Result>(
  address: PostgresAddress,
  loadPlacement: LoadPlacement,
  inspect: (placement: ClusterHealth) => Promise<Result>,
): Promise<Result> {
  const connection = new PostgresConnection(address, { clock: 'database', loadPlacement })
  try {
    await connection.placement.settle()
    return await inspect(connection.placement)
  } finally {
    await connection.close()
  }
}

const TABLES = MIGRATIONS.flatMap(({ sql }) => [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name))
const FULL_RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'].map((right) => `has_table_privilege(oid, '${right}')`).join(' AND ')

/** The tables that the role of the address may not read or change. */
export async function tablesWithoutRights(address: PostgresAddress, loadPlacement: LoadPlacement): Promise<string[]> {
  const connection = new PostgresConnection(address, { clock: 'database', loadPlacement })
  try {
    const rows = await connection.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class
       WHERE relname IN (${TABLES.map((name) => `'${name}'`).join(', ')}) AND relkind IN ('r', 'p') AND pg_table_is_visible(oid)
         AND NOT (${FULL_RIGHTS}) ORDER BY relname`,
    )
    return rows.map(({ name }) => name)
  } finally {
    await connection.close()
  }
}

/** Runs a statement on one server without checking its settings first. */
async function queryUnchecked(
  address: PostgresAddress,
  at: { host: string; port: number },
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new CheckedClient(clientOptions({ ...address, ...at, purpose: 'store' }))
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}
