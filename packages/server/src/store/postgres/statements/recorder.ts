/** A connection that keeps the statements which the store prepares, and reaches no database. Each statement returns no row. */
import { PostgresConnection } from './connection.ts'
import type { Ask, Batched, RowLocation, StatementKind } from './statement.ts'

export type RecordedStatement = { kind: StatementKind; sql: string; place: RowLocation | undefined }

const NOWHERE = {
  servers: [],
  database: '',
  tls: null,
  target: 'any',
  poolSize: 1,
  connectTimeoutMs: 1,
  statementTimeoutMs: 1,
  applicationName: 'grantor',
} as const

/** The statements are those for a database whose rows lie on several machines: none is for many rows. */
export class Recorder extends PostgresConnection {
  readonly statements: RecordedStatement[] = []

  constructor() {
    super(NOWHERE, { clock: 'given' })
  }

  override prepare<Row>(kind: StatementKind, sql: string, place?: RowLocation): Ask<Row> {
    if (!this.statements.some((each) => each.sql === sql)) this.statements.push({ kind, sql, place })
    return () => Promise.resolve([])
  }

  override prepareBatched<Row>({ kind, one, place }: Batched): Ask<Row> {
    return this.prepare<Row>(kind, one, place)
  }

  override prepareTogether<Row>(_: Batched, apart: Ask<Row>): Ask<Row> {
    return apart
  }

  override prepareForMany() {
    return () => Promise.resolve([])
  }
}
