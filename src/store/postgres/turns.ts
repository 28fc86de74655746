/** How many may ask at once: so many, the rest is refused. */
import { StoreUnavailable } from '../../grants/ports.ts'

export class Turns {
  readonly #atMost: number
  #present = 0
  #whenIdle: (() => void)[] = []

  constructor(atMost: number) {
    this.#atMost = atMost
  }

  /** Counts somebody in until the function it returns is called. Throws `StoreUnavailable` where too many are in. */
  enter(): () => void {
    if (this.#present >= this.#atMost) throw new StoreUnavailable('too many statements are waiting')
    this.#present++
    return () => {
      this.#present--
      if (this.#present === 0) for (const tell of this.#whenIdle.splice(0)) tell()
    }
  }

  /** Resolves when nobody is in. */
  async idle(): Promise<void> {
    if (this.#present > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }
}
