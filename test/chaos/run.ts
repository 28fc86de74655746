/** One run: an empty database, real processes, people who live on them, faults in between; then calm, an audit, a verdict. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { run as runCommand } from '../cli/run.ts'
import { freePorts } from '../support/free-ports.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from '../support/start.ts'
import { owner } from '../support/wallet-contracts.ts'
import { Actor, type Place } from './actor.ts'
import { checkHistory, type Violation } from './check-history.ts'
import type { Rules } from './endings.ts'
import { type Entry, now } from './history.ts'
import { createNodes, type ServiceNode } from './nodes.ts'
import { type Random, seeded } from './random.ts'
import { type RecordedChain, startRecordedChain, type Wallet } from './recorded-chain.ts'
import { type AppClient, RecordedClient, type ResourceServer } from './recorded-client.ts'

export type Fault = {
  name: string
  /** brings it about; what it breaks it mends, before it resolves */
  strike(scene: Scene): Promise<void>
}

export type Scene = {
  nodes: readonly ServiceNode[]
  random: Random
  databaseUrl: string
  /** of the contract wallets */
  chain: RecordedChain
  /** notes a moment from which on it is counted how long the service needs to be back */
  mark(after: string): void
}

/** A moment by the clock of the history. */
export type Mark = { after: string; at: number }

export type Run = {
  name: string
  seed: number
  nodes: number
  /** an empty database; one SQLite file when absent */
  databaseUrl?: string
  seconds: number
  people: number
  /** more of them, whose wallet is a contract (ERC-1271) */
  contractPeople: number
  racers: number
  faults: readonly Fault[]
  /** milliseconds for which a request without an answer may still be worked on */
  settling?: number
}

export type Outcome = {
  seed: number
  history: Entry[]
  violations: Violation[]
  /** lines of the service's logs that call for somebody */
  alarms: string[]
  faults: Record<string, number>
  cuts: number
  /** questions to the chain of the contract wallets, counting each of its two RPCs */
  chainChecks: number
  marks: Mark[]
  /** whether every question of the audit was answered in the end, once there was calm */
  recovered: boolean
}

const [CODE_LIFETIME, RETRY_WINDOW, RETRY_WINDOW_PUBLIC] = [60, 60, 10]

export async function perform(run: Run): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-chaos-'))
  const [authPort, loginPort] = (await freePorts(2)) as [number, number]
  const env = {
    GRANTOR_AUTH_URL: `http://localhost:${authPort}`,
    GRANTOR_LOGIN_URL: `http://localhost:${loginPort}`,
    GRANTOR_DATABASE_URL: run.databaseUrl ?? `sqlite:${join(folder, 'grantor.sqlite')}`,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    GRANTOR_RATE_LIMIT: 'off',
    GRANTOR_LOG_LEVEL: 'info',
  }
  const random = seeded(run.seed)
  const jumpingClock = run.faults.some(({ name }) => name.startsWith('clock'))
  const { clients, resourceServer } = await prepare(env)
  const recorded = new RecordedClient(env.GRANTOR_AUTH_URL, resourceServer)
  const chain = await startRecordedChain(recorded.history, String(run.seed))
  const nodes = await createNodes(run.nodes, { env: { ...env, ...chain.env }, folder, jumpingClock })
  try {
    await Promise.all(nodes.map((node) => node.start()))
    const settling = run.settling ?? 50
    const place: Place = { recorded, chain, nodes, clients, racers: run.racers, settling }
    const wallets = await walletsOf(run, chain)
    const people = await Promise.all(
      wallets.map((wallet, index) => Actor.signedIn(place, random.stream(`person ${index} of ${run.seed}`), wallet)),
    )

    const marks: Mark[] = []
    const mark = (after: string): void => void marks.push({ after, at: now() })
    const until = performance.now() + run.seconds * 1000
    const [faults] = await Promise.all([
      strikeUntil(until, run, { nodes, random: random.stream('faults'), databaseUrl: env.GRANTOR_DATABASE_URL, chain, mark }),
      ...people.map((person) => person.live(until)),
    ])
    const auditBegin = recorded.history.length
    await Promise.all(people.map((person) => person.audit()))
    const last = recorded.history.slice(auditBegin)
    return {
      seed: run.seed,
      history: recorded.history,
      violations: checkHistory(recorded.history, rulesFor(clients, settling)),
      alarms: nodes.flatMap((node) => alarmsIn(node.log())),
      faults,
      cuts: nodes.reduce((sum, { proxy }) => sum + proxy.cuts(), 0),
      chainChecks: chain.checks(),
      marks,
      recovered: [...Map.groupBy(last, ({ asked }) => JSON.stringify(asked)).values()].every((tries) =>
        tries.some(({ told }) => told.kind !== 'lost'),
      ),
    }
  } finally {
    await Promise.all(nodes.map((node) => node.close()))
    await chain.close()
    if (process.env.TEST_KEEP_CHAOS !== '1') rmSync(folder, { recursive: true, force: true })
  }
}

