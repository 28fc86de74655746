/** Chooses the server for each statement on Citus, and handles the failure of a machine. */
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { codeOf, failureOf, isSilence, isTimeout } from '../connection/errors.ts'
import { type Server, sideOf } from '../connection/server.ts'
import type { Attempt, ServerGroup } from '../connection/server-group.ts'
import { SharedRuns } from '../statements/shared-runs.ts'
import { COMMIT, type Kind } from '../statements/statement.ts'
import type { Cluster, ClusterContext, Reply, Route } from './cluster.ts'
import { Coordinator, MACHINES_OF_CLUSTER } from './coordinator.ts'
import { DirectGroups } from './direct-groups.ts'
import { isOnCoordinator } from './distribution.ts'
import { askEveryMachine, checkMachines } from './every-machine.ts'
import { Machines, READ_SHARDS, type Shard } from './machines.ts'
import { ShardStatements } from './shard-statements.ts'

/** How often a node reads the machine of each shard. */
const SHARDS_EVERY_MS = 5000
/** How soon a node reads them again after a failure. */
const SHARDS_AGAIN_AFTER_MS = 250
/** How often a node checks the settings of every machine. Each check opens a new connection on every machine. */
const MACHINES_EVERY_MS = 10_000
/** The shortest time between two confirmations of all machines. */
const CONFIRM_EVERY_MS = 20
/** The shortest time between two checks of all machines that hold rows. A request without any proof can cause a check. */
const CHECK_EVERY_MS = 100
const READ_MACHINES = `SELECT (${MACHINES_OF_CLUSTER}) AS machines`
const committedOn = (machines: 'workers' | 'all_nodes') =>
  `(SELECT coalesce(bool_and(success), true) FROM run_command_on_${machines}($$SELECT ${COMMIT}$$))`
/** Leaves out the coordinator unless it holds rows: an ending can be acknowledged while the coordinator is unavailable. */
const COMMIT_ON_MACHINES_OF_ROWS = `
  SELECT CASE WHEN EXISTS (SELECT FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE groupid = 0 AND shardminvalue IS NOT NULL)
         THEN ${committedOn('all_nodes')} ELSE ${committedOn('workers')} END AS success`

export const openCluster = (context: ClusterContext): Cluster => new Citus(context)

/** The statements of a batch were not run, and may be run one by one. */
class NotTogether extends Error {
  /** `failureOf` reads it: like an error of PostgreSQL after which nothing has happened. */
  readonly severity = 'ERROR'

  constructor() {
    super('the rows are not on one machine that is connected')
  }
}

/** The running servers: the one of the settings, and those of the machines that are connected directly. */
type Running = { server: string; machines: Record<string, string> }

class Citus implements Cluster {
  readonly #context: ClusterContext
  readonly #machines: Machines
  readonly #coordinator: Coordinator
  readonly #direct: DirectGroups
  readonly #shardStatements = new ShardStatements()
  readonly #confirmations = new SharedRuns(CONFIRM_EVERY_MS)
  readonly #checks = new SharedRuns(CHECK_EVERY_MS)
  #shardsReadAt = Number.NEGATIVE_INFINITY
  #machinesCheckedAt = Number.NEGATIVE_INFINITY

  constructor(context: ClusterContext) {
    this.#context = context
    this.#machines = new Machines(context.address.poolSize)
    this.#coordinator = new Coordinator(context)
    this.#direct = new DirectGroups(context.address)
  }

