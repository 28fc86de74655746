/** Answers of other servers, in bounded memory, each for the time that the answer gives. Concurrent look-ups of one key share one answer. */

export type CachedAnswer<Value> = {
  value: Value
  /** seconds for which the answer is used without another look-up */
  freshFor: number
  /** what the answer counts towards `sizeAtMost` */
  size: number
}

export type AnswerCacheOptions = {
  entriesAtMost: number
  sizeAtMost: number
  /** look-ups under way; a further look-up does not begin */
  atOnce: number
  /** epoch seconds */
  now: () => number
}

type KeptAnswer<Value> = CachedAnswer<Value> & { at: number }

export class AnswerCache<Value> {
  readonly #options: AnswerCacheOptions
  /** the least recently used first */
  readonly #kept = new Map<string, KeptAnswer<Value>>()
  readonly #underWay = new Map<string, Promise<Value>>()
  #size = 0

  constructor(options: AnswerCacheOptions) {
    this.#options = options
  }

  /** The kept answer, or that of `lookUp`, which is kept. Undefined if too many look-ups are under way. */
  async read(key: string, lookUp: () => Promise<CachedAnswer<Value>>): Promise<Value | undefined> {
    const kept = this.#kept.get(key)
    // The absolute difference: if the clock jumps back, no answer stays fresh for too long.
    if (kept && Math.abs(this.#options.now() - kept.at) < kept.freshFor) return this.#keep(key, kept)
    const underWay = this.#underWay.get(key)
    if (underWay) return underWay
    if (this.#underWay.size >= this.#options.atOnce) return undefined
    const started = lookUp()
      .then((answer) => this.#keep(key, { ...answer, at: this.#options.now() }))
      .finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, started)
    return started
  }

  /** The answer becomes the most recently used one. */
  #keep(key: string, answer: KeptAnswer<Value>): Value {
    this.#drop(key)
    this.#kept.set(key, answer)
    this.#size += answer.size
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#options.entriesAtMost && this.#size <= this.#options.sizeAtMost) break
      this.#drop(oldest)
    }
    return answer.value
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0
    this.#kept.delete(key)
  }
}
