/**
 * Refreshes of good clients at half load, beside one kind of hostile or heavy work at a time, and beside nothing, in alternation.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { requestScenes } from './hostile/requests.ts'
import { rowScenes } from './hostile/rows.ts'
import type { Beside, Scene } from './hostile/scene.ts'
import { silentScenes } from './hostile/silence.ts'
import { closedLoop } from './load/closed-loop.ts'
import type { Answer } from './load/connection.ts'
import { latenciesOf } from './load/open-loop.ts'
import type { Work } from './load/work.ts'
import { memory, processorSeconds } from './machine.ts'
import { tell } from './measure.ts'
import { refreshing } from './operations.ts'
import type { Options } from './options.ts'
import { median, percentile, sum } from './statistics.ts'
import type { Target } from './target.ts'

/**
 * One figure a round: milliseconds, the part of one core that the server used, seconds of processor time of the server and of its database server,
 * and refreshes that failed. Each round has as many refreshes as every other.
 */
type Side = {
  p50: number[]
  p99: number[]
  busy: number[]
  used: number[]
  usedByDatabase: number[]
  errors: number[]
  /** collections of the old generation of the server's heap; absent in figures from before, as the two below */
  collections?: number[]
  /** the longest delay of the event loop in milliseconds, of the server and of the process that makes the load */
  delay?: number[]
  delayOfLoad?: number[]
}

export type HostileMeasured = {
  scene: string
  server: string
  /** refreshes a second */
  rate: number
  nothing: Side
  beside: Side
  /** MiB, the most in any round beside the scene */
  memory: number
  /** how often each status was the answer to the other requests */
  answered: Record<string, number>
}

const SCENES: readonly Scene[] = [...requestScenes, ...silentScenes, ...rowScenes]

/** Milliseconds between two readings of the memory. */
const READ_EVERY = 50
/** Milliseconds between what a round needs and the round. */
const SETTLING = 300
const WARM_UP = 5
const HALF_A_CORE = 0.5
/** A step lowers the rate by less than the step before it. */
const STEPS = 5

/** `production` is on PostgreSQL. The server of the development runs on SQLite. */
export async function measureHostile([production, development]: Target[], options: Options): Promise<HostileMeasured[]> {
  if (!production || !development) throw new Error('the part hostile has two servers')
  const wanted = SCENES.filter(({ name }) => options.scenes === null || name.includes(options.scenes))
  const measured: HostileMeasured[] = []
  for (const [server, target] of Object.entries({ production, development })) {
    const scenes = wanted.filter((scene) => scene.server === server)
    if (scenes.length > 0) measured.push(...(await measureScenes(target, scenes, options)))
  }
  return measured
}

async function measureScenes(target: Target, scenes: Scene[], options: Options): Promise<HostileMeasured[]> {
  const refreshes = refreshing(target, (await target.supply?.refreshTokens(options.chains)) ?? [])
  const { connections } = options
  await closedLoop(target.port, refreshes, { connections, seconds: WARM_UP })
  const { perSecond } = await closedLoop(target.port, refreshes, { connections, seconds: options.seconds })
  const rate = await halfLoadOf({ target, refreshes, rate: Math.floor(perSecond / 2) }, options)
  tell(`${target.name}: ${rate} refreshes a second`)
  const measured: HostileMeasured[] = []
  for (const scene of scenes) measured.push(await measureScene(scene, { target, refreshes, rate }, options))
  return measured
}

type Good = { target: Target; refreshes: Work; rate: number }

/**
 * At half of the highest rate, a request shares its commit with fewer others, and costs more. The rate is lowered until the server uses half of its
 * core: otherwise little would be left for the scenes. A request costs still more at the lower rate, so one step is not enough.
 */
async function halfLoadOf(good: Good, options: Options): Promise<number> {
  let { rate } = good
  for (let step = 0; step < STEPS; step++) {
    const side = newSide()
    await measureSide(side, { ...good, rate }, options)
    const busy = median(side.busy)
    if (busy <= HALF_A_CORE) break
    rate = Math.floor((rate * HALF_A_CORE) / busy)
  }
  return rate
}

