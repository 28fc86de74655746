/** Answers that count again for some seconds, in bounded memory: beyond the bound, the oldest is forgotten, and the hook is called again. */
import type { HookAnswer } from './answer.ts'

const ANSWERS_AT_MOST = 10_000

export class KnownAnswers {
  readonly #answers = new Map<string, { answer: HookAnswer; from: number; until: number }>()

  /** Null also if the clock was set back to before the answer. */
  find(key: string, at: number): HookAnswer | null {
    const known = this.#answers.get(key)
    return known && known.from <= at && at < known.until ? known.answer : null
  }

  add(key: string, answer: HookAnswer, { from, seconds }: { from: number; seconds: number }): void {
    if (seconds <= 0) return
    this.#answers.delete(key)
    this.#answers.set(key, { answer, from, until: from + seconds })
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= ANSWERS_AT_MOST) break
      this.#answers.delete(oldest)
    }
  }
}
