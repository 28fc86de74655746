/** Chooses the server for each statement on Citus, and handles the failure of a machine. */
import type { WaitingBatchStore } from '../../domain/model/audit-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { codeOf, failureOf, isSilence, isTimeout } from '../postgres/connection/errors.ts'
import { type Server, sideOf } from '../postgres/connection/server.ts'
import type { ServerGroup, StatementAttempt } from '../postgres/connection/server-group.ts'
import { BEGUN_BEFORE } from '../postgres/ending-history.ts'
import { CONFIRM_EVERY_MS } from '../postgres/one-primary.ts'
import type {
  BatchOfRow,
  ConfirmedRow,
  Placement,
  PlacementContext,
  Reply,
  Route,
  SendBatch,
  Statements,
} from '../postgres/placement.ts'
import type { BatchInput } from '../postgres/statements/batches.ts'
import { SharedRuns } from '../postgres/statements/shared-runs.ts'
import { type Ask, COMMIT, keyOf, type StatementKind } from '../postgres/statements/statement.ts'
import { withoutLock } from '../postgres/statements/wallet-lock.ts'
import { Coordinator, MACHINES_OF_CLUSTER } from './coordinator.ts'
import { DirectGroups } from './direct-groups.ts'
import { countUndistributed, distribute } from './distribute.ts'
import { configureSteps, isOnCoordinator } from './distribution.ts'
import { askEveryMachine, checkMachines } from './every-machine.ts'
import { Machines, READ_SHARDS, type Shard } from './machines.ts'
import { ShardStatements } from './shard-statements.ts'
import { createWaitingBatchStore } from './waiting-batches.ts'

/** How often a node reads the machine of each shard. */
const SHARDS_EVERY_MS = 5000
/** How soon a node reads them again after a failure. */
const SHARDS_AGAIN_AFTER_MS = 250
/** How often a node checks the settings of every machine. Each check opens a new connection on every machine. */
const MACHINES_EVERY_MS = 10_000
/** The shortest time between two checks of all machines that hold rows. A request without any proof can cause a check. */
const CHECK_EVERY_MS = 100
/**
 * The number of batches that run at a time. Each machine gets only a part of the rows, so one batch of reads runs at a time on each machine: reads
 * wait for no commit. Twice as many rows in a batch cost the workers a third less for each row (docs/decisions/0018-citus.md).
 */
const BATCHES_AT_ONCE = { ofReads: 1, ofChanges: 2 } as const
/** How far back endings are committed: a statement can wait in a connection between two machines, with an earlier time. */
const BEGUN_BEFORE_ON_CITUS = 3 * BEGUN_BEFORE
const READ_MACHINES = `SELECT (${MACHINES_OF_CLUSTER}) AS machines`
const committedOn = (machines: 'workers' | 'all_nodes') =>
  `(SELECT coalesce(bool_and(success), true) FROM run_command_on_${machines}($$SELECT ${COMMIT}$$))`
/** Leaves out the coordinator unless it holds rows: an ending can be acknowledged while the coordinator is unavailable. */
const COMMIT_ON_MACHINES_OF_ROWS = `
  SELECT CASE WHEN EXISTS (SELECT FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE groupid = 0 AND shardminvalue IS NOT NULL)
         THEN ${committedOn('all_nodes')} ELSE ${committedOn('workers')} END AS success`

const ESTIMATE = `
  SELECT coalesce(sum(result::bigint), 0)::bigint AS number
  FROM run_command_on_shards(:table::regclass, 'SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = ''%s''::regclass')
  WHERE success`

/** Prepares the estimate of the rows of a table. */
export const prepareEstimate = (connection: Pick<Statements, 'prepare'>): Ask<{ number: number }> =>
  connection.prepare('read', ESTIMATE)

/** The statements of a batch were not run, and may be run one by one. */
class NotTogether extends Error {
  /** `failureOf` reads it: like an error of PostgreSQL after which nothing has happened. */
  readonly severity = 'ERROR'

  constructor() {
    super('the rows are not on one machine that is connected')
  }
}

/** The running servers: the one of the settings, and those of the machines that are connected directly. */
type RunningMachines = { server: string; machines: Record<string, string> }

export class Citus implements Placement {
  readonly #context: PlacementContext
  readonly #machines: Machines
  readonly #coordinator: Coordinator
  readonly #direct: DirectGroups
  readonly #shardStatements = new ShardStatements()
  readonly #confirmations = new SharedRuns(CONFIRM_EVERY_MS)
  readonly #checks = new SharedRuns(CHECK_EVERY_MS)
  readonly begunBefore = BEGUN_BEFORE_ON_CITUS
  readonly waitingBatches: WaitingBatchStore
  readonly configureSteps = configureSteps
  readonly distribute = distribute
  readonly countUndistributed = countUndistributed
  #shardsReadAt = Number.NEGATIVE_INFINITY
  #machinesCheckedAt = Number.NEGATIVE_INFINITY

