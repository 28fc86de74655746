/**
 * The key sets that clients publish at a `jwks_uri`, by their address. Clients with the same address share one set.
 *
 * A caller can cause a fetch just by sending a client id, without authentication. So each address is fetched at most once a minute, and once
 * more for a `kid` that the keys in memory do not have: a client may sign with a new key as soon as the key is published. Requests that arrive
 * meanwhile share the fetch.
 */
import { type ClaimedJwt, clientJwtHolds } from '@grantor/protocol/client-jwt'
import { type KeyRules, type OpenJwkSet, openJwkSet } from '@grantor/protocol/public-jwk'
import { clientKeysUnavailable, OAuthError, tooManyClientCalls } from '../../protocol/oauth/oauth-error.ts'
import { parseJson } from '../../protocol/oauth/parse-json.ts'
import type { KeyVerdict } from '../model/clients.ts'
import type { ClientAnswer, FetchFromClient } from '../model/deps.ts'
import type { CountedFetch } from './unregistered-budgets.ts'

/** Seconds in which fetched keys are used without another fetch. */
const FRESH_FOR = 300
/** Seconds in which fetched keys are used if newer keys cannot be fetched. */
const KEPT_FOR = 3600
/** Seconds between two fetches of one address, whether or not the first one succeeded, and between two early fetches. */
const FETCHED_EVERY = 60

/**
 * `again`: calls for addresses whose keys are in memory. Callers who name any number of addresses use up the calls of `first` alone, so the
 * clients in use do not wait.
 */
export type KeyFetches = { first: FetchFromClient; again: FetchFromClient }

export type PublishedKeysOptions = {
  fetch: KeyFetches
  rules: KeyRules
  /** throws if a caller of this network may not cause a fetch of this address now */
  requireBudget: (fetched: CountedFetch) => void
  /**
   * key sets in memory, of at most 20 keys each, and as many addresses without keys; without a bound, sets are kept until nothing in them
   * can be used any more
   */
  setsAtMost?: number
  now: () => number
}

type Published = {
  uri: string
  set: OpenJwkSet | null
  /** when `set` was fetched */
  fetchedAt: number
  /** when the last fetch began */
  triedAt: number
  /** when the last early fetch began */
  earlyAt: number
  /** why the last fetch brought no keys, for the log */
  why: string
  underWay: Promise<OAuthError | null> | null
}

export class PublishedKeys {
  readonly #options: PublishedKeysOptions
  /** those with a key set, the least recently used first */
  readonly #sets = new Map<string, Published>()
  /** those whose keys were never fetched; kept apart, because any number of them must not evict key sets in use */
  readonly #without = new Map<string, Published>()

  constructor(options: PublishedKeysOptions) {
    this.#options = options
  }

  /**
   * Whether a key at this address signed the JWT. If not, the keys are fetched again and the JWT is checked once more: the client may
   * have just changed the keys. `network` is the network of the caller. Throws if there are no keys, or if a fetch that might bring the
   * right key cannot begin.
   */
  async check(uri: string, jwt: ClaimedJwt, network: string): Promise<KeyVerdict> {
    const published = this.#use(uri)
    if (this.#age(published.fetchedAt) < FRESH_FOR && verdictOf(published.set, jwt) === 'holds') return 'holds'
    const refusal = await this.#renew(published, jwt, network)
    const isUsable = this.#isInMemory(published)
    const verdict = isUsable ? verdictOf(published.set, jwt) : 'none'
    if (verdict === 'holds') return verdict
    if (refusal) throw refusal
    if (!isUsable) throw clientKeysUnavailable(`${new URL(uri).host}: ${published.why}`)
    return verdict
  }

  /** Fetches the keys, unless a fetch began less than a minute ago and no early fetch is due. Returns why a fetch could not begin. */
  async #renew(published: Published, jwt: ClaimedJwt, network: string): Promise<OAuthError | null> {
    if (published.underWay) return published.underWay
    const isEarly = this.#age(published.triedAt) < FETCHED_EVERY
    if (isEarly && (hasKid(published.set, jwt) || this.#age(published.earlyAt) < FETCHED_EVERY)) return null
    try {
      const inMemory = this.#isInMemory(published) ? 'keys' : null
      this.#options.requireBudget({ url: published.uri, network, inMemory })
    } catch (error) {
      if (error instanceof OAuthError) return error
      throw error
    }
    if (isEarly) published.earlyAt = this.#options.now()
    this.#keep(published)
    published.underWay = this.#fetch(published).finally(() => {
      published.underWay = null
    })
    return published.underWay
  }

