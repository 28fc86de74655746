/** One run: an empty database, real processes, users who send requests, and faults; then an audit without faults, and the check. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePorts } from '../support/free-ports.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from '../support/start.ts'
import { owner } from '../support/wallet-contracts.ts'
import { Actor, type Place } from './actor.ts'
import { checkHistory } from './check-history.ts'
import type { Rules } from './endings.ts'
import { type Entry, now, type Violation } from './history.ts'
import { createNodes, DATABASE_AWAY, runCommand, type ServiceNode } from './nodes.ts'
import { checkOrder, type OrderCheck } from './order/index.ts'
import { type Random, seeded } from './random.ts'
import { type RecordedChain, startRecordedChain, type Wallet } from './recorded-chain.ts'
import { type Apis, type AppClient, MOST, PURSE, RecordedClient, type ResourceServer } from './recorded-client.ts'
import type { Settle } from './retry.ts'

export type Fault<In = Scene> = {
  name: string
  /** causes the fault, and repairs the damage before it resolves */
  inject(scene: In): Promise<void>
}

/** A fault that needs no chain. */
export type ServiceFault = Fault<Omit<Scene, 'chain'>>

export type Scene = {
  nodes: readonly ServiceNode[]
  random: Random
  databaseUrl: string
  /** the chain of the contract wallets */
  chain: RecordedChain
  /** records a failure, from which the recovery time is measured */
  mark(after: string): void
}

/** A time of the clock of the history. */
export type Mark = { after: string; at: number }

export type Run = {
  name: string
  seed: number
  nodes: number
  /** an empty database, or a new SQLite file if absent */
  databaseUrl?: string
  seconds: number
  people: number
  /** additional users whose wallet is a contract (ERC-1271) */
  contractPeople: number
  racers: number
  /** how often people draw from a limit, compared with all else that they do (about 150); 30 if absent */
  drawing?: number
  faults: readonly Fault[]
  /** milliseconds for which the service may still process a request that got no response */
  settling?: number
  /** resolves when every statement that had begun at the database before has ended; a busy machine may need longer than `settling` */
  statementsEnded?(): Promise<void>
}

export type Outcome = {
  seed: number
  history: Entry[]
  violations: Violation[]
  /** what was searched for I7 */
  order: OrderCheck
  /** lines of the service's logs that need an operator */
  alarms: string[]
  faults: Record<string, number>
  cuts: number
  /** the number of requests to both RPCs to check a signature */
  chainChecks: number
  marks: Mark[]
  /** what `grantor audit verify` says after the run, or null if the chain of the audit trail holds */
  brokenTrail: string | null
  /** whether every request of the audit got a response in the end */
  recovered: boolean
}

const [CODE_LIFETIME, RETRY_WINDOW, RETRY_WINDOW_PUBLIC] = [60, 60, 10]

export async function performRun(run: Run): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-chaos-'))
  const env = await environmentOf(run.databaseUrl ?? `sqlite:${join(folder, 'grantor.sqlite')}`)
  const random = seeded(run.seed)
  const jumpingClock = run.faults.some(({ name }) => name.startsWith('clock'))
  const { clients, apis } = await prepare(env)
  const recorded = new RecordedClient(env.GRANTOR_AUTH_URL, apis)
  const chain = await startRecordedChain(recorded.history, String(run.seed))
  const nodes = await createNodes(run.nodes, { env: { ...env, ...chain.env }, folder, jumpingClock })
  try {
    await Promise.all(nodes.map((node) => node.start()))
    const settling = run.settling ?? 50
    const { racers, drawing = 30 } = run
    const place: Place = { recorded, chain, nodes, clients, racers, drawing, settle: settleAfter(settling, run) }
    const wallets = await walletsOf(run, chain)
    const people = await Promise.all(
      wallets.map((wallet, index) => Actor.signIn(place, random.stream(`person ${index} of ${run.seed}`), wallet)),
    )

    const marks: Mark[] = []
    const mark = (after: string): void => void marks.push({ after, at: now() })
    const until = performance.now() + run.seconds * 1000
    let isRepaired = false
    const scene: Scene = { nodes, random: random.stream('faults'), databaseUrl: env.GRANTOR_DATABASE_URL, chain, mark }
    // The load continues until the last fault is repaired, also if this takes longer.
    const injecting = injectUntil(until, run, scene).finally(() => (isRepaired = true))
    const isOver = () => isRepaired && performance.now() >= until
    const [faults] = await Promise.all([injecting, ...people.map((person) => person.actUntil(isOver))])
    const auditBegin = recorded.history.length
    await Promise.all(people.map((person) => person.audit()))
    const last = recorded.history.slice(auditBegin)
    const rules = rulesFor(clients, settling)
    const order = checkOrder(recorded.history, rules)
    return {
      seed: run.seed,
      history: recorded.history,
      violations: [...checkHistory(recorded.history, rules), ...order.violations],
      order,
      alarms: nodes.flatMap((node) => alarmsIn(node.log())),
      faults,
      cuts: nodes.reduce((sum, { proxy }) => sum + proxy.cuts(), 0),
      chainChecks: chain.checks(),
      marks,
      brokenTrail: await verifyTrail(env),
      recovered: [...Map.groupBy(last, ({ request }) => JSON.stringify(request)).values()].every((tries) =>
        tries.some(({ response }) => response.kind !== 'lost'),
      ),
    }
  } finally {
    await Promise.all(nodes.map((node) => node.close()))
    await chain.close()
    if (process.env.TEST_KEEP_CHAOS !== '1') rmSync(folder, { recursive: true, force: true })
  }
}

