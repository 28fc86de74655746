/** Distributes the tables, also while servers run (docs/decisions/0019-citus-growth-and-outages.md). */
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import type { PostgresSession } from '../postgres/connection/server.ts'
import type { Distributing } from '../postgres/placement.ts'
import { BESIDE, DISTRIBUTED, ON_COORDINATOR } from './distribution.ts'

type DistributedTable = keyof typeof DISTRIBUTED
const TABLES = Object.keys(DISTRIBUTED) as DistributedTable[]

/**
 * In this time every running node notices the extension, and no longer sends statements over several rows. A node reads twice a second whether
 * the extension exists.
 */
const NOTICED_WITHIN_MS = 10_000
/** The error of Citus if another connection distributes a table. */
const IN_PROGRESS = 'another create_distributed_table_concurrently operation is in progress'
/** How often the progress of a copy is reported. */
const REPORT_EVERY_MS = 10_000

/**
 * Distributes the tables that are not distributed yet. Throws the error of Citus if this fails. The tables that are done stay distributed, and a
 * repetition continues.
 */
export async function distribute(session: PostgresSession, distributing: Distributing): Promise<void> {
  const tables = await distributing.runLocking(() => distributeEmpty(session))
  if (tables.length === 0) return
  await requireLogicalDecoding(session)
  if (await isInUse(session)) {
    distributing.report(`Waiting ${NOTICED_WITHIN_MS / 1000} seconds, until every server has noticed Citus.`)
    await new Promise((resolve) => setTimeout(resolve, NOTICED_WITHIN_MS))
  }
  // Citus itself would wait for the lock on a table without a limit, and the statements of the servers would wait behind it. In one transaction,
  // the locks on all tables would be held until the end.
  for (const table of [...ON_COORDINATOR, ...tables]) await distributing.runLocking(() => announceStep(session, table))
  for (const table of tables) await copyRows(session, table, distributing)
}

/** The number of tables that `distribute` would distribute. */
export async function countUndistributed(session: PostgresSession): Promise<number> {
  const { distributed } = await readPlaces(session)
  return TABLES.filter((table) => !distributed.has(table)).length
}

/** Distributes the tables if all of them are empty, as in a new database. Returns those that are left. */
async function distributeEmpty(transaction: PostgresSession): Promise<DistributedTable[]> {
  const { distributed } = await readPlaces(transaction)
  const tables = TABLES.filter((table) => !distributed.has(table))
  if (await hasRows(transaction, tables)) return tables
  for (const table of ON_COORDINATOR) await announceStep(transaction, table)
  for (const table of tables) await transaction.query(`SELECT create_distributed_table(${argumentsOf(table)})`)
  return []
}

/** Makes a table of the coordinator known to the other machines, so that a node may connect to any of them. */
async function announceStep(transaction: PostgresSession, table: string): Promise<void> {
  const { known } = await readPlaces(transaction)
  if (!known.has(table)) await transaction.query(`SELECT citus_add_local_table_to_metadata('${table}')`)
}

/** The tables that the other machines know, and those of them that are distributed. */
async function readPlaces(session: PostgresSession): Promise<Record<'known' | 'distributed', Set<string>>> {
  const rows = await session.query<{ name: string; isDistributed: boolean }>(
    `SELECT relname AS name, partmethod = 'h' AS "isDistributed"
     FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid WHERE pg_table_is_visible(pg_class.oid)`,
  )
  const distributed = rows.filter(({ isDistributed }) => isDistributed)
  return { known: new Set(rows.map(({ name }) => name)), distributed: new Set(distributed.map(({ name }) => name)) }
}

async function hasRows(session: PostgresSession, tables: readonly DistributedTable[]): Promise<boolean> {
  const found = tables.map((table) => `EXISTS (SELECT FROM ${table})`).join(' OR ')
  const [row] = await session.query<{ found: boolean }>(`SELECT ${found || 'false'} AS found`)
  return row?.found === true
}

/** Citus copies the changes that are made meanwhile by logical decoding. */
async function requireLogicalDecoding(session: PostgresSession): Promise<void> {
  // The second setting exists since PostgreSQL 15.19, 16.15, 17.11 and 18.6. Without special rights, a role does not see the setting.
  const [settings] = await session.query<{ level: string; libraries: string | null }>(
    `SELECT current_setting('wal_level') AS level,
            (SELECT setting FROM pg_settings WHERE name = 'output_plugin_libraries') AS libraries`,
  )
  const missing: string[] = []
  if (settings?.level !== 'logical') missing.push('wal_level = logical')
  if (!/\bcitus\b/.test(settings?.libraries ?? 'citus'))
    missing.push("output_plugin_libraries = 'pgoutput, test_decoding, citus'")
  if (missing.length > 0) throw new StoreUnavailable(`the tables have rows, and the coordinator lacks ${missing.join(' and ')}`)
}

/** Whether another program is connected to this database. */
async function isInUse(session: PostgresSession): Promise<boolean> {
  // Without special rights, a role does not see the type of another role's connection.
  const others = await session.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND coalesce(backend_type, 'client backend') = 'client backend' AND pid <> pg_backend_pid()
       AND application_name NOT ILIKE 'citus%' LIMIT 1`,
  )
  return others.length > 0
}

/**
 * Citus copies the rows to their machines, then the changes that were made meanwhile, and blocks changes until the last of these is copied. Citus
 * does not allow this in a transaction with other statements.
 */
async function copyRows(session: PostgresSession, table: DistributedTable, { report, useAnother }: Distributing): Promise<void> {
  // Another program may have distributed the table meanwhile.
  if ((await readPlaces(session)).distributed.has(table)) return
  const began = performance.now()
  const finished = Promise.withResolvers<void>()
  // The copy continues without it, for example if the server has no connection left.
  const watching = useAnother((another) => reportProgress(another, table, report, finished.promise)).catch(() =>
    report(`Distributing ${table}: the progress cannot be read`),
  )
  try {
    await session.query(`SELECT create_distributed_table_concurrently(${argumentsOf(table)})`)
  } catch (error) {
    // PostgreSQL also continues with the table if the program that sent the statement was killed.
    if (!(error instanceof Error) || !error.message.startsWith(IN_PROGRESS)) throw error
    throw new StoreUnavailable('another grantor migrate is distributing a table; run the command again later')
  } finally {
    finished.resolve()
    await watching
  }
  report(`Distributed ${table} in ${((performance.now() - began) / 1000).toFixed(1)} s.`)
}

/** Reports how much of a table was copied, until `end`. */
async function reportProgress(
  session: PostgresSession,
  table: DistributedTable,
  report: Distributing['report'],
  end: Promise<void>,
): Promise<void> {
  for (;;) {
    const timer = Promise.withResolvers<'due'>()
    const timeout = setTimeout(() => timer.resolve('due'), REPORT_EVERY_MS)
    if ((await Promise.race([timer.promise, end])) !== 'due') return clearTimeout(timeout)
    const [row] = await session.query<{ line: string | null }>(
      `SELECT format('%s of %s, %s', pg_size_pretty(sum(target_shard_size)), pg_size_pretty(max(source_shard_size)), min(status)) AS line
       FROM get_rebalance_progress()`,
    )
    if (row?.line) report(`Distributing ${table}: ${row.line}`)
  }
}

/** Citus can move a table by itself if the table is beside no other one. */
const argumentsOf = (table: DistributedTable) =>
  `'${table}', '${DISTRIBUTED[table]}', colocate_with => '${BESIDE[table] ?? 'none'}'`
