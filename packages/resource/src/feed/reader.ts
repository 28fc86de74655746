/**
 * Reads the feed of endings of one issuer for one resource, over one connection, and connects again when the connection ends.
 *
 * A reader starts with the first check of a token or with `ready`. While the feed cannot be used, `decide` returns `ask`.
 */
import type { JWTVerifyGetKey } from 'jose'
import { type FeedEvent, readEvents } from './event-stream.ts'
import { anyUpTo, clockAhead, monotonic, newNonce, pause, startTimer } from './machine.ts'
import { readFeedMessage } from './message.ts'
import { FeedFault, type FeedProblem, type FeedProblemKind } from './problem.ts'
import { type FeedConnection, FeedState } from './state.ts'
import type { TokenIds } from './token-ids.ts'

export type FeedSource = {
  issuer: string
  audience: string
  algorithms: readonly string[]
  /** the value of the header, with the credentials of the API */
  authorization: string
  ask: typeof fetch
  findIssuer: () => Issuer
}

/** The metadata and the keys of the issuer. */
type Issuer = {
  /** undefined if the issuer has no feed */
  findEndpoint(): Promise<URL | undefined>
  getKey: JWTVerifyGetKey
}

/** Milliseconds to wait, at most: after a connection that worked, after the first failure, after many failures. */
const AFTER_END = 500
const AFTER_FAILURE = 1000
const AFTER_FAILURES = 30_000
/** Milliseconds to wait, at least, after a snapshot that was read for nothing. */
const AFTER_TOO_LARGE = 15_000
/** Milliseconds. A connection that ends earlier counts as a failure. */
const WORKED_FOR = 5000
/** Milliseconds. After a slower first message, the age of the feed is computed as much too high. */
const FIRST_MESSAGE_WITHIN = 1000
/** Milliseconds by which the machine's clock may go forward in addition to the monotonic clock. */
const CLOCK_AHEAD_BY = 1000
/** Failures in a row that are not reported: the restart of a server is no problem. */
const FAILURES_UNREPORTED = 2

/** Milliseconds until the next connection, and further milliseconds of which a random part is added. */
type Wait = { atLeast: number; spread: number }
const AT_ONCE: Wait = { atLeast: 0, spread: 0 }

const CURSOR = /^[\x21-\x7e]{1,1024}$/

export class FeedReader {
  readonly #source: FeedSource
  readonly #state = new FeedState()
  readonly #closing = new AbortController()
  readonly #listeners = new Set<(problem: FeedProblem) => void>()
  /** called at the next message, and at the end */
  readonly #waiting = new Set<() => void>()
  /** problems that were reported since the feed worked */
  readonly #reported = new Set<FeedProblemKind>()
  #issuer: Issuer
  #isStarted = false
  #cursor: string | undefined
  #failures = 0
  #clockAhead = Number.POSITIVE_INFINITY
  #connection = new AbortController()
  #pausing = new AbortController()
  /** whether the next answer to another request may shorten the wait: once in an outage */
  #mayHurry = true
  /** whether a connection whose first message was slow may be replaced */
  #mayReplace = true

  constructor(source: FeedSource) {
    this.#source = source
    this.#issuer = source.findIssuer()
  }

  get entries(): number {
    return this.#state.entries
  }

  /** The decision about a token. `maxAge` is in milliseconds. */
  decide(token: TokenIds, maxAge: number): 'valid' | 'ended' | 'ask' {
    this.#start()
    this.#noticeSetClock()
    return this.#state.decide(token, this.#state.ageAt(monotonic()), maxAge)
  }

