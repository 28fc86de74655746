/** Whether a caller polls faster than it may, by key, in the bounded memory of one process. */

/** A poll may arrive this many seconds early: times are whole seconds, and networks delay one poll more than the next. */
const EARLY_BY_AT_MOST = 1

export type PollPaceOptions = {
  /** epoch seconds */
  now: () => number
  /** the maximum number of keys in memory; about 100 bytes each */
  maxKeys?: number
}

export type PollPace = {
  /** Notes a poll. True if the previous poll under this key was less than `interval` seconds ago. */
  isTooSoon(key: string, interval: number): boolean
}

export function createPollPace({ now, maxKeys = 20_000 }: PollPaceOptions): PollPace {
  // From each key to the time of its last poll; the oldest poll comes first.
  const polls = new Map<string, number>()
  return {
    isTooSoon(key, interval) {
      const at = now()
      const last = polls.get(key)
      polls.delete(key)
      polls.set(key, at)
      const [oldest] = polls.keys()
      if (polls.size > maxKeys && oldest !== undefined) polls.delete(oldest)
      // If the clock jumped back, the last poll does not count.
      return last !== undefined && at >= last && at - last < interval - EARLY_BY_AT_MOST
    },
  }
}