/** The settings of the nodes of one run. */
export async function environmentOf(databaseUrl: string) {
  const [authPort, loginPort] = (await freePorts(2)) as [number, number]
  return {
    GRANTOR_AUTH_URL: `http://localhost:${authPort}`,
    GRANTOR_LOGIN_URL: `http://localhost:${loginPort}`,
    GRANTOR_DATABASE_URL: databaseUrl,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    GRANTOR_RATE_LIMIT: 'off',
    GRANTOR_LOG_LEVEL: 'info',
  }
}

function settleAfter(settling: number, { statementsEnded }: Pick<Run, 'statementsEnded'>): Settle {
  return async (lost) => {
    await pause(settling)
    await statementsEnded?.()
    for (const entry of lost) entry.settled = now()
  }
}

async function verifyTrail(env: Record<string, string>): Promise<string | null> {
  const { exit, out, err } = await runCommand(['audit', 'verify'], env)
  return exit === 0 ? null : `${out}${err}`
}

async function walletsOf({ people, contractPeople, seed }: Run, chain: RecordedChain): Promise<Wallet[]> {
  const wallets: Wallet[] = Array.from({ length: people }, (_, index) => ({
    kind: 'ordinary',
    ...owner(`person ${index} of ${seed}`),
  }))
  while (wallets.length < people + contractPeople) wallets.push(await chain.deploy())
  return wallets
}

/** Migrates the database, and registers three apps of different kinds and their two APIs. */
export async function prepare(env: Record<string, string>): Promise<{ clients: AppClient[]; apis: Apis }> {
  const migrated = await runCommand(['migrate'], env)
  if (migrated.exit !== 0) throw new Error(`migrate: ${migrated.err}`)

  const { uses, each, amount } = MOST
  const limit = `at most ${uses} times a day, ${each / 100}.00 NESO each, ${amount / 100}.00 a day`
  await command('resources', 'create', PURSE, '--name', 'Purse', '--scope', `spend=spend for you | ${limit}`)

  async function command(...argv: string[]): Promise<string> {
    const { exit, out, err } = await runCommand([...argv, '--json'], env)
    if (exit !== 0) throw new Error(`${argv.slice(0, 2).join(' ')}: ${err}`)
    return out
  }
  async function register(...options: string[]): Promise<ResourceServer> {
    const out = await command('clients', 'create', ...options)
    const { client_id, client_secret } = JSON.parse(out) as { client_id: string; client_secret: string | null }
    return { id: client_id, secret: client_secret ?? '' }
  }
  const clients: AppClient[] = []
  for (const { name, options, consent } of APPS) {
    const redirectUri = `https://${name.toLowerCase()}.example.net/callback`
    const registered = await register('--name', name, '--redirect-uri', redirectUri, '--consent', consent, ...SCOPES, ...options)
    clients.push({ ...registered, redirectUri, consent })
  }
  // A token without a resource is for the auth URL.
  const vault = await register('--name', 'Vault', '--resource-server', env.GRANTOR_AUTH_URL ?? '')
  const purse = await register('--name', 'Purse', '--resource-server', PURSE)
  return { clients, apis: { vault, purse } }
}

const SCOPES = ['--scope', 'enhancement', '--scope', 'spend', '--default-scope', 'enhancement', '--resource', PURSE]

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
    receiptsRead: 20,
    settling,
  }
}

async function injectUntil(until: number, run: Run, scene: Scene): Promise<Record<string, number>> {
  const { nodes, random } = scene
  const injected: Record<string, number> = {}
  const most = Math.min(1.5, run.seconds / 4) * 1000
  while (run.faults.length > 0) {
    const wait = most / 4 + random.below((most * 3) / 4)
    if (performance.now() + wait > until) break
    await pause(wait)
    const fault = random.pick(run.faults)
    injected[fault.name] = (injected[fault.name] ?? 0) + 1
    await fault.inject(scene)
  }
  for (const node of nodes) node.setOffset(0)
  return injected
}

/** What the faults of a run explain: the store or the chain was not available, and lines of the audit trail waited for the store. */
const EXPECTED_EVENTS = new Set(['audit_trail_behind', 'audit_trail_waiting'])
/** The first line of an outage of the store, and the line of each minute. */
const STORE_FAILS = /^the store (?:fails|still fails)/
const EXPECTED_PROBLEM = 'temporarily_unavailable: contract_could_not_be_checked'

type LogLine = { level: number | string; msg?: string; event?: string; alarm?: boolean; problem?: string }

/** Lines that need an operator: alarms of the audit log, defects, and output that is not a log line. */
export function alarmsIn(log: string): string[] {
  return log.split('\n').filter((line) => {
    if (line === '') return false
    if (!line.startsWith('{')) return !line.startsWith(DATABASE_AWAY)
    const { level, msg = '', event, alarm, problem } = JSON.parse(line) as LogLine
    if (STORE_FAILS.test(msg) || (event !== undefined && EXPECTED_EVENTS.has(event))) return false
    const severe = typeof level === 'number' ? level >= 50 : level === 'error' || level === 'fatal'
    return alarm === true || (severe && problem?.startsWith(EXPECTED_PROBLEM) !== true)
  })
}
