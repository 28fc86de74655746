/**
 * The decoded claims of the access tokens that were presented lately, because an API introspects the same token many times.
 *
 * Only tokens that a key of the ring signed are added, so forged tokens cannot fill the cache or evict entries. An
 * entry shows what was issued, not that the token is still valid: expiry, client and grant are checked every time. The
 * key of an entry is the SHA-256 of the whole token. An entry ends with the token's `exp`, and all entries end when a
 * key of the ring is retired.
 */
import type { AccessTokenClaims } from './access-token-claims.ts'

/** About 0.6 kB each. */
const REMEMBERED_AT_MOST = 2000

export class DecodedTokens {
  // Two halves: when the younger half is full, the older half is dropped in one step. A token that is found moves to
  // the younger half.
  #young = new Map<string, AccessTokenClaims>()
  #old = new Map<string, AccessTokenClaims>()
  readonly #now: () => number
  readonly #half: number

  /** `now` in epoch seconds. */
  constructor(now: () => number, atMost = REMEMBERED_AT_MOST) {
    this.#now = now
    this.#half = atMost / 2
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** The claims of a token that was presented before and has not expired. */
  find(name: string): AccessTokenClaims | undefined {
    const young = this.#young.get(name)
    const claims = young ?? this.#old.get(name)
    if (!claims) return undefined
    if (claims.exp <= this.#now()) {
      this.#young.delete(name)
      this.#old.delete(name)
      return undefined
    }
    if (!young) this.#put(name, claims)
    return claims
  }

  /** Call this only for a token whose signature is valid. */
  remember(name: string, claims: AccessTokenClaims): void {
    if (claims.exp > this.#now()) this.#put(name, claims)
  }

  forget(): void {
    this.#young = new Map()
    this.#old = new Map()
  }

  #put(name: string, claims: AccessTokenClaims): void {
    if (this.#young.size >= this.#half) {
      this.#old = this.#young
      this.#young = new Map()
    } else this.#old.delete(name)
    this.#young.set(name, claims)
  }
}
