/**
 * A circuit breaker. After some calls in a row without a response, no call is made for some seconds, so that requests fail at once
 * and do not wait for the timeout. Then one call tries again, alone.
 *
 * A response with a wrong content does not count: it causes no wait, and one caller whose questions get wrong answers
 * must not stop the questions of others.
 */
const LOST_AT_MOST = 5
/** seconds */
const PAUSE = 5

export class Circuit {
  readonly #now: () => number
  #lost = 0
  #pausedAt: number | null = null
  #isTrying = false

  constructor(now: () => number) {
    this.#now = now
  }

  /** 0 if a call may be made now; otherwise the seconds until the next attempt. The caller then calls `note`. */
  admit(): number {
    if (this.#pausedAt === null) return 0
    const passed = this.#now() - this.#pausedAt
    // If the clock was set back, the time that has passed is unknown.
    if (passed >= 0 && passed < PAUSE) return PAUSE - passed
    if (this.#isTrying) return 1
    this.#isTrying = true
    return 0
  }

  note(outcome: 'responded' | 'lost'): void {
    this.#isTrying = false
    this.#lost = outcome === 'lost' ? this.#lost + 1 : 0
    this.#pausedAt = this.#lost >= LOST_AT_MOST ? this.#now() : null
  }
}
