/** The clock of a test issuer, which a test moves. */

export type TestClock = {
  /** epoch seconds */
  now(): number
  /** Moves the clock forward, at once. */
  advance(seconds: number): void
}

/** In seconds: about a hundred years. */
const FARTHEST = 100 * 366 * 86_400

/** Epoch seconds. */
function machineClock(): number {
  // oxlint-disable-next-line eslint/no-restricted-properties -- the default clock: this module runs in the process of a test
  return Date.now() / 1000
}

/** A clock that runs as `now` does, and that can be moved forward. Time never runs backwards, because the service relies on that. */
export function createTestClock(now: () => number = machineClock): TestClock {
  let ahead = 0
  return {
    now: () => Math.floor(now()) + ahead,
    advance(seconds) {
      if (!Number.isSafeInteger(seconds) || seconds < 0 || ahead + seconds > FARTHEST)
        throw new RangeError('the clock moves forward by whole seconds, and by a hundred years at most')
      ahead += seconds
    },
  }
}
