/**
 * Shares the outcome of a final change, such as the ending of a grant, with calls for the same change that arrive meanwhile. The statements that change one
 * row run one after the other. Without this, 1,000 repeated revocations of one token a second wait for each other, and their requests live
 * so long that they reach the old generation of the heap (docs/decisions/0012-bounds-of-callers.md).
 */
export class RepeatedChanges<Outcome extends string> {
  readonly #repeated: Partial<Record<Outcome, Outcome>>
  readonly #running = new Map<string, Promise<Outcome>>()

  /** `repeated`: for each outcome that is final, the outcome of a repeated change. */
  constructor(repeated: Partial<Record<Outcome, Outcome>>) {
    this.#repeated = repeated
  }

  /**
   * Runs the change, unless the change `key` is running. If that change fails, the call fails with the same error. If its outcome is not final, the
   * change runs again.
   */
  async run(key: string, change: () => Promise<Outcome>): Promise<Outcome> {
    const earlier = this.#running.get(key)
    if (earlier) return this.#repeated[await earlier] ?? change()
    const running = change()
    this.#running.set(key, running)
    try {
      return await running
    } finally {
      this.#running.delete(key)
    }
  }
}
