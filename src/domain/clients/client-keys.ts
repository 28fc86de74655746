/**
 * The public keys of clients: registered keys, or keys that are fetched from the `jwks_uri` and cached.
 *
 * A caller can cause a fetch just by sending a client id, without authentication. So each client's keys are fetched at most once a
 * minute, requests that arrive meanwhile share the fetch, and the number of cached key sets is bounded.
 */
import { type ClaimedJwt, clientJwtHolds } from '../../keys/client-jwt.ts'
import { type KeyRules, type OpenJwkSet, openJwkSet } from '../../keys/public-jwk.ts'
import { isUnregistered } from '../../oauth/client-id-url.ts'
import type { ClientKeyCheck, KeyVerdict } from '../model/clients.ts'
import type { FetchFromClient } from '../model/deps.ts'
import type { Client } from '../model/records.ts'

/** Seconds in which fetched keys are used without another fetch. */
const FRESH_FOR = 300
/** Seconds in which fetched keys are used if newer keys cannot be fetched. */
const KEPT_FOR = 3600
/** Seconds between two fetches for one client, whether or not the first one succeeded. */
const FETCHED_EVERY = 60
/** Key sets in memory, of at most 64 KiB each. */
const SETS_AT_MOST = 1_000

type Fetched = {
  uri: string
  rules: KeyRules
  set: OpenJwkSet | null
  /** when `set` was fetched */
  fetchedAt: number
  /** when the last fetch began */
  triedAt: number
  underWay: Promise<void> | null
}

export class ClientKeys implements ClientKeyCheck {
  readonly #fetch: FetchFromClient
  readonly #now: () => number
  readonly #registered = new WeakMap<object, OpenJwkSet>()
  readonly #fetched = new Map<string, Fetched>()

  constructor(fetch: FetchFromClient, now: () => number) {
    this.#fetch = fetch
    this.#now = now
  }

  /**
   * Whether one of the client's keys signed the JWT. If not, the keys of a `jwks_uri` are fetched again and the JWT is checked once more:
   * the client may have just changed the keys. If the client is unknown or has no keys, one signature is checked all the same, so that
   * the response time is the same.
   */
  async check(client: Client | null, jwt: ClaimedJwt): Promise<KeyVerdict> {
    if (client && client.jwks !== null) return verdictOf(this.#open(client.jwks, rulesOf(client)), jwt)
    if (!client || client.jwksUri === null) return verdictOf({ keys: [], unusable: [] }, jwt)
    const fetched = this.#of(client, client.jwksUri)
    if (this.#age(fetched) >= FRESH_FOR) await this.#renew(fetched)
    if (fetched.set && this.#age(fetched) < KEPT_FOR && verdictOf(fetched.set, jwt) === 'holds') return 'holds'
    await this.#renew(fetched)
    if (!fetched.set || this.#age(fetched) >= KEPT_FOR) return 'unavailable'
    return verdictOf(fetched.set, jwt)
  }

  #open(jwks: NonNullable<Client['jwks']>, rules: KeyRules): OpenJwkSet {
    const known = this.#registered.get(jwks)
    if (known) return known
    const set = openJwkSet(jwks, rules) ?? { keys: [], unusable: [] }
    this.#registered.set(jwks, set)
    return set
  }

  #of(client: Client, uri: string): Fetched {
    const known = this.#fetched.get(client.id)
    if (known?.uri === uri) return known
    const never = Number.NEGATIVE_INFINITY
    const fetched: Fetched = { uri, rules: rulesOf(client), set: null, fetchedAt: never, triedAt: never, underWay: null }
    this.#fetched.set(client.id, fetched)
    // Clients with metadata documents are not registered, so their number is not bounded.
    for (const oldest of this.#fetched.keys()) {
      if (this.#fetched.size <= SETS_AT_MOST) break
      this.#fetched.delete(oldest)
    }
    return fetched
  }

  /** The absolute difference: if the clock jumps back, no key set stays fresh for too long. */
  #age({ fetchedAt }: Fetched): number {
    return Math.abs(this.#now() - fetchedAt)
  }

  async #renew(fetched: Fetched): Promise<void> {
    if (fetched.underWay) return fetched.underWay
    if (Math.abs(this.#now() - fetched.triedAt) < FETCHED_EVERY) return
    fetched.triedAt = this.#now()
    fetched.underWay = this.#read(fetched).finally(() => {
      fetched.underWay = null
    })
    await fetched.underWay
  }

  async #read(fetched: Fetched): Promise<void> {
    const answer = await this.#fetch({ url: fetched.uri })
    const set = answer.kind === 'answered' && answer.status === 200 ? openJwkSet(parse(answer.body), fetched.rules) : null
    if (!set) return
    fetched.set = set
    fetched.fetchedAt = this.#now()
  }
}

/** Under FAPI 2.0, a client is registered, so RS256 is never accepted for it. */
function rulesOf({ id }: Client): KeyRules {
  return isUnregistered(id) ? 'rs256' : 'registered'
}

function verdictOf({ keys, unusable }: OpenJwkSet, jwt: ClaimedJwt): KeyVerdict {
  if (clientJwtHolds(jwt, keys)) return 'holds'
  const isNamed = jwt.kid !== null && unusable.includes(jwt.kid)
  return isNamed || (keys.length === 0 && unusable.length > 0) ? 'unusable' : 'none'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