async function measureScene({ name, prepare }: Scene, good: Good, options: Options): Promise<HostileMeasured> {
  const beside = await prepare(good.target)
  const measured: HostileMeasured = {
    scene: name,
    server: good.target.name,
    rate: good.rate,
    nothing: newSide(),
    beside: newSide(),
    memory: 0,
    answered: beside.answered ?? {},
  }
  const measureNothing = async () => void (await measureSide(measured.nothing, good, options))
  const measureBeside = async () => {
    await beside.ready?.(options.seconds)
    await pause(SETTLING)
    measured.memory = Math.max(measured.memory, await measureSide(measured.beside, good, options, beside))
    await beside.settle?.()
  }
  try {
    for (let round = 0; round < options.rounds; round++)
      for (const measure of round % 2 === 0 ? [measureNothing, measureBeside] : [measureBeside, measureNothing]) await measure()
  } finally {
    await beside.stop?.()
  }
  tellMeasured(measured)
  return measured
}

/** Returns the largest memory, in MiB. */
async function measureSide(side: Side, good: Good, { connections, seconds }: Options, beside?: Beside): Promise<number> {
  const { target, refreshes, rate } = good
  const { pid } = target.running
  let most = memory(pid)
  const reading = setInterval(() => {
    most = Math.max(most, memory(pid))
  }, READ_EVERY)
  target.engine?.read()
  const load = monitorEventLoopDelay({ resolution: 10 })
  load.enable()
  const [from, used, byDatabase] = [performance.now(), processorSeconds(pid), processorSeconds(target.databasePid ?? pid)]
  let errors = 0
  const accept = (answer: Answer) => {
    if (answer.status < 500) return refreshes.accept(answer)
    errors++
  }
  const [latencies] = await Promise.all([
    latenciesOf(target.port, { ...refreshes, accept }, { connections, rate, seconds }),
    beside?.during(seconds),
  ])
  clearInterval(reading)
  load.disable()
  const facts = target.engine?.read()
  if (facts) {
    side.collections?.push(facts.collections)
    side.delay?.push(facts.longestDelay)
  }
  side.delayOfLoad?.push(load.max / 1e6)
  side.errors.push(errors)
  side.used.push(processorSeconds(pid) - used)
  side.usedByDatabase.push(target.databasePid ? processorSeconds(target.databasePid) - byDatabase : 0)
  side.busy.push((side.used.at(-1) ?? 0) / ((performance.now() - from) / 1000))
  side.p50.push(percentile(latencies, 0.5))
  side.p99.push(percentile(latencies, 0.99))
  return most
}

const newSide = (): Side => ({
  p50: [],
  p99: [],
  busy: [],
  used: [],
  usedByDatabase: [],
  errors: [],
  collections: [],
  delay: [],
  delayOfLoad: [],
})

/** Microseconds of processor time for each of the other requests, of the server and of its database server. NaN for a scene without requests. */
export function costOf({ nothing, beside, answered }: Pick<HostileMeasured, 'nothing' | 'beside' | 'answered'>) {
  const requests = sum(Object.values(answered))
  const more = (of: 'used' | 'usedByDatabase') => ((sum(beside[of]) - sum(nothing[of])) * 1e6) / (requests || Number.NaN)
  return { server: more('used'), database: more('usedByDatabase') }
}

function tellMeasured(measured: HostileMeasured): void {
  const { scene, nothing, beside, memory: most, answered } = measured
  const cost = costOf(measured)
  const of = ({ p50, p99, busy, errors, collections, delay, delayOfLoad }: Side) =>
    [
      `p50 ${median(p50).toFixed(2)} ms`,
      `p99 ${median(p99).toFixed(2)} ms (${whole(p99)})`,
      `${median(busy).toFixed(2)} of a core`,
      `${sum(errors)} errors`,
      `collections ${whole(collections)}`,
      `longest delay ${whole(delay)} ms`,
      `of the load ${whole(delayOfLoad)} ms`,
    ].join(', ')
  tell(`beside nothing: ${of(nothing)}`)
  tell(
    `beside ${scene}: ${of(beside)}, ${Math.round(most)} MiB, ${Math.round(cost.server)} and ${Math.round(cost.database)} µs each, answered ${JSON.stringify(answered)}`,
  )
}

/** One figure a round. */
const whole = (values: number[] = []): string => values.map((value) => value.toFixed(0)).join(' ')

/** The p99 beside the scene, divided by that beside nothing. */
export function ratioOf({ nothing, beside }: Pick<HostileMeasured, 'nothing' | 'beside'>): number {
  return median(beside.p99) / median(nothing.p99)
}
