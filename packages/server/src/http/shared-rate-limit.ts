/**
 * One rate limit for the worker processes of one service. The primary counts the events that all workers report, and
 * sends each worker the keys that are above their limit. A worker decides without waiting for the primary, so it may
 * allow events of the millisecond in which that message travels. Otherwise the limit is the same as in one process.
 */
import { createRateLimit, type RateLimit, type RateLimitOptions, type RateVerdict, verdictOf, WINDOW } from './rate-limit.ts'

/** One event, counted under each key. `limit`: that of the keys, if it is not that of the name. */
export type LimitedKeys<Name extends string> = { name: Name; keys: string[]; limit?: number }

/** A key whose further events are refused until then (epoch seconds). */
export type KeyOver<Name extends string> = { name: Name; key: string; endsAt: number }

/** The worker's part: calls `report` for each event that the primary must count. */
export function createReportingRateLimit<Name extends string>({
  report,
  now,
  maxKeys = 100_000,
}: Omit<RateLimitOptions<Name>, 'perMinute'> & { report(counted: LimitedKeys<Name>): void }): RateLimit<Name> & {
  learn(over: KeyOver<Name>): void
} {
  const endings = new Map<string, number>()

  /** Seconds until the key is allowed events again; 0 if it is allowed now. */
  function secondsLeft(key: string, at: number): number {
    const left = (endings.get(key) ?? at) - at
    // If the clock jumped back, a key could otherwise stay above its limit for ever.
    if (left > 0 && left <= WINDOW) return left
    endings.delete(key)
    return 0
  }

  function countAll(name: Name, keys: string[], limit: { limit?: number }): RateVerdict {
    const at = now()
    const left = keys.map((key) => secondsLeft(`${name} ${key}`, at))
    const counting = keys.filter((_, index) => left[index] === 0)
    if (counting.length > 0) report({ name, keys: counting, ...limit })
    return verdictOf(Math.max(...left))
  }

  return {
    count: (name, ...keys) => countAll(name, keys, {}),
    countWithin: (limit, name, key) => countAll(name, [key], { limit }),
    check: (name, key) => verdictOf(secondsLeft(`${name} ${key}`, now())),
    learn({ name, key, endsAt }) {
      const named = `${name} ${key}`
      endings.delete(named)
      const [oldest] = endings.keys()
      if (endings.size >= maxKeys && oldest !== undefined) endings.delete(oldest)
      endings.set(named, endsAt)
    },
  }
}

/** The primary's part: counts an event, and returns which of its keys are above their limit. */
export function createRateCounter<Name extends string>({
  perMinute,
  now,
}: RateLimitOptions<Name>): (counted: LimitedKeys<Name>) => KeyOver<Name>[] {
  // A worker refuses only keys that it was sent before, so the primary sends a key with the last event that is allowed.
  const oneFewer = Object.fromEntries(Object.entries<number>(perMinute).map(([name, limit]) => [name, limit - 1]))
  const counted = createRateLimit({ perMinute: oneFewer as Record<Name, number>, now })
  return ({ name, keys, limit }) =>
    keys.flatMap((key) => {
      const verdict = limit === undefined ? counted.count(name, key) : counted.countWithin(limit - 1, name, key)
      return verdict.allowed ? [] : [{ name, key, endsAt: now() + verdict.retryAfter }]
    })
}
