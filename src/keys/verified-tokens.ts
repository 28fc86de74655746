/**
 * Access tokens whose signature was found to hold, so that one that is asked about again is not verified again.
 *
 * Only what a key of the ring has signed is kept, so no flood of forgeries fills it or pushes anything out. It says
 * what was issued, never that it still holds: expiry, client and grant are looked at each time. An entry is found by
 * the SHA-256 of the whole token, ends with the token's `exp`, and all end when the ring's keys are replaced.
 */
import { hash } from 'node:crypto'
import type { AccessTokenClaims } from './access-token.ts'

/** About 0.7 kB each. */
const REMEMBERED_AT_MOST = 10_000

export class VerifiedTokens {
  // Two halves: when the younger is full, the older goes in one step. What is asked about moves to the younger.
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

  /** The name a token is remembered by. Of the whole text: each spelling of a token is verified by itself. */
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

  /** To be called once the signature was found to hold, and never otherwise. */
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
