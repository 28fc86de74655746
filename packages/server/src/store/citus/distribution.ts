/**
 * How the tables are distributed on Citus: by which column, and which tables are not.
 *
 * A request touches a grant, a session, a wallet or a wallet's receipts, each by its own key. So each statement of a request runs on one
 * machine. Tables that every node keeps in memory, or that have one row for the whole service, stay on the coordinator.
 */
import type { PostgresSession } from '../postgres/connection/server.ts'

/** The column by which each table is distributed. It is part of every unique key of its table. */
export const DISTRIBUTED = {
  grants: 'id',
  draws: 'grant_id',
  approvals: 'grant_id',
  sessions: 'hash',
  wallets: 'address',
  receipts: 'wallet',
  spent: 'hash',
  pushed_requests: 'id',
  audit_waiting: 'series',
} as const

/**
 * One statement concerns a wallet and its receipts, or a grant and its approvals or draws, so they are on the same machine. Citus can move every other table by
 * itself.
 */
export const BESIDE: Partial<Record<keyof typeof DISTRIBUTED, keyof typeof DISTRIBUTED>> = {
  receipts: 'wallets',
  approvals: 'grants',
  draws: 'grants',
}

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
  'console_drafts',
  'activity',
  'nodes',
] as const

export const isOnCoordinator = (table: string): boolean => (ON_COORDINATOR as readonly string[]).includes(table)

/**
 * Configures the transaction that migrates, before its first step: a step on distributed tables changes all their shards. `lockAtMost`: the
 * milliseconds that a step may wait for a lock, on each machine.
 */
export async function configureSteps(transaction: PostgresSession, { lockAtMost }: { lockAtMost: number }): Promise<void> {
  // Otherwise Citus refuses some statements after one that changed several shards at once.
  await transaction.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
  // Citus sends to the other machines what is set after this.
  await transaction.query("SET LOCAL citus.propagate_set_commands = 'local'")
  await transaction.query(`SET LOCAL lock_timeout = ${lockAtMost}`)
}
