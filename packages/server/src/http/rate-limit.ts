/** Limits how often per minute an event may happen, by name and key, in bounded memory. */

/** Seconds, from the first event of a key. */
export const WINDOW = 60

export type RateLimitOptions<Name extends string> = {
  /** events allowed for each key and window, by the name of the limit */
  perMinute: Readonly<Record<Name, number>>
  /** epoch seconds */
  now: () => number
  /** the maximum number of keys in memory; about 200 bytes each */
  maxKeys?: number
}

export type RateVerdict = { allowed: true } | { allowed: false; retryAfter: number }

/**
 * The caller decides what an event is. A failure is counted after it happened, so that a correct request is not refused
 * because of failures. Expensive work is counted before it begins.
 */
export type RateLimit<Name extends string> = {
  /** Counts an event under each key, and returns whether every key is within its limit. */
  count(name: Name, ...keys: string[]): RateVerdict
  /** Counts an event of a key that has a limit of its own, in place of that of the name. */
  countWithin(limit: number, name: Name, key: string): RateVerdict
  /** Whether the key's next event would be within its limit. */
  check(name: Name, key: string): RateVerdict
}

type Window = { endsAt: number; events: number }

export function createRateLimit<Name extends string>({
  perMinute,
  now,
  maxKeys = 100_000,
}: RateLimitOptions<Name>): RateLimit<Name> {
  // In the order in which the windows began: expired windows come first.
  const windows = new Map<string, Window>()

  function findRunning(key: string, at: number): Window | undefined {
    const window = windows.get(key)
    // If the clock jumped back, a window could otherwise last too long.
    return window && at < window.endsAt && window.endsAt <= at + WINDOW ? window : undefined
  }

  function count(key: string, at: number): Window {
    const window = findRunning(key, at)
    if (window) {
      window.events += 1
      return window
    }
    windows.delete(key)
    makeRoom(at)
    const fresh = { endsAt: at + WINDOW, events: 1 }
    windows.set(key, fresh)
    return fresh
  }

  /** Drops a few expired windows, or the oldest if none has expired: the memory is bounded, the number of attackers is not. */
  function makeRoom(at: number): void {
    let looked = 0
    for (const [key, { endsAt }] of windows) {
      if (windows.size < maxKeys && (endsAt > at || ++looked > 8)) return
      windows.delete(key)
    }
  }

  return {
    count(name, ...keys) {
      const at = now()
      const over = keys.map((key) => count(`${name} ${key}`, at)).filter(({ events }) => events > perMinute[name])
      return verdictOf(Math.max(at, ...over.map(({ endsAt }) => endsAt)) - at)
    },
    countWithin(limit, name, key) {
      const at = now()
      const { events, endsAt } = count(`${name} ${key}`, at)
      return verdictOf(events > limit ? endsAt - at : 0)
    },
    check(name, key) {
      const at = now()
      const window = findRunning(`${name} ${key}`, at)
      return verdictOf(window && window.events >= perMinute[name] ? window.endsAt - at : 0)
    },
  }
}

/** @param left seconds until events are allowed again; 0 if they are allowed now */
export function verdictOf(left: number): RateVerdict {
  return left === 0 ? { allowed: true } : { allowed: false, retryAfter: Math.max(1, Math.ceil(left)) }
}

/** For `GRANTOR_RATE_LIMIT=off`: only the keys that have a limit of their own are limited. */
export function ownLimitsOnly<Name extends string>({ countWithin }: RateLimit<Name>): RateLimit<Name> {
  return { count: () => ({ allowed: true }), countWithin, check: () => ({ allowed: true }) }
}
