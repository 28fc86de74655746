/** Starts oidc-provider in a process of its own, which also makes the codes and tokens that requests use. */
import { once } from 'node:events'
import { join } from 'node:path'
import { basic } from '../request.ts'
import type { Client, Target } from '../target.ts'
import { freePort, startNode } from './process.ts'

export async function startPeer({ cores, folder }: { cores: string | null; folder: string }): Promise<Target> {
  const port = await freePort()
  const client: Client = {
    id: 'bench',
    secret: 'a-secret-of-the-bench-256-bits-long-000000',
    redirectUri: 'https://app.example.net/callback',
  }
  const from = performance.now()
  const running = startNode({
    args: [join(import.meta.dirname, 'peer-process.ts')],
    env: {
      PORT: String(port),
      BENCH_CLIENT_ID: client.id,
      BENCH_CLIENT_SECRET: client.secret,
      BENCH_REDIRECT_URI: client.redirectUri,
    },
    cores,
    log: join(folder, 'oidc-provider.log'),
  })
  await once(running.child, 'message')
  const readyAfter = [performance.now() - from]

  const asking = new Map<string, Promise<string[]>>()
  // One message at a time, because the replies have no id.
  async function make(what: string, count: number): Promise<string[]> {
    await asking.get('last')
    const answer = once(running.child, 'message').then(([made]) => made as string[])
    asking.set('last', answer)
    running.child.send({ make: what, count })
    return answer
  }
  return {
    name: 'oidc-provider',
    port,
    readyAfter,
    running,
    authorization: basic(client.id, client.secret),
    paths: { token: '/token', introspect: '/token/introspection', revoke: '/token/revocation', authorize: '/auth' },
    client,
    redirect: 303,
    supply: {
      forget: async () => void (await make('nothing', 0)),
      codes: (count) => make('codes', count),
      refreshTokens: (count) => make('refreshTokens', count),
      accessTokens: (count) => make('accessTokens', count),
      sessions: async (count) => (await make('sessions', count)).map((id) => `_session=${id}`),
    },
    longestBlock: async () => Number.NaN,
    stop: running.stop,
  }
}
