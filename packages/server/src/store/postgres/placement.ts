/**
 * The placement of rows: which server a statement goes to, which batch it joins, and how its commit is confirmed. `one-primary.ts` is the placement of
 * plain PostgreSQL. A connection that finds the extension of a cluster loads another one, which the composition root passes as `LoadPlacement`.
 */
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import type { ClusterHealth } from '../cluster-health.ts'
import type { PostgresAddress } from './address.ts'
import type { PostgresSession, Server } from './connection/server.ts'
import type { ServerGroup, StatementAttempt } from './connection/server-group.ts'
import type { BatchInput } from './statements/batches.ts'
import type { Ask, Query, RowLocation, Statement, StatementKind } from './statements/statement.ts'

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

/** `key`: statements with the same value may share a batch. `isShared`: also with other statements. */
export type BatchOfRow = { key: string; isShared: boolean }

/** A row whose state is confirmed: `row` is the text that finds it, `on` the servers on which it was found. */
export type ConfirmedRow = { row: string; place: RowLocation | undefined; key: string | undefined; on: string | undefined }

/** The reply of one machine. `is_here`: whether this is the machine of the connection. `result`: the value, or, without `success`, the error. */
export type Reply = { host: string; port: number; is_here: boolean; success: boolean; result: string }

export type Distributing = {
  /** Receives a line for the operator when a step begins or ends, and while a table is copied. */
  report: (line: string) => void
  /**
   * Runs a transaction while no other program migrates. It waits only briefly for each lock on a table, and is repeated if a lock was not free.
   */
  runLocking: <Result>(transaction: () => Promise<Result>) => Promise<Result>
  /** Runs a task over another connection, while the first one is busy. */
  useAnother: (task: (session: PostgresSession) => Promise<void>) => Promise<void>
}

export interface Placement extends ClusterHealth {
  /** Called before each attempt of a statement. */
  routeOf(attempt: StatementAttempt): Route | Promise<Route>

  /** The batch that the statement for a row may join. undefined: the statement is sent alone. */
  batchOf(kind: StatementKind, table: string, key: string | undefined): BatchOfRow | undefined
  /** The number of batches that run at a time. */
  batchesAtOnce(kind: StatementKind): number
  /** Sends a batch by `send`. Returns the row of each input, undefined if it has none. */
  sendBatch(inputs: readonly BatchInput[], send: SendBatch): Promise<unknown[]>
  /** Whether one statement may change several rows that wallets own, or several records. */
  mayCombine(changes: 'rows' | 'records'): boolean

  /** Resolves when a search has shown whether this placement is the right one. */
  settle(): Promise<void>
  /** Identifies the servers that run at the moment, for `confirm` and `confirmRow`. */
  readInstance(): Promise<string>
  /** Confirms all commits that are visible on any machine that holds rows. `on`: the servers on which the commits were found. */
  confirm(on: string | undefined): Promise<void>
  /** Confirms the state of one row. `send` sends the statement that does so, to one running server only if an instance is given. */
  confirmRow(confirmed: ConfirmedRow, send: (instance: string | undefined) => Promise<unknown>): Promise<void>

  /** The seconds from the beginning of a statement that ends a grant to the assignment of its transaction id, at most. */
  readonly begunBefore: number
  /**
   * Runs a query for one value on all machines. A machine that does not respond within half a second is a reply without success. Empty on one machine,
   * whose answer the caller reads with a statement of its own.
   */
  askEveryMachine(query: string): Promise<Reply[]>
  /** The number of rows that the machines assume for a distributed table; null on one machine. */
  estimateRows(table: string): Promise<number | null>

  /** Configures the transaction that migrates, before its first step. `lockAtMost`: the milliseconds that a step may wait for a lock. */
  configureSteps(transaction: PostgresSession, options: { lockAtMost: number }): Promise<void>
  /** Distributes the tables that are not distributed yet. */
  distribute(session: PostgresSession, distributing: Distributing): Promise<void>
  /** The number of tables that `distribute` would distribute. */
  countUndistributed(session: PostgresSession): Promise<number>

  close(): Promise<void>
}

/** Sends a query for the rows of a batch. `batch`: the statement for each row. */
export type SendBatch = <Row>(statement: Pick<Statement, 'query' | 'batch'>) => Promise<Row[]>

export type PlacementContext = {
  address: PostgresAddress
  /** the servers of the settings */
  group: ServerGroup
  connection: Statements
}

/** What a placement uses of the connection that it belongs to. */
export type Statements = {
  findServer(): Promise<Server>
  query<Row>(text: string): Promise<Row[]>
  run<Row>(statement: Statement, deadline?: number, via?: ServerGroup): Promise<Row[]>
  prepare<Row>(kind: StatementKind, sql: string, place?: RowLocation): Ask<Row>
}

/** What the folder of another placement exports. */
export type PlacementModule = {
  open(context: PlacementContext): Placement
  /** Called for each server that a search finds, before the server is used. Rejects if a machine has the wrong settings. */
  checkMachines(server: Server): Promise<void>
  /** Returns a statement that runs a query for one value on all machines. Its rows are `Reply`. */
  askEveryMachine(query: string): string
}

export type LoadPlacement = () => Promise<PlacementModule>

/** For a program that uses plain PostgreSQL only. */
export const loadNoPlacement: LoadPlacement = () =>
  Promise.reject(new StoreUnavailable('the database has the extension Citus, which this program does not use'))
