/** Restarts real nodes behind a balancer one after the other, while users send requests without a pause. */
import { setTimeout as pause } from 'node:timers/promises'
import { launch, type Running } from '../app/run.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, TEST_LOGIN_SECRET, TEST_SECRET, type TestClient } from '../support/start.ts'
import { type Answer, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { owner } from '../support/wallet-contracts.ts'
import { DATABASE_AWAY, runCommand } from './nodes.ts'

export type RollingRestart = {
  databaseUrl: string
  nodes: number
  /** arguments after `grantor serve` */
  argv?: string[]
  people: number
  /** milliseconds for which each user waits after a request */
  pauseMs: number
  /** every node is restarted at least once; the rounds end after these seconds */
  seconds: number
  drainSeconds: number
  /** milliseconds between two probes of the balancer */
  probeMs: number
}

export type RestartOutcome = {
  restarts: number
  answered: number
  /** the failed requests, with the unexpected response or error */
  failed: string[]
  /** the exit code of each stopped node, and the longest stop in seconds */
  exits: (number | null)[]
  longestStop: number
}

type Deployment = { balancer: Balancer; start(port: number): Promise<Running>; running: Map<number, Running> }

export async function restartInTurn(options: RollingRestart): Promise<RestartOutcome> {
  const ports = await freePorts(options.nodes)
  const balancer = await startBalancer(ports, options.probeMs)
  const env = {
    GRANTOR_AUTH_URL: balancer.url,
    GRANTOR_LOGIN_URL: 'http://login.localhost:9',
    GRANTOR_DATABASE_URL: options.databaseUrl,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    GRANTOR_RATE_LIMIT: 'off',
    GRANTOR_DRAIN_SECONDS: String(options.drainSeconds),
    GRANTOR_LOG_LEVEL: 'warn',
  }
  const running = new Map<number, Running>()
  const start = async (port: number) => {
    for (;;) {
      const node = launch(['serve', ...(options.argv ?? [])], { ...env, GRANTOR_LISTEN: `127.0.0.1:${port}` })
      running.set(port, node)
      const isReady = await Promise.race([balancer.until(port, 'in').then(() => true), failedStart(node)])
      if (isReady) return node
    }
  }
  try {
    const client = await prepare(env)
    await Promise.all(ports.map(start))
    const load = startLoad(balancer.url, client, options)
    await load.allSignedIn
    const restarted = await restartAll({ balancer, start, running }, ports, options.seconds)
    return { ...restarted, ...(await load.stop()) }
  } finally {
    for (const { child } of running.values()) child.kill('SIGKILL')
    await balancer.close()
  }
}

/** Resolves to false if the database did not respond in time: the node is then started again. */
async function failedStart(node: Running): Promise<false> {
  const { code } = await node.ended()
  if (node.err().startsWith(DATABASE_AWAY)) return false
  throw new Error(`a node ended with ${code}: ${node.out().slice(-2000)}${node.err()}`)
}

async function restartAll({ balancer, start, running }: Deployment, ports: number[], seconds: number) {
  const until = performance.now() + seconds * 1000
  const exits: (number | null)[] = []
  let longestStop = 0
  do {
    for (const port of ports) {
      const ended = running.get(port)!.ended()
      running.get(port)!.child.kill('SIGTERM')
      const { code, ms } = await ended
      exits.push(code)
      longestStop = Math.max(longestStop, ms / 1000)
      await start(port)
      // Wait until the node serves requests again. If it does not, the test times out.
      await balancer.untilAnswered(port)
    }
  } while (performance.now() < until)
  return { restarts: exits.length, exits, longestStop }
}

/** Migrates the database, and registers an app. */
async function prepare(env: Record<string, string>): Promise<TestClient> {
  const redirectUri = 'https://app.example.net/callback'
  const create = ['clients', 'create', '--name', 'App', '--redirect-uri', redirectUri, '--json']
  for (const argv of [['migrate'], create]) {
    const { exit, out, err } = await runCommand(argv, env)
    if (exit !== 0) throw new Error(err)
    if (argv !== create) continue
    const { client_id: id, client_secret: secret } = JSON.parse(out) as { client_id: string; client_secret: string }
    return { id, secret, redirectUris: [redirectUri] } as TestClient
  }
  throw new Error('unreachable')
}

function startLoad(url: string, client: TestClient, { people, pauseMs }: Pick<RollingRestart, 'people' | 'pauseMs'>) {
  const failed: string[] = []
  let answered = 0
  const state = { isOver: false }

  /** Counts a response with the expected status. Records any other response or error as failed, and returns null. */
  async function expectStatus(what: string, status: number, asking: Promise<Answer>): Promise<Answer | null> {
    const answer = await asking.catch((error: unknown) => String(error))
    if (pauseMs > 0) await pause(pauseMs)
    if (typeof answer !== 'string' && answer.status === status) {
      answered++
      return answer
    }
    failed.push(`${what}: ${typeof answer === 'string' ? answer : `${answer.status} ${answer.body.slice(0, 200)}`}`)
    return null
  }

  async function runUser(walk: Walk): Promise<void> {
    while (!state.isOver) {
      const authorized = await expectStatus('authorize', 302, walk.authorize(requestOf(client)))
      const code = authorized && parameterOf(authorized.location, 'code')
      let tokens = code && (await expectStatus('exchange', 200, walk.exchange(client, code)))?.json()
      for (let turns = 0; tokens && turns < 3 && !state.isOver; turns++) {
        const { access_token: access, refresh_token: refresh } = tokens
        const introspected = await expectStatus('introspect', 200, walk.introspect(client, String(access)))
        if (introspected && introspected.json().active !== true) failed.push('introspect: a living token is inactive')
        tokens = (await expectStatus('refresh', 200, walk.refresh(client, String(refresh))))?.json()
      }
      if (tokens) await expectStatus('revoke', 200, walk.revoke(client, String(tokens.refresh_token)))
    }
  }

  const signedIn = Array.from({ length: people }, async (_, index) => {
    const walk = new Walk({ authUrl: url } as Grantor, owner(`person ${index}`))
    await walk.signIn(requestOf(client))
    return walk
  })
  const runs = signedIn.map(async (walk) => runUser(await walk))
  return {
    allSignedIn: Promise.all(signedIn),
    async stop() {
      state.isOver = true
      await Promise.all(runs)
      return { answered, failed }
    },
  }
}
