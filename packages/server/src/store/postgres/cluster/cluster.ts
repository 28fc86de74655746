/** What the connection layer needs if the database consists of several machines. `citus.ts` implements `Cluster`. */
import type { PostgresAddress } from '../address.ts'
import type { Attempt, ServerGroup } from '../connection/server-group.ts'
import type { Kind, Query, Statement } from '../statements/statement.ts'

/** The servers and the limits of one attempt of a statement. */
export type Route = {
  group: ServerGroup
  /** usually the query of the statement */
  query: Query
  /** Runs the attempt within the limits of the row's machine. Throws `StoreUnavailable` without running the attempt if the machine is away. */
  within?: <Result>(attempt: () => Promise<Result>) => Promise<Result>
  /** Whether an error concerns the machine of the row only, and not the server of `group`. */
  excuses?: (error: unknown) => boolean
}

/** The reply of one machine. `is_here`: whether this is the machine of the connection. `result`: the value, or, without `success`, the error. */
export type Reply = { host: string; port: number; is_here: boolean; success: boolean; result: string }

export interface Cluster {
  /** Called before each attempt of a statement. Also starts the reads and the checks that are due. */
  routeOf(attempt: Attempt): Promise<Route>
  /** The batch that the statement for a row may join: statements with the same value concern rows of one machine. undefined: none. */
  batchKeyOf(kind: Kind, table: string, key: string): string | undefined
  /** Identifies the servers that run at the moment, for `confirm` and `instanceOf`. */
  readInstance(): string
  /**
   * The server that the confirmation of a row must run on (`Statement.instance`): the one that runs now on the machine of the row, or the one of
   * `on`, which `readInstance` returned. undefined if the machine is not connected directly.
   */
  instanceOf(row: { table: string; key: string }, on: string | undefined): string | undefined
  /** Confirms all commits that are visible on any machine that holds rows. `on`: the servers on which the commits were found. */
  confirm(on: string | undefined): Promise<void>
  /** Runs a query for one value on all machines. A machine that does not respond within half a second is a reply without success. */
  askEveryMachine(query: string): Promise<Reply[]>
  /** Throws unless each machine that holds rows responds over a direct connection for changes. */
  checkRows(): Promise<void>
  /** The names of the machines that do not respond at the moment. */
  readonly machinesAway: string[]
  /** The machines that hold rows and that this node does not reach directly, each with the reason. */
  readonly directProblems: ReadonlyMap<string, string>
  /** Connects to all machines, and updates `directProblems`. */
  checkDirect(): Promise<void>
  /** The address of the coordinator, and why a connection to this address cannot be used; null if there is no problem. */
  readonly coordinatorProblem: string | null
  /** Updates `coordinatorProblem` if a check is due. */
  checkCoordinator(): Promise<void>
  close(): Promise<void>
}

export type ClusterContext = {
  address: PostgresAddress
  /** the servers of the settings */
  group: ServerGroup
  /** Runs a statement with the limits, the deadline and the retries of the connection: on `group`, or on the route of the statement. */
  run<Row>(statement: Statement, group?: ServerGroup): Promise<Row[]>
}
