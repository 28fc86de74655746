/**
 * The machines of a Citus cluster: which of them holds a row, and which of them do not answer.
 *
 * One machine that is silent would otherwise occupy the whole pool, because each statement for its rows waits for its timeout.
 * So the statements for one machine occupy at most its share of the pool, and after repeated failures they are refused at once,
 * except one at a time that tries whether the machine is back.
 */
import { hashText } from './hash-text.ts'
import { Queue } from './queue.ts'

/**
 * What a statement concerns: one row of a table, found by the parameter `key`, or several rows of the table. On Citus the key is
 * the column by which the table is distributed.
 */
export type Place = { table: string; key?: string }

/** One shard of a table: the machine that holds it, and the first hash that belongs to the shard. */
export type Shard = { table: string; from: number; machine: string }

export const READ_SHARDS = `
  SELECT relname AS table, shardminvalue::integer AS "from", nodename || ':' || nodeport AS machine
  FROM pg_dist_shard JOIN pg_class ON pg_class.oid = logicalrelid
  JOIN pg_dist_placement USING (shardid)
  JOIN pg_dist_node ON pg_dist_node.groupid = pg_dist_placement.groupid AND noderole = 'primary'
  WHERE shardminvalue IS NOT NULL AND pg_table_is_visible(logicalrelid)
  ORDER BY 1, 2`

/** So many failures without a success in between, and the machine is away. */
const AWAY_AFTER = 3

class Machine {
  readonly queue: Queue
  #failures = 0

  constructor(limit: number) {
    this.queue = new Queue(limit)
  }

  get isAway(): boolean {
    return this.queue.admitsOne
  }

  succeeded(): void {
    this.#failures = 0
    this.queue.admitsOne = false
  }

  failed(): void {
    this.#failures++
    if (this.#failures >= AWAY_AFTER) this.queue.admitsOne = true
  }
}

export class Machines {
  readonly #poolSize: number
  readonly #machines = new Map<string, Machine>()
  /** for statements that need every machine, which a single silent one holds up */
  readonly #all: Machine
  #shards = new Map<string, Shard[]>()

  constructor(poolSize: number) {
    this.#poolSize = poolSize
    this.#all = new Machine(share(poolSize, 4))
  }

  /** Takes over where the shards are now. `shards` are in the order of their tables and hashes. */
  update(shards: readonly Shard[]): void {
    this.#shards = Map.groupBy(shards, ({ table }) => table)
    const names = new Set(shards.map(({ machine }) => machine))
    for (const name of this.#machines.keys()) if (!names.has(name)) this.#machines.delete(name)
    for (const name of names) {
      if (!this.#machines.has(name)) this.#machines.set(name, new Machine(share(this.#poolSize, names.size)))
    }
  }

  /** The machine of a row, or all of them together if no key is given; undefined for a table that is not distributed. */
  of(table: string, key: string | undefined): Machine | undefined {
    if (!this.#shards.has(table)) return undefined
    return key === undefined ? this.#all : this.#machines.get(this.nameOf(table, key) ?? '')
  }

  /** The name of the machine that holds a row: host and port. */
  nameOf(table: string, key: string): string | undefined {
    const hash = hashText(key)
    return this.#shards.get(table)?.findLast(({ from }) => from <= hash)?.machine
  }

  /** The names of the machines that are away. */
  get away(): string[] {
    return [...this.#machines].filter(([, machine]) => machine.isAway).map(([name]) => name)
  }
}

const share = (poolSize: number, parts: number): number =>
  Math.max(1, Math.min(poolSize - 1, Math.max(2, Math.floor(poolSize / parts))))
