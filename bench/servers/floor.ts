/** Starts the empty Fastify server, which gets the same requests as the others and looks at none of them. */
import { once } from 'node:events'
import { join } from 'node:path'
import { basic } from '../request.ts'
import type { Target } from '../target.ts'
import { freePort, startNode } from './process.ts'

export async function startFloor({ cores, folder }: { cores: string | null; folder: string }): Promise<Target> {
  const port = await freePort()
  const from = performance.now()
  const args = [join(import.meta.dirname, 'floor-process.ts')]
  const running = startNode({ args, env: { PORT: String(port) }, cores, log: join(folder, 'floor.log') })
  await once(running.child, 'message')
  return {
    name: 'empty Fastify post',
    port,
    readyAfter: [performance.now() - from],
    running,
    authorization: basic('bench', 'a-secret-of-the-bench-256-bits-long-000000'),
    paths: { token: '/', introspect: '/', revoke: '/', authorize: '/' },
    client: { id: 'bench', secret: '', redirectUri: '' },
    redirect: 302,
    supply: null,
    longestBlock: async () => Number.NaN,
    stop: running.stop,
  }
}
