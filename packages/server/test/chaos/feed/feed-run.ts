/**
 * One run of the feed of endings: real nodes on an empty database, APIs in processes of their own that check tokens without a pause, users who end
 * things, and faults; then the check.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createRemoteJWKSet } from 'jose'
import { basic } from '../../support/walk.ts'
import { createNodes, type ServiceNode } from '../nodes.ts'
import { seeded } from '../random.ts'
import { RecordedClient, type ResourceServer } from '../recorded-client.ts'
import { alarmsIn, environmentOf, prepare, type ServiceFault } from '../run.ts'
import type { ApiOptions } from './api-process.ts'
import { startApis } from './apis.ts'
import { Book } from './book.ts'
import { checkFeed, type FeedViolation, type Sighting, type WatchedToken } from './check-feed.ts'
import { followFaultyFeed } from './faulty-feed.ts'
import { runClient } from './feed-client.ts'
import { FeedUser, type UserPlace } from './feed-user.ts'
import { type Expected, type Follower, followNode } from './follower.ts'
import { openCopies } from './grant-copies.ts'
import { holdCommits } from './held-commits.ts'

export type FeedRun = {
  seed: number
  nodes: number
  /** an empty database on PostgreSQL, or a new SQLite file if absent */
  databaseUrl?: string
  seconds: number
  /** the number of endings, at least */
  endings: number
  users: number
  faults: readonly ServiceFault[]
}

export type FeedOutcome = {
  figures: string
  violations: FeedViolation[]
  /** by node: endings that its feed did not have although they were acknowledged before `until` */
  missing: Record<string, number>
  /** the APIs that accepted a token by the feed, and those that refused one */
  accepting: string[]
  refusing: string[]
  /** the rules that an API broke whose connection hangs, and that trusts its feed for a minute */
  brokenByOldFeed: string[]
  /** endings that a feed without the rule of the store has skipped; null on SQLite */
  skippedWithoutRule: number | null
  alarms: string[]
}

/** Seconds. A feed of a million endings is full, and entries are kept for two to three minutes longer than this. */
const ACCESS_TOKEN_LIFETIME = 120
/** The API whose feed is old: the check must find it out. */
const OLD = 'API with an old feed'
/** The greatest age of the feed in seconds. */
const APIS: Record<string, number> = { 'API 1': 1, 'API 2': 1, 'API 3': 3, 'API 4': 3, [OLD]: 60 }
/** The number of grants that end with one signature, at most: a request of the service ends a thousand. */
const COPIES_AT_MOST = 900
/** The bound for one wallet at one app. A wallet gets fewer, so the service never ends the oldest by itself. */
const GRANTS_OF_APP = 500
/** Milliseconds. It only ends what hangs. */
const PATIENCE = 180_000

