/**
 * How the tables are distributed on Citus: by which column, and which tables are not.
 *
 * A request touches a grant, a session, a wallet or a wallet's receipts, each by its own key. So each statement of a request runs on one
 * machine. Tables that every node keeps in memory, or that have one row for the whole service, stay on the coordinator.
 */
import type { Session } from './connection/server.ts'

/** The column by which each table is distributed. It is part of every unique key of its table. */
export const DISTRIBUTED = {
  grants: 'id',
  sessions: 'hash',
  wallets: 'address',
  receipts: 'wallet',
  spent: 'hash',
  pushed_requests: 'id',
} as const

/** One statement concerns a wallet and its receipts, so both are on the same machine. Citus can move every other table by itself. */
const BESIDE: Partial<Record<keyof typeof DISTRIBUTED, keyof typeof DISTRIBUTED>> = { receipts: 'wallets' }

/**
 * Tables that are on the coordinator alone, so that a change of one of them, or the check whether the database takes writes, needs no
 * other machine.
 */
export const ON_COORDINATOR = [
  'migrations',
  'revision',
  'leases',
  'restorations',
  'keys',
  'clients',
  'resources',
  'lists',
  'audit_head',
  'audit_lines',
  'audit_writers',
  'webhooks',
] as const

/** How Citus keeps a table: in shards, as a copy on every machine, or on the coordinator. */
type Kind = 'distributed' | 'reference' | 'local'

/** Must run in the transaction that migrates, before its first step: a step on distributed tables changes all their shards. */
export async function prepareToDistribute(transaction: Session): Promise<void> {
  // Otherwise Citus refuses to distribute a table after a step that changed several shards at once.
  if (await hasCitus(transaction)) await transaction.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
}

/**
 * Distributes the tables that are not distributed yet, if the database has the Citus extension. Must run in the transaction that migrates.
 * Existing rows move to their machines.
 */
export async function distribute(transaction: Session): Promise<void> {
  if (!(await hasCitus(transaction))) return
  const rows = await transaction.query<{ name: string; kind: Kind }>(
    `SELECT relname AS name, CASE WHEN partmethod = 'h' THEN 'distributed' WHEN repmodel = 't' THEN 'reference' ELSE 'local' END AS kind
     FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid WHERE pg_table_is_visible(pg_class.oid)`,
  )
  const kinds = new Map(rows.map(({ name, kind }) => [name, kind]))
  for (const table of ON_COORDINATOR) {
    // Earlier versions copied these tables to every machine.
    if (kinds.get(table) === 'reference') for (const statement of toCoordinator(table)) await transaction.query(statement)
    // Known to the other machines, so that a node may connect to any of them.
    if (kinds.get(table) !== 'local') await transaction.query(`SELECT citus_add_local_table_to_metadata('${table}')`)
  }
  const left = Object.entries(DISTRIBUTED).filter(([table]) => kinds.get(table) !== 'distributed')
  for (const [table, column] of left) {
    const beside = BESIDE[table as keyof typeof DISTRIBUTED] ?? 'none'
    await transaction.query(`SELECT create_distributed_table('${table}', '${column}', colocate_with => '${beside}')`)
  }
  // Citus copies existing rows to their machines but does not delete them from the coordinator's own table. No statement reads them there.
  for (const table of Object.keys(DISTRIBUTED))
    await transaction.query(
      `SELECT truncate_local_data_after_distributing_table('${table}') WHERE pg_relation_size('${table}') > 0`,
    )
}

function toCoordinator(table: (typeof ON_COORDINATOR)[number]): string[] {
  if (table !== 'restorations') return [`SELECT undistribute_table('${table}')`]
  // Citus does not undistribute a table with an identity column.
  return [
    'ALTER TABLE restorations RENAME TO restorations_copied',
    'CREATE TABLE restorations (LIKE restorations_copied INCLUDING ALL)',
    'INSERT INTO restorations OVERRIDING SYSTEM VALUE SELECT number, begun_at, confirmed_at FROM restorations_copied',
    `SELECT setval(pg_get_serial_sequence('restorations', 'number'), max(number)) FROM restorations`,
    'DROP TABLE restorations_copied',
  ]
}

async function hasCitus(session: Session): Promise<boolean> {
  return (await session.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'")).length > 0
}
