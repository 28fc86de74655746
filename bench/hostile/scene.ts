/** What one caller does while others refresh their tokens. */
import type { Answer } from '../load/connection.ts'
import { latenciesOf } from '../load/open-loop.ts'
import type { Target } from '../target.ts'

export type Beside = {
  /** makes what one round needs, before the round */
  ready?(seconds: number): Promise<void>
  during(seconds: number): Promise<void>
  /** waits until nothing of the round is left */
  settle?(): Promise<void>
  /** how often each status was the answer */
  answered?: Record<string, number>
  stop?(): Promise<void>
}

export type Scene = {
  name: string
  /** `development`: `grantor start` on SQLite, which calls addresses on this machine */
  server: 'production' | 'development'
  prepare(target: Target): Promise<Beside>
}

/** Connections of the callers of one scene. */
const CONNECTIONS = 256

/** Requests at a constant rate. Every answer is accepted, and counted by its status. */
export function storm({ port }: Target, next: () => string, rate: number): Beside & { answered: Record<string, number> } {
  const answered: Record<string, number> = {}
  const accept = ({ status }: Answer) => void (answered[status] = (answered[status] ?? 0) + 1)
  return {
    answered,
    async during(seconds) {
      await latenciesOf(port, { next, accept }, { connections: CONNECTIONS, rate, seconds })
    },
  }
}
