/**
 * The clock of a node whose store tells its own time. Nodes of one ledger have to agree on what time it is: when a code ends,
 * how long a session lay idle, what a token says of itself. So each follows the store's clock: an answer that tells it
 * corrects the node's, and between two answers time goes on by a clock that nobody sets (`elapsed`).
 *
 * How long the store took to answer is not known to either side, so an answer proves only an interval. The clock moves
 * as far as it must to lie within, and no further; it does not tremble with every answer.
 */
export type StoreClock = {
  /** epoch seconds, whole ones */
  now(): number
  /** The store said it was `at` (epoch seconds, with their fraction), asked when `elapsed()` was `asked`. */
  told(at: number, asked: number): void
  /** seconds on a clock that only goes forward, from anywhere */
  elapsed(): number
}

/** `own` is the node's clock, in epoch seconds: it counts until the store was heard for the first time. */
export function createStoreClock(own: () => number, elapsed: () => number): StoreClock {
  /** what the store's clock showed when `elapsed` was 0 */
  let origin: number | null = null
  return {
    now: () => (origin === null ? own() : Math.floor(origin + elapsed())),
    told(at, asked) {
      // It looked at its clock some time between the question and now.
      const [earliest, latest] = [at - elapsed(), at - asked]
      origin = Math.min(Math.max(origin ?? (earliest + latest) / 2, earliest), latest)
    },
    elapsed,
  }
}
