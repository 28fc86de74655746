/**
 * The public keys of clients: registered keys, or keys that are fetched from the `jwks_uri` and cached.
 *
 * Clients that an operator registered and other clients have separate caches. Any caller can bring any number of clients that are not
 * registered, so their cache is bounded, and their fetches count towards the budgets of `unregistered-budgets.ts`. The number of registered
 * clients bounds the other cache: the keys of a registered client are never dropped for those of another client.
 */
import type { ClaimedJwt } from '@grantor/protocol/client-jwt'
import { type KeyRules, type OpenJwkSet, openJwkSet } from '@grantor/protocol/public-jwk'
import { isUnregistered } from '../../protocol/oauth/client-id-url.ts'
import type { ClientKeyCheck, KeyVerdict } from '../model/clients.ts'
import type { FetchFromClient } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { type KeyFetches, PublishedKeys, verdictOf } from './published-keys.ts'
import { type CountedFetch, type FetchCounts, requireFetchBudget } from './unregistered-budgets.ts'

/** Key sets of clients that are not registered. */
const UNREGISTERED_SETS_AT_MOST = 1_000

export type ClientKeysOptions = {
  /** calls for registered clients and for other clients: neither can use up the calls of the other */
  fetch: { registered: FetchFromClient; unregistered: KeyFetches }
  counts: FetchCounts
  now: () => number
}

export class ClientKeys implements ClientKeyCheck {
  readonly #opened = new WeakMap<object, OpenJwkSet>()
  readonly #registered: PublishedKeys
  readonly #unregistered: PublishedKeys

  constructor({ fetch, counts, now }: ClientKeysOptions) {
    // The operator chose these addresses, so a caller causes no more than two fetches a minute for each registered client.
    const requireNothing = (): void => undefined
    const requireBudget = (fetched: CountedFetch): void => requireFetchBudget(counts, fetched)
    this.#registered = new PublishedKeys({
      fetch: { first: fetch.registered, again: fetch.registered },
      rules: 'registered',
      requireBudget: requireNothing,
      now,
    })
    this.#unregistered = new PublishedKeys({
      fetch: fetch.unregistered,
      rules: 'rs256',
      requireBudget,
      setsAtMost: UNREGISTERED_SETS_AT_MOST,
      now,
    })
  }

  async check(client: Client | null, jwt: ClaimedJwt, network: string): Promise<KeyVerdict> {
    if (client && client.jwks !== null) return verdictOf(this.#open(client.jwks, rulesOf(client)), jwt)
    if (!client || client.jwksUri === null) return verdictOf(null, jwt)
    return (isUnregistered(client.id) ? this.#unregistered : this.#registered).check(client.jwksUri, jwt, network)
  }

  #open(jwks: NonNullable<Client['jwks']>, rules: KeyRules): OpenJwkSet {
    const known = this.#opened.get(jwks)
    if (known) return known
    const set = openJwkSet(jwks, rules) ?? { keys: [], unusable: [] }
    this.#opened.set(jwks, set)
    return set
  }
}

/** Under FAPI 2.0, a client is registered, so RS256 is never accepted for it. */
function rulesOf({ id }: Client): KeyRules {
  return isUnregistered(id) ? 'rs256' : 'registered'
}
