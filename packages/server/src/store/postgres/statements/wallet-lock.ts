/**
 * The lock of a wallet on one primary. Redemptions of codes share the lock until they are committed, and the raising of the epoch holds it alone. So
 * the epoch that a redemption reads is the newest one, and an ending that raised the epoch finds every grant that was redeemed before.
 *
 * The lock is a statement of its own, before the other statement of the transaction. In READ COMMITTED each statement has a snapshot of its own, so
 * the second one sees what was committed while the first one waited. A statement that takes the lock itself has the snapshot from before the wait.
 *
 * An advisory lock writes nothing to the disk, and needs no row: a wallet that has never ended anything may have none. On a cluster the wallet and the
 * grant are on different machines (`../redemption.ts`).
 */
import { sendTogether } from './send-together.ts'
import { type NamedValues, nameOf, type Query, textArray, type WalletLock } from './statement.ts'

const FUNCTIONS = { shared: 'pg_advisory_xact_lock_shared', alone: 'pg_advisory_xact_lock' } as const

/** Takes the locks in one order, so that no two transactions wait for each other. */
const lockBy = (mode: WalletLock['mode']) => `
  SELECT ${FUNCTIONS[mode]}(key)
  FROM (SELECT hashtextextended(wallet, 0) AS key FROM unnest($1::text[]) AS wallet ORDER BY 1) AS keys`
const LOCKS = { shared: named(lockBy('shared')), alone: named(lockBy('alone')) }

/** The query in one transaction with the locks of the wallets of its rows. */
export function withLock(query: Query, { mode, wallet }: WalletLock, rows: readonly NamedValues[]): Query {
  const lock = { ...LOCKS[mode], values: [textArray(rows.map((row) => String(row[wallet])))] }
  const statements = [{ ...query, columns: query.name }]
  return { ...query, send: async (client) => (await sendTogether(client, { before: [lock], statements })).result }
}

/** The query alone, for rows that are on several machines. */
export function withoutLock({ name, text, values }: Query): Query {
  return { name, text, values }
}

function named(text: string): Pick<Query, 'name' | 'text'> {
  return { name: nameOf(text), text }
}
