/** Limits how often a minute something may happen, by name and key, in bounded memory. */

/** Seconds, from the first event of a key. */
export const WINDOW = 60

export type RateLimitOptions<Name extends string> = {
  /** events allowed for each key and window, by the name of what is limited */
  perMinute: Readonly<Record<Name, number>>
  /** epoch seconds */
  now: () => number
  /** how many keys are remembered at most; about 200 bytes each */
  maxKeys?: number
}

export type RateVerdict = { allowed: true } | { allowed: false; retryAfter: number }

/**
 * `count` counts an event under each key, and says whether every key is within its limit. The caller decides what an event is:
 * a failure is counted after it happened, so that a correct request is never refused; work that is costly is counted before.
 */
export type RateLimit<Name extends string> = { count(name: Name, ...keys: string[]): RateVerdict }

type Window = { endsAt: number; events: number }

export function createRateLimit<Name extends string>({
  perMinute,
  now,
  maxKeys = 100_000,
}: RateLimitOptions<Name>): RateLimit<Name> {
  // In the order in which the windows began: those that are over come first.
  const windows = new Map<string, Window>()

  function count(key: string, at: number): Window {
    const known = windows.get(key)
    // A clock that jumped back would otherwise leave a window that never ends.
    if (known && at < known.endsAt && known.endsAt <= at + WINDOW) {
      known.events += 1
      return known
    }
    windows.delete(key)
    makeRoom(at)
    const fresh = { endsAt: at + WINDOW, events: 1 }
    windows.set(key, fresh)
    return fresh
  }

  /** Drops a few windows that are over, and the oldest if all still run: memory is bounded, not the number of attackers. */
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
      if (over.length === 0) return { allowed: true }
      return { allowed: false, retryAfter: Math.max(1, Math.ceil(Math.max(...over.map(({ endsAt }) => endsAt)) - at)) }
    },
  }
}

/** For `GRANTOR_RATE_LIMIT=off`. */
export const unlimited: RateLimit<string> = { count: () => ({ allowed: true }) }
