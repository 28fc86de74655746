/** Where each statement runs on Citus, and what a failure of a machine means for it. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import type { Cluster, ClusterContext, Reply, Route } from '../connection/cluster.ts'
import { failureOf, isSilence, isTimeout } from '../connection/errors.ts'
import { SharedRuns } from '../connection/shared-runs.ts'
import { COMMIT, type Statement } from '../connection/statement.ts'
import { Coordinator } from './coordinator.ts'
import { isOnCoordinator } from './distribution.ts'
import { askEveryMachine, checkMachines } from './every-machine.ts'
import { Machines, READ_SHARDS, type Shard } from './machines.ts'

/** How often a node reads the machine of each shard. */
const SHARDS_EVERY_MS = 5000
/** How often a node checks the settings of every machine. Each check opens a new connection on every machine. */
const MACHINES_EVERY_MS = 10_000
/** The shortest time between two confirmations of all machines. */
const CONFIRM_EVERY_MS = 20
const COMMIT_ON_ALL_MACHINES = `SELECT success FROM run_command_on_all_nodes($$SELECT ${COMMIT}$$)`

export const openCluster = (context: ClusterContext): Cluster => new Citus(context)

class Citus implements Cluster {
  readonly #context: ClusterContext
  readonly #machines: Machines
  readonly #coordinator: Coordinator
  readonly #confirmations = new SharedRuns(CONFIRM_EVERY_MS)
  #shardsReadAt = Number.NEGATIVE_INFINITY
  #machinesCheckedAt = Number.NEGATIVE_INFINITY

  constructor(context: ClusterContext) {
    this.#context = context
    this.#machines = new Machines(context.address.poolSize)
    this.#coordinator = new Coordinator(context)
  }

  async routeOf({ query, place, key }: Statement): Promise<Route> {
    const { group } = this.#context
    this.#readShardsIfDue()
    this.#checkMachinesIfDue()
    if (place && isOnCoordinator(place.table)) return { query, ...(await this.#coordinator.route()) }
    const machine = place && this.#machines.of(place.table, key)
    if (!machine) return { group, query }
    return { group, query, excuses: isOfMachine, within: (attempt) => machine.run(attempt, isOfMachine) }
  }

  /** A statement over rows of several machines would need a two-phase commit. */
  batchKeyOf(): undefined {
    return undefined
  }

  async confirm(on: string | undefined): Promise<void> {
    const instance = on ?? (await this.#context.group.find()).instance
    return this.#confirmations.run(instance, async () => {
      const query = { name: '', text: COMMIT_ON_ALL_MACHINES, values: [] }
      const machines = await this.#context.run<{ success: boolean }>({ kind: 'move', query, instance })
      if (!machines.every(({ success }) => success)) throw new StoreUnavailable('a machine of the cluster does not commit')
    })
  }

  askEveryMachine(query: string): Promise<Reply[]> {
    return this.#context.run<Reply>({ kind: 'read', query: { name: '', text: askEveryMachine(query), values: [] } })
  }

  get machinesAway(): string[] {
    return this.#machines.away
  }

  get coordinatorProblem(): string | null {
    return this.#coordinator.problem
  }

  checkCoordinator(): Promise<void> {
    return this.#coordinator.check()
  }

  close(): Promise<void> {
    return this.#coordinator.close()
  }

  /** Reads the machine of each shard, because shards can move. A failure is ignored: the next read follows soon. */
  #readShardsIfDue(): void {
    const { server } = this.#context.group
    const now = performance.now()
    if (!server || now - this.#shardsReadAt < SHARDS_EVERY_MS) return
    this.#shardsReadAt = now
    server
      .use(({ query }) => query<Shard>(READ_SHARDS))
      .then(
        (shards) => this.#machines.update(shards),
        () => undefined,
      )
  }

  /** If a machine has the wrong settings, the server is not used until a search finds the right settings on every machine. */
  #checkMachinesIfDue(): void {
    const { group } = this.#context
    const { server } = group
    const now = performance.now()
    if (!server || now - Math.max(this.#machinesCheckedAt, server.since) < MACHINES_EVERY_MS) return
    this.#machinesCheckedAt = now
    checkMachines(server).catch(() => group.leave(server))
  }
}

/** Whether a statement failed because the machine of its row failed or did not respond in time. */
function isOfMachine(error: unknown): boolean {
  return failureOf(error) === 'machine_lost' || isTimeout(error) || isSilence(error)
}
