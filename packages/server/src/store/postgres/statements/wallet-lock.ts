/**
 * The lock of a wallet on one primary. Redemptions of codes share the lock until they are committed, and the raising of the epoch holds it alone. So
 * the epoch that a redemption reads is the newest one, and an ending that raised the epoch finds every grant that was redeemed before.
 *
 * The lock is a statement of its own, before the other statement of the transaction. In READ COMMITTED each statement has a snapshot of its own, so
 * the second one sees what was committed while the first one waited. A statement that takes the lock itself has the snapshot from before the wait.
 *
 * A statement for many rows waits for no lock. It takes the locks that are free, and skips the rows of the other wallets: for these, the statement for
 * one row is run.
 *
 * An advisory lock writes nothing to the disk, and needs no row: a wallet that has never ended anything may have none. On a cluster the wallet and the
 * grant are on different machines (`../redemption.ts`).
 */
import type { BatchInput } from './batches.ts'
import { sendTogether } from './send-together.ts'
import { type NamedValues, nameOf, type Query, type WalletLock } from './statement.ts'
import { writtenPacked, writtenPackedList } from './values.ts'

const KEY = "hashtextextended(encode(wallet, 'hex'), 0)"
const WAIT = {
  shared: named(`SELECT pg_advisory_xact_lock_shared(${KEY}) FROM (SELECT $1::bytea AS wallet) AS one`),
  alone: named(`SELECT pg_advisory_xact_lock(${KEY}) FROM (SELECT $1::bytea AS wallet) AS one`),
}
/** The wallets whose locks this transaction has, as a list of `bytea`. The setting ends with the transaction. */
const TRY = named(`
  SELECT set_config('grantor.locked', coalesce(array_agg(wallet) FILTER (WHERE pg_try_advisory_xact_lock_shared(${KEY})), '{}')::text, true)
  FROM unnest($1::bytea[]) AS wallet`)
export const IS_LOCKED = `= ANY ((SELECT current_setting('grantor.locked')::bytea[])::bytea[])`

/** The query for one row, in one transaction with the lock of its wallet. */
export function withLock(query: Query, { mode, wallet }: WalletLock, row: NamedValues): Query {
  return after({ ...WAIT[mode], values: [writtenPacked(row[wallet])] }, query)
}

/** The query for many rows, in one transaction with the shared locks that are free. The query has the condition `IS_LOCKED`. */
export function withLocks(query: Query, { wallet }: WalletLock, rows: readonly BatchInput[]): Query {
  return after({ ...TRY, values: [writtenPackedList([...new Set(rows.map(({ named: row }) => row[wallet]))])] }, query)
}

/** The query alone, for rows that are on several machines. */
export function withoutLock({ name, text, values }: Query): Query {
  return { name, text, values }
}

function after(lock: Query, query: Query): Query {
  const statements = [{ ...query, columns: query.name }]
  return { ...query, send: async (client) => (await sendTogether(client, { before: [lock], statements })).result }
}

function named(text: string): Pick<Query, 'name' | 'text'> {
  return { name: nameOf(text), text }
}
