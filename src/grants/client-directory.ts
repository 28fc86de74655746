/**
 * Clients from memory. The store's revision, read twice a second, tells when they may have changed; then everything
 * remembered is read anew on its next use. An id nobody registered is looked up once a second at most.
 */
import type { Client } from './model.ts'
import type { Store } from './ports.ts'

/** How long "no such client" is believed, and how many such ids are remembered. */
const UNKNOWN_FOR = 1
const UNKNOWN_AT_MOST = 10_000

export class ClientDirectory {
  readonly #store: Pick<Store, 'clients'>
  readonly #now: () => number
  #known = new Map<string, Promise<Client | null>>()
  /** those of `#known` that are there already: nobody has to wait for them */
  #here = new Map<string, Client>()
  #unknownUntil = new Map<string, number>()
  #publicOrigins: Promise<ReadonlySet<string>> | undefined

  constructor(store: Pick<Store, 'clients'>, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** The client as registered, disabled ones included; null when there is none. */
  async find(clientId: string): Promise<Client | null> {
    const known = this.#known.get(clientId)
    if (known) return known
    if ((this.#unknownUntil.get(clientId) ?? 0) > this.#now()) return null
    return this.#look(clientId)
  }

  /** The client where it may act now; null when there is none or it is disabled. */
  findEnabled(clientId: string): Promise<Client | null> | Client | null {
    const here = this.#here.get(clientId)
    return here === undefined ? this.find(clientId).then(ifEnabled) : ifEnabled(here)
  }

  /** Origins of public clients' redirect URIs: those whose scripts may read the token endpoint's answers. */
  publicOrigins(): Promise<ReadonlySet<string>> {
    this.#publicOrigins ??= this.#store.clients.listClients().then(originsOfPublicClients)
    this.#publicOrigins.catch(() => {
      this.#publicOrigins = undefined
    })
    return this.#publicOrigins
  }

  /** The registry may have changed: forget what is remembered. */
  forget(): void {
    this.#known = new Map()
    this.#here = new Map()
    this.#unknownUntil = new Map()
    this.#publicOrigins = undefined
  }

  async #look(clientId: string): Promise<Client | null> {
    // Of before a `forget`, an answer must not be remembered after it.
    const [known, here, unknownUntil] = [this.#known, this.#here, this.#unknownUntil]
    // Requests that arrive together share one look-up.
    const looking = this.#store.clients.readClient(clientId)
    known.set(clientId, looking)
    try {
      const client = await looking
      if (client) here.set(clientId, client)
      else {
        known.delete(clientId)
        if (unknownUntil.size >= UNKNOWN_AT_MOST) unknownUntil.clear()
        unknownUntil.set(clientId, this.#now() + UNKNOWN_FOR)
      }
      return client
    } catch (error) {
      known.delete(clientId)
      throw error
    }
  }
}

function ifEnabled(client: Client | null): Client | null {
  return client?.disabledAt === null ? client : null
}

function originsOfPublicClients(clients: Client[]): ReadonlySet<string> {
  const uris = clients
    .filter((client) => client.type === 'public' && client.disabledAt === null)
    .flatMap((client) => client.redirectUris)
  return new Set(uris.map((uri) => new URL(uri).origin).filter((origin) => origin !== 'null'))
}
