/**
 * The way to PostgreSQL: statements in, rows out, and `StoreUnavailable` when there are none to be had within two seconds.
 *
 * Each statement is decided by itself and needs no other; `lanes` says which of them share a round trip and a commit.
 * So many wait their turn, and the rest is refused at once. A server that is lost is looked for anew, by one for all,
 * with a pause that grows to a second.
 */
import { StoreUnavailable } from '../../grants/ports.ts'
import { type Failure, failureOf, unavailable, withoutValues } from './failures.ts'
import { type Asked, Lanes } from './lanes.ts'
import { findServer, type PostgresAddress, type Server } from './server.ts'
import { compile, type Named } from './statement.ts'
import { Turns } from './turns.ts'
import { written } from './values.ts'

/** How long a statement is tried for, and how long after the first failure anything is tried twice. */
const PATIENCE_MS = 2000
const WAITING_AT_MOST = 10_000
const PAUSE_AT_MOST_MS = 1000
/** How long a server that takes no writes is left in peace before it is looked at anew. */
const READ_ONLY_FOR_MS = 1000

/**
 * - `read`: changes nothing
 * - `move`: asked again it changes nothing more and says what the first time would have said, or as much as matters
 * - `once`: asked again after it happened it would answer otherwise, so where that is unknown nobody asks again
 */
export type Kind = 'read' | 'move' | 'once'

/**
 * Whose clock tells the moment of a move: `database` (what `at` says is left alone, so that nodes whose clocks differ
 * agree), or `given` (`at` as it stands, for tests, which move time themselves).
 */
export type Clock = 'database' | 'given'

export type Ask<Row> = (named?: Named) => Promise<Row[]>

export class Connection {
  readonly #address: PostgresAddress
  readonly #clock: Clock
  readonly #turns: Turns
  #server: InUse | null = null
  #search: Promise<InUse> | null = null
  #notBefore = 0
  #pause = 0
  /** since when reads, and since when writes, have failed without a success in between */
  #failing: { read: number | null; write: number | null } = { read: null, write: null }
  #closing: Promise<void> | null = null

  /** `server` is one that was found already; otherwise the first statement finds one. */
  constructor(address: PostgresAddress, clock: Clock, server: Server | null = null) {
    this.#address = address
    this.#clock = clock
    this.#turns = new Turns(address.poolSize + WAITING_AT_MOST)
    this.#server = server && this.#use(server)
  }

