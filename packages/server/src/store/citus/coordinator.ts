/**
 * Runs statements on the coordinator of a Citus cluster, also if the node is connected to a worker.
 *
 * A worker changes a table of the coordinator in a transaction of several messages, which may end with a two-phase commit. If the worker loses
 * its network in between, the row stays locked until the coordinator notices the loss, up to 48 seconds later or longer. If the row is the head
 * of the audit trail, all nodes wait. A node that is connected to a worker therefore opens a second connection, to the coordinator, and sends
 * the statement there in one message.
 */

import { toStoreError } from '../postgres/connection/errors.ts'
import { ServerGroup } from '../postgres/connection/server-group.ts'
import type { PlacementContext, Route } from '../postgres/placement.ts'
import { checkMachines } from './every-machine.ts'

/** How often a node reads which machine is the coordinator, and whether it can be reached. */
const CHECK_EVERY_MS = 5000
/** A statement waits for a check for at most this long, and then uses the ordinary connection. */
const WAIT_AT_MOST_MS = 1000

/** Reads the addresses of all machines, which identify the cluster. */
export const MACHINES_OF_CLUSTER = `
  SELECT string_agg(concat_ws(' ', nodeid, groupid, nodename, nodeport), ',' ORDER BY nodeid) FROM pg_dist_node`

/** Reads the coordinator's address, and whether this connection leads to the coordinator. `machines` identifies the cluster. */
export const FIND_COORDINATOR = `
  SELECT nodename AS host, nodeport AS port, (SELECT groupid FROM pg_dist_local_group) = 0 AS is_here,
         (${MACHINES_OF_CLUSTER}) AS machines
  FROM pg_dist_node WHERE groupid = 0 AND noderole = 'primary'`

type FoundCoordinator = { host: string; port: number; is_here: boolean; machines: string }

export class Coordinator {
  readonly #context: PlacementContext
  /** the second connection, and its address */
  #direct: { name: string; group: ServerGroup } | null = null
  #chosen: ServerGroup
  #checkedAt = Number.NEGATIVE_INFINITY
  /** false before the first check and after a failure. Statements then wait for the check */
  #isChosen = false
  #checking: Promise<void> | null = null
  #problem: string | null = null

  constructor(context: PlacementContext) {
    this.#context = context
    this.#chosen = context.group
  }

  get problem(): string | null {
    return this.#problem
  }

  /** The route of a statement on tables of the coordinator. If the coordinator cannot be reached, the ordinary connection is used. */
  async route(): Promise<Pick<Route, 'group' | 'within'>> {
    const { promise: isLate, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, WAIT_AT_MOST_MS)
    await Promise.race([this.check(), isLate]).finally(() => clearTimeout(timer))
    const group = this.#chosen
    if (group === this.#context.group) return { group }
    const within: Route['within'] = (attempt) =>
      attempt().catch((error: unknown) => {
        this.#checkedAt = Number.NEGATIVE_INFINITY
        this.#isChosen = false
        throw error
      })
    return { group, within }
  }

  /** Chooses the connection, at most once in `CHECK_EVERY_MS`. Throws if the ordinary connection cannot be used. */
  async check(): Promise<void> {
    if (performance.now() - this.#checkedAt < CHECK_EVERY_MS) return
    this.#checking ??= this.#choose().finally(() => (this.#checking = null))
    if (this.#isChosen) this.#checking.catch(() => undefined)
    else await this.#checking
  }

  close(): Promise<void> {
    return this.#direct?.group.close() ?? Promise.resolve()
  }

  async #choose(): Promise<void> {
    const [coordinator] = await this.#context.connection.run<FoundCoordinator>({
      kind: 'read',
      query: { name: '', text: FIND_COORDINATOR, values: [] },
    })
    // In a cluster of one machine, `pg_dist_node` can be empty.
    const direct = !coordinator || coordinator.is_here ? null : this.#groupOf(coordinator)
    const problem = coordinator && direct ? await this.#problemOf(direct, coordinator) : null
    this.#chosen = direct !== null && problem === null ? direct : this.#context.group
    // The next check opens a new connection: the address may then lead to another server.
    if (problem !== null) this.#leave()
    this.#problem = problem
    this.#isChosen = true
    this.#checkedAt = performance.now()
  }

  #groupOf({ host, port }: FoundCoordinator): ServerGroup {
    const name = `${host}:${port}`
    if (this.#direct?.name === name) return this.#direct.group
    this.#leave()
    const address = { ...this.#context.address, servers: [{ host, port }], poolSize: 2 }
    this.#direct = { name, group: new ServerGroup(address, { accept: checkMachines }) }
    return this.#direct.group
  }

  #leave(): void {
    void this.close()
    this.#direct = null
  }

  /** Compares both ends: an address such as `localhost` leads this node to another server than it leads the machines of the cluster. */
  async #problemOf(direct: ServerGroup, { host, port, machines }: FoundCoordinator): Promise<string | null> {
    try {
      const server = await direct.find()
      const [found] = await server.use(({ query }) => query<FoundCoordinator>(FIND_COORDINATOR))
      return found?.is_here && found.machines === machines ? null : `${host}:${port}: not the coordinator of this cluster`
    } catch (failure) {
      const error = toStoreError(failure)
      return `${host}:${port}: ${error instanceof Error ? error.message : 'unknown error'}`
    }
  }
}
