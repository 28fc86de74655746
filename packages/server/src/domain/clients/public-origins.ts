/**
 * The origins of public clients' redirect URIs. A preflight request names an origin and no client, so all origins are kept in memory.
 * All clients are read once, page by page. Afterwards only changed clients are read.
 */
import type { Changed } from '../model/changes.ts'
import type { ClientStore } from '../model/operator-store.ts'
import type { Client } from '../model/records.ts'

/** Clients of one page. Reading a page takes a few milliseconds, in which no other request is served. */
const PAGE = 200

export class PublicOrigins {
  readonly #store: Pick<ClientStore, 'readClient' | 'readClients'>
  /** from the id of an enabled public client to the origins */
  #originsOf = new Map<string, readonly string[]>()
  /** from an origin to the number of clients with this origin */
  #count = new Map<string, number>()
  /** ids of clients that must be read again */
  readonly #changed = new Set<string>()
  #isLoaded = false
  #loading: Promise<void> | undefined

  constructor(store: Pick<ClientStore, 'readClient' | 'readClients'>) {
    this.#store = store
  }

  async has(origin: string): Promise<boolean> {
    if (this.#loading || !this.#isLoaded || this.#changed.size > 0) {
      this.#loading ??= this.#load().finally(() => {
        this.#loading = undefined
      })
      await this.#loading
    }
    return this.#count.has(origin)
  }

  forget(changed: Changed): void {
    if (changed === 'everything') this.#isLoaded = false
    else if (this.#isLoaded) for (const id of changed) this.#changed.add(id)
  }

  async #load(): Promise<void> {
    while (!this.#isLoaded) await this.#loadAll()
    // The loop also visits ids that are added meanwhile.
    for (const id of this.#changed) await this.#readAgain(id)
  }

  /** Returns with `isLoaded` false if `forget('everything')` was called meanwhile. */
  async #loadAll(): Promise<void> {
    this.#originsOf = new Map()
    this.#count = new Map()
    this.#changed.clear()
    this.#isLoaded = true
    try {
      for (let after = ''; ; ) {
        const page = await this.#store.readClients({ after, limit: PAGE })
        for (const client of page) this.#put(client.id, client)
        after = page.at(-1)?.id ?? ''
        if (page.length < PAGE) return
      }
    } catch (error) {
      this.#isLoaded = false
      throw error
    }
  }

  async #readAgain(id: string): Promise<void> {
    // The id is removed before the read, so that a change during the read causes another read.
    this.#changed.delete(id)
    try {
      this.#put(id, await this.#store.readClient(id))
    } catch (error) {
      this.#changed.add(id)
      throw error
    }
  }

  #put(id: string, client: Client | null): void {
    for (const origin of this.#originsOf.get(id) ?? []) this.#add(origin, -1)
    const origins = client ? originsOf(client) : []
    if (origins.length > 0) this.#originsOf.set(id, origins)
    else this.#originsOf.delete(id)
    for (const origin of origins) this.#add(origin, 1)
  }

  #add(origin: string, by: 1 | -1): void {
    const count = (this.#count.get(origin) ?? 0) + by
    if (count > 0) this.#count.set(origin, count)
    else this.#count.delete(origin)
  }
}

function originsOf({ type, disabledAt, redirectUris }: Client): string[] {
  if (type !== 'public' || disabledAt !== null) return []
  return [...new Set(redirectUris.map((uri) => new URL(uri).origin))].filter((origin) => origin !== 'null')
}