  async routeOf(attempt: Attempt): Promise<Route> {
    const { query, place, key } = attempt
    const side = sideOf(attempt)
    this.#readShardsIfDue()
    this.#checkMachinesIfDue()
    if (place && isOnCoordinator(place.table)) return { query, ...(await this.#coordinator.route()) }
    const machine = place && this.#machines.of(place.table, key)
    const direct = machine && this.#directTo(attempt)
    // Citus would change rows of several shards in a two-phase commit.
    if (!direct && attempt.batch) throw new NotTogether()
    if (!machine) return { group: this.#context.group, query }
    if (!direct)
      return { group: this.#planner, query, excuses: isOfMachine, within: (run) => machine.run(side, run, isOfMachine) }
    // If the machine is connected directly, it reports a timeout itself, for example because a row is locked.
    const isFailure = (error: unknown) => isOfMachine(error) && !(isTimeout(error) && direct.group.server)
    return {
      ...direct,
      excuses: isOfOtherMachine,
      within: (run) =>
        machine
          .run(side, () => this.#runDirect(run, direct.group, attempt), isFailure)
          .catch((error: unknown) => {
            if (side === 'write' || attempt.batch || !isLockTimeout(error)) throw error
            // The read waits for the lock without occupying the machine's share of the pool.
            return this.#machines.waiting.run(() => this.#planner.run({ ...attempt, excuses: isOfMachine }) as never)
          }),
    }
  }

  /**
   * The servers to which a statement is sent that Citus must plan on distributed tables. Every machine can plan it. While no server of the
   * settings is connected, for example because they name the coordinator alone, this is a machine that holds rows.
   */
  get #planner(): ServerGroup {
    const { group } = this.#context
    return group.server ? group : (this.#direct.any ?? group)
  }

  /** The statements for a row, or for the rows of a batch, on the machine of the rows; undefined if the machine is not connected. */
  #directTo({ kind, query, place, key, batch }: Attempt): Pick<Route, 'group' | 'query'> | undefined {
    const machine = place && key !== undefined ? this.#machines.nameOf(place.table, key) : undefined
    const group = machine && this.#direct.of(machine, sideOf({ kind }))
    if (!group) return undefined
    // Without a name, Citus keeps no plan of the statement. Up to 13.2.2, it keeps one more for each execution (citusdata/citus#8824).
    if (!this.#mayRun(kind)) return batch ? undefined : { group, query: { ...query, name: '' } }
    const rows = (batch ?? [{ query, key: key ?? '' }]).map((row) => ({
      ...row,
      shardOf: (table: string) => this.#machines.shardOf(table, row.key),
    }))
    const send = this.#shardStatements.sendingTo(machine, kind, rows)
    return send && { group, query: { ...query, send } }
  }

  /** Whether the role may run statements on the tables of shards. The role of a server may have the right to change rows only. */
  #mayRun(kind: Kind): boolean {
    return kind === 'read' || this.#direct.isOwner
  }

  /**
   * Runs a statement on the machine of its row. If the statement had no effect, it runs over the ordinary connection. A statement that may run on
   * one server only runs there, and Citus forwards it.
   */
  async #runDirect<Result>(run: () => Promise<Result>, group: ServerGroup, attempt: Attempt): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      if (!hadNoEffect(error)) throw error
      this.#readShardsSoon()
      if (attempt.batch) throw new NotTogether()
    }
    const chosen = attempt.instance === undefined ? this.#planner : group
    return chosen.run({ ...attempt, excuses: isOfMachine }) as Promise<Result>
  }

  /** Statements for rows on one machine are sent together. */
  batchKeyOf(kind: Kind, table: string, key: string): string | undefined {
    const machine = this.#machines.nameOf(table, key)
    return machine !== undefined && this.#mayRun(kind) && this.#direct.of(machine, sideOf({ kind })) ? machine : undefined
  }

  readInstance(): string {
    const running: Running = { server: this.#planner.server?.state?.instance ?? '', machines: this.#direct.instances }
    return JSON.stringify(running)
  }

  instanceOf({ table, key }: { table: string; key: string }, on: string | undefined): string | undefined {
    const machine = this.#machines.nameOf(table, key)
    if (machine === undefined) return undefined
    return (on === undefined ? this.#direct.instances : parseRunning(on).machines)[machine]
  }

  async confirm(on: string | undefined): Promise<void> {
    const instance = on === undefined ? ((await this.#planner.find()).state?.instance ?? '') : parseRunning(on).server
    const { group } = this.#context
    const via = group.server?.state?.instance === instance ? group : (this.#direct.on(instance) ?? group)
    return this.#confirmations.run(instance, async () => {
      const query = { name: '', text: COMMIT_ON_MACHINES_OF_ROWS, values: [] }
      const [found] = await this.#context.run<{ success: boolean }>({ kind: 'move', query, instance }, via)
      if (!found?.success) throw new StoreUnavailable('a machine of the cluster does not commit')
    })
  }

  askEveryMachine(query: string): Promise<Reply[]> {
    return this.#context.run<Reply>({ kind: 'read', query: { name: '', text: askEveryMachine(query), values: [] } })
  }

  checkRows(): Promise<void> {
    return this.#checks.run('', () => this.#direct.check())
  }

  get machinesAway(): string[] {
    return this.#machines.away
  }

  get directProblems(): ReadonlyMap<string, string> {
    return this.#direct.problems
  }

  async checkDirect(): Promise<void> {
    const server = await this.#context.group.find()
    await this.#readShards(server)
    await this.#direct.connect()
  }

  get coordinatorProblem(): string | null {
    return this.#coordinator.problem
  }

  checkCoordinator(): Promise<void> {
    return this.#coordinator.check()
  }

  async close(): Promise<void> {
    await Promise.all([this.#coordinator.close(), this.#direct.close()])
  }

  /** Reads the shards again, because a machine did not respond as expected. */
  #readShardsSoon(): void {
    this.#shardsReadAt = Math.min(this.#shardsReadAt, performance.now() - SHARDS_EVERY_MS + SHARDS_AGAIN_AFTER_MS)
  }

  /** Reads the machine of each shard, because shards can move. A failure is ignored: the next read follows soon. */
  #readShardsIfDue(): void {
    const server = this.#planner.server
    const now = performance.now()
    if (!server || now - this.#shardsReadAt < SHARDS_EVERY_MS) return
    this.#shardsReadAt = now
    this.#readShards(server).catch(() => undefined)
  }

  #readShards(server: Server): Promise<void> {
    return server.use(async ({ query }) => {
      const shards = await query<Shard>(READ_SHARDS)
      const [cluster] = await query<{ machines: string }>(READ_MACHINES)
      this.#machines.update(shards)
      this.#direct.update(shards, cluster?.machines ?? '', this.#machines.share)
    })
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

/** `on` is the server alone if it was read before the node noticed the extension. */
const parseRunning = (on: string): Running => (on.startsWith('{') ? (JSON.parse(on) as Running) : { server: on, machines: {} })

/** Whether a statement that failed changed nothing, and another connection may succeed. */
function hadNoEffect(error: unknown): boolean {
  const failure = failureOf(error)
  return failure === 'not_sent' || failure === 'read_only' || failure === 'stale' || failure === 'defect'
}

/** Whether a statement exceeded `lock_timeout`. */
const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03'

/** Whether a statement failed because the machine of its row failed or did not respond in time. */
const isOfMachine = (error: unknown): boolean => isOfOtherMachine(error) || isSilence(error)

/** Whether the server of the connection responded, and another machine may not have. */
const isOfOtherMachine = (error: unknown): boolean => failureOf(error) === 'machine_lost' || isTimeout(error)
