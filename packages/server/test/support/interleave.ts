/** Runs two operations at once, in every order in which their store calls can be cut in two, as a slow disk or another node may do. */
import type { Deps } from '../../src/domain/model/deps.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/index.ts'
import type { App } from './app.ts'
import { startSignedApp } from './signed-app.ts'

/** Holds a caller of a store before one of its calls. */
class Turnstile {
  #count = 0
  #holdAt = Number.POSITIVE_INFINITY
  #reached: () => void = () => {}
  #open: () => void = () => {}

  /** Wraps every method of the store's parts, in place. */
  constructor(store: Store) {
    for (const book of [store.grants, store.wallets, store.sessions, store.receipts]) {
      const methods = book as unknown as Record<string, (...args: unknown[]) => unknown>
      for (const [name, method] of Object.entries(methods)) {
        methods[name] = async (...args) => {
          if (this.#count++ === this.#holdAt) {
            this.#reached()
            await new Promise<void>((resolve) => (this.#open = resolve))
          }
          return method(...args)
        }
      }
    }
  }

  /** Runs the operation until it has made `calls` calls, or to its end. */
  async begin<Result>(calls: number, run: () => Promise<Result>): Promise<{ go(): Promise<Result> }> {
    this.#count = 0
    this.#holdAt = calls
    const reached = new Promise<void>((resolve) => (this.#reached = resolve))
    const result = run()
    await Promise.race([reached, result])
    this.#holdAt = Number.POSITIVE_INFINITY
    return {
      go: () => {
        this.#open()
        return result
      },
    }
  }
}

export type Cut = {
  /** the operation that begins, is held, and ends last */
  outer: 'request' | 'ending'
  /** the number of calls of each operation before the other one continues */
  request: number
  ending: number
}

export type TwoNodes = {
  app: App
  /** another node on the same file, which performs the endings */
  node: Deps
  /** Runs both operations, each cut once. */
  cut<Answer>(at: Cut, request: () => Promise<Answer>, ending: () => Promise<unknown>): Promise<Answer>
  close(): Promise<void>
}

export async function startTwoNodes(): Promise<TwoNodes> {
  const app = await startSignedApp({ failureLimit: 1_000_000 })
  const node = { ...app.grantor.deps, store: openSqliteStore(app.grantor.databasePath) }
  const [here, there] = [new Turnstile(app.grantor.store), new Turnstile(node.store)]
  return {
    app,
    node,
    async cut(at, request, ending) {
      if (at.outer === 'request') {
        const asked = await here.begin(at.request, request)
        const ended = await there.begin(at.ending, ending)
        const answer = await asked.go()
        await ended.go()
        return answer
      }
      const ended = await there.begin(at.ending, ending)
      const asked = await here.begin(at.request, request)
      await ended.go()
      return asked.go()
    },
    async close() {
      await node.store.close()
      await app.close()
    },
  }
}

/**
 * Every cut of a request of at most `request` store calls and an ending of at most `ending`. The outer operation makes at least one
 * call first. Without this call, the cut would be the same as a cut in which the other operation is the outer one.
 */
export function allCuts(request: number, ending: number): Cut[] {
  const between = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const cuts = (outer: Cut['outer'], first: [request: number, ending: number]): Cut[] =>
    between(first[0], request).flatMap((asked) =>
      between(first[1], ending).map((ended) => ({ outer, request: asked, ending: ended })),
    )
  return [...cuts('request', [1, 0]), ...cuts('ending', [0, 1])]
}
