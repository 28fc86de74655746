/**
 * Statements that go over one connection in one go, and are one transaction: PostgreSQL commits at the Sync that ends
 * them, and says so by ReadyForQuery (its manual, 54.2.3 and 54.2.4). Nothing is told before that: an answer that
 * came earlier is not stored yet, and the commit itself may fail.
 */
import type { Connection, Submittable } from 'pg'
import { coded } from './failures.ts'
import { type Reader, readerOf } from './values.ts'

/** Values as they go over the wire. */
export type Statement = { text: string; values: readonly (string | Buffer | null)[] }
export type Row = Record<string, unknown>

/** A statement that one connection has prepared, and what its rows look like. */
type Prepared = { name: string; columns: { name: string; read: Reader }[] }

/** What one connection has prepared. */
export class Preparations {
  readonly #known = new Map<string, Prepared>()
  #forsaken: string[] = []

  find(text: string): Prepared | undefined {
    return this.#known.get(text)
  }

  add(fresh: ReadonlyMap<string, Prepared>): void {
    for (const [text, prepared] of fresh) this.#known.set(text, prepared)
  }

  /** Not used again. PostgreSQL would keep it as long as the connection lives. */
  forsake(prepared: Iterable<Prepared>): void {
    for (const { name } of prepared) this.#forsaken.push(name)
  }

  forsakeAll(): void {
    this.forsake(this.#known.values())
    this.#known.clear()
  }

  /** The names of those that are to be closed. */
  takeForsaken(): string[] {
    return this.#forsaken.splice(0)
  }
}

export type BatchOutcome = { rows: Row[][] } | { error: unknown }

// The driver hands these on as they come from the wire; its types do not name them.
type RowDescription = { fields: { name: string; dataTypeID: number }[] }
type DataRow = { fields: (string | null)[] }
type Bind = NonNullable<Parameters<Connection['bind']>[0]>

let names = 0

export class Batch implements Submittable {
  readonly #statements: readonly Statement[]
  readonly #prepared: Preparations
  readonly #fresh = new Map<string, Prepared>()
  readonly #tell: (outcome: BatchOutcome) => void
  readonly #rows: Row[][]
  /** of the statement whose answer comes next */
  #index = 0

  /** `prepared` belongs to the connection. `tell` is called when PostgreSQL has decided. */
  constructor(statements: readonly Statement[], prepared: Preparations, tell: (outcome: BatchOutcome) => void) {
    this.#statements = statements
    this.#prepared = prepared
    this.#tell = tell
    this.#rows = statements.map(() => [])
  }

  submit(connection: Connection): void {
    // One write for all of it.
    connection.stream.cork()
    // One that PostgreSQL does not know is no error to it.
    for (const name of this.#prepared.takeForsaken()) connection.close({ type: 'S', name }, false)
    for (const { text, values } of this.#statements) {
      const { name } = this.#known(text) ?? this.#prepare(connection, text)
      connection.bind({ statement: name, values } as unknown as Bind, false)
      connection.execute(null, false)
    }
    connection.sync()
    connection.stream.uncork()
  }

  #known(text: string): Prepared | undefined {
    return this.#prepared.find(text) ?? this.#fresh.get(text)
  }

  #prepare(connection: Connection, text: string): Prepared {
    // A name is never used twice: whether PostgreSQL came to this one is not known when something before it fails.
    const prepared = { name: `s${++names}`, columns: [] }
    this.#fresh.set(text, prepared)
    connection.parse({ name: prepared.name, text, types: [] }, false)
    connection.describe({ type: 'S', name: prepared.name }, false)
    return prepared
  }

  handleRowDescription({ fields }: RowDescription): void {
    const prepared = this.#known(this.#statements[this.#index]?.text ?? '')
    prepared?.columns.push(...fields.map(({ name, dataTypeID }) => ({ name, read: readerOf(dataTypeID) })))
  }

  handleDataRow({ fields }: DataRow): void {
    const columns = this.#known(this.#statements[this.#index]?.text ?? '')?.columns ?? []
    const row: Row = {}
    for (const [index, { name, read }] of columns.entries()) {
      const text = fields[index] ?? null
      row[name] = text === null ? null : read(text)
    }
    this.#rows[this.#index]?.push(row)
  }

  handleCommandComplete(): void {
    this.#index++
  }

  handleReadyForQuery(): void {
    // Whoever stands between us and PostgreSQL may have said it; caught where the bytes come in.
    if (this.#index !== this.#statements.length) throw coded('08P01', 'ready before every statement was answered')
    this.#prepared.add(this.#fresh)
    this.#tell({ rows: this.#rows })
  }

  handleError(error: unknown): void {
    this.#prepared.forsake(this.#fresh.values())
    this.#tell({ error })
  }
}
