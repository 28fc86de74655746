/**
 * What a reader of the feed holds and decides (docs/reference/feed.md). Every time is an argument, so that the test vectors decide
 * the same in every language.
 */
import { Entries } from './entries.ts'
import type { FeedMessage } from './message.ts'
import { FeedFault } from './problem.ts'
import type { TokenIds } from './token-ids.ts'

/** Entries that a reader holds: about 60 MB. With more, tokens are introspected. */
const ENTRIES_AT_MOST = 2_000_000
/** Milliseconds. The server's clock and the monotonic clock of this machine may differ by this much, and by a thousandth of the time. */
const JITTER = 100
const DRIFT = 1 / 1000
/** Milliseconds. Nothing may use a state that is older, so a snapshot need not be held beside it. */
export const USABLE_FOR = 60_000
/** Milliseconds by which the clocks of two nodes may differ. */
const CLOCKS_DIFFER = 2000

/** A connection to the server, or one response in JSON. Times are in milliseconds of the monotonic clock. */
export type FeedConnection = {
  /** just before the request was sent */
  sentAt: number
  /** The first message must repeat the nonce of the request. */
  nonce?: string
  /** The run of the feed, and the server's clock minus the monotonic clock, at most. Undefined before the first message. */
  begun?: { feed: string; offset: number }
}

/** How far a run of the feed had come when its latest message arrived. `ahead` is the server's clock minus the monotonic clock, at least. */
type Reached = { feed: string; until: number; ahead: number; arrivedAt: number }

class Content {
  readonly feed: string
  /** the name of the snapshot */
  readonly name: string | undefined
  readonly ended = new Entries()
  readonly clients = new Entries()
  keys: ReadonlySet<string> = new Set()
  until = 0
  /** the server's time of the latest message, in milliseconds */
  at = 0
  lifetime = 0
  /** the parts of the snapshot so far */
  parts = 0
  isWhole = false

  constructor({ feed, snapshot }: FeedMessage) {
    this.feed = feed
    this.name = snapshot
  }

  add({ ended, clients, keys, until, at, lifetime }: FeedMessage): void {
    this.#addTo(this.ended, ended, at)
    this.#addTo(this.clients, clients, at)
    if (keys.length !== this.keys.size || keys.some((key) => !this.keys.has(key))) this.keys = new Set(keys)
    Object.assign(this, { until, at: Math.max(this.at, at), lifetime })
    this.ended.forget(this.at / 1000)
    this.clients.forget(this.at / 1000)
    if (this.ended.count + this.clients.count > ENTRIES_AT_MOST) throw new FeedFault('too_large', 'entries')
  }

  #addTo(entries: Entries, added: FeedMessage['ended'], at: number): void {
    for (const { forgetAt, entries: words } of added) if (forgetAt >= at / 1000) entries.add(words, { forgetAt, at: at / 1000 })
  }
}

export class FeedState {
  #content: Content | undefined
  /** is not complete, or has not come as far as the content */
  #snapshot: Content | undefined
  #reached: Reached | undefined
  /** The feed is complete up to this time of the monotonic clock, in milliseconds. */
  #completeUntil = Number.NEGATIVE_INFINITY

  get entries(): number {
    return this.#content ? this.#content.ended.count + this.#content.clients.count : 0
  }

