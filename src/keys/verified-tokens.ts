/**
 * A cache of access tokens whose signature was verified, so that a token that is presented again is not verified again.
 *
 * A token that this process signed counts as verified (issued-tokens.ts). Only tokens that a key of the ring signed are cached, so forged tokens cannot fill the cache or evict entries. An
 * entry shows what was issued, not that the token is still valid: expiry, client and grant are checked every time. The
 * key of an entry is the SHA-256 of the whole token. An entry ends with the token's `exp`, and all entries end when the
 * ring's keys are replaced.
 */
import { hash } from 'node:crypto'
import type { AccessTokenClaims } from './access-token.ts'

/** About 0.7 kB each. */
const REMEMBERED_AT_MOST = 10_000

export class VerifiedTokens {
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

  /** The key of a token's entry: the hash of the whole text, so that each spelling of a token is verified separately. */
  nameOf(token: string): string {
    return hash('sha256', token, 'base64')
  }

  /** The claims of a token that was verified before and has not expired. */
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

  /** Call this only after the signature was verified. */
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
