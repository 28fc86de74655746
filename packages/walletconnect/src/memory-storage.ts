/**
 * Replaces `@walletconnect/keyvaluestorage` in the bundle, so that the library has no way to write to localStorage or IndexedDB: the keys
 * of a connection end with the page.
 */
export default class MemoryStorage {
  readonly #items = new Map<string, unknown>()

  async getKeys(): Promise<string[]> {
    return [...this.#items.keys()]
  }

  async getEntries<T>(): Promise<[string, T][]> {
    return [...this.#items] as [string, T][]
  }

  async getItem<T>(key: string): Promise<T | undefined> {
    return this.#items.get(key) as T | undefined
  }

  async setItem(key: string, value: unknown): Promise<void> {
    this.#items.set(key, value)
  }

  async removeItem(key: string): Promise<void> {
    this.#items.delete(key)
  }
}
