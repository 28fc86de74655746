/** Measures one operation at several servers, in alternation. */
import { closedLoop } from './load/closed-loop.ts'
import { type Latency, openLoop } from './load/open-loop.ts'
import { processorSeconds } from './machine.ts'
import { floorOf, OPERATIONS, type Operation, type OperationName, type Prepare } from './operations.ts'
import { median } from './statistics.ts'
import type { Target } from './target.ts'

export type Load = { seconds: number; rounds: number; connections: number; chains: number; warmUp?: WarmUp }

/** The work before the measured time, so that every server runs compiled code. */
export type WarmUp = { requests: number; seconds: number }

export type Result = {
  operation: OperationName
  server: string
  /** requests a second, one figure for each round */
  perSecond: number[]
  /** microseconds of processor time of the server's processes for each request, one figure for each round */
  processorMicroseconds: number[]
  /** the part of one core that the server's processes used; far below 1, the server waited for something else */
  busy: number[]
  /** at half of the slowest server's rate (the same for all servers), and at half of the server's own rate */
  latency: { shared: Latency; own: Latency } | null
}

type Lane = { target: Target; port: number; prepare: Prepare; guess: number; result: Result }

const WARM_UP: WarmUp = { requests: 6000, seconds: 2 }
const FIRST_GUESS = 4000

export async function measure(name: OperationName, targets: Target[], load: Load, withLatency: boolean): Promise<Result[]> {
  const operation: Operation = OPERATIONS[name]
  const lanes = targets.map(
    (target): Lane => ({
      target,
      port: (operation.introspects && target.introspectionPort) || target.port,
      prepare: target.isFloor ? async () => floorOf(name, target) : operation.prepare(target, load.chains),
      guess: FIRST_GUESS,
      result: { operation: name, server: target.name, perSecond: [], processorMicroseconds: [], busy: [], latency: null },
    }),
  )
  const { warmUp = WARM_UP } = load
  for (const lane of lanes) {
    // Otherwise the garbage of the previous operation would be collected in this one.
    await lane.target.supply?.forget()
    const work = await lane.prepare(warmUp.requests)
    const warm = await closedLoop(lane.port, work, { connections: load.connections, seconds: warmUp.seconds })
    lane.guess = warm.perSecond
  }
  for (let round = 0; round < load.rounds; round++) {
    // The order is reversed in every second round.
    for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) await measureOnce(lane, load)
    tell(
      `${operation.name}, round ${round + 1}: ${lanes.map(({ result }) => `${result.server} ${Math.round(result.perSecond.at(-1) ?? 0)}/s`).join(', ')}`,
    )
  }
  if (withLatency) await measureLatency(lanes, load)
  return lanes.map(({ result }) => result)
}

async function measureOnce(lane: Lane, { seconds, connections }: Load): Promise<void> {
  const { target, port, result } = lane
  const work = await lane.prepare(Math.ceil(lane.guess * seconds * 1.3))
  const before = processorSeconds(target.running.pid)
  const { all, perSecond, seconds: took } = await closedLoop(port, work, { connections, seconds })
  const used = processorSeconds(target.running.pid) - before
  lane.guess = perSecond
  result.perSecond.push(perSecond)
  result.busy.push(used / took)
  result.processorMicroseconds.push((used * 1e6) / all)
}

async function measureLatency(lanes: Lane[], { seconds, connections }: Load): Promise<void> {
  const halfOf = (lane: Lane) => Math.floor(median(lane.result.perSecond) / 2)
  const shared = Math.min(...lanes.map(halfOf))
  const at = async (lane: Lane, rate: number): Promise<Latency> => {
    const runs: Latency[] = []
    for (let round = 0; round < LATENCY_ROUNDS; round++) {
      const work = await lane.prepare(Math.ceil(rate * (seconds + 1)))
      runs.push(await openLoop(lane.port, work, { connections: Math.max(connections, 128), rate, seconds }))
    }
    return medianOf(runs)
  }
  for (const lane of lanes) {
    const sharedRate = await at(lane, shared)
    const own = halfOf(lane) === shared ? sharedRate : await at(lane, halfOf(lane))
    lane.result.latency = { shared: sharedRate, own }
    tell(
      `${lane.target.name}: p50 ${sharedRate.p50.toFixed(2)} ms, p99 ${sharedRate.p99.toFixed(2)} ms at ${shared}/s; p99 ${own.p99.toFixed(2)} ms at ${own.rate}/s`,
    )
  }
}

const LATENCY_ROUNDS = 3

function medianOf(runs: Latency[]): Latency {
  const of = (pick: (run: Latency) => number) => median(runs.map(pick))
  return {
    rate: of((run) => run.rate),
    requests: of((run) => run.requests),
    p50: of((run) => run.p50),
    p99: of((run) => run.p99),
    max: of((run) => run.max),
  }
}

/** Reports progress on standard error; the result is on standard output. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}
