/**
 * The public keys of clients: registered with them, or read from their `jwks_uri` and kept for a while.
 *
 * Whoever names a client can make us look for its keys, without any proof. So for each client there is one fetch a minute
 * at most, shared by all who ask meanwhile, and nothing is remembered but of clients that are registered.
 */
import { type ClaimedJwt, clientJwtHolds } from '../keys/client-jwt.ts'
import { type OpenJwkSet, openJwkSet } from '../keys/public-jwk.ts'
import type { FetchFromClient } from './deps.ts'
import type { Client } from './model.ts'

/** Seconds for which fetched keys are taken as they are. */
const FRESH_FOR = 300
/** Seconds for which they still count where newer ones cannot be had. */
const KEPT_FOR = 3600
/** Seconds between two fetches for one client, whatever came of the first. */
const FETCHED_EVERY = 60

type Fetched = {
  uri: string
  set: OpenJwkSet | null
  /** of `set` */
  fetchedAt: number
  askedAt: number
  underWay: Promise<void> | null
}

/** `unusable`: the key that the JWT names breaks a rule of `public-jwk.ts`. `unavailable`: the keys cannot be fetched. */
export type KeyVerdict = 'holds' | 'none' | 'unusable' | 'unavailable'

export class ClientKeys {
  readonly #fetch: FetchFromClient
  readonly #now: () => number
  readonly #registered = new WeakMap<object, OpenJwkSet>()
  readonly #fetched = new Map<string, Fetched>()

  constructor(fetch: FetchFromClient, now: () => number) {
    this.#fetch = fetch
    this.#now = now
  }

  /**
   * Whether one of the client's keys signed the JWT. If none did, published keys are fetched again and tried once more: the client
   * may have changed its keys a moment ago. Without a client or keys, one signature is checked all the same.
   */
  async check(client: Client | null, jwt: ClaimedJwt): Promise<KeyVerdict> {
    if (client && client.jwks !== null) return verdictOf(this.#open(client.jwks), jwt)
    if (!client || client.jwksUri === null) return verdictOf({ keys: [], unusable: [] }, jwt)
    const fetched = this.#of(client.id, client.jwksUri)
    if (this.#age(fetched) >= FRESH_FOR) await this.#renew(fetched)
    if (fetched.set && this.#age(fetched) < KEPT_FOR && verdictOf(fetched.set, jwt) === 'holds') return 'holds'
    await this.#renew(fetched)
    if (!fetched.set || this.#age(fetched) >= KEPT_FOR) return 'unavailable'
    return verdictOf(fetched.set, jwt)
  }

  #open(jwks: NonNullable<Client['jwks']>): OpenJwkSet {
    const known = this.#registered.get(jwks)
    if (known) return known
    const set = openJwkSet(jwks) ?? { keys: [], unusable: [] }
    this.#registered.set(jwks, set)
    return set
  }

  #of(clientId: string, uri: string): Fetched {
    const known = this.#fetched.get(clientId)
    if (known?.uri === uri) return known
    const never = Number.NEGATIVE_INFINITY
    const fetched: Fetched = { uri, set: null, fetchedAt: never, askedAt: never, underWay: null }
    this.#fetched.set(clientId, fetched)
    return fetched
  }

  /** A clock that jumped back makes nothing fresh for ever. */
  #age({ fetchedAt }: Fetched): number {
    return Math.abs(this.#now() - fetchedAt)
  }

  async #renew(fetched: Fetched): Promise<void> {
    if (fetched.underWay) return fetched.underWay
    if (Math.abs(this.#now() - fetched.askedAt) < FETCHED_EVERY) return
    fetched.askedAt = this.#now()
    fetched.underWay = this.#read(fetched).finally(() => {
      fetched.underWay = null
    })
    await fetched.underWay
  }

  async #read(fetched: Fetched): Promise<void> {
    const answer = await this.#fetch({ url: fetched.uri })
    const set = answer.kind === 'answered' && answer.status === 200 ? openJwkSet(parse(answer.body)) : null
    if (!set) return
    fetched.set = set
    fetched.fetchedAt = this.#now()
  }
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
