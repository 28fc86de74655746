/**
 * The clock of a node that follows the clock of the store. All nodes of one store must agree on the time: on the expiry of codes, the
 * idle time of sessions and the times in tokens. Each time that the store returns corrects the node's clock. Between two corrections
 * the time advances with a monotonic clock (`elapsed`).
 *
 * The delays of the request and of the response are unknown, so a returned time proves only an interval. The clock is moved just far
 * enough to be inside this interval, which avoids jitter.
 */
export type StoreClock = {
  /** epoch seconds, whole ones */
  now(): number
  /** epoch seconds with a fraction; null before the store has returned a time */
  exact(): number | null
  /** Corrects the clock. `at` is the time that the store returned, in epoch seconds with a fraction; `sentAt` is `elapsed()` when the statement was sent. */
  correct(at: number, sentAt: number): void
  /** seconds on a monotonic clock with any origin */
  elapsed(): number
}

/** `own` is the node's own clock, in epoch seconds. This clock is used until the store returns a time. */
export function createStoreClock(own: () => number, elapsed: () => number): StoreClock {
  /** the time of the store's clock when `elapsed` was 0 */
  let origin: number | null = null
  return {
    exact: () => (origin === null ? null : origin + elapsed()),
    now: () => (origin === null ? own() : Math.floor(origin + elapsed())),
    correct(at, sentAt) {
      // The store read the clock at some moment between sending the statement and now.
      const [earliest, latest] = [at - elapsed(), at - sentAt]
      origin = Math.min(Math.max(origin ?? (earliest + latest) / 2, earliest), latest)
    },
    elapsed,
  }
}
