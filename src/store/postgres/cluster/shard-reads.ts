/**
 * Reads of one row without the planner of Citus: the statement names the table of the shard, over a connection to the machine of the shard.
 *
 * The read is valid only if this machine holds the shard. `isHere` checks this in the same statement, so for the same moment as the row. The
 * statement returns no row if
 *
 * - the shard is on another machine. This machine may still have a copy that Citus has not dropped yet.
 * - a transaction that assigns the shard to another machine has not ended here. The coordinator may have committed this transaction, and the new
 *   machine may have acknowledged a change of the row. A read by Citus over a connection to this machine returns the old row in that case.
 *
 * `absence` then distinguishes this from a row that does not exist (docs/decisions/0073-straight-to-the-machine-of-a-row.md).
 */
import { createHash } from 'node:crypto'
import type { Query } from '../statements/statement.ts'
import type { Shard } from './machines.ts'

/** Compiled statements in memory: some kinds of reads, for each shard of the cluster. */
const COMPILED_AT_MOST = 10_000

// A row version that the statement can see has an `xmax` of 0, or of a transaction that has not ended, or that was rolled back. A rolled back
// transaction is older than every transaction that was running when the statement began.
const isHere = ({ id }: Shard) => `(
  SELECT true FROM pg_catalog.pg_dist_placement AS placement
  WHERE placement.shardid = ${id} AND placement.groupid = (SELECT groupid FROM pg_catalog.pg_dist_local_group)
    AND (placement.xmax = '0' OR age(placement.xmax) > age(pg_snapshot_xmin(pg_current_snapshot())::xid)))`

/**
 * `read` returns the row, if the shard is here and the row exists. `absence` returns a row if the shard is here and the row does not exist. If
 * neither returns a row, the shard may be elsewhere.
 */
export type ShardRead = { read: Query; absence: Query }
type Compiled = Record<keyof ShardRead, Pick<Query, 'name' | 'text'>>

export class ShardReads {
  readonly #compiled = new Map<string, Compiled | null>()

  /** The statements on the shard's own table; null if the query is not a plain read of one row by its key. */
  readOf({ name, text, values }: Query, shard: Shard): ShardRead | null {
    const key = `${name} ${shard.relation}`
    let compiled = this.#compiled.get(key)
    if (compiled === undefined) {
      if (this.#compiled.size >= COMPILED_AT_MOST) this.#compiled.clear()
      compiled = compile(text, shard)
      this.#compiled.set(key, compiled)
    }
    return compiled && { read: { ...compiled.read, values }, absence: { ...compiled.absence, values } }
  }
}

// Without parentheses and these words, the text has one table and one condition.
const PLAIN_READ = /^SELECT [^()]+$/
const MORE_THAN_A_CONDITION = /\b(FROM|GROUP|HAVING|ORDER|LIMIT|OFFSET|FOR|UNION|WINDOW)\b/

function compile(text: string, shard: Shard): Compiled | null {
  const line = text.trim().replaceAll(/\s+/g, ' ')
  const [columns = '', rest = '', another] = line.slice('SELECT '.length).split(' FROM ')
  const [table, condition = '', more] = rest.split(' WHERE ')
  const isPlain = PLAIN_READ.test(line) && another === undefined && more === undefined && !MORE_THAN_A_CONDITION.test(condition)
  if (!isPlain || columns === '' || condition === '' || table !== shard.table) return null
  const row = `FROM ${shard.relation} AS ${table} WHERE`
  return {
    read: named(`SELECT ${columns} ${row} ${isHere(shard)} AND (${condition})`),
    // The columns name the same parameters.
    absence: named(`SELECT 1 AS absent WHERE ${isHere(shard)} AND NOT EXISTS (SELECT ${columns} ${row} ${condition})`),
  }
}

const named = (text: string) => ({ name: createHash('sha256').update(text).digest('base64url').slice(0, 22), text })
