/** Counts failures (wrong secrets, wrong signatures, forged tokens) per network and client, in bounded memory. */
export { networkOf } from './network.ts'

export type FailureLimitOptions = {
  /** failures allowed per key and window */
  limit: number
  windowSeconds: number
  /** epoch seconds */
  now: () => number
  /** how many keys are remembered at most; about 200 bytes each */
  maxKeys?: number
}

export type FailureVerdict = { allowed: true } | { allowed: false; retryAfter: number }

/** `recordFailure` is called only once something has failed: whoever is right is never refused for others' failures. */
export type FailureLimit = { recordFailure(...keys: string[]): FailureVerdict }

type Window = { endsAt: number; failures: number }

export function createFailureLimit({ limit, windowSeconds, now, maxKeys = 100_000 }: FailureLimitOptions): FailureLimit {
  // In the order their windows began, so what is over lies in front.
  const windows = new Map<string, Window>()

  function count(key: string, at: number): Window {
    const known = windows.get(key)
    // A clock that jumped back would otherwise leave a window that never ends.
    if (known && at < known.endsAt && known.endsAt <= at + windowSeconds) {
      known.failures += 1
      return known
    }
    windows.delete(key)
    makeRoom(at)
    const fresh = { endsAt: at + windowSeconds, failures: 1 }
    windows.set(key, fresh)
    return fresh
  }

  /** Drops a few windows that are over, and the oldest where all still run: memory is bounded, not the number of attackers. */
  function makeRoom(at: number): void {
    let looked = 0
    for (const [key, { endsAt }] of windows) {
      if (windows.size < maxKeys && (endsAt > at || ++looked > 8)) return
      windows.delete(key)
    }
  }

  return {
    recordFailure(...keys) {
      const at = now()
      const over = keys.map((key) => count(key, at)).filter(({ failures }) => failures > limit)
      if (over.length === 0) return { allowed: true }
      return { allowed: false, retryAfter: Math.max(1, Math.ceil(Math.max(...over.map(({ endsAt }) => endsAt)) - at)) }
    },
  }
}

/** For `GRANTOR_RATE_LIMIT=off`. */
export const noFailureLimit: FailureLimit = { recordFailure: () => ({ allowed: true }) }
