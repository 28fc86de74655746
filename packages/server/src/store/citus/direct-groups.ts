/**
 * Connections straight to the machines that hold the rows, beside the connections of the settings. A statement for one row then needs no other
 * machine. A machine that cannot be reached directly is reached through the servers of the settings.
 */
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import type { PostgresAddress } from '../postgres/address.ts'
import { NotSent, toStoreError } from '../postgres/connection/errors.ts'
import type { Server, Side } from '../postgres/connection/server.ts'
import { ServerGroup } from '../postgres/connection/server-group.ts'
import { MACHINES_OF_CLUSTER } from './coordinator.ts'

/** How long a machine is not tried again after a failed attempt to connect. */
const RETRY_AFTER_MS = 2000

/** How long a check waits for a connection to a machine. */
const CHECK_WITHIN_MS = 1000

/**
 * `CHECK` of `shard-statements.ts` must have a newer snapshot than the lock before it. Without the second setting, Citus refuses to change a shard's
 * own table.
 */
const CHANGES = { default_transaction_isolation: 'read committed', 'citus.enable_manual_changes_to_shards': 'on' }

/**
 * How long a read waits for a table that another transaction has locked, in milliseconds. Otherwise one locked shard would hold up all reads of the
 * machine, because they share batches and connections.
 */
const READS = { lock_timeout: '20' }

export type MachineAddress = { machine: string; host: string; port: number; group: number }
type GroupIdentity = { group: number; machines: string; isOwner: boolean }

const READ_IDENTITY = `
  SELECT groupid AS "group", (${MACHINES_OF_CLUSTER}) AS machines,
         (SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid) AS "isOwner"
  FROM pg_dist_local_group`

export class DirectGroups {
  readonly #address: PostgresAddress
  readonly #machines = new Map<string, Record<Side, Direct> & { group: number }>()
  /** identifies the cluster, as read with the latest list of shards */
  #cluster = ''
  #isOwner = false

  constructor(address: PostgresAddress) {
    this.#address = address
  }

  /** Opens a pool for each new machine, and closes the pools of machines that are gone. `poolSize`: connections for reads, and for changes. */
  update(machines: readonly MachineAddress[], cluster: string, poolSize: number): void {
    this.#cluster = cluster
    const present = new Map(machines.map((each) => [each.machine, each]))
    for (const [name, { group }] of this.#machines) if (present.get(name)?.group !== group) void this.#close(name)
    for (const { machine, group, ...at } of present.values()) {
      if (this.#machines.has(machine)) continue
      const accept = (server: Server) => this.#checkIdentity(server, machine, group)
      // A group has as many connections for the other side. Only `any` uses them.
      const address: PostgresAddress = { ...this.#address, servers: [at], target: 'read-write', poolSize: 2 * poolSize }
      this.#machines.set(machine, {
        group,
        read: new Direct(new ServerGroup(address, { accept, settings: READS })),
        write: new Direct(new ServerGroup(address, { accept, settings: CHANGES })),
      })
    }
  }

  /** The connections to a machine; undefined if the machine cannot be reached directly at the moment. */
  of(machine: string, side: Side): ServerGroup | undefined {
    return this.#machines.get(machine)?.[side].connected
  }

  /** Whether the role of the connections owns the tables, as the latest connection found. Only an owner may lock a shard. */
  get isOwner(): boolean {
    return this.#isOwner
  }

  /** The start time of each machine's server that changes are sent to. */
  get instances(): Record<string, string> {
    const connected = [...this.#machines].flatMap(([name, { write }]) =>
      write.group.server ? [[name, write.group.server.state?.instance]] : [],
    )
    return Object.fromEntries(connected) as Record<string, string>
  }

  /** Throws unless every machine responds to a statement over a connection for changes. */
  async check(): Promise<void> {
    if (this.#machines.size === 0) throw new StoreUnavailable('no machine is connected directly')
    const query = { name: '', text: 'SELECT 1', values: [] }
    const checks = [...this.#machines].map(async ([name, { write }]) => {
      const group = write.connected
      if (!group) throw new StoreUnavailable(`${name}: not connected directly`)
      await group.run({ kind: 'move', query, attempt: 1, deadline: performance.now() + CHECK_WITHIN_MS })
    })
    await Promise.all(checks).catch((error: unknown) => {
      throw toStoreError(error)
    })
  }

  /**
   * The connections for changes to a machine that can be reached, for statements of every kind; undefined if there is none. Those for reads soon
   * give up on a lock.
   */
  get any(): ServerGroup | undefined {
    for (const { write } of this.#machines.values()) if (write.connected) return write.group
    return undefined
  }

  /** The connections for changes to the machine whose running server has this start time. */
  on(instance: string): ServerGroup | undefined {
    return [...this.#machines.values()].find(({ write }) => write.group.server?.state?.instance === instance)?.write.group
  }

  /** The machines that could not be reached directly at the latest attempt, each with the reason. */
  get problems(): Map<string, string> {
    const found = [...this.#machines].map(([name, { read, write }]) => [name, read.problem ?? write.problem] as const)
    return new Map(found.filter((each): each is [string, string] => each[1] !== null))
  }

  /** Resolves when a connection to each machine was tried. */
  async connect(): Promise<void> {
    await Promise.all([...this.#machines.values()].flatMap(({ read, write }) => [read.search(), write.search()]))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#machines.keys()].map((name) => this.#close(name)))
  }

  async #close(name: string): Promise<void> {
    const machine = this.#machines.get(name)
    this.#machines.delete(name)
    await Promise.all([machine?.read.group.close(), machine?.write.group.close()])
  }

  /** An address such as `localhost` can lead this node to another server than it leads the machines of the cluster. */
  async #checkIdentity(server: Server, machine: string, group: number): Promise<void> {
    const [found] = await server.use(({ query }) => query<GroupIdentity>(READ_IDENTITY))
    if (found?.group !== group || found.machines !== this.#cluster)
      throw new NotSent(new StoreUnavailable(`${machine} is not this machine of the cluster`))
    this.#isOwner = found.isOwner
  }
}

/** The connections of one side. A lost server is searched for in the background, while statements use the ordinary connection. */
class Direct {
  readonly group: ServerGroup
  #searching: Promise<void> | null = null
  #noSearchBefore = 0
  #problem: string | null = null

  constructor(group: ServerGroup) {
    this.group = group
  }

  get connected(): ServerGroup | undefined {
    if (this.group.server) return this.group
    if (performance.now() >= this.#noSearchBefore) void this.search()
    return undefined
  }

  get problem(): string | null {
    return this.group.server ? null : this.#problem
  }

  /** Resolves when the server was found, or the search has failed. */
  search(): Promise<void> {
    this.#searching ??= this.group
      .find()
      .then(
        () => (this.#problem = null),
        (failure: unknown) => {
          const error = toStoreError(failure)
          this.#problem = error instanceof Error ? error.message : 'unknown error'
          this.#noSearchBefore = performance.now() + RETRY_AFTER_MS
        },
      )
      .then(() => void (this.#searching = null))
    return this.#searching
  }
}