  async #fetch(published: Published): Promise<OAuthError | null> {
    const { fetch, rules, now } = this.#options
    const { triedAt } = published
    const send = this.#isInMemory(published) ? fetch.again : fetch.first
    published.triedAt = now()
    const answer = await send({ url: published.uri })
    if (answer.kind === 'unavailable' && answer.why === 'busy') {
      // No request was sent, so the next caller may try at once.
      published.triedAt = triedAt
      return tooManyClientCalls()
    }
    const set = readAnswer(answer, rules)
    if (typeof set === 'string') {
      published.why = set
      return null
    }
    this.#without.delete(published.uri)
    Object.assign(published, { set, fetchedAt: now() })
    this.#keep(published)
    return null
  }

  /** The keys at this address, which become the most recently used ones. An unknown address is not kept before its first fetch. */
  #use(uri: string): Published {
    const known = this.#sets.get(uri) ?? this.#without.get(uri)
    if (known) {
      const among = this.#mapOf(known)
      among.delete(uri)
      among.set(uri, known)
    }
    const never = Number.NEGATIVE_INFINITY
    return known ?? { uri, set: null, fetchedAt: never, triedAt: never, earlyAt: never, why: '', underWay: null }
  }

  #keep(published: Published): void {
    const among = this.#mapOf(published)
    among.set(published.uri, published)
    const { setsAtMost = Number.POSITIVE_INFINITY } = this.#options
    for (const [uri, oldest] of among) {
      const isOver = oldest !== published && this.#age(oldest.triedAt) >= KEPT_FOR
      if (!isOver && among.size <= setsAtMost) break
      among.delete(uri)
    }
  }

  /** Whether the keys can be used if newer keys cannot be fetched. */
  #isInMemory({ fetchedAt }: Published): boolean {
    return this.#age(fetchedAt) < KEPT_FOR
  }

  #mapOf({ set }: Published): Map<string, Published> {
    return set === null ? this.#without : this.#sets
  }

  /** The absolute difference: if the clock jumps back, no key set stays fresh for too long. */
  #age(at: number): number {
    return Math.abs(this.#options.now() - at)
  }
}

/** The key set of a response, or why the response has none. */
function readAnswer(answer: ClientAnswer, rules: KeyRules): OpenJwkSet | string {
  if (answer.kind === 'unavailable') return answer.why
  if (answer.status !== 200) return `status_${answer.status}`
  const json = parseJson(answer.body)
  return (json.kind === 'parsed' && openJwkSet(json.value, rules)) || 'not_a_key_set'
}

/** Whether newer keys could not help: a key with the `kid` of the JWT is in memory, or no keys could be fetched. A JWT without `kid` can be by a new key. */
function hasKid(set: OpenJwkSet | null, { kid }: ClaimedJwt): boolean {
  return set === null || (kid !== null && (set.unusable.includes(kid) || set.keys.some((key) => key.kid === kid)))
}

/** Checks the JWT with the keys of a set. Without a set, one signature is checked too, so that the response time is the same. */
export function verdictOf(set: OpenJwkSet | null, jwt: ClaimedJwt): KeyVerdict {
  const { keys, unusable } = set ?? { keys: [], unusable: [] }
  if (clientJwtHolds(jwt, keys)) return 'holds'
  const isNamed = jwt.kid !== null && unusable.includes(jwt.kid)
  return isNamed || (keys.length === 0 && unusable.length > 0) ? 'unusable' : 'none'
}