  constructor(context: PlacementContext) {
    this.#context = context
    this.#machines = new Machines(context.address.poolSize)
    this.#coordinator = new Coordinator(context)
    this.#direct = new DirectGroups(context.address)
    this.waitingBatches = createWaitingBatchStore(context.connection)
  }

  async routeOf(attempt: StatementAttempt): Promise<Route> {
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
      return {
        group: this.#planner,
        query: withoutLock(query),
        excuses: isOfMachine,
        within: (run) => machine.run(side, run, isOfMachine),
      }
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
  #directTo({ kind, query, place, key, batch }: StatementAttempt): Pick<Route, 'group' | 'query'> | undefined {
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
  #mayRun(kind: StatementKind): boolean {
    return kind === 'read' || this.#direct.isOwner
  }

  /**
   * Runs a statement on the machine of its row. If the statement had no effect, it runs over the ordinary connection. A statement that may run on
   * one server only runs there, and Citus forwards it.
   */
  async #runDirect<Result>(run: () => Promise<Result>, group: ServerGroup, attempt: StatementAttempt): Promise<Result> {
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

  /** Statements for rows on one machine are sent together. A machine checks each batch, so all its reads share batches. */
  batchOf(kind: StatementKind, table: string, key: string | undefined): BatchOfRow | undefined {
    const machine = key === undefined ? undefined : this.#machines.nameOf(table, key)
    const isDirect = machine !== undefined && this.#mayRun(kind) && this.#direct.of(machine, sideOf({ kind }))
    return isDirect ? { key: machine, isShared: kind === 'read' } : undefined
  }

  batchesAtOnce(kind: StatementKind): number {
    return kind === 'read' ? BATCHES_AT_ONCE.ofReads : BATCHES_AT_ONCE.ofChanges
  }

  /** Sends the statement for each row, all in one transaction. None of them skips a row. */
  sendBatch(inputs: readonly BatchInput[], send: SendBatch): Promise<unknown[]> {
    const batch = inputs.map(({ statement: { alone, place }, named }) => ({
      query: alone(named),
      key: keyOf(place, named) ?? '',
    }))
    return send({ query: { name: '', text: '', values: [] }, batch })
  }

  /** The rows are on several machines. The records are on the coordinator, and the node may be connected to a worker. */
  mayCombine(): boolean {
    return false
  }

  async settle(): Promise<void> {}

  async readInstance(): Promise<string> {
    const running: RunningMachines = { server: this.#planner.server?.state?.instance ?? '', machines: this.#direct.instances }
    return JSON.stringify(running)
  }

  /** Runs on the machine of the row if the machine is connected directly: on the server that runs now, or on the one of `on`. */
  confirmRow({ row, place, key, on }: ConfirmedRow, send: (instance: string | undefined) => Promise<unknown>): Promise<void> {
    const machine = place && key !== undefined ? this.#machines.nameOf(place.table, key) : undefined
    const instances = on === undefined ? this.#direct.instances : parseRunning(on).machines
    const instance = machine === undefined ? undefined : instances[machine]
    return this.#confirmations.run(`${row} ${key} ${instance}`, () => send(instance))
  }

  async confirm(on: string | undefined): Promise<void> {
    const instance = on === undefined ? ((await this.#planner.find()).state?.instance ?? '') : parseRunning(on).server
    const { group } = this.#context
    const via = group.server?.state?.instance === instance ? group : (this.#direct.on(instance) ?? group)
    return this.#confirmations.run(instance, async () => {
      const query = { name: '', text: COMMIT_ON_MACHINES_OF_ROWS, values: [] }
      const [found] = await this.#context.connection.run<{ success: boolean }>({ kind: 'move', query, instance }, undefined, via)
      if (!found?.success) throw new StoreUnavailable('a machine of the cluster does not commit')
    })
  }

  askEveryMachine(query: string): Promise<Reply[]> {
    return this.#context.connection.run<Reply>({ kind: 'read', query: { name: '', text: askEveryMachine(query), values: [] } })
  }

  async estimateRows(table: string): Promise<number | null> {
    const [found] = await prepareEstimate(this.#context.connection)({ table })
    return found?.number ?? 0
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

  async findDirectProblems(): Promise<ReadonlyMap<string, string>> {
    const server = await this.#context.group.find()
    await this.#readShards(server)
    await this.#direct.connect()
    return this.#direct.problems
  }

  get coordinatorProblem(): string | null {
    return this.#coordinator.problem
  }

  async findCoordinatorProblem(): Promise<string | null> {
    await this.#coordinator.check()
    return this.#coordinator.problem
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
const parseRunning = (on: string): RunningMachines =>
  on.startsWith('{') ? (JSON.parse(on) as RunningMachines) : { server: on, machines: {} }

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
