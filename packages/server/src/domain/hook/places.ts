/** Counts the calls under way, in total, by client and by wallet, so that slow answers for one of them leave places for the others. */
const PLACES = { total: 128, client: 64, wallet: 8 } as const

export class Places {
  readonly #taken = new Map<string, number>()

  /** Null if no place is free. Otherwise call the function that is returned when the call has ended. */
  take(clientId: string, wallet: string): (() => void) | null {
    const limits: [key: string, atMost: number][] = [
      ['', PLACES.total],
      [`client ${clientId}`, PLACES.client],
      [`wallet ${wallet}`, PLACES.wallet],
    ]
    if (limits.some(([key, atMost]) => (this.#taken.get(key) ?? 0) >= atMost)) return null
    for (const [key] of limits) this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1)
    return () => {
      for (const [key] of limits) {
        const left = (this.#taken.get(key) ?? 1) - 1
        if (left === 0) this.#taken.delete(key)
        else this.#taken.set(key, left)
      }
    }
  }
}
