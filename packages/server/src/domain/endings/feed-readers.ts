/** The readers of the feed in one node: how many there are, and how old the feed of the slowest one is. */

/** Open connections. Each takes about 16 KiB of memory (`npm run bench -- feed readers`). */
const READERS_AT_MOST = 5000
const OF_ONE_CLIENT_AT_MOST = 2000
/** Seconds in which the trail names a reading client once. */
const NAMED_EVERY = 3600

export type FeedReader = {
  /** in milliseconds: the reader has accepted every message up to this time */
  until: number
  close(): void
}

export class FeedReaders {
  readonly #readers = new Set<FeedReader>()
  readonly #byClient = new Map<string, number>()
  /** from the id of a client to the time, in epoch seconds, at which the trail named the client */
  readonly #namedAt = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get count(): number {
    return this.#readers.size
  }

  /** Seconds since the `until` of the slowest reader; 0 without a reader. `at` is in epoch seconds. */
  slowestAge(at: number): number {
    let oldest = at * 1000
    for (const { until } of this.#readers) oldest = Math.min(oldest, until)
    return at - oldest / 1000
  }

  /** Null if there are too many readers. The caller closes the reader. */
  open(clientId: string): FeedReader | null {
    const open = this.#byClient.get(clientId) ?? 0
    if (open >= OF_ONE_CLIENT_AT_MOST || this.#readers.size >= READERS_AT_MOST) return null
    this.#byClient.set(clientId, open + 1)
    const reader: FeedReader = { until: this.#now() * 1000, close: () => this.#close(clientId, reader) }
    this.#readers.add(reader)
    return reader
  }

  /** True once an hour for each client: then the trail has a line. */
  mustBeNamed(clientId: string): boolean {
    const at = this.#now()
    if (Math.abs(at - (this.#namedAt.get(clientId) ?? Number.NEGATIVE_INFINITY)) < NAMED_EVERY) return false
    this.#namedAt.set(clientId, at)
    return true
  }

  #close(clientId: string, reader: FeedReader): void {
    if (!this.#readers.delete(reader)) return
    const open = (this.#byClient.get(clientId) ?? 1) - 1
    if (open === 0) this.#byClient.delete(clientId)
    else this.#byClient.set(clientId, open)
  }
}
