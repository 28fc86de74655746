/**
 * Statements on the own tables of shards, over a connection to the machine of the shards. They do not need Citus's planner.
 *
 * Such a statement is valid only if this machine holds the shards. The check and the statements are one transaction:
 *
 * 1. A change locks the metadata of the shards, with the lock that Citus takes before a change. A transaction that moves a shard holds the
 *    opposite lock on all machines, until it has ended on each of them.
 * 2. `CHECK` fails unless this machine holds the shards. Its snapshot is newer than the lock.
 * 3. The statements run on the tables of the shards.
 *
 * docs/decisions/0018-citus.md has the phases of a move.
 */
import { sendTogether } from '../postgres/statements/send-together.ts'
import { nameOf, type Query, type StatementKind } from '../postgres/statements/statement.ts'
import { DISTRIBUTED } from './distribution.ts'
import type { Shard } from './machines.ts'

/** Compiled statements in memory: one for each statement and each shard of the cluster. */
const COMPILED_AT_MOST = 10_000

/** The number of PostgreSQL's lock mode SHARE. */
const SHARE = 5
/**
 * How long a batch of changes waits for each lock, in milliseconds. Otherwise one locked row, or a shard that moves, would hold up all of them. They
 * are then run one by one. 0 is no limit.
 */
const BATCH_WAITS_MS = 20
const LOCK = named(`
  SELECT pg_catalog.lock_shard_metadata(CASE WHEN set_config('lock_timeout', $2, true) <> '' THEN ${SHARE} END, $1::bigint[])`)

// A row version that the statement can see has an `xmax` of 0, or of a transaction that has not ended, or that was rolled back. A transaction that
// has not ended may be committed on the coordinator, and the new machine may have acknowledged a change. A rolled back transaction is older than
// every transaction that was running when the statement began.
//
// `groupid` is in FILTER and not in WHERE. Otherwise PostgreSQL can use the index on `groupid`, and read all placements of the machine.
export const CHECK = named(`
  SELECT (CASE WHEN count(*) FILTER (
      WHERE placement.groupid = (SELECT groupid FROM pg_catalog.pg_dist_local_group)
        AND (placement.xmax = '0' OR age(placement.xmax) > age(pg_snapshot_xmin(pg_current_snapshot())::xid))
    ) = cardinality($1::bigint[]) THEN 'true' ELSE 'a shard is on another machine' END)::boolean
  FROM pg_catalog.pg_dist_placement AS placement
  WHERE placement.shardid = ANY ($1)`)

/** A statement for one row. `shardOf` finds the shard of the row in each table; undefined for a table that is not distributed. */
export type OfRow = { query: Query; key: string; shardOf: (table: string) => Shard | undefined }

/** `shards`: the ids of the shards that the text names. */
type Compiled = Pick<Query, 'name' | 'text'> & { shards: string[] }

/**
 * The order of the statements of a batch. Statements that return the same columns follow each other. All nodes lock rows in the order of their keys.
 * Otherwise two batches could wait for each other.
 */
function compare(one: OfRow, other: OfRow): number {
  if (one.query.name !== other.query.name) return one.query.name < other.query.name ? -1 : 1
  return one.key < other.key ? -1 : 1
}

export class ShardStatements {
  readonly #tables = new Map<string, string[]>()
  readonly #compiled = new Map<string, Compiled>()

  /**
   * Sends statements for rows of one machine in one transaction. The result has the rows of one statement, or the row of each of several statements,
   * undefined if there is none. undefined if a statement also concerns a shard of another machine.
   */
  sendingTo(machine: string, kind: StatementKind, rows: readonly OfRow[]): Query['send'] {
    const inOrder = rows.length > 1 ? rows.toSorted(compare) : rows
    const statements = inOrder.flatMap((row) => {
      const compiled = this.#compile(row, machine)
      return compiled ? [{ ...compiled, values: row.query.values, columns: row.query.name }] : []
    })
    if (statements.length < rows.length) return undefined
    const shards = `{${[...new Set(statements.flatMap((each) => each.shards))].join(',')}}`
    const lock = { ...LOCK, values: [shards, String(rows.length > 1 ? BATCH_WAITS_MS : 0)] }
    const check = { ...CHECK, values: [shards] }
    return async (client) => {
      const { result, firstRows } = await sendTogether(client, { before: kind === 'read' ? [check] : [lock, check], statements })
      return rows.length === 1 ? result : { ...result, rows: rows.map((row) => firstRows[inOrder.indexOf(row)]) as object[] }
    }
  }

  #compile({ query: { name, text }, shardOf }: OfRow, machine: string): Compiled | undefined {
    const tables = this.#tables.get(name) ?? tablesOf(text)
    this.#tables.set(name, tables)
    const shards = tables.flatMap((table) => shardOf(table) ?? [])
    if (shards.length < tables.length || shards.some((shard) => shard.machine !== machine)) return undefined
    const key = [name, ...shards.map(({ relation }) => relation)].join(' ')
    const compiled = this.#compiled.get(key) ?? { ...named(onShards(text, shards)), shards: shards.map(({ id }) => id) }
    if (this.#compiled.size >= COMPILED_AT_MOST) this.#compiled.clear()
    this.#compiled.set(key, compiled)
    return compiled
  }
}

// A statement that names a table in another way fails on the machine, because Citus does not allow a statement to name both kinds of tables.
const TABLE = /\b(FROM|INTO|JOIN|UPDATE)\s+(\w+)/g

const tablesOf = (text: string) =>
  [...new Set([...text.matchAll(TABLE)].map(([, , table = '']) => table))].filter((table) => table in DISTRIBUTED)

function onShards(text: string, shards: readonly Shard[]): string {
  const relations = new Map(shards.map(({ table, relation }) => [table, relation]))
  return text.replace(TABLE, (found, word: string, table: string) => {
    const relation = relations.get(table)
    return relation === undefined ? found : `${word} ${relation} AS ${table}`
  })
}

function named(text: string): Pick<Query, 'name' | 'text'> {
  return { name: nameOf(text), text }
}
