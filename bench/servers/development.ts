/**
 * Starts `grantor start`, the only composition that accepts metadata documents on this machine. The log goes to a file. The address of the
 * proxy is trusted, so that a request can name a network of its own.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { basic } from '../request.ts'
import type { Target } from '../target.ts'
import { observeEngine } from './engine.ts'
import { runNode, startCommand, untilReady } from './process.ts'
import { signInWith } from './sign-in.ts'
import { supplyFrom } from './supply.ts'
import { makeWallet } from './wallet.ts'

export async function startDevelopment(start: {
  home: string
  cores: string | null
  folder: string
  observed?: boolean
}): Promise<Target> {
  const port = await fiveInARow()
  const [authUrl, loginUrl] = [`http://localhost:${port}`, `http://localhost:${port + 1}`]
  const log = join(start.folder, 'grantor-start.log')
  const [program, data] = [join(start.home, 'bin/grantor.js'), join(start.folder, 'data')]
  const engine = start.observed ? observeEngine(join(start.folder, 'engine-start.log')) : undefined
  const args = [...(engine?.args ?? []), program, 'start', '--ports', String(port), '--data', data]
  // As in grantor.ts.
  const env = { GRANTOR_TRUSTED_PROXIES: '127.0.0.1', GRANTOR_CODE_LIFETIME: '600', GRANTOR_CODE_LIMIT: '1000000' }
  const running = startCommand({ args, cwd: start.home, env, cores: start.cores, log })
  const isReady = async () => readFileSync(log, 'utf8').includes('Ctrl-C stops everything')
  const readyAfter = [await untilReady(running, log, isReady)]
  const printed = readFileSync(log, 'utf8')
  const [id = '', clientId = ''] = [...printed.matchAll(/ client_id +(\S+)/g)].map(([, value]) => value ?? '')
  const [, secret = ''] = / client_secret +(\S+)/.exec(printed) ?? []
  const bare: Target = {
    name: 'grantor start',
    port,
    readyAfter,
    running,
    authorization: basic(id, secret),
    paths: { token: '/oauth/token', introspect: '/oauth/introspect', revoke: '/oauth/revoke', authorize: '/oauth/authorize' },
    client: { id, secret, redirectUri: `http://localhost:${port + 2}/callback` },
    demo: { clientId, resource: `http://localhost:${port + 4}/mcp` },
    redirect: 302,
    engine,
    supply: null,
    run: (words, how) =>
      runNode({ args: [program, ...words, '--data', data], cwd: start.home, env, cores: start.cores, log, ...how }),
    longestBlock: async () => Number.NaN,
    stop: running.stop,
  }
  const signIn = async (authorize: string) => {
    const { cookie } = await signInWith(authUrl, authorize, async (challenge) => {
      const body = new URLSearchParams({ login_challenge: challenge, address: makeWallet().address })
      const signed = await fetch(`${loginUrl}/login/development-wallet`, {
        method: 'POST',
        headers: { accept: 'application/json' },
        body,
      })
      return ((await signed.json()) as { redirect_to: string }).redirect_to
    })
    return cookie
  }
  return { ...bare, supply: supplyFrom(bare, { signIn }) }
}

/** The first of five free ports. */
async function fiveInARow(): Promise<number> {
  for (let port = 20_000; port < 30_000; port += 5) {
    const free = await Promise.all([0, 1, 2, 3, 4].map((offset) => isFree(port + offset)))
    if (free.every(Boolean)) return port
  }
  throw new Error('no five ports in a row are free')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
