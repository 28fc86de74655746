/** Sends several statements over one connection in one message, as one transaction. */
import pg from 'pg'
import type { CheckedClient } from '../connection/client.ts'
import type { Query } from '../statements/statement.ts'

/** `before`: statements that precede the others. Their results are not read. All of `statements` return the same columns. */
type Together = Readonly<Record<'before' | 'statements', readonly Query[]>>

/** Resolves with the rows of all `statements` when they are committed. If it rejects, PostgreSQL has rolled them back, or the connection is lost. */
export async function sendTogether(client: CheckedClient, together: Together): Promise<pg.QueryResult<object>> {
  // The types of `pg` do not know that this client returns a promise also for such a query.
  return client.query(new Transaction(together)) as unknown as Promise<pg.QueryResult<object>>
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

/** The names of the statements that were prepared on each connection. */
const prepared = new WeakMap<Wire, Set<string>>()

/**
 * PostgreSQL commits at the Sync message behind the last statement. After an error, PostgreSQL skips everything up to this message. Each statement
 * has a snapshot of its own.
 */
class Transaction extends Base {
  readonly #statements: readonly Query[]
  /** the number of the first statement whose result is read */
  readonly #first: number
  #completed = 0

  constructor({ before, statements }: Together) {
    super({ text: '' })
    this.#statements = [...before, ...statements]
    this.#first = before.length
  }

  override submit = (connection: pg.Connection): void => {
    const wire = connection as unknown as Wire
    const names = namesOn(wire)
    wire.stream.cork()
    for (const [index, { name, text, values }] of this.#statements.entries()) {
      if (!names.has(name)) {
        // The statement can exist: an earlier transaction prepared it and then failed.
        wire.close({ type: 'S', name })
        wire.parse({ name, text })
      }
      wire.bind({ statement: name, values })
      if (index === this.#first) wire.describe({ type: 'P', name: '' })
      wire.execute({ portal: '' })
    }
    wire.sync()
    wire.stream.uncork()
  }

  override handleDataRow(message: unknown): void {
    if (this.#completed >= this.#first) super.handleDataRow(message)
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
