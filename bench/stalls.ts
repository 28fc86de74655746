/**
 * The slowest responses: refreshes of random grants in a large SQLite file at half of the highest rate, and refreshes by a second process on
 * the same file while the first process has full load.
 *
 * A stall is rare, so the latencies of all rounds count together: at 3,000 refreshes a second, 10 seconds have 30 that are
 * slower than p99.9. A refresh waits for the disk, so the disk alone is measured after each round.
 */
import { measureDisk } from './disk.ts'
import { closedLoop } from './load/closed-loop.ts'
import { latenciesOf } from './load/open-loop.ts'
import type { Work } from './load/work.ts'
import { tell } from './measure.ts'
import { refreshing } from './operations.ts'
import type { Options } from './options.ts'
import { median, percentile } from './statistics.ts'
import type { Target } from './target.ts'

/** in milliseconds */
export type Slowest = { requests: number; p50: number; p99: number; p999: number; max: number }

export type Stalls = {
  server: string
  /** requests a second: half of the highest rate */
  rate: number
  atHalfLoad: Slowest
  /** of the event loop, at that rate, in milliseconds */
  longestBlock: number
  /** of a second process on the same file, while this process has full load */
  secondProcess: Slowest
  /** appends with fsync to the same disk, between the rounds; absent in figures from before */
  disk?: Slowest
}

/** How many grants are refreshed, each on a page of its own. SQLite's own memory holds a tenth of these pages. */
export const REFRESHED = 20_000

const WARM_UP_SECONDS = 2
const QUIET = { chains: 500, rate: 50, connections: 4 }

type Lane = {
  target: Target
  work: Work
  second: Target
  secondWork: Work
  perSecond: number[]
  latencies: number[]
  blocks: number[]
  secondLatencies: number[]
  appends: number[]
}

export async function measureStalls(targets: Target[], options: Options, otherCores: string | null): Promise<Stalls[]> {
  const lanes = await Promise.all(targets.map((target) => prepareLane(target, otherCores)))
  try {
    for (const { target, work } of lanes)
      await closedLoop(target.port, work, { connections: options.connections, seconds: WARM_UP_SECONDS })
    for (const step of [loadFully, loadHalf, loadBoth])
      for (let round = 0; round < options.rounds; round++)
        // The order is reversed in every second round, as in measure.ts.
        for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) await step(lane, options)
  } finally {
    for (const { second } of lanes) await second.stop()
  }
  return lanes.map(stallsOf)
}

async function prepareLane(target: Target, otherCores: string | null): Promise<Lane> {
  const tokens = shuffled((await target.supply?.refreshTokens(REFRESHED)) ?? [])
  const second = await target.startSecond?.(otherCores)
  if (!second) throw new Error(`${target.name} has no second process`)
  return {
    target,
    secondWork: refreshing(second, tokens.splice(0, QUIET.chains)),
    work: refreshing(target, tokens),
    second,
    perSecond: [],
    latencies: [],
    blocks: [],
    secondLatencies: [],
    appends: [],
  }
}

async function loadFully({ target, work, perSecond }: Lane, { connections, seconds }: Options): Promise<void> {
  perSecond.push((await closedLoop(target.port, work, { connections, seconds })).perSecond)
}

async function loadHalf(lane: Lane, { connections, seconds }: Options): Promise<void> {
  const { target, work, latencies, blocks, appends } = lane
  await target.longestBlock()
  const load = { connections: Math.max(connections, 128), rate: rateOf(lane), seconds }
  latencies.push(...(await latenciesOf(target.port, work, load)))
  blocks.push(await target.longestBlock())
  if (target.databaseUrl) appends.push(...measureDisk(target.databaseUrl, seconds))
}

async function loadBoth(lane: Lane, { connections, seconds }: Options): Promise<void> {
  const { target, work, second, secondWork, secondLatencies } = lane
  // A second longer than the other load, which leaves out its first half second.
  const busy = closedLoop(target.port, work, { connections, seconds: seconds + 1 })
  const { rate, connections: few } = QUIET
  secondLatencies.push(...(await latenciesOf(second.port, secondWork, { connections: few, rate, seconds })))
  await busy
}

function stallsOf(lane: Lane): Stalls {
  const { target, latencies, blocks, secondLatencies, appends } = lane
  const stalls: Stalls = {
    server: target.name,
    rate: rateOf(lane),
    atHalfLoad: slowestOf(latencies),
    longestBlock: Math.max(...blocks),
    secondProcess: slowestOf(secondLatencies),
    disk: slowestOf(appends),
  }
  tell(`${target.name} at ${stalls.rate}/s: ${textOf(stalls.atHalfLoad)}`)
  tell(`appends with fsync to the same disk: ${textOf(slowestOf(appends))}`)
  return stalls
}

function textOf({ p50, p99, p999, max }: Slowest): string {
  const [first, ...others] = [p50, p99, p999, max].map((value) => value.toFixed(1))
  return `p50 ${first} ms, p99 ${others[0]} ms, p99.9 ${others[1]} ms, longest ${others[2]} ms`
}

const rateOf = ({ perSecond }: Lane): number => Math.floor(median(perSecond) / 2)

function slowestOf(latencies: number[]): Slowest {
  const sorted = latencies.toSorted((one, other) => one - other)
  const at = (share: number) => percentile(sorted, share)
  return { requests: sorted.length, p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) }
}

/** In an order that does not depend on the order of the rows in the file. */
function shuffled<Item>(items: Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item)
}
