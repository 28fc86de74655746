/**
 * Reads the feed of one node, and checks its promise for every ending of a run: an ending that was acknowledged before `until` is in the messages
 * so far.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Entries, WORDS } from '../../../../resource/src/feed/entries.ts'
import { readEvents } from '../../../../resource/src/feed/event-stream.ts'
import { type ExpectedMessage, type FeedMessage, readFeedMessage } from '../../../../resource/src/feed/message.ts'
import type { EndingFeed } from '../../../src/domain/endings/feed.ts'
import { readCursor } from '../../../src/domain/endings/feed-cursor.ts'

/** Everything that ended at one time, in the order of `acknowledged`, which is in epoch milliseconds. */
export type Acknowledged = { at: number; entries: Uint32Array }

/** Milliseconds by which a node may correct its clock during a connection. An ending that is missing for longer is missing for good. */
const CORRECTION = 1000
/** Milliseconds between two reads of a feed of this process, as in a node. */
const EVERY = 500

/** The promise, apart from connections. `ledger` grows during the run. */
export class Promised {
  readonly #ledger: readonly Acknowledged[]
  #entries = new Entries()
  #snapshot: Entries | undefined
  /** what the node's clock is ahead of this machine's clock, at most */
  #ahead = 0
  /** the endings of the ledger before this one were checked */
  #checked = 0
  /** the number of endings that are missing in the feed although they were acknowledged before `until` */
  missing = 0
  /** the number of endings that were checked */
  found = 0

  constructor(ledger: readonly Acknowledged[]) {
    this.#ledger = ledger
  }

  get isUpToDate(): boolean {
    return this.#checked === this.#ledger.length
  }

  /** The request of a connection was sent at `sentAt`, and this is its first message, which was signed for this response. */
  begin({ at }: Pick<FeedMessage, 'at'>, sentAt: number): void {
    this.#ahead = at - sentAt + CORRECTION
    this.#snapshot = undefined
  }

  take({ from, part, ended, clients, at, until, lifetime }: FeedMessage): void {
    if (from === null && part?.index === 1) this.#snapshot = new Entries()
    const entries = this.#snapshot ?? this.#entries
    for (const added of [...ended, ...clients]) entries.add(added.entries, { forgetAt: added.forgetAt, at: at / 1000 })
    entries.forget(at / 1000)
    if (part && part.index < part.of) return
    const completeUntil = until - this.#ahead
    if (this.#snapshot) {
      // A snapshot has everything again that tokens may need.
      this.#checked = this.#ledger.findIndex((each) => each.at > completeUntil - lifetime * 1000)
      if (this.#checked < 0) this.#checked = this.#ledger.length
      this.#entries = this.#snapshot
      this.#snapshot = undefined
    }
    this.#check(completeUntil)
  }

  #check(completeUntil: number): void {
    for (; ; this.#checked++) {
      const next = this.#ledger[this.#checked]
      if (!next || next.at >= completeUntil) return
      for (let position = 0; position < next.entries.length; position += WORDS) {
        if (this.#entries.has(next.entries, position)) this.found++
        else this.missing++
      }
    }
  }
}

export type Follower = { name: string; promised: Promised; close(): void }

/** How messages are verified. The resource is the issuer itself. */
export type Expected = Pick<ExpectedMessage, 'issuer' | 'getKey'>

const readMessage = (text: string, expected: Expected) =>
  readFeedMessage(text, { ...expected, audience: expected.issuer, algorithms: ['ES256'] })

type Node = { name: string; url: string; authorization: string }

/** Follows the stream of a node, and connects again when the stream ends. */
export function followNode({ name, url, authorization }: Node, expected: Expected, ledger: readonly Acknowledged[]): Follower {
  const promised = new Promised(ledger)
  const closing = new AbortController()
  let cursor: string | undefined
  async function readStream(): Promise<void> {
    const headers = { authorization, ...(cursor === undefined ? {} : { 'last-event-id': cursor }) }
    const sentAt = Date.now()
    const request = { url: new URL('/oauth/endings', url), headers, ask: fetch, signal: closing.signal }
    let isFirst = true
    for await (const { id, data } of readEvents(request)) {
      const message = await readMessage(data, expected)
      if (isFirst) promised.begin(message, sentAt)
      isFirst = false
      promised.take(message)
      cursor = id ?? cursor
    }
  }
  // The node is down, or the connection was cut.
  const afterFailure = () => undefined
  void (async () => {
    for (; !closing.signal.aborted; await pause(50)) await readStream().catch(afterFailure)
  })()
  return { name, promised, close: () => closing.abort() }
}

/** Follows a feed of this process. */
export function followFeed(feed: EndingFeed, expected: Expected, ledger: readonly Acknowledged[]): Follower {
  const promised = new Promised(ledger)
  const closing = new AbortController()
  let cursor: string | null = null
  async function readOnce(): Promise<void> {
    const sentAt = Date.now()
    await feed.renew()
    const batch = await feed.read(expected.issuer, cursor === null ? null : readCursor(cursor), { isFirst: true })
    for (const [index, text] of batch.messages.entries()) {
      const message = await readMessage(text, expected)
      if (index === 0) promised.begin(message, sentAt)
      promised.take(message)
    }
    cursor = batch.cursor
  }
  void (async () => {
    // The store is away.
    for (; !closing.signal.aborted; await pause(EVERY)) await readOnce().catch(() => undefined)
  })()
  return { name: 'a feed without the rule', promised, close: () => closing.abort() }
}
