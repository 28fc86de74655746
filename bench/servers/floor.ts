/** Starts the Fastify server that does the least: it gets the same requests as the others and reads none of them. */
import { once } from 'node:events'
import { join } from 'node:path'
import { basic } from '../request.ts'
import type { Target } from '../target.ts'
import { freePort, runNode, startNode } from './process.ts'

/** `home`: if present, the package that makes the database for the floor of each operation. */
export type FloorStart = { cores: string | null; folder: string; home?: string }

export async function startFloor({ cores, folder, home }: FloorStart): Promise<Target> {
  const port = await freePort()
  const file = join(folder, 'floor.sqlite')
  const log = join(folder, 'floor.log')
  if (home) {
    const env = { GRANTOR_DATABASE_URL: `sqlite:${file}` }
    await runNode({ args: [join(home, 'bin/grantor.js'), 'migrate'], cwd: home, env, cores, log })
  }
  const from = performance.now()
  const args = [join(import.meta.dirname, 'floor-process.ts')]
  const env = {
    PORT: String(port),
    // The limits that `packages/server/bin/grantor.js` sets.
    ...(home ? { FILE: file, NODE_OPTIONS: '--max-semi-space-size=8', MALLOC_ARENA_MAX: '1' } : {}),
  }
  const running = startNode({ args, env, cores, log })
  await once(running.child, 'message')
  return {
    name: home ? FLOOR_OF_OPERATION : 'empty Fastify post',
    port,
    readyAfter: [performance.now() - from],
    running,
    authorization: basic('bench', 'a-secret-of-the-bench-256-bits-long-000000'),
    paths: { token: '/', introspect: '/', revoke: '/', authorize: '/' },
    client: { id: 'bench', secret: '', redirectUri: '' },
    redirect: 302,
    supply: null,
    isFloor: home !== undefined,
    longestBlock: async () => Number.NaN,
    stop: running.stop,
  }
}

export const FLOOR_OF_OPERATION = 'floor'
