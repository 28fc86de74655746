/**
 * The memory of a process under mixed load: the operations of the part `peer` at the same time, on both engines. The process is started as
 * the README starts it, without an option of Node in its environment.
 */
import { closedLoop } from './load/closed-loop.ts'
import { memory, peakMemory } from './machine.ts'
import { type Load, tell } from './measure.ts'
import { OPERATIONS, type OperationName } from './operations.ts'
import type { Target } from './target.ts'

export type MemoryMeasured = {
  server: string
  /** requests a second of all operations together, one figure for each round */
  perSecond: number[]
  /** MiB before the first request, the most in the whole run, and after the last round */
  start: number
  peak: number
  end: number
}

const MIXED: OperationName[] = ['code', 'refresh', 'same', 'new', 'revoke', 'authorize']
/** Requests of one operation for each second of a round. An operation whose requests are used up pauses until the next round. */
const PREPARED = 1000

export async function measureMemory(targets: Target[], load: Load): Promise<MemoryMeasured[]> {
  const measured: MemoryMeasured[] = []
  for (const target of targets) measured.push(await measureOne(target, load))
  return measured
}

async function measureOne(target: Target, { rounds, seconds, connections, chains }: Load): Promise<MemoryMeasured> {
  const { pid } = target.running
  const start = memory(pid)
  const perSecond: number[] = []
  const prepares = MIXED.map((name) => OPERATIONS[name].prepare(target, chains))
  for (let round = 0; round < rounds; round++) {
    const works = []
    for (const prepare of prepares) works.push(await prepare(PREPARED * seconds))
    const each = { connections: Math.ceil(connections / works.length), seconds }
    const loads = await Promise.all(works.map((work) => closedLoop(target.port, work, each)))
    perSecond.push(loads.reduce((sum, { requests }) => sum + requests, 0) / seconds)
    tell(`${target.name}, round ${round + 1}: ${Math.round(perSecond.at(-1) ?? 0)}/s, ${Math.round(memory(pid))} MiB`)
  }
  return { server: target.name, perSecond, start, peak: peakMemory(pid), end: memory(pid) }
}
