/**
 * Runs statements on the coordinator of a Citus cluster, also if the node is connected to a worker.
 *
 * A worker changes a table of the coordinator in a transaction of several messages, which may end with a two-phase commit. If the worker loses
 * its network in between, the row stays locked until the coordinator notices the loss, up to 48 seconds later or longer. If the row is the head
 * of the audit trail, all nodes wait. A node that is connected to a worker therefore opens a second connection, to the coordinator, and sends
 * the statement there in one message.
 */
import type { Ask, Connection, Kind } from './connection.ts'

/** How often a node reads which machine is the coordinator, and whether it can be reached. */
const CHECK_EVERY_MS = 5000

/** Reads the coordinator's address, and whether this connection leads to the coordinator. `machines` identifies the cluster. */
export const FIND_COORDINATOR = `
  SELECT nodename AS host, nodeport AS port, (SELECT groupid FROM pg_dist_local_group) = 0 AS is_here,
         (SELECT string_agg(concat_ws(' ', nodeid, groupid, nodename, nodeport), ',' ORDER BY nodeid) FROM pg_dist_node) AS machines
  FROM pg_dist_node WHERE groupid = 0 AND noderole = 'primary'`

type Found = { host: string; port: number; is_here: boolean; machines: string }

export class Coordinator {
  readonly #ordinary: Connection
  /** the second connection, and its address */
  #direct: { name: string; connection: Connection } | null = null
  #chosen: Connection
  #checkedAt = Number.NEGATIVE_INFINITY
  /** false before the first check and after a failure. Statements then wait for the check */
  #isChosen = false
  #checking: Promise<void> | null = null
  #problem: string | null = null

  constructor(connection: Connection) {
    this.#ordinary = connection
    this.#chosen = connection
  }

  /** The address of the coordinator, and why a connection to this address cannot be used; null if there is no problem. */
  get problem(): string | null {
    return this.#problem
  }

  /** Prepares a statement on tables of the coordinator. If the coordinator cannot be reached, the ordinary connection is used. */
  prepare<Row>(kind: Kind, sql: string): Ask<Row> {
    const askOrdinary = this.#ordinary.prepare<Row>(kind, sql)
    return async (named) => {
      await this.check()
      const connection = this.#chosen
      if (connection === this.#ordinary) return askOrdinary(named)
      try {
        return await connection.prepare<Row>(kind, sql)(named)
      } catch (error) {
        this.#checkedAt = Number.NEGATIVE_INFINITY
        this.#isChosen = false
        throw error
      }
    }
  }

  /** Chooses the connection, at most once in `CHECK_EVERY_MS`. Throws if the ordinary connection cannot be used. */
  async check(): Promise<void> {
    if (!this.#ordinary.isOnCitus || performance.now() - this.#checkedAt < CHECK_EVERY_MS) return
    this.#checking ??= this.#choose().finally(() => (this.#checking = null))
    if (this.#isChosen) this.#checking.catch(() => undefined)
    else await this.#checking
  }

  close(): Promise<void> {
    return this.#direct?.connection.close() ?? Promise.resolve()
  }

  async #choose(): Promise<void> {
    const [coordinator] = await this.#ordinary.query<Found>(FIND_COORDINATOR)
    // In a cluster of one machine, `pg_dist_node` can be empty.
    const direct = !coordinator || coordinator.is_here ? null : this.#connectionTo(coordinator)
    const problem = coordinator && direct ? await problemOf(direct, coordinator) : null
    this.#chosen = direct !== null && problem === null ? direct : this.#ordinary
    // The next check opens a new connection: the address may then lead to another server.
    if (problem !== null) this.#leave()
    this.#problem = problem
    this.#isChosen = true
    this.#checkedAt = performance.now()
  }

  #connectionTo({ host, port }: Found): Connection {
    const name = `${host}:${port}`
    if (this.#direct?.name === name) return this.#direct.connection
    this.#leave()
    this.#direct = { name, connection: this.#ordinary.toServer({ host, port }) }
    return this.#direct.connection
  }

  #leave(): void {
    void this.close()
    this.#direct = null
  }
}

/** Compares both ends: an address such as `localhost` leads this node to another server than it leads the machines of the cluster. */
async function problemOf(direct: Connection, { host, port, machines }: Found): Promise<string | null> {
  try {
    const [found] = await direct.query<Found>(FIND_COORDINATOR)
    return found?.is_here && found.machines === machines ? null : `${host}:${port}: not the coordinator of this cluster`
  } catch (error) {
    return `${host}:${port}: ${error instanceof Error ? error.message : 'unknown error'}`
  }
}
