/**
 * The connections to one server, and the line in front of them.
 *
 * A statement that finds nobody before it goes at once and alone. While a transaction is under way, what comes meanwhile
 * gathers, and goes next, together: one message there, one commit, one message back, for all of them. The busier the
 * service, the less each statement costs. Reads never wait for a commit: they have lanes of their own, and where there
 * is more than one connection, neither reads nor moves take all of them.
 *
 * Two transactions under way are enough to keep a server busy; one that takes long does not count, so that a row somebody
 * holds delays nobody but those who want it: `LOCKED_AT_MOST_MS` ends the wait of those who travel with them.
 */
import { StoreUnavailable } from '../../grants/ports.ts'
import type { Row, Statement } from './batch.ts'
import { coded } from './failures.ts'
import { Undone, type Wire } from './wire.ts'

export type Side = 'read' | 'move'

export type Asked = Statement & {
  /** where the row lies, in an order that is the same for everybody: two transactions never wait for each other */
  key: string
  /** nobody else's statement shares its transaction */
  alone: boolean
  /** on the clock of `performance`: after it the statement is not sent any more */
  deadline: number
}

export type LanesOptions = {
  open: () => Promise<Wire>
  /** cuts every connection, those that are being opened as well */
  cut: () => void
  /** connections at most */
  most: number
  /** whether statements may share a transaction: not where rows lie on several machines */
  together: boolean
  /** milliseconds after which a server that says nothing is taken for dead */
  silentAtMost: number
}

type Waiting = Asked & { resolve: (rows: Row[]) => void; reject: (error: unknown) => void }
type Run = { side: Side; since: number }

const SIDES: readonly Side[] = ['read', 'move']
const UNDER_WAY = 2
const TOGETHER_AT_MOST = 64
/** Where one more connection was not to be had, the others go on, and so many milliseconds later it is tried again. */
const FULL_FOR_MS = 1000
/** After so many milliseconds a transaction no longer keeps others from starting. */
const PROMPT_MS = 20
const LOCKED_AT_MOST_MS = 200
/** Of a batch; the limit of PostgreSQL's own is one statement's. */
const MORE_FOR_EACH_MS = 50
/** For the transaction alone, in every version: `SET LOCAL` would warn at its beginning. */
const LOCK_BRIEFLY: Statement = { text: `SELECT set_config('lock_timeout', '${LOCKED_AT_MOST_MS}', true)`, values: [] }

export class Lanes {
  readonly #options: LanesOptions
  readonly #waiting: Record<Side, Waiting[]> = { read: [], move: [] }
  readonly #idle: Wire[] = []
  readonly #runs = new Set<Run>()
  /** open ones and those being opened */
  #count = 1
  readonly #opening: Record<Side, number> = { read: 0, move: 0 }
  #fullUntil = 0
  #first: Side = 'read'
  #scheduled = false
  #again: NodeJS.Timeout | null = null
  /** takes no more, answers what it has */
  #leaving: (() => void) | null = null
  #over = false

  constructor(options: LanesOptions, first: Wire) {
    this.#options = options
    this.#idle.push(first)
  }

  /** Whether everything was cut: the server was silent for too long, or somebody said so. */
  get over(): boolean {
    return this.#over
  }