export async function performFeedRun(run: FeedRun): Promise<FeedOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-chaos-'))
  const databaseUrl = run.databaseUrl ?? `sqlite:${join(folder, 'grantor.sqlite')}`
  const env = {
    ...(await environmentOf(databaseUrl)),
    GRANTOR_ACCESS_TOKEN_LIFETIME: String(ACCESS_TOKEN_LIFETIME),
    GRANTOR_GRANTS_PER_WALLET_AND_CLIENT: String(GRANTS_OF_APP),
  }
  const { clients, apis: registered } = await prepare(env)
  const resourceServer = registered.vault
  const nodes = await createNodes(run.nodes, { env, folder, jumpingClock: false })
  const closing: (() => unknown)[] = []
  const opened = <Opened extends { close(): unknown }>(each: Opened): Opened => {
    closing.push(() => each.close())
    return each
  }
  try {
    await Promise.all(nodes.map((node) => node.start()))
    const issuer = env.GRANTOR_AUTH_URL
    const apis = opened(await startApis(apiOptions(issuer, resourceServer, nodes)))
    const book = new Book(apis)
    const followers = nodes.map((node) => opened(follow(node, issuer, resourceServer, book)))
    const held = run.databaseUrl === undefined ? null : holdCommits(databaseUrl)
    const faulty = held && opened(await followFaultyFeed(databaseUrl, expectedOf(issuer, nodes), book.ledger))
    const copies = opened(openCopies(databaseUrl))
    const recorded = new RecordedClient(issuer, registered)
    const apps = clients.filter(({ consent }) => consent === 'session')
    const copiesOfGrant = Math.min(COPIES_AT_MOST, 20 + Math.floor(run.endings / 100))
    const place: UserPlace = { recorded, nodes, apps, book, copies, copiesOfGrant, hold: undefined }
    const faults = await endThings(run, { place, hold: held?.hold, env, resourceServer, databaseUrl }, () => {
      return book.ended >= run.endings && (faulty === null || faulty.promised.missing > 0)
    })

    await untilTrue(() => followers.every(({ promised }) => promised.isUpToDate))
    // Until the feed of the last endings has been in use at the APIs for a moment.
    await pause(1500)
    await book.stop()
    const [old, sightings] = [true, false].map((isOld) => apis.sightings.filter(({ api }) => (api === OLD) === isOld)) as [
      Sighting[],
      Sighting[],
    ]
    const check = (all: Sighting[], maxAge = (api: string) => (APIS[api] ?? 0) * 1000) => checkFeed(book.tokens, all, maxAge)
    return {
      figures: figuresOf({ book, sightings, faults, held: held?.held() ?? 0, unavailable: apis.unavailable(), nodes }),
      violations: check(sightings),
      missing: Object.fromEntries(followers.map(({ name, promised }) => [name, promised.missing])),
      accepting: apisOf(sightings.filter(({ acceptedByFeed }) => acceptedByFeed !== null)),
      refusing: apisOf(sightings.filter(({ refused }) => refused !== null)),
      brokenByOldFeed: [...new Set(check(old, () => 3000).map(({ rule }) => rule))].toSorted(),
      skippedWithoutRule: faulty && faulty.promised.missing,
      alarms: nodes.flatMap((node) => alarmsIn(node.log())),
    }
  } finally {
    for (const close of closing.toReversed()) await close()
    await Promise.all(nodes.map((node) => node.close()))
    if (process.env.TEST_KEEP_CHAOS !== '1') rmSync(folder, { recursive: true, force: true })
  }
}

function apiOptions(issuer: string, { id, secret }: ResourceServer, nodes: readonly ServiceNode[]): ApiOptions[] {
  const introspection = { clientId: id, clientSecret: secret }
  const urls = nodes.map(({ url }) => url)
  return Object.entries(APIS).map(([name, maxAge]) => ({ name, issuer, introspection, maxAge, nodes: urls, hangs: name === OLD }))
}

function expectedOf(issuer: string, [node]: readonly ServiceNode[]): Expected {
  return { issuer, getKey: createRemoteJWKSet(new URL('/oauth/jwks', node?.url)) }
}

function follow(node: ServiceNode, issuer: string, { id, secret }: ResourceServer, { ledger }: Book): Follower {
  return followNode({ name: node.name, url: node.url, authorization: basic(id, secret) }, expectedOf(issuer, [node]), ledger)
}

type Load = {
  place: UserPlace
  hold: UserPlace['hold']
  env: Record<string, string>
  resourceServer: ResourceServer
  databaseUrl: string
}

