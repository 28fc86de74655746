/**
 * One failure limit for the worker processes of one service: the primary counts what all of them report, and tells
 * them which keys are over. A worker decides without waiting for anybody, so it may let through what fails within
 * the millisecond in which the news travels; nothing else differs from a limit of its own.
 */
import { createFailureLimit, type FailureLimit, type FailureLimitOptions } from './rate-limit.ts'

/** A key whose further failures are refused until then (epoch seconds). */
export type KeyOver = { key: string; endsAt: number }

/** The worker's half: `report` is given the keys of each failure, `learn` is called with what the primary found. */
export function createReportingFailureLimit({
  report,
  windowSeconds,
  now,
  maxKeys = 100_000,
}: Omit<FailureLimitOptions, 'limit'> & { report(keys: string[]): void }): FailureLimit & { learn(over: KeyOver): void } {
  const endings = new Map<string, number>()

  /** Seconds until the key is allowed failures again; 0 where it is. */
  function secondsLeft(key: string, at: number): number {
    const left = (endings.get(key) ?? at) - at
    // A clock that jumped back would otherwise leave a key over for ever.
    if (left > 0 && left <= windowSeconds) return left
    endings.delete(key)
    return 0
  }

  return {
    recordFailure(...keys) {
      const at = now()
      const left = keys.map((key) => secondsLeft(key, at))
      const counting = keys.filter((_, index) => left[index] === 0)
      if (counting.length > 0) report(counting)
      const longest = Math.max(...left)
      return longest === 0 ? { allowed: true } : { allowed: false, retryAfter: Math.max(1, Math.ceil(longest)) }
    },
    learn({ key, endsAt }) {
      endings.delete(key)
      const [oldest] = endings.keys()
      if (endings.size >= maxKeys && oldest !== undefined) endings.delete(oldest)
      endings.set(key, endsAt)
    },
  }
}

/** The primary's half: counts a report, and says which of its keys are over. */
export function createFailureCounter({ limit, now, ...options }: FailureLimitOptions): (keys: readonly string[]) => KeyOver[] {
  // A worker refuses only what it was told of before: the news goes out with the last failure that is allowed.
  const counted = createFailureLimit({ ...options, now, limit: limit - 1 })
  return (keys) =>
    keys.flatMap((key) => {
      const verdict = counted.recordFailure(key)
      return verdict.allowed ? [] : [{ key, endsAt: now() + verdict.retryAfter }]
    })
}
