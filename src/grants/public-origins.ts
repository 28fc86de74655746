/**
 * The origins of public clients' redirect URIs. A preflight request names an origin and no client, so all of them are kept in
 * memory: read once, page by page, and from then on only for the clients that have changed.
 */
import type { Changed } from './changes.ts'
import type { Client } from './model.ts'
import type { ClientBook } from './ports.ts'

/** Clients that are read at a time: a few milliseconds, in which no other request is served. */
const PAGE = 200

export class PublicOrigins {
  readonly #book: Pick<ClientBook, 'readClient' | 'readClients'>
  /** by client; those of public and enabled ones */
  #originsOf = new Map<string, readonly string[]>()
  /** by origin: how many clients have it */
  #count = new Map<string, number>()
  /** clients to be read again */
  readonly #changed = new Set<string>()
  #isLoaded = false
  #loading: Promise<void> | undefined

  constructor(book: Pick<ClientBook, 'readClient' | 'readClients'>) {
    this.#book = book
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
    // What is added meanwhile is visited too.
    for (const id of this.#changed) await this.#readAgain(id)
  }

  /** Ends with `isLoaded` unset if everything was forgotten meanwhile. */
  async #loadAll(): Promise<void> {
    this.#originsOf = new Map()
    this.#count = new Map()
    this.#changed.clear()
    this.#isLoaded = true
    try {
      for (let after = ''; ; ) {
        const page = await this.#book.readClients({ after, limit: PAGE })
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
    // Before the client is read: a change that comes while it is read has it read once more.
    this.#changed.delete(id)
    try {
      this.#put(id, await this.#book.readClient(id))
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
