/** One connection to PostgreSQL, from its greeting to its end. It is never opened anew: what broke is thrown away. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { Batch, type BatchOutcome, type Prepared, type Row, type Statement } from './batch.ts'
import { coded, codeOf } from './failures.ts'
import { readerOf } from './values.ts'

export type Login = {
  user: string
  password: string
  database: string
  applicationName: string
  /** milliseconds after which PostgreSQL gives a statement up */
  statementTimeout?: number | undefined
  /** milliseconds it waits for a lock at most */
  lockTimeout?: number | undefined
}

/** PostgreSQL refused the statements and undid all of them; the connection goes on. */
export class Undone extends Error {
  /** Only because something was prepared on other tables than there are now; prepared anew it may succeed. */
  readonly stale: boolean

  constructor(cause: unknown, stale: boolean) {
    super('undone', { cause })
    this.stale = stale
  }
}

export class Wire {
  readonly #client: pg.Client
  readonly #socket: Socket
  readonly #prepared = new Map<string, Prepared>()
  #over = false
  /** the first thing that went wrong on the connection itself */
  #fault: unknown = null
  #onReady: (() => void) | null = null
  #onEnd: (() => void) | null = null

  private constructor(client: pg.Client, socket: Socket) {
    this.#client = client
    this.#socket = socket
    client.on('error', (error) => {
      this.#fault ??= error
      this.destroy()
    })
    client.on('end', () => {
      this.#over = true
      this.#onEnd?.()
    })
    client.on('drain', () => this.#onReady?.())
  }

  /** Logs in over a socket that is connected. Rejects, and destroys it, where PostgreSQL does not let us in within `timeoutMs`. */
  static async open(socket: Socket, login: Login, timeoutMs: number): Promise<Wire> {
    const client = new pg.Client({
      stream: () => connectedAlready(socket),
      user: login.user,
      // A function, so that an empty one is not looked up in the environment or a file.
      password: () => login.password,
      database: login.database,
      application_name: login.applicationName,
      // Agreed on already, where it is asked for.
      ssl: false,
      types: { getTypeParser: readerOf as never },
      ...(login.statementTimeout === undefined ? {} : { statement_timeout: login.statementTimeout }),
      ...(login.lockTimeout === undefined ? {} : { lock_timeout: login.lockTimeout }),
    })
    const wire = new Wire(client, socket)
    const late = setTimeout(() => socket.destroy(coded('CONNECT_TIMEOUT', 'PostgreSQL did not answer in time')), timeoutMs)
    try {
      await client.connect()
      return wire
    } catch (error) {
      wire.destroy()
      throw named(error)
    } finally {
      clearTimeout(late)
    }
  }

  /** Whether it can be used no more. */
  get over(): boolean {
    return this.#over
  }

  /**
   * Sends statements in one go, as one transaction; resolves with their rows once that is committed. Rejects with
   * `Undone`, whose `cause` is PostgreSQL's error, when nothing of it happened; with anything else when the connection
   * went, and what happened is unknown. To be called again when it has settled.
   */
  send(statements: readonly Statement[]): Promise<Row[][]> {
    return new Promise((resolve, reject) => {
      let outcome: BatchOutcome | null = null
      this.#onEnd = () => {
        const said = outcome && 'error' in outcome ? outcome.error : null
        reject(named(codeOf(said) === '' ? (this.#fault ?? said) : said))
      }
      // An error is followed by this when the connection lives, and by its end when it was the error's.
      this.#onReady = () => {
        if (outcome && 'error' in outcome) reject(this.#undone(outcome.error))
      }
      if (this.#over) {
        this.#onEnd()
        return
      }
      this.#client.query(
        new Batch(statements, this.#prepared, (told) => {
          outcome ??= told
          if ('rows' in told) resolve(told.rows)
        }),
      )
    })
  }

  #undone(error: unknown): Undone {
    // A table changed under the statement (a migration), or somebody on the way threw away what was prepared.
    const stale = (error as { routine?: unknown }).routine === 'RevalidateCachedQuery' || codeOf(error) === '26000'
    if (stale) this.#prepared.clear()
    return new Undone(error, stale)
  }

  /** One statement as it stands, or several without values: for what is asked once. */
  async query<Answer = Row>(text: string, values?: readonly unknown[]): Promise<Answer[]> {
    try {
      const { rows } = await (values ? this.#client.query(text, [...values]) : this.#client.query(text))
      return rows as Answer[]
    } catch (error) {
      throw named(error)
    }
  }

  /** Takes leave. Nothing may be under way. */
  async end(): Promise<void> {
    this.#over = true
    const late = setTimeout(() => this.#socket.destroy(), 1000)
    await this.#client.end().catch(() => undefined)
    clearTimeout(late)
  }

  /** What was under way is lost, and told so. */
  destroy(): void {
    this.#over = true
    this.#socket.destroy()
  }
}

/** The driver asks the socket to connect, and waits for its word. */
function connectedAlready(socket: Socket): Socket {
  return Object.assign(socket, {
    connect() {
      setImmediate(() => socket.emit('connect'))
      return socket
    },
  })
}

/** The driver names no code where the connection simply went. */
function named(error: unknown): Error {
  if (error instanceof Error && codeOf(error) !== '') return error
  return coded('CONNECTION_CLOSED', error instanceof Error ? error.message : 'the connection was closed')
}