async function walletsOf({ people, contractPeople, seed }: Run, chain: RecordedChain): Promise<Wallet[]> {
  const wallets: Wallet[] = Array.from({ length: people }, (_, index) => ({
    kind: 'ordinary',
    ...owner(`person ${index} of ${seed}`),
  }))
  while (wallets.length < people + contractPeople) wallets.push(await chain.deploy())
  return wallets
}

/** Makes the tables, three apps of different kinds, and the resource API they are for. */
async function prepare(env: Record<string, string>): Promise<{ clients: AppClient[]; resourceServer: ResourceServer }> {
  const at = Math.floor(Date.now() / 1000)
  const migrated = await runCommand(['migrate'], env, at)
  if (migrated.exit !== 0) throw new Error(`migrate: ${migrated.err}`)

  async function register(...options: string[]): Promise<ResourceServer> {
    const { exit, out, err } = await runCommand(['clients', 'create', ...options, '--json'], env, at)
    if (exit !== 0) throw new Error(`clients create: ${err}`)
    const { client_id, client_secret } = JSON.parse(out) as { client_id: string; client_secret: string | null }
    return { id: client_id, secret: client_secret ?? '' }
  }
  const clients: AppClient[] = []
  for (const { name, options, consent } of APPS) {
    const redirectUri = `https://${name.toLowerCase()}.example.net/callback`
    const registered = await register('--name', name, '--redirect-uri', redirectUri, '--consent', consent, ...options)
    clients.push({ ...registered, redirectUri, consent })
  }
  // Without a resource of its own a token is meant for the service itself.
  const resourceServer = await register('--name', 'Vault', '--resource-server', env.GRANTOR_AUTH_URL ?? '')
  return { clients, resourceServer }
}

const APPS = [
  { name: 'Aurora', consent: 'session', options: [] },
  { name: 'Harbour', consent: 'session', options: ['--public'] },
  { name: 'Meadow', consent: 'signed', options: [] },
] as const

function rulesFor(clients: readonly AppClient[], settling: number): Rules {
  const isPublic = new Set(clients.filter(({ secret }) => secret === '').map(({ id }) => id))
  return {
    codeLifetime: CODE_LIFETIME,
    refreshRetryWindow: (client) => (isPublic.has(client) ? RETRY_WINDOW_PUBLIC : RETRY_WINDOW),
    signed: new Set(clients.filter(({ consent }) => consent === 'signed').map(({ id }) => id)),
    settling,
  }
}

async function strikeUntil(until: number, run: Run, scene: Scene): Promise<Record<string, number>> {
  const { nodes, random } = scene
  const struck: Record<string, number> = {}
  const most = Math.min(1.5, run.seconds / 4) * 1000
  while (run.faults.length > 0) {
    const wait = most / 4 + random.below((most * 3) / 4)
    if (performance.now() + wait > until) break
    await pause(wait)
    const fault = random.pick(run.faults)
    struck[fault.name] = (struck[fault.name] ?? 0) + 1
    await fault.strike(scene)
  }
  for (const node of nodes) node.setOffset(0)
  return struck
}

/** That the store was away, or the chain of contract wallets. */
const TOLD_AND_TRUE = /^(StoreUnavailable|OAuthError: temporarily_unavailable: contract_could_not_be_checked)/

/** What somebody would have to look at: alarms of the audit log, defects, and whatever is no line of a log. */
function alarmsIn(log: string): string[] {
  return log.split('\n').filter((line) => {
    if (line === '') return false
    if (!line.startsWith('{')) return true
    const { level, alarm, err } = JSON.parse(line) as { level: number | string; alarm?: boolean; err?: { stack?: string } }
    const severe = typeof level === 'number' ? level >= 50 : level === 'error' || level === 'fatal'
    return alarm === true || (severe && !TOLD_AND_TRUE.test(err?.stack ?? ''))
  })
}
