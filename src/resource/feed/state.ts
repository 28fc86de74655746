/**
 * What a reader holds of the feed, and what it decides (docs/reference/feed.md). Every time is an argument, so that the test vectors decide
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

/** A connection to the server, or one response in JSON. Times are in milliseconds of the monotonic clock. */
export type FeedConnection = {
  /** just before the request was sent */
  sentAt: number
  /** The server's clock minus the monotonic clock, at most. Undefined before the first message. */
  offset?: number
}

class Content {
  readonly feed: string
  readonly ended = new Entries()
  readonly clients = new Entries()
  keys: ReadonlySet<string> = new Set()
  until = 0
  /** the server's time of the latest message, in milliseconds */
  at = 0
  lifetime = 0
  /** the parts of the snapshot so far */
  parts = 0

  constructor(feed: string) {
    this.feed = feed
  }

  add({ ended, clients, keys, until, at, lifetime }: FeedMessage): void {
    this.#addTo(this.ended, ended, at)
    this.#addTo(this.clients, clients, at)
    if (keys.length !== this.keys.size || keys.some((key) => !this.keys.has(key))) this.keys = new Set(keys)
    Object.assign(this, { until, at, lifetime })
    this.ended.forget(at / 1000)
    this.clients.forget(at / 1000)
    if (this.ended.count + this.clients.count > ENTRIES_AT_MOST) throw new FeedFault('too_large', 'entries')
  }

  #addTo(entries: Entries, added: FeedMessage['ended'], at: number): void {
    for (const { forgetAt, entries: words } of added) if (forgetAt >= at / 1000) entries.add(words, { forgetAt, at: at / 1000 })
  }
}

export class FeedState {
  #content: Content | undefined
  #snapshot: Content | undefined
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

  /** Discards a snapshot that is not complete, because its connection ended. */
  connect(sentAt: number): FeedConnection {
    this.#snapshot = undefined
    return { sentAt }
  }

  /**
   * Takes a verified message. Returns whether the reader may continue from here.
   *
   * @throws FeedFault if the message does not follow the state. The caller closes the connection.
   */
  accept(message: FeedMessage, connection: FeedConnection, now: number): 'complete' | 'more_parts' {
    const completeUntil = this.#completeUntilOf(message, connection, now)
    const { from } = message
    if (from !== null) this.#continue(message, from)
    else if (!this.#addPart(message, now)) return 'more_parts'
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

  /** The `until` of a message as a time of the monotonic clock; earlier rather than later. */
  #completeUntilOf({ at, until }: FeedMessage, connection: FeedConnection, now: number): number {
    const { sentAt } = connection
    connection.offset ??= at - sentAt
    const difference = JITTER + (now - sentAt) * DRIFT
    if (at > connection.offset + now + difference) {
      this.distrust()
      throw new FeedFault('clock_set', 'of the authorization server')
    }
    return until - connection.offset - difference
  }

  #continue(message: FeedMessage, from: number): void {
    const content = this.#content
    if (this.#snapshot) throw this.#missing('a part of the snapshot')
    if (!content) throw this.#missing('the snapshot')
    if (message.feed !== content.feed) throw this.#missing('feed')
    if (from > content.until) throw this.#missing('from')
    if (message.until < content.until) throw this.#missing('until')
    this.#add(content, message)
  }

  /** Whether the snapshot is complete. */
  #addPart(message: FeedMessage, now: number): boolean {
    const { feed, until, part: { index, of } = { index: 0, of: 0 } } = message
    if (index === 1) {
      this.#snapshot = new Content(feed)
      if (this.ageAt(now) > USABLE_FOR) this.#content = undefined
    }
    const snapshot = this.#snapshot
    if (snapshot?.parts !== index - 1 || index > of) throw this.#missing('a part of the snapshot')
    if (index > 1 && (snapshot.feed !== feed || snapshot.until !== until)) throw this.#missing('a part of the snapshot')
    this.#add(snapshot, message)
    snapshot.parts = index
    if (index < of) return false
    this.#content = snapshot
    this.#snapshot = undefined
    return true
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
