/** The API processes of a run. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ApiOptions, FromApi, ToApi } from './api-process.ts'
import type { Sighting } from './check-feed.ts'

const PROGRAM = fileURLToPath(new URL('api-process.ts', import.meta.url))

export type Apis = {
  watch(id: string, token: string): void
  /** Ends the checks of these tokens. Resolves when `sightings` has what all APIs did with them. */
  stop(ids: readonly string[]): Promise<void>
  sightings: Sighting[]
  /** the number of checks to which the APIs responded with 503 */
  unavailable(): number
  close(): Promise<void>
}

/** Starts one process for each of the options. Resolves when all have a complete feed. */
export async function startApis(all: readonly ApiOptions[]): Promise<Apis> {
  const apis = await Promise.all(all.map(startApi))
  const sightings: Sighting[] = []
  return {
    sightings,
    watch: (id, token) => {
      for (const api of apis) api.tell({ op: 'watch', id, token })
    },
    async stop(ids) {
      for (const seen of await Promise.all(apis.map((api) => api.stop([...ids])))) sightings.push(...seen)
    },
    unavailable: () => apis.reduce((sum, api) => sum + api.unavailable(), 0),
    close: async () => void (await Promise.all(apis.map((api) => api.close()))),
  }
}

async function startApi(options: ApiOptions) {
  const child = fork(PROGRAM, [], { execArgv: ['--conditions=grantor-source'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const exit = once(child, 'exit')
  const ended = exit.then((): never => {
    throw new Error(`the process of ${options.name} has ended`)
  })
  ended.catch(() => undefined)
  const waiting: ((sightings: Sighting[]) => void)[] = []
  let unavailable = 0
  // A process that has ended is reported by `ended`.
  const tell = (message: ToApi) => child.connected && void child.send(message, () => undefined)
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message: FromApi) => {
      if (message.op === 'ready') return resolve()
      unavailable = message.unavailable
      waiting.shift()?.(message.sightings)
    })
  })
  tell({ op: 'start', options })
  await Promise.race([ready, ended])
  return {
    tell,
    stop(ids: string[]): Promise<Sighting[]> {
      const seen = new Promise<Sighting[]>((resolve) => void waiting.push(resolve))
      tell({ op: 'stop', ids })
      return Promise.race([seen, ended])
    },
    unavailable: () => unavailable,
    async close() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