  /** Bytes of memory for the entries. */
  get bytes(): number {
    return [this.#content, this.#snapshot].reduce((sum, each) => sum + (each ? each.ended.bytes + each.clients.bytes : 0), 0)
  }

  /** Milliseconds. Infinite before the first snapshot is complete, and after `distrust`. */
  ageAt(now: number): number {
    return now - this.#completeUntil
  }

  /** The feed counts as old until the next message of another connection. */
  distrust(): void {
    this.#completeUntil = Number.NEGATIVE_INFINITY
    this.#snapshot = undefined
  }

  /** Only a snapshot can follow. */
  forget(): void {
    this.distrust()
    this.#content = undefined
  }

  /** Discards a snapshot that is not complete, because the connection ended. */
  connect(sentAt: number, nonce?: string): FeedConnection {
    this.#snapshot = undefined
    return { sentAt, ...(nonce !== undefined && { nonce }) }
  }

  /**
   * Takes a verified message. Returns whether the reader may continue from here: not from a snapshot before its last part, nor before it has come as
   * far as what the reader has of the same run.
   *
   * @throws FeedFault if the message does not follow the state. The caller closes the connection.
   */
  accept(message: FeedMessage, connection: FeedConnection, now: number): 'complete' | 'more_parts' {
    const { feed, from, at, until } = message
    const { offset } = (connection.begun ??= this.#begin(message, connection, now))
    const completeUntil = this.#completeUntilOf(message, { sentAt: connection.sentAt, offset }, now)
    if (feed !== connection.begun.feed) throw this.#missing('feed')
    const content = from === null ? this.#addPart(message, now) : this.#continue(message, from)
    if (!content.isWhole || until < (this.#reachedIn(feed, now)?.until ?? 0)) return 'more_parts'
    this.#content = content
    this.#snapshot = undefined
    this.#reached = { feed, until, ahead: at - now, arrivedAt: now }
    this.#completeUntil = completeUntil
    return 'complete'
  }

  /** The decision about a token whose signature and claims are valid. `ask`: only introspection can decide. */
  decide({ keyId, issuedAt, expiresAt, clients, ended }: TokenIds, age: number, maxAge: number): 'valid' | 'ended' | 'ask' {
    const content = this.#content
    // Written so that a time that is not a number is never fresh.
    if (!content || !(age <= maxAge)) return 'ask'
    if (!content.keys.has(keyId) || expiresAt - issuedAt > content.lifetime) return 'ask'
    // The entries of tokens that have expired may be forgotten already, if the clock of this machine is behind.
    if (expiresAt * 1000 < content.at) return 'ask'
    for (let position = 0; position < clients.length; position += 4) if (content.clients.has(clients, position)) return 'ask'
    for (let position = 0; position < ended.length; position += 4) if (content.ended.has(ended, position)) return 'ended'
    return 'valid'
  }

  /** The first message of a response. Refuses a recording: the nonce is of another request, or the server's clock goes back within the run. */
  #begin(
    { feed, at, nonce }: FeedMessage,
    { sentAt, nonce: sent }: FeedConnection,
    now: number,
  ): { feed: string; offset: number } {
    if (sent !== undefined && nonce !== sent) throw new FeedFault('message_refused', 'claim nonce')
    const offset = at - sentAt
    const reached = this.#reachedIn(feed, now)
    if (reached && offset < reached.ahead - CLOCKS_DIFFER) throw new FeedFault('message_refused', 'claim at')
    return { feed, offset }
  }

  /** Undefined for another run. The name of a run can stay when the clock is set back and the server starts again, so it counts for a minute. */
  #reachedIn(feed: string, now: number): Reached | undefined {
    const reached = this.#reached
    return reached?.feed === feed && now - reached.arrivedAt <= USABLE_FOR ? reached : undefined
  }

  /** The `until` of a message as a time of the monotonic clock; earlier rather than later. */
  #completeUntilOf({ at, until }: FeedMessage, { sentAt, offset }: { sentAt: number; offset: number }, now: number): number {
    const difference = JITTER + (now - sentAt) * DRIFT
    if (at > offset + now + difference) {
      this.distrust()
      throw new FeedFault('clock_set', 'of the authorization server')
    }
    return until - offset - difference
  }

  #continue(message: FeedMessage, from: number): Content {
    const content = this.#snapshot ?? this.#content
    if (!content) throw this.#missing('the snapshot')
    if (!content.isWhole) throw this.#missing('a part of the snapshot')
    if (message.feed !== content.feed) throw this.#missing('feed')
    if (from > content.until) throw this.#missing('from')
    if (message.until < content.until) throw this.#missing('until')
    this.#add(content, message)
    return content
  }

  #addPart(message: FeedMessage, now: number): Content {
    const { until, part: { index, of } = { index: 0, of: 0 } } = message
    if (index === 1) {
      this.#snapshot = new Content(message)
      if (this.ageAt(now) > USABLE_FOR) this.#content = undefined
    }
    const snapshot = this.#snapshot
    if (snapshot?.parts !== index - 1 || index > of) throw this.#missing('a part of the snapshot')
    // The parts of two snapshots must not be mixed: entries could be missing.
    if (index > 1 && (snapshot.name !== message.snapshot || snapshot.until !== until))
      throw this.#missing('a part of the snapshot')
    this.#add(snapshot, message)
    snapshot.parts = index
    snapshot.isWhole = index === of
    return snapshot
  }

  #add(content: Content, message: FeedMessage): void {
    try {
      content.add(message)
    } catch (error) {
      this.forget()
      throw error
    }
  }

  #missing(detail: string): FeedFault {
    this.forget()
    return new FeedFault('message_missing', detail)
  }
}
