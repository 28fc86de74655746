/**
 * Statements that no worker of a Citus cluster must carry out.
 *
 * A worker changes a table of the coordinator in a transaction of several messages, which may end with a two-phase commit. If the worker is cut
 * off in between, the row stays locked until the coordinator notices, up to 48 seconds later or longer. For the head of the audit trail, all nodes
 * would wait. So a node that is connected to a worker sends such a statement in one message over a second connection, to the coordinator.
 */
import type { Ask, Connection, Kind } from './connection.ts'

/** How often a node reads which machine is the coordinator, and whether it can be reached. */
const CHECK_EVERY_MS = 5000

/** The coordinator, and whether this is the connection to it. `machines` identifies the cluster. */
export const FIND_COORDINATOR = `
  SELECT nodename AS host, nodeport AS port, (SELECT groupid FROM pg_dist_local_group) = 0 AS is_here,
         (SELECT string_agg(concat_ws(' ', nodeid, groupid, nodename, nodeport), ',' ORDER BY nodeid) FROM pg_dist_node) AS machines
  FROM pg_dist_node WHERE groupid = 0 AND noderole = 'primary'`

type Found = { host: string; port: number; is_here: boolean; machines: string }

export class Coordinator {
  readonly #ordinary: Connection
  /** the second connection, and the address that it leads to */
  #direct: { name: string; connection: Connection } | null = null
  #chosen: Connection
  #checkedAt = Number.NEGATIVE_INFINITY
  /** false until the first check, and after a failure: then statements wait for the check */
  #isChosen = false
  #checking: Promise<void> | null = null
  #problem: string | null = null

  constructor(connection: Connection) {
    this.#ordinary = connection
    this.#chosen = connection
  }

  /** The address of the coordinator, and why it cannot be used; null if it can. */
  get problem(): string | null {
    return this.#problem
  }

  /** Prepares a statement on tables of the coordinator. It is sent over the ordinary connection if the coordinator cannot be reached. */
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

  /** Chooses the connection, if that is due. Throws if the ordinary connection cannot be used. */
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
    // A cluster of one machine need not name its coordinator.
    const direct = !coordinator || coordinator.is_here ? null : this.#connectionTo(coordinator)
    const problem = coordinator && direct ? await problemOf(direct, coordinator) : null
    this.#chosen = direct !== null && problem === null ? direct : this.#ordinary
    // The next check opens a new connection, which may lead to another server.
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

/** The address may lead this node to another server than the machines of the cluster, such as `localhost`. */
async function problemOf(direct: Connection, { host, port, machines }: Found): Promise<string | null> {
  try {
    const [found] = await direct.query<Found>(FIND_COORDINATOR)
    return found?.is_here && found.machines === machines ? null : `${host}:${port}: not the coordinator of this cluster`
  } catch (error) {
    return `${host}:${port}: ${error instanceof Error ? error.message : 'unknown error'}`
  }
}
