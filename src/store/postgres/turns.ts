/** Whose turn it is: so many at once, so many more in line, the rest refused. */
import { StoreUnavailable } from '../../grants/ports.ts'

export class Turns {
  #free: number
  readonly #atMost: number
  #present = 0
  readonly #line = new Set<() => void>()
  #whenIdle: (() => void)[] = []

  constructor(atOnce: number, inLine: number) {
    this.#free = atOnce
    this.#atMost = atOnce + inLine
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

  /** Resolves to the function that ends the turn. Throws `StoreUnavailable` at the deadline, on the clock of `performance`. */
  async take(deadline: number): Promise<() => void> {
    if (this.#free > 0) this.#free--
    else
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(
          () => {
            this.#line.delete(called)
            reject(new StoreUnavailable('PostgreSQL is too slow: the line did not move'))
          },
          Math.max(0, deadline - performance.now()),
        )
        const called = () => {
          clearTimeout(late)
          resolve()
        }
        this.#line.add(called)
      })
    return () => {
      const [next] = this.#line
      if (next === undefined) this.#free++
      else {
        this.#line.delete(next)
        next()
      }
    }
  }

  /** Resolves when nobody is in. */
  async idle(): Promise<void> {
    if (this.#present > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }
}
