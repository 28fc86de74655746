/**
 * The machines of a Citus cluster: the machine of each row, and the machines that do not respond.
 *
 * Each statement for a row on a silent machine waits for its timeout. Without a limit, such statements would occupy the whole pool. The
 * statements for one machine therefore occupy at most the machine's share of the pool. After repeated failures one statement at a time is
 * sent to the machine, and the others are refused at once.
 */

import { pack } from '../packed.ts'
import { CircuitBreaker } from '../postgres/connection/circuit-breaker.ts'
import type { Side } from '../postgres/connection/server.ts'
import { Queue } from '../postgres/statements/queue.ts'
import { hashBytes } from './hash-bytes.ts'

/**
 * One shard of a table: its id, the first hash of its range, the name of its own table, and its machine. `group` is the number by which Citus
 * identifies the machine.
 */
export type Shard = {
  table: string
  id: string
  from: number
  relation: string
  machine: string
  host: string
  port: number
  group: number
}

/** Without tables of which Citus itself keeps several copies (`citus.shard_replication_factor`): a change must reach all of them. */
export const READ_SHARDS = `
  SELECT relname AS table, shardid::text AS id, shardminvalue::integer AS "from",
         format('%I.%I', nspname, relname || '_' || shardid) AS relation,
         nodename || ':' || nodeport AS machine, nodename AS host, nodeport AS port, pg_dist_node.groupid AS "group"
  FROM pg_dist_shard JOIN pg_class ON pg_class.oid = logicalrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  JOIN pg_dist_partition USING (logicalrelid)
  JOIN pg_dist_placement USING (shardid)
  JOIN pg_dist_node ON pg_dist_node.groupid = pg_dist_placement.groupid AND noderole = 'primary'
  WHERE repmodel = 's' AND shardminvalue IS NOT NULL AND pg_table_is_visible(logicalrelid)
  ORDER BY "table", "from"`

/** A machine is away after this many failures without a success in between. */
const AWAY_AFTER = 3

class Machine {
  /** reads and changes apart, because they use different pools */
  readonly #queues: Record<Side, Queue>
  readonly #breaker = new CircuitBreaker({ opensAfter: AWAY_AFTER })

  constructor(limit: number) {
    this.#queues = { read: new Queue(limit), write: new Queue(limit) }
  }

  get isAway(): boolean {
    return !this.#breaker.isClosed
  }

  /** `isOfMachine`: whether an error of the attempt is a failure of the machine. */
  run<Result>(side: Side, attempt: () => Promise<Result>, isOfMachine: (error: unknown) => boolean): Promise<Result> {
    return this.#breaker.run(() => this.#queues[side].run(attempt), isOfMachine)
  }
}

export class Machines {
  readonly #poolSize: number
  readonly #machines = new Map<string, Machine>()
  /** for statements that need every machine: one silent machine delays them all */
  readonly #all: Machine
  /** for reads of locked tables */
  readonly waiting: Queue
  #shards = new Map<string, Shard[]>()
  /** the number of connections to one machine, for reads and for changes each */
  share: number

  constructor(poolSize: number) {
    this.#poolSize = poolSize
    this.#all = new Machine(limit(poolSize, 4))
    this.waiting = new Queue(limit(poolSize, 4))
    this.share = poolSize
  }

  /** Replaces the list of shards. `shards` are in the order of their tables and hashes. */
  update(shards: readonly Shard[]): void {
    this.#shards = Map.groupBy(shards, ({ table }) => table)
    const names = new Set(shards.map(({ machine }) => machine))
    this.share = share(this.#poolSize, names.size)
    for (const name of this.#machines.keys()) if (!names.has(name)) this.#machines.delete(name)
    for (const name of names) {
      if (!this.#machines.has(name)) this.#machines.set(name, new Machine(limit(this.#poolSize, names.size)))
    }
  }

  /** The machine of a row; all machines as one if no key is given; undefined for a table that is not distributed. */
  of(table: string, key: string | undefined): Machine | undefined {
    if (!this.#shards.has(table)) return undefined
    return key === undefined ? this.#all : this.#machines.get(this.nameOf(table, key) ?? '')
  }

  /** The name of the machine that holds a row: host and port. */
  nameOf(table: string, key: string): string | undefined {
    return this.shardOf(table, key)?.machine
  }

  /** The shard that holds a row; undefined for a table that is not distributed. */
  shardOf(table: string, key: string): Shard | undefined {
    const shards = this.#shards.get(table)
    return shards && lastUpTo(shards, hashBytes(pack(key)))
  }

  /** The names of the machines that are away. */
  get away(): string[] {
    return [...this.#machines].filter(([, machine]) => machine.isAway).map(([name]) => name)
  }
}

/** The number of connections to one machine, for reads and for changes each. */
const share = (poolSize: number, parts: number): number =>
  Math.max(1, Math.min(poolSize - 1, Math.max(2, Math.floor(poolSize / parts))))

/** The number of reads, and of changes, that run on one machine at a time. Leaves a connection of each pool for the other machines. */
const limit = (poolSize: number, parts: number): number =>
  Math.max(1, Math.min(Math.floor(poolSize / 2) - 1, share(poolSize, parts)))

/** The last shard that begins at or before a hash, by binary search. */
function lastUpTo(shards: readonly Shard[], hash: number): Shard | undefined {
  let [low, high] = [0, shards.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((shards[middle]?.from ?? 0) <= hash) low = middle + 1
    else high = middle
  }
  return shards[low - 1]
}