  /** Resolves when the feed is complete and not older than `maxAge` milliseconds, or closed. Keeps the process alive meanwhile. */
  async ready(maxAge: number): Promise<void> {
    this.#start()
    const alive = setInterval(() => {}, 60_000)
    try {
      while (!this.#closing.signal.aborted && !(this.#state.ageAt(monotonic()) <= maxAge))
        await new Promise<void>((resolve) => void this.#waiting.add(resolve))
    } finally {
      clearInterval(alive)
    }
  }

  /** Calls the listener with each kind of problem once, and again if the problem comes back after the feed worked. */
  onProblem(listener: (problem: FeedProblem) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Notes how the authorization server responded to another request. The first answer after an outage shortens the wait for the next connection,
   * which may have grown to 30 seconds. Once only: otherwise a server that answers, but has no feed, would get a connection each second.
   */
  noteAnswer(answer: 'good' | 'none'): void {
    if (answer === 'none') this.#mayHurry = true
    if (answer === 'none' || !this.#mayHurry || this.#failures === 0) return
    this.#mayHurry = false
    this.#failures = 0
    const pausing = this.#pausing
    startTimer(() => pausing.abort(), anyUpTo(AFTER_FAILURE))
  }

  close(): void {
    this.#closing.abort()
    this.#pausing.abort()
    this.#connection.abort()
    this.#state.forget()
    this.#wake()
  }

  #start(): void {
    if (this.#isStarted || this.#closing.signal.aborted) return
    this.#isStarted = true
    void this.#run()
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const begun = monotonic()
      let wait: Wait
      try {
        wait = (await this.#readStream()) === 'replace' ? AT_ONCE : this.#waitAfterEnd(monotonic() - begun)
      } catch (error) {
        wait = this.#waitAfterFailure(faultOf(error), monotonic() - begun)
      }
      await this.#pause(wait)
    }
    // The last message may have arrived after `close`.
    this.#state.forget()
  }

  async #pause({ atLeast, spread }: Wait): Promise<void> {
    await pause(atLeast, this.#closing.signal)
    if (this.#closing.signal.aborted) return
    this.#pausing = new AbortController()
    // Without failures, `noteAnswer` may have been called meanwhile.
    await pause(anyUpTo(this.#failures === 0 ? Math.min(spread, AFTER_FAILURE) : spread), this.#pausing.signal)
  }

  async #readStream(): Promise<'ended' | 'replace'> {
    const { ask, authorization } = this.#source
    const nonce = newNonce()
    const url = new URL(await this.#findEndpoint())
    url.searchParams.set('nonce', nonce)
    const headers: Record<string, string> = { authorization }
    if (this.#cursor !== undefined) headers['last-event-id'] = this.#cursor
    this.#noticeSetClock()
    this.#clockAhead = clockAhead()
    this.#connection = new AbortController()
    if (this.#closing.signal.aborted) return 'ended'
    const connection = this.#state.connect(monotonic(), nonce)
    let isSlow: boolean | undefined
    for await (const event of readEvents({ url, headers, ask, signal: this.#connection.signal })) {
      isSlow ??= monotonic() - connection.sentAt > FIRST_MESSAGE_WITHIN
      if ((await this.#take(event, connection)) && isSlow && this.#mayReplace) {
        this.#mayReplace = false
        return 'replace'
      }
      this.#mayReplace ||= !isSlow
    }
    return 'ended'
  }

  /** Whether the next connection can begin after this event. */
  async #take({ id, data }: FeedEvent, connection: FeedConnection): Promise<boolean> {
    const message = await readFeedMessage(data, { ...this.#source, getKey: this.#issuer.getKey })
    this.#noticeSetClock()
    this.#connection.signal.throwIfAborted()
    const now = monotonic()
    if (this.#state.accept(message, connection, now) === 'more_parts') return false
    if (id !== undefined && CURSOR.test(id)) this.#cursor = id
    if (now - connection.sentAt > WORKED_FOR) {
      this.#failures = 0
      this.#mayHurry = true
    }
    this.#reported.clear()
    this.#wake()
    return true
  }

  async #findEndpoint(): Promise<URL> {
    const endpoint = await this.#issuer.findEndpoint()
    if (endpoint) return endpoint
    // The next version of the server may have one, so the metadata are read again.
    this.#issuer = this.#source.findIssuer()
    throw new FeedFault('not_offered', 'endings_endpoint')
  }

  #noticeSetClock(): void {
    const ahead = clockAhead()
    if (ahead > this.#clockAhead + CLOCK_AHEAD_BY) {
      this.#state.distrust()
      this.#connection.abort(new FeedFault('clock_set', 'of this machine, or the machine was suspended'))
    }
    this.#clockAhead = Math.min(this.#clockAhead, ahead)
  }

  #waitAfterEnd(lasted: number): Wait {
    if (lasted < WORKED_FOR) return this.#waitAfterFailure(new FeedFault('unreachable', 'the connection ended'), lasted)
    return { atLeast: 0, spread: AFTER_END }
  }

  #waitAfterFailure({ problem, retryAfter }: FeedFault, lasted: number): Wait {
    if (this.#closing.signal.aborted) return AT_ONCE
    const { kind, detail } = problem
    if (kind === 'message_missing' || kind === 'too_large' || detail === 'status 400') this.#cursor = undefined
    this.#failures = lasted > WORKED_FOR ? 1 : this.#failures + 1
    this.#report(problem)
    // The next snapshot would be as large.
    if (kind === 'too_large') return { atLeast: AFTER_TOO_LARGE + anyUpTo(AFTER_FAILURES), spread: 0 }
    return { atLeast: retryAfter * 1000, spread: Math.min(AFTER_FAILURES, AFTER_FAILURE * 2 ** (this.#failures - 1)) }
  }

  #report(problem: FeedProblem): void {
    const { kind } = problem
    if (this.#reported.has(kind) || (kind === 'unreachable' && this.#failures <= FAILURES_UNREPORTED)) return
    this.#reported.add(kind)
    // An error of a listener must not end the reader.
    for (const listener of this.#listeners) queueMicrotask(() => listener(problem))
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}

/** The reason of a `ResourceError`, or the name of an error, whose text may contain an address with credentials of a proxy. */
function faultOf(error: unknown): FeedFault {
  if (error instanceof FeedFault) return error
  const { reason, name } = error as { reason?: unknown; name?: unknown }
  return new FeedFault('unreachable', typeof reason === 'string' ? reason : String(name), { cause: error })
}