  /** Prepares a statement with `:names` in place of values; `:at` is the moment, as this connection's clock has it. */
  prepare<Row>(kind: Kind, sql: string): Ask<Row> {
    const { text, valuesOf } = compile(sql, this.#clock)
    return (named = {}) => {
      // Written before anything is sent: what cannot be is the fault of this one, and of none that travels with it.
      const values = valuesOf(named).map(written)
      return this.#ask<Row>(kind, { text, values, key: keyOf(named), alone: kind === 'once' })
    }
  }

  /** Takes no more statements, answers those asked for before, then leaves. */
  close(): Promise<void> {
    this.#closing ??= this.#leave()
    return this.#closing
  }

  async #leave(): Promise<void> {
    await this.#turns.idle()
    const sought = await this.#search?.catch(() => null)
    await Promise.all([sought?.lanes.end(), this.#server?.lanes.end()])
  }

  async #ask<Row>(kind: Kind, question: Question): Promise<Row[]> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
    const deadline = performance.now() + PATIENCE_MS
    const leave = this.#turns.enter()
    try {
      let earlier: Failed | null = null
      for (let attempt = 1; ; attempt++) {
        const outcome = await this.#attempt<Row>(kind, question, deadline, attempt)
        if ('rows' in outcome) return outcome.rows
        if (!this.#isWorthTryingAgain(kind, outcome.failure, deadline, attempt)) {
          // That time ran out in the end says less than what it was spent on.
          throw asTold(outcome.failure === 'exhausted' && earlier ? earlier : outcome)
        }
        earlier = outcome
        await pauseBefore(deadline, Math.max(this.#notBefore - performance.now(), 0) + 5 + Math.random() * 25 * attempt)
      }
    } finally {
      leave()
    }
  }

  async #attempt<Row>(kind: Kind, question: Question, deadline: number, attempt: number): Promise<Outcome<Row>> {
    let server: InUse | null = null
    try {
      server = this.#present() ?? (await within(deadline, this.#find()))
      const answer = server.lanes.ask(kind === 'read' ? 'read' : 'move', { ...question, deadline })
      const rows = (await within(deadline, answer)) as Row[]
      this.#succeeded(kind)
      return { rows }
    } catch (error) {
      const failure = error instanceof StoreUnavailable ? 'exhausted' : failureOf(error)
      if (failure !== 'defect') this.#failed(kind)
      if (server !== null) this.#doubt(server, failure, attempt)
      const again: Failure = error instanceof BeingSought ? 'unreachable' : failure
      return { failure: again, error }
    }
  }

  /** The server in use, unless it was found dead. */
  #present(): InUse | null {
    if (this.#server?.lanes.over) this.#server = null
    return this.#server
  }

  /** Where there is no server, one for all looks for it, and nobody during the pause after a failure. */
  async #find(): Promise<InUse> {
    if (!this.#search && performance.now() < this.#notBefore) throw new BeingSought('PostgreSQL did not answer a moment ago')
    this.#search ??= this.#look()
    return this.#search
  }

  async #look(): Promise<InUse> {
    try {
      this.#server = this.#use(await findServer(this.#address))
      return this.#server
    } catch (error) {
      this.#pause = Math.min(Math.max(this.#pause * 2, 50), PAUSE_AT_MOST_MS)
      this.#notBefore = performance.now() + this.#pause * (0.5 + Math.random() / 2)
      throw error instanceof StoreUnavailable ? new BeingSought(error.message, { cause: error.cause }) : error
    } finally {
      this.#search = null
    }
  }

  #use({ wire, open, destroy, distributed, silentAtMost }: Server): InUse {
    const options = { open, cut: destroy, most: this.#address.poolSize, together: !distributed, silentAtMost }
    return { lanes: new Lanes(options, wire), since: performance.now() }
  }

  /** Whether a failure speaks against the server itself, so that the next attempt looks around. */
  #doubt(server: InUse, failure: Failure, attempt: number): void {
    // One connection may be cut on a server that lives; two in a row are more than that.
    if (failure === 'unreachable' || (failure === 'lost' && attempt > 1)) this.#drop(server, 'destroy')
    // Another is the primary now, perhaps; or this one takes writes again, which old connections do not notice.
    if (failure === 'read_only' && performance.now() - server.since > READ_ONLY_FOR_MS) this.#drop(server, 'end')
  }

  #drop(server: InUse, how: 'end' | 'destroy'): void {
    if (this.#server === server) this.#server = null
    if (how === 'destroy') server.lanes.destroy()
    else void server.lanes.end()
  }

  /** Twice only in the first seconds of trouble: a database that stays away is not asked by everybody again and again. */
  #isWorthTryingAgain(kind: Kind, failure: Failure, deadline: number, attempt: number): boolean {
    if (failure === 'defect' || failure === 'exhausted') return false
    if (failure === 'lost' && kind === 'once') return false
    const now = performance.now()
    if (now >= deadline - 30) return false
    return (failure === 'lost' && attempt === 1) || now - (this.#failing[sideOf(kind)] ?? now) < PATIENCE_MS
  }

  #succeeded(kind: Kind): void {
    this.#failing[sideOf(kind)] = null
    this.#pause = 0
  }

  #failed(kind: Kind): void {
    this.#failing[sideOf(kind)] ??= performance.now()
  }
}

/** The server in use, and when it was found, on the clock of `performance`. */
type InUse = { lanes: Lanes; since: number }
type Question = { text: string; values: Asked['values']; key: string; alone: boolean }
type Failed = { failure: Failure; error: unknown }
type Outcome<Row> = { rows: Row[] } | Failed

/** No server at this moment; soon there may be one. */
class BeingSought extends StoreUnavailable {}

function asTold({ failure, error }: Failed): unknown {
  return failure === 'defect' ? withoutValues(error) : unavailable(error)
}

function sideOf(kind: Kind): 'read' | 'write' {
  return kind === 'read' ? 'read' : 'write'
}

/** Two transactions that move the same rows move them in this order, and neither waits for what the other has. */
function keyOf(named: Named): string {
  const key = named.grantId ?? named.id ?? named.hash ?? named.wallet
  return typeof key === 'string' ? key : ''
}

async function within<Result>(deadline: number, answer: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new StoreUnavailable('PostgreSQL did not answer in time')),
      Math.max(0, deadline - performance.now()),
    )
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

async function pauseBefore(deadline: number, ms: number): Promise<void> {
  const left = deadline - performance.now()
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(ms, left))))
}