/** Resolves with the faults when `isEnough` is true, the time is over, and every fault was injected. */
async function endThings(run: FeedRun, load: Load, isEnough: () => boolean): Promise<Record<string, number>> {
  const { place, hold, env, resourceServer, databaseUrl } = load
  const { nodes, book } = place
  const random = seeded(run.seed)
  const until = performance.now() + run.seconds * 1000
  const injected: Record<string, number> = {}
  let isStopped = false
  const isOver = () =>
    isStopped || (isEnough() && performance.now() >= until && Object.keys(injected).length === run.faults.length)
  async function repeat(work: () => Promise<unknown>): Promise<void> {
    while (!isOver()) await work()
  }
  const users = Array.from({ length: run.users }, (_, index) => {
    const name = `user ${index} of ${run.seed}`
    // One commit is held open at a time.
    return new FeedUser(index === 0 ? { ...place, hold } : place, random.stream(name), name)
  })
  const ofClients = random.stream('clients')
  const ofFaults = random.stream('faults')
  async function injectNext(): Promise<void> {
    const next = run.faults.filter(({ name }) => !(name in injected))
    // Each fault once soon, and then again while the run lasts.
    const [fault, wait] = next.length > 0 ? [ofFaults.pick(next), 500] : [ofFaults.pick(run.faults), 6000]
    const since = performance.now()
    // On a busy machine, a request can take longer than the pause. Without a response between two faults, a user would never go on.
    const before = users.map(({ responses }) => responses)
    const isAnswered = () => users.every(({ responses }, index) => responses > (before[index] ?? 0))
    const paused = wait / 2 + ofFaults.below(wait)
    for (; performance.now() - since < paused || !isAnswered(); await pause(50)) if (isOver()) return
    await fault.inject({ nodes, random: ofFaults, databaseUrl, mark: () => undefined })
    injected[fault.name] = (injected[fault.name] ?? 0) + 1
  }
  try {
    await Promise.all([
      ...users.map((user) => repeat(() => user.runRound())),
      repeat(() => runClient({ env, nodes, resourceServer, book }, ofClients)),
      repeat(injectNext),
    ])
    return injected
  } finally {
    isStopped = true
  }
}

async function untilTrue(isTrue: () => boolean): Promise<void> {
  for (const since = performance.now(); !isTrue(); await pause(50))
    if (performance.now() - since > PATIENCE) throw new Error('the feeds of the nodes do not have every ending in time')
}

const apisOf = (sightings: readonly Sighting[]) => [...new Set(sightings.map(({ api }) => api))].toSorted()

type Figures = {
  book: Book
  sightings: readonly Sighting[]
  faults: Record<string, number>
  held: number
  unavailable: number
  nodes: readonly ServiceNode[]
}

function figuresOf({ book, sightings, faults, held, unavailable, nodes }: Figures): string {
  const ended = book.tokens.filter(({ endings }) => endings.some(({ acknowledged }) => acknowledged !== null))
  const cuts = nodes.reduce((sum, { proxy }) => sum + proxy.cuts(), 0)
  const checks = sightings.reduce((sum, each) => sum + each.checks, 0)
  const latest = (maxAge: number) =>
    latestAcceptance(
      ended,
      sightings.filter(({ api }) => APIS[api] === maxAge),
    )
  return [
    `${book.ended} endings in ${book.ledger.length} requests`,
    `${book.tokens.length} tokens checked, ${ended.length} of them ended`,
    `${checks} checks, ${unavailable} answered with 503`,
    `accepted by the feed after the ending for at most ${latest(1)} ms (maxAge 1), ${latest(3)} ms (maxAge 3)`,
    ...Object.entries(faults).map(([name, times]) => `${times} × ${name}`),
    ...(cuts > 0 ? [`${cuts} connections cut`] : []),
    `${held} commits held open`,
  ].join(', ')
}

/** Milliseconds from the ending of a token to the last check that accepted it by the feed. */
function latestAcceptance(ended: readonly WatchedToken[], sightings: readonly Sighting[]): number {
  const endOf = new Map(ended.map(({ id, endings }) => [id, Math.min(...endings.map((each) => each.acknowledged ?? Infinity))]))
  return Math.max(0, ...sightings.map(({ token, acceptedByFeed }) => (acceptedByFeed ?? 0) - (endOf.get(token) ?? Infinity)))
}
