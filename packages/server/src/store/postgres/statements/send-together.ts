/** Sends several statements over one connection in one message, as one transaction. */
import pg from 'pg'
import type { CheckedClient } from '../connection/client.ts'
import type { Query } from './statement.ts'

/** `columns`: statements with the same value return the same columns. */
type Each = Query & { columns: string }
/** `before`: statements that precede the others. Their results are not read. */
type Together = { before: readonly Query[]; statements: readonly Each[] }

/**
 * Resolves when the statements are committed. `result` has the rows of all `statements`, `firstRows` the first row of each, undefined if there is none.
 * If it rejects, PostgreSQL has rolled the statements back, or the connection is lost.
 */
export async function sendTogether(client: CheckedClient, together: Together) {
  const transaction = new Transaction(together)
  // The types of `pg` do not know that this client returns a promise also for such a query.
  const result = await (client.query(transaction) as unknown as Promise<pg.QueryResult<object>>)
  return { result, firstRows: transaction.firstRowsOf(result.rows) }
}

/** What `Transaction` uses of the driver, which the types of the driver lack. */
type Wire = {
  stream: { cork(): void; uncork(): void }
  close(statement: { type: 'S'; name: string }): void
  parse(statement: { name: string; text: string }): void
  bind(portal: { statement: string; values: readonly unknown[] }): void
  describe(portal: { type: 'P'; name: '' }): void
  execute(portal: { portal: '' }): void
  sync(): void
}
type Handlers = { handleDataRow(message: unknown): void; handleCommandComplete(message: unknown, wire: Wire): void }
const Base = pg.Query as unknown as new (query: { text: string }) => pg.Query & Handlers

/**
 * The names of the statements that were prepared on each connection. They differ from those of the same statements alone: the driver does not know
 * what was prepared here, and PostgreSQL refuses a second statement with the same name.
 */
const prepared = new WeakMap<Wire, Set<string>>()

/**
 * PostgreSQL commits at the Sync message behind the last statement. After an error, PostgreSQL skips everything up to this message. Each statement
 * has a snapshot of its own.
 */
class Transaction extends Base {
  readonly #statements: readonly (Query & Partial<Each>)[]
  /** the number of the first statement whose result is read */
  readonly #first: number
  #completed = 0
  /** for each row, the number of its statement */
  readonly #origins: number[] = []

  constructor({ before, statements }: Together) {
    super({ text: '' })
    this.#statements = [...before, ...statements].map((each) => ({ ...each, name: `${each.name}+` }))
    this.#first = before.length
  }

  override submit = (connection: pg.Connection): void => {
    const wire = connection as unknown as Wire
    const names = namesOn(wire)
    wire.stream.cork()
    let described: string | undefined
    for (const { name, text, values, columns } of this.#statements) {
      if (!names.has(name)) {
        // The statement can exist: an earlier transaction prepared it and then failed.
        wire.close({ type: 'S', name })
        wire.parse({ name, text })
      }
      wire.bind({ statement: name, values })
      // PostgreSQL looks up the type of each column for a description, and the driver reads the description.
      if (columns !== described) wire.describe({ type: 'P', name: '' })
      described = columns
      wire.execute({ portal: '' })
    }
    wire.sync()
    wire.stream.uncork()
  }

  override handleDataRow(message: unknown): void {
    if (this.#completed < this.#first) return
    this.#origins.push(this.#completed - this.#first)
    super.handleDataRow(message)
  }

  firstRowsOf(rows: readonly object[]): (object | undefined)[] {
    const found: (object | undefined)[] = []
    for (const [index, origin] of this.#origins.entries()) found[origin] ??= rows[index]
    return found
  }

  override handleCommandComplete(message: unknown, wire: Wire): void {
    namesOn(wire).add(this.#statements[this.#completed]?.name ?? '')
    this.#completed++
    if (this.#completed === this.#statements.length) super.handleCommandComplete(message, wire)
  }
}

function namesOn(wire: Wire): Set<string> {
  const names = prepared.get(wire) ?? new Set()
  prepared.set(wire, names)
  return names
}
