/**
 * How the tables lie on a distributed PostgreSQL (Citus): which column each row is found by, and so where it lies.
 *
 * What a request touches is a grant, a session, a wallet or a wallet's receipts, each found by its own key, so each
 * lies on one machine. What every node keeps in memory, or is one row for all, lies on every machine.
 */
import type { Session } from './connection/server.ts'

/** The column that says on which machine a row lies. It is part of every unique key of its table. */
export const DISTRIBUTED = {
  grants: 'id',
  sessions: 'hash',
  wallets: 'address',
  receipts: 'wallet',
  spent: 'hash',
  pushed_requests: 'id',
} as const

/** A wallet's receipts lie where the wallet does; nothing else belongs together, and moves by itself. */
const BESIDE: Partial<Record<keyof typeof DISTRIBUTED, keyof typeof DISTRIBUTED>> = { receipts: 'wallets' }

/** Tables that lie whole on every machine. */
export const EVERYWHERE = ['migrations', 'revision', 'leases', 'restorations', 'keys', 'clients'] as const

/**
 * Distributes the tables that are not distributed yet, where the database has the Citus extension; elsewhere does
 * nothing. To be called in the transaction that migrates. Rows that are there already move to their place.
 * Returns the tables it distributed.
 */
export async function distribute(transaction: Session): Promise<string[]> {
  const [citus] = await transaction.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
  if (!citus) return []
  const rows = await transaction.query<{ name: string }>(
    'SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid WHERE pg_table_is_visible(pg_class.oid)',
  )
  const there = new Set(rows.map(({ name }) => name))
  const left = distributing().filter(({ table }) => !there.has(table))
  if (left.length === 0) return []
  // Tables made in the same transaction can only be distributed one machine after the other.
  await transaction.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
  for (const { statement } of left) await transaction.query(statement)
  return left.map(({ table }) => table)
}

/** The statements that distribute an undistributed database, in order: those for everywhere come first. */
function distributing(): { table: string; statement: string }[] {
  const everywhere = EVERYWHERE.map((table) => ({ table, statement: `SELECT create_reference_table('${table}')` }))
  const spread = Object.entries(DISTRIBUTED).map(([table, column]) => {
    const beside = BESIDE[table as keyof typeof DISTRIBUTED] ?? 'none'
    return { table, statement: `SELECT create_distributed_table('${table}', '${column}', colocate_with => '${beside}')` }
  })
  return [...everywhere, ...spread]
}
