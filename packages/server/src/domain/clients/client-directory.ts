/**
 * A cache of clients. The store's revision is read twice a second. If the revision has increased, changed clients are dropped from the
 * cache and read again at their next use. Before an id is refused, the store is queried, at most once a second per id.
 */
import type { Changed } from '../model/changes.ts'
import { bytesOfClientId, isClientId } from '../model/client-id.ts'
import type { Client } from '../model/records.ts'
import type { Store } from '../model/store.ts'
import { PublicOrigins } from './public-origins.ts'

/** Seconds in which the look-up of an id is not repeated. */
const LOOKED_UP_FOR = 1
/** The number of looked-up ids in memory, about 100 bytes each. */
const LOOKED_UP_AT_MOST = 10_000

export class ClientDirectory {
  readonly #store: Pick<Store, 'clients'>
  readonly #now: () => number
  readonly #builtIn: ReadonlyMap<string, Client>
  readonly #origins: PublicOrigins
  readonly #known = new Map<string, Client>()
  readonly #underWay = new Map<string, Promise<Client | null>>()
  /** from the bytes of an id to the time until which the id is not looked up again, whether or not the client exists */
  readonly #lookedUpUntil = new Map<string, number>()

  /** `builtIn`: clients that are part of the program and not in the store. */
  constructor(store: Pick<Store, 'clients'>, now: () => number, builtIn: readonly Client[] = []) {
    this.#builtIn = new Map(builtIn.map((client) => [client.id, client]))
    this.#store = store
    this.#now = now
    this.#origins = new PublicOrigins(store.clients)
  }

  /** The client, enabled or disabled; null for an unknown id. */
  async find(clientId: string): Promise<Client | null> {
    return this.findCached(clientId) ?? this.findStored(clientId)
  }

  /**
   * The client as stored, looked up at most once a second. A failed client authentication always calls this function: if only unknown
   * ids caused a query, the time of a refusal would show which ids are registered.
   */
  async findStored(clientId: string): Promise<Client | null> {
    if (!isClientId(clientId)) return null
    const builtIn = this.#builtIn.get(clientId)
    if (builtIn) return builtIn
    if ((this.#lookedUpUntil.get(bytesOfClientId(clientId)) ?? 0) > this.#now()) return this.findCached(clientId) ?? null
    // Requests that arrive together share one look-up.
    return this.#underWay.get(clientId) ?? this.#lookUp(clientId)
  }

  /** The client; null if unknown or disabled. */
  findEnabled(clientId: string): Promise<Client | null> | Client | null {
    const known = this.findCached(clientId)
    return known === undefined ? this.find(clientId).then(ifEnabled) : ifEnabled(known)
  }

  /** The client from the cache. After `find`, every registered client is. */
  findCached(clientId: string): Client | undefined {
    return this.#builtIn.get(clientId) ?? this.#known.get(clientId)
  }

  /** Whether scripts of this origin may read responses of the token endpoint: a public client has a redirect URI with this origin. */
  isPublicOrigin(origin: string): Promise<boolean> {
    return this.#origins.has(origin)
  }

  /** Drops the clients with these ids from the cache. Ids of keys are ignored. */
  forget(changed: Changed): void {
    if (changed === 'everything') {
      this.#origins.forget(changed)
      for (const map of [this.#known, this.#underWay, this.#lookedUpUntil]) map.clear()
      return
    }
    const clientIds = changed.filter(isClientId)
    this.#origins.forget(clientIds)
    for (const id of clientIds) {
      this.#known.delete(id)
      this.#underWay.delete(id)
      this.#lookedUpUntil.delete(bytesOfClientId(id))
    }
  }

  async #lookUp(clientId: string): Promise<Client | null> {
    const looking = this.#store.clients.readClient(clientId)
    this.#underWay.set(clientId, looking)
    // `forget` removes look-ups that began before a change: their result may be out of date and must not be cached.
    const isCurrent = (): boolean => this.#underWay.get(clientId) === looking
    try {
      const client = await looking
      return isCurrent() ? this.#remember(clientId, client) : client
    } finally {
      if (isCurrent()) this.#underWay.delete(clientId)
    }
  }

  #remember(clientId: string, client: Client | null): Client | null {
    if (this.#lookedUpUntil.size >= LOOKED_UP_AT_MOST) this.#lookedUpUntil.clear()
    this.#lookedUpUntil.set(bytesOfClientId(clientId), this.#now() + LOOKED_UP_FOR)
    const known = this.findCached(clientId)
    // An unchanged client stays the same object, so that the parsed keys stay cached.
    if (known && JSON.stringify(known) === JSON.stringify(client)) return known
    if (client) this.#known.set(client.id, client)
    else this.#known.delete(clientId)
    return client
  }
}

/** Null if the client is disabled. */
export function ifEnabled(client: Client | null): Client | null {
  return client?.disabledAt === null ? client : null
}
