/** What readiness, the log, the metrics, the audit trail and `grantor doctor` read about the machines of a database. */
import type { WaitingBatchStore } from '../domain/model/audit-store.ts'
import type { Store } from '../domain/model/store.ts'
import { StoreUnavailable } from '../domain/model/store-errors.ts'

export interface ClusterHealth {
  /** The batches of audit lines that wait while the machine of the audit trail is unavailable; null on one machine. */
  readonly waitingBatches: WaitingBatchStore | null
  /** The host and port of each machine that does not respond at the moment. */
  readonly machinesAway: readonly string[]
  /** The machines that hold rows and that this node does not reach directly, each with the reason. */
  readonly directProblems: ReadonlyMap<string, string>
  /** The address of the coordinator, and why a connection to this address cannot be used; null if there is no problem. */
  readonly coordinatorProblem: string | null
  /**
   * Throws unless grants, sessions and used proofs can be read and changed, whether or not the coordinator is available. On one machine, always
   * throws: `because`, if it is given.
   */
  checkRows(because?: unknown): Promise<void>
  /** Connects to all machines, and returns `directProblems`. */
  findDirectProblems(): Promise<ReadonlyMap<string, string>>
  /** Checks the coordinator if a check is due, and returns `coordinatorProblem`. */
  findCoordinatorProblem(): Promise<string | null>
}

/** `placement` returns another value if the database becomes a cluster while the process runs. */
export type OpenedStore = Store & { placement(): ClusterHealth }

export const ONE_MACHINE: ClusterHealth = {
  waitingBatches: null,
  machinesAway: [],
  directProblems: new Map(),
  coordinatorProblem: null,
  async checkRows(because = new StoreUnavailable('the database is one machine')) {
    throw because
  },
  findDirectProblems: async () => new Map(),
  findCoordinatorProblem: async () => null,
}