  /** Resolves with the rows once what it did is stored. Rejects with PostgreSQL's error, or with that of the connection. */
  ask(side: Side, asked: Asked): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      if (this.#over || this.#leaving) {
        reject(gone())
        return
      }
      this.#waiting[side].push({ ...asked, resolve, reject })
      this.#schedule()
    })
  }

  /** Takes leave of the server when everything under way or in line has been answered. */
  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#leaving = resolve
      this.#leaveWhenIdle()
    })
    await Promise.all(this.#idle.splice(0).map((wire) => wire.end()))
    this.destroy()
  }

  /** What is under way or in line is lost, and told so. */
  destroy(): void {
    this.#over = true
    if (this.#again) clearTimeout(this.#again)
    for (const side of SIDES) for (const each of this.#waiting[side].splice(0)) each.reject(gone())
    this.#options.cut()
    this.#leaveWhenIdle()
  }

  #leaveWhenIdle(): void {
    if (this.#runs.size === 0 && !this.#isWaiting()) this.#leaving?.()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // Everybody who came with this turn of the event loop is there by then.
    setImmediate(() => {
      this.#scheduled = false
      this.#start()
    })
  }

  #start(): void {
    this.#forgetTheDead()
    for (const side of SIDES) this.#forgetTheLate(side)
    // Where there are few connections, nobody is always first.
    this.#first = this.#first === 'read' ? 'move' : 'read'
    for (const side of this.#first === 'read' ? SIDES : SIDES.toReversed()) {
      while (this.#mayStart(side)) {
        const wire = this.#idle.pop()
        if (!wire) {
          this.#openAnother(side)
          break
        }
        const entries = this.#take(side)
        if (entries.length > 0) void this.#run(side, entries, wire)
        else this.#idle.push(wire)
      }
    }
    this.#again ??= this.#isWaiting() ? setTimeout(() => this.#startAgain(), PROMPT_MS) : null
    // Those who were late may have been the last.
    this.#leaveWhenIdle()
  }

  #startAgain(): void {
    this.#again = null
    this.#start()
  }

  #isWaiting(): boolean {
    return !this.#over && (this.#waiting.read.length > 0 || this.#waiting.move.length > 0)
  }

  #mayStart(side: Side): boolean {
    const [next] = this.#waiting[side]
    if (!next) return false
    const promptSince = performance.now() - PROMPT_MS
    let all = 0
    let prompt = 0
    for (const run of this.#runs) {
      if (run.side !== side) continue
      all++
      if (run.since > promptSince) prompt++
    }
    if (all >= Math.max(1, this.#options.most - 1)) return false
    return next.alone || !this.#options.together || prompt < UNDER_WAY
  }

  /** Who waits stays in line meanwhile: whichever connection is free first is theirs. */
  #openAnother(side: Side): void {
    const enough = this.#options.together ? 1 : this.#waiting[side].length
    if (this.#opening[side] >= enough || this.#count >= this.#options.most || performance.now() < this.#fullUntil) return
    void this.#open(side)
  }

  async #open(side: Side): Promise<void> {
    this.#count++
    this.#opening[side]++
    try {
      this.#idle.push(await this.#options.open())
    } catch (error) {
      this.#count--
      this.#notOpened(error)
    } finally {
      this.#opening[side]--
      if (this.#isWaiting()) this.#schedule()
      this.#leaveWhenIdle()
    }
  }

  /** No room for more, a new password, a slow answer: none of that speaks against the connections there are. */
  #notOpened(error: unknown): void {
    this.#forgetTheDead()
    this.#fullUntil = performance.now() + FULL_FOR_MS
    if (this.#runs.size > 0 || this.#idle.length > 0) return
    this.#fullUntil = 0
    for (const side of SIDES) for (const each of this.#waiting[side].splice(0)) each.reject(error)
  }

  #forgetTheDead(): void {
    const living = this.#idle.filter((wire) => !wire.over)
    this.#count -= this.#idle.length - living.length
    this.#idle.splice(0, this.#idle.length, ...living)
  }

  /** They would lie here for as long as no connection is free, and others come after them. */
  #forgetTheLate(side: Side): void {
    const now = performance.now()
    const line = this.#waiting[side]
    let late = 0
    for (; late < line.length && (line[late] as Waiting).deadline <= now; late++) line[late]?.reject(tooSlow())
    if (late > 0) line.splice(0, late)
  }

  /** The next ones that go together, without those nobody waits for any more. */
  #take(side: Side): Waiting[] {
    const line = this.#waiting[side]
    const now = performance.now()
    const taken: Waiting[] = []
    let looked = 0
    for (const each of line) {
      if (each.deadline <= now) each.reject(tooSlow())
      else if (taken.length > 0 && (each.alone || taken[0]?.alone || !this.#options.together)) break
      else taken.push(each)
      looked++
      if (taken.length === TOGETHER_AT_MOST) break
    }
    line.splice(0, looked)
    return taken.sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
  }

  async #run(side: Side, entries: Waiting[], wire: Wire): Promise<void> {
    const run = { side, since: performance.now() }
    this.#runs.add(run)
    const silent = setTimeout(() => this.destroy(), this.#options.silentAtMost + MORE_FOR_EACH_MS * entries.length)
    try {
      const briefly = side === 'move' && entries.length > 1 ? [LOCK_BRIEFLY] : []
      const rows = await wire.send([...briefly, ...entries])
      for (const [index, each] of entries.entries()) each.resolve(rows[briefly.length + index] ?? [])
    } catch (error) {
      this.#failed(side, entries, error)
    } finally {
      clearTimeout(silent)
      this.#runs.delete(run)
      if (wire.over) this.#count--
      else this.#idle.push(wire)
      if (this.#isWaiting()) this.#schedule()
      this.#leaveWhenIdle()
    }
  }

  #failed(side: Side, entries: Waiting[], error: unknown): void {
    const undone = error instanceof Undone
    // Which of them it was does not matter: nothing of it happened, and alone each of them gets its own answer.
    if (undone && !this.#over && (entries.length > 1 || error.stale)) {
      this.#waiting[side].unshift(...entries.map((each) => ({ ...each, alone: true })))
      return
    }
    for (const each of entries) each.reject(undone ? error.cause : error)
  }
}

function tooSlow(): StoreUnavailable {
  return new StoreUnavailable('PostgreSQL is too slow: the line did not move')
}

function gone(): Error {
  return coded('CONNECTION_DESTROYED', 'the connections are gone')
}
