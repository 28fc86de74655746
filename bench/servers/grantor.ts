/** Starts Grantor as an operator does: the built package, `migrate`, a client, `serve`. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { basic } from '../request.ts'
import type { Client, Target } from '../target.ts'
import { observeEngine } from './engine.ts'
import { freePort, type Running, runNode, startCommand, untilReady } from './process.ts'
import { signIn } from './sign-in.ts'
import { supplyFrom } from './supply.ts'

export type GrantorStart = {
  name: string
  /** the package as it is installed: `bin`, `dist` and what they need */
  home: string
  /** `sqlite:…` or `postgres://…` of a database for this run only */
  databaseUrl: string
  workers: number
  cores: string | null
  /** the folder for the logs */
  folder: string
  /** the number of starts that are measured; the last process is used */
  starts: number
  /** fills the database before the measured starts; the rows that the service has made are present */
  fill?: () => Promise<void>
  /** the number of refresh tokens that are made before `fill` and returned by the first call of the supply; 1 if absent, which is not returned */
  chains?: number
  /** whether its collections of garbage and the delays of its event loop are counted */
  observed?: boolean
  /** whether metrics are on, which measure the event loop */
  metrics?: boolean
  /** the options of `clients create` for its client, in place of a redirect URI */
  registration?: string[]
  /** further settings */
  settings?: Record<string, string>
}

export async function startGrantor(start: GrantorStart): Promise<Target> {
  const port = await freePort()
  const authUrl = `http://localhost:${port}`
  const loginSecret = randomBytes(32).toString('base64url')
  const log = join(start.folder, `${start.name.replaceAll(/\W+/g, '-')}.log`)
  const env = {
    GRANTOR_AUTH_URL: authUrl,
    GRANTOR_LOGIN_URL: `http://localhost:${await freePort()}`,
    GRANTOR_DATABASE_URL: start.databaseUrl,
    GRANTOR_SECRET: randomBytes(32).toString('base64url'),
    GRANTOR_LOGIN_SECRET: loginSecret,
    // The longest there is: codes are made before the clock runs.
    GRANTOR_CODE_LIFETIME: '600',
    // The load has few wallets and one network.
    GRANTOR_RATE_LIMIT: 'off',
    ...start.settings,
  }
  const grantor = (...words: string[]) => ({
    args: [join(start.home, 'bin/grantor.js'), ...words],
    cwd: start.home,
    env,
    cores: start.cores,
    log,
  })
  const redirectUri = 'https://app.example.net/callback'
  await runNode(grantor('migrate'))
  const { registration = ['--redirect-uri', redirectUri] } = start
  const created = await runNode(grantor('clients', 'create', '--name', 'Bench', ...registration, '--json'))
  const { client_id, client_secret } = JSON.parse(created) as { client_id: string; client_secret: string | null }
  const client: Client = { id: client_id, secret: client_secret ?? '', redirectUri }

  const readyAfter: number[] = []
  const engine = start.observed ? observeEngine(join(start.folder, 'engine.log')) : undefined
  const startOn = async (listenPort: number, { cores = start.cores, more = {} } = {}) => {
    const words = start.workers > 1 ? ['--workers', String(start.workers)] : []
    const listen = { GRANTOR_LISTEN: `127.0.0.1:${listenPort}`, ...more }
    const command = grantor('serve', ...words)
    const args = [...(engine?.args ?? []), ...command.args]
    const running = startCommand({ ...command, args, env: { ...env, ...listen }, cores })
    const isReady = async () => {
      const answer = await fetch(`http://127.0.0.1:${listenPort}/health/ready`).catch(() => null)
      await answer?.arrayBuffer()
      return answer?.ok ?? false
    }
    const milliseconds = await untilReady(running, log, isReady)
    return { running, milliseconds }
  }
  const metricsUrl = start.metrics ? `127.0.0.1:${await freePort()}` : null
  const serve = async () => {
    const metrics = metricsUrl === null ? {} : { GRANTOR_METRICS_LISTEN: metricsUrl }
    const { running, milliseconds } = await startOn(port, { more: metrics })
    readyAfter.push(milliseconds)
    return running
  }
  const target = (running: Running, kept: string[] = []): Target => {
    const bare: Omit<Target, 'supply'> = {
      name: start.name,
      port,
      readyAfter,
      running,
      authorization: basic(client.id, client.secret),
      paths: { token: '/oauth/token', introspect: '/oauth/introspect', revoke: '/oauth/revoke', authorize: '/oauth/authorize' },
      client,
      databaseUrl: start.databaseUrl,
      redirect: 302,
      engine,
      longestBlock: async () => (metricsUrl === null ? Number.NaN : longestBlockIn(await readMetrics(metricsUrl))),
      adminUrl: start.settings?.GRANTOR_ADMIN_URL,
      signIn: (path) => signIn(authUrl, loginSecret, path),
      run: (words, how) => runNode({ ...grantor(...words), ...how }),
      startSecond,
      stop: running.stop,
    }
    async function startSecond(cores: string | null): Promise<Target> {
      const secondPort = await freePort()
      const { running: second } = await startOn(secondPort, { cores })
      return {
        ...bare,
        name: `${start.name}, second process`,
        port: secondPort,
        running: second,
        supply: null,
        stop: second.stop,
      }
    }
    const signInAt = async (path: string) => (await signIn(authUrl, loginSecret, path)).cookie
    return {
      ...bare,
      supply: {
        ...supplyFrom({ ...bare, supply: null }, { signIn: signInAt, kept }),
        async accessTokensOfAnotherNode(count) {
          const other = await startSecond(start.cores)
          const tokens = await supplyFrom(other, { signIn: signInAt }).accessTokens(count)
          await other.stop()
          return tokens
        },
      },
    }
  }

  let kept: string[] = []
  if (start.fill) {
    // `fill` copies a grant that the service made.
    const first = target(await serve())
    const made = await first.supply?.refreshTokens(start.chains ?? 1)
    if (made && start.chains !== undefined) kept = made
    await first.stop()
    await start.fill()
    readyAfter.length = 0
  }
  for (let left = start.starts; left > 1; left--) await (await serve()).stop()
  return target(await serve(), kept)
}

async function readMetrics(host: string): Promise<string> {
  return (await fetch(`http://${host}/metrics`)).text()
}

/** Milliseconds, since the metrics were last read. The service measures with a timer of 10 ms. */
function longestBlockIn(metrics: string): number {
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(metrics)?.[1]) * 1000
}
