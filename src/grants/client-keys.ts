/**
 * The public keys of clients: registered with them, or read from their `jwks_uri` and kept for a while.
 *
 * Whoever names a client can make us look for its keys, without any proof. So for each client there is one fetch a minute
 * at most, shared by all who ask meanwhile, and nothing is remembered but of clients that are registered.
 */
import { type ClientKey, openJwkSet } from '../keys/public-jwk.ts'
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
  keys: ClientKey[] | null
  /** of `keys` */
  fetchedAt: number
  askedAt: number
  underWay: Promise<void> | null
}

export class ClientKeys {
  readonly #fetch: FetchFromClient
  readonly #now: () => number
  readonly #registered = new WeakMap<object, ClientKey[]>()
  readonly #fetched = new Map<string, Fetched>()

  constructor(fetch: FetchFromClient, now: () => number) {
    this.#fetch = fetch
    this.#now = now
  }

  /**
   * Whether one of the client's keys meets a condition, which is asked again of newer keys where none of those at hand
   * does: a client may have changed its keys a moment ago. `unavailable`: its keys cannot be had.
   */
  async someKey(client: Client, holds: (keys: readonly ClientKey[]) => boolean): Promise<'holds' | 'none' | 'unavailable'> {
    if (client.jwks !== null) return holds(this.#open(client.jwks)) ? 'holds' : 'none'
    if (client.jwksUri === null) return 'none'
    const fetched = this.#of(client.id, client.jwksUri)
    if (this.#age(fetched) >= FRESH_FOR) await this.#renew(fetched)
    if (fetched.keys && this.#age(fetched) < KEPT_FOR && holds(fetched.keys)) return 'holds'
    await this.#renew(fetched)
    if (!fetched.keys || this.#age(fetched) >= KEPT_FOR) return 'unavailable'
    return holds(fetched.keys) ? 'holds' : 'none'
  }

  #open(jwks: NonNullable<Client['jwks']>): ClientKey[] {
    const known = this.#registered.get(jwks)
    if (known) return known
    const keys = openJwkSet(jwks) ?? []
    this.#registered.set(jwks, keys)
    return keys
  }

  #of(clientId: string, uri: string): Fetched {
    const known = this.#fetched.get(clientId)
    if (known?.uri === uri) return known
    const never = Number.NEGATIVE_INFINITY
    const fetched: Fetched = { uri, keys: null, fetchedAt: never, askedAt: never, underWay: null }
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
    const keys = answer.kind === 'answered' && answer.status === 200 ? openJwkSet(parse(answer.body)) : null
    if (!keys) return
    fetched.keys = keys
    fetched.fetchedAt = this.#now()
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
