/**
 * Clients from memory. The store's revision is read twice a second. When it has grown, the clients that have changed are forgotten,
 * and read again when they are next used. Before a client is refused, its id is looked up in the store, registered or not, but once a
 * second at most.
 */
import type { Changed } from './changes.ts'
import { bytesOfClientId, isClientId } from './client-id.ts'
import type { Client } from './model.ts'
import type { Store } from './ports.ts'
import { PublicOrigins } from './public-origins.ts'

/** Seconds for which a look-up is not repeated, and how many looked-up ids are remembered, at about 100 bytes each. */
const LOOKED_UP_FOR = 1
const LOOKED_UP_AT_MOST = 10_000

export class ClientDirectory {
  readonly #store: Pick<Store, 'clients'>
  readonly #now: () => number
  readonly #origins: PublicOrigins
  readonly #known = new Map<string, Client>()
  readonly #underWay = new Map<string, Promise<Client | null>>()
  /** by the bytes of the id: until when the id is not looked up again, whether or not a client was found */
  readonly #lookedUpUntil = new Map<string, number>()

  constructor(store: Pick<Store, 'clients'>, now: () => number) {
    this.#store = store
    this.#now = now
    this.#origins = new PublicOrigins(store.clients)
  }

  /** The client as registered, disabled ones included; null when there is none. */
  async find(clientId: string): Promise<Client | null> {
    return this.known(clientId) ?? this.findAnew(clientId)
  }

  /**
   * The client as the store has it, looked up once a second at most. A client authentication that failed calls this whether or not the
   * client is known: if only unknown ids caused a query, the time of a refusal would show which ids are registered.
   */
  async findAnew(clientId: string): Promise<Client | null> {
    if (!isClientId(clientId)) return null
    if ((this.#lookedUpUntil.get(bytesOfClientId(clientId)) ?? 0) > this.#now()) return this.known(clientId) ?? null
    // Requests that arrive together share one look-up.
    return this.#underWay.get(clientId) ?? this.#lookUp(clientId)
  }

  /** The client if it may act now; null when there is none or it is disabled. */
  findEnabled(clientId: string): Promise<Client | null> | Client | null {
    const known = this.known(clientId)
    return known === undefined ? this.find(clientId).then(ifEnabled) : ifEnabled(known)
  }

  /** The client if it is in memory: after `find` every registered client is. */
  known(clientId: string): Client | undefined {
    return this.#known.get(clientId)
  }

  /** Whether scripts of this origin may read the token endpoint's answers: it is one of a public client's redirect URIs. */
  isPublicOrigin(origin: string): Promise<boolean> {
    return this.#origins.has(origin)
  }

  /** Forgets the clients with these ids, which have changed. Ids of other things do not matter. */
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
    // `forget` takes a look-up out that began before a change: its answer must not be remembered after it.
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
    const known = this.known(clientId)
    // An unchanged client stays the same object, so the keys that were opened for it stay open.
    if (known && JSON.stringify(known) === JSON.stringify(client)) return known
    if (client) this.#known.set(client.id, client)
    else this.#known.delete(clientId)
    return client
  }
}

/** The client if it may act now. */
export function ifEnabled(client: Client | null): Client | null {
  return client?.disabledAt === null ? client : null
}
