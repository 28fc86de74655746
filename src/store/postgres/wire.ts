/** One connection to PostgreSQL, from its greeting to its end. It is never opened anew: what broke is thrown away. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { Batch, type BatchOutcome, Preparations, type Row, type Statement } from './batch.ts'
import { coded, codeOf, failureOf } from './failures.ts'
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
  /** milliseconds after which a question without an answer ends the connection; no limit when absent */
  silentAtMost?: number | undefined
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
  readonly #prepared = new Preparations()
  readonly #silentAtMost: number | undefined
  #over = false
  /** the first thing that went wrong on the connection itself */
  #fault: unknown = null
  #onReady: (() => void) | null = null
  #onEnd: (() => void) | null = null

  private constructor(client: pg.Client, socket: Socket, silentAtMost: number | undefined) {
    this.#silentAtMost = silentAtMost
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
      // Agreed on already, where it is asked for. Both are said here so that the environment is not asked.
      ssl: false,
      sslnegotiation: 'postgres',
      types: { getTypeParser: readerOf as never },
    })
    Object.assign(client, { getStartupConf: () => greetingOf(login) })
    const wire = new Wire(client, socket, login.silentAtMost)
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
        // It was refused, so that it is undone, whatever became of the connection afterwards.
        if ((said as { severity?: unknown } | null)?.severity === 'ERROR') reject(this.#undone(said))
        else reject(lost(codeOf(said) === '' ? (this.#fault ?? said) : said))
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
    if (stale) this.#prepared.forsakeAll()
    return new Undone(error, stale)
  }

  /** One statement as it stands, or several without values: for what is asked once. */
  async query<Answer = Row>(text: string, values?: readonly unknown[], silentAtMost = this.#silentAtMost): Promise<Answer[]> {
    const silent = silentAtMost === undefined ? undefined : setTimeout(() => this.#giveUp(), silentAtMost)
    try {
      const { rows } = await (values ? this.#client.query(text, [...values]) : this.#client.query(text))
      return rows as Answer[]
    } catch (error) {
      throw named(error)
    } finally {
      clearTimeout(silent)
    }
  }

  #giveUp(): void {
    this.#socket.destroy(coded('CONNECT_TIMEOUT', 'PostgreSQL did not answer in time'))
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

/**
 * What a connection begins with, and nothing else: left to itself the driver adds what `PGOPTIONS`, `PGREPLICATION` and
 * `PGAPPNAME` say. Bytes are asked for in hexadecimal, whatever the database is set to, because we read nothing else.
 */
function greetingOf({ user, database, applicationName, statementTimeout, lockTimeout }: Login): Record<string, string> {
  return {
    user,
    database,
    application_name: applicationName,
    bytea_output: 'hex',
    ...(statementTimeout === undefined ? {} : { statement_timeout: String(statementTimeout) }),
    ...(lockTimeout === undefined ? {} : { lock_timeout: String(lockTimeout) }),
  }
}

/** The driver asks the socket to connect, and waits for its word. */
function connectedAlready(socket: Socket): Socket {
  return Object.assign(socket, {
    connect() {
      setImmediate(() => {
        guard(socket)
        socket.emit('connect')
      })
      return socket
    },
  })
}

/** The driver throws at what it cannot read, in the middle of an event, where nobody catches it: it would end the process. */
function guard(socket: Socket): void {
  for (const read of socket.listeners('data') as ((bytes: Buffer) => void)[]) {
    socket.off('data', read)
    socket.on('data', (bytes: Buffer) => {
      if (socket.destroyed) return
      try {
        read(bytes)
      } catch (error) {
        // Its words may quote what was read.
        const what = error instanceof Error ? error.name : 'thrown'
        socket.destroy(coded('08P01', `PostgreSQL said what nobody understands (${what})`))
      }
    })
  }
}

/**
 * The connection went while something was under way. Whatever it went of, as a broken record of TLS, which before that
 * would say that nothing was sent: now it says nothing about what happened.
 */
function lost(error: unknown): Error {
  const told = named(error)
  return failureOf(told) === 'lost' ? told : coded('CONNECTION_CLOSED', told.message)
}

/** The driver names no code where the connection simply went. */
function named(error: unknown): Error {
  if (error instanceof Error && codeOf(error) !== '') return error
  return coded('CONNECTION_CLOSED', error instanceof Error ? error.message : 'the connection was closed')
}
