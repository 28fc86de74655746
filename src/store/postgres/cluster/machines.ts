/**
 * The machines of a Citus cluster: the machine of each row, and the machines that do not respond.
 *
 * Each statement for a row on a silent machine waits for its timeout. Without a limit, such statements would occupy the whole pool. The
 * statements for one machine therefore occupy at most the machine's share of the pool. After repeated failures one statement at a time is
 * sent to the machine, and the others are refused at once.
 */
import { passThrough, Queue } from '../connection/queue.ts'
import { hashText } from './hash-text.ts'

/** One shard of a table: its machine, and the first hash of its range. */
export type Shard = { table: string; from: number; machine: string }

export const READ_SHARDS = `
  SELECT relname AS table, shardminvalue::integer AS "from", nodename || ':' || nodeport AS machine
  FROM pg_dist_shard JOIN pg_class ON pg_class.oid = logicalrelid
  JOIN pg_dist_placement USING (shardid)
  JOIN pg_dist_node ON pg_dist_node.groupid = pg_dist_placement.groupid AND noderole = 'primary'
  WHERE shardminvalue IS NOT NULL AND pg_table_is_visible(logicalrelid)
  ORDER BY 1, 2`

/** A machine is away after this many failures without a success in between. */
const AWAY_AFTER = 3

class Machine {
  readonly #queue: Queue
  #failures = 0

  constructor(limit: number) {
    this.#queue = new Queue(limit)
  }

  get isAway(): boolean {
    return this.#queue.admitsOne
  }

  /** `isOfMachine`: whether an error of the attempt is a failure of the machine. */
  run<Result>(attempt: () => Promise<Result>, isOfMachine: (error: unknown) => boolean): Promise<Result> {
    return passThrough([this.#queue], async () => {
      try {
        const result = await attempt()
        this.#failures = 0
        this.#queue.admitsOne = false
        return result
      } catch (error) {
        if (isOfMachine(error) && ++this.#failures >= AWAY_AFTER) this.#queue.admitsOne = true
        throw error
      }
    })
  }
}

export class Machines {
  readonly #poolSize: number
  readonly #machines = new Map<string, Machine>()
  /** for statements that need every machine: one silent machine delays them all */
  readonly #all: Machine
  #shards = new Map<string, Shard[]>()

  constructor(poolSize: number) {
    this.#poolSize = poolSize
    this.#all = new Machine(share(poolSize, 4))
  }

  /** Replaces the list of shards. `shards` are in the order of their tables and hashes. */
  update(shards: readonly Shard[]): void {
    this.#shards = Map.groupBy(shards, ({ table }) => table)
    const names = new Set(shards.map(({ machine }) => machine))
    for (const name of this.#machines.keys()) if (!names.has(name)) this.#machines.delete(name)
    for (const name of names) {
      if (!this.#machines.has(name)) this.#machines.set(name, new Machine(share(this.#poolSize, names.size)))
    }
  }

  /** The machine of a row; all machines as one if no key is given; undefined for a table that is not distributed. */
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
