/** What readers cost a node on SQLite: memory, and the latency of refreshes, with and without readers in alternation. */
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { closedLoop } from '../load/closed-loop.ts'
import { latenciesOf } from '../load/open-loop.ts'
import { chooseCores, memory, processorSeconds, stayOn } from '../machine.ts'
import { tell } from '../measure.ts'
import { refreshing } from '../operations.ts'
import type { ConnectionsReport, ConnectionsTask } from '../servers/feed-connections-process.ts'
import { startGrantor } from '../servers/grantor.ts'
import { startNode } from '../servers/process.ts'
import { registerApi } from '../servers/register.ts'
import { median, percentile } from '../statistics.ts'
import { markdownTable } from '../tables.ts'
import type { Target } from '../target.ts'
import type { Place } from './api.ts'

/** Refreshes a second. */
const RATE = 500
const CHAINS = 2000
const CONNECTIONS = 64
/** Seconds of load before the first round, so that the memory of the node does not grow in the rounds. */
const WARM_UP = 15
/** Milliseconds between the opening or closing of the readers and the round. */
const SETTLING = 2000

type Load = { readers: number; rounds: number; seconds: number }
/** Each has one figure a round: milliseconds, MiB, the part of one core, and what all readers receive in a second. */
type Figures = { p50: number[]; p99: number[]; memory: number[]; busy: number[]; messages: number[]; bytes: number[] }

export async function measureReaders({ home, folder }: Place, load: Load): Promise<void> {
  const cores = chooseCores(false)
  stayOn(cores.load)
  const start = { name: 'grantor', home, databaseUrl: `sqlite:${join(folder, 'readers.sqlite')}`, workers: 1 }
  const target = await startGrantor({ ...start, cores: cores.server, folder, starts: 1 })
  const args = [join(import.meta.dirname, '../servers/feed-connections-process.ts')]
  const running = startNode({ args, env: {}, cores: cores.load, log: join(folder, 'readers.log') })
  const tellReaders = async (task: ConnectionsTask): Promise<ConnectionsReport> => {
    const report = once(running.child, 'message')
    running.child.send(task)
    return ((await report) as [ConnectionsReport])[0]
  }
  try {
    const { authorization } = await registerApi(target)
    print(await measureRounds(target, { ...load, authorization, tellReaders }), load)
  } finally {
    await running.stop()
    await target.stop()
  }
}

type Rounds = Load & { authorization: string; tellReaders: (task: ConnectionsTask) => Promise<ConnectionsReport> }

async function measureRounds(target: Target, { readers, rounds, seconds, authorization, tellReaders }: Rounds) {
  const work = refreshing(target, (await target.supply?.refreshTokens(CHAINS)) ?? [])
  await closedLoop(target.port, work, { connections: CONNECTIONS, seconds: WARM_UP })
  const without = newFigures()
  const beside = newFigures()
  const measure = async (figures: Figures) => {
    await pause(SETTLING)
    await tellReaders('count')
    const before = processorSeconds(target.running.pid)
    const begun = performance.now()
    const sorted = await latenciesOf(target.port, work, { connections: CONNECTIONS, rate: RATE, seconds })
    const took = (performance.now() - begun) / 1000
    figures.busy.push((processorSeconds(target.running.pid) - before) / took)
    const { open, messages, bytes } = await tellReaders('count')
    if (figures === beside && open !== readers) throw new Error(`${readers - open} readers were disconnected`)
    figures.messages.push(messages / took)
    figures.bytes.push(bytes / took)
    figures.p50.push(percentile(sorted, 0.5))
    figures.p99.push(percentile(sorted, 0.99))
    figures.memory.push(memory(target.running.pid))
  }
  for (let round = 0; round < rounds; round++) {
    await measure(without)
    await tellReaders({ port: target.port, authorization, readers })
    await measure(beside)
    await tellReaders('close')
    const [before, after] = [without.p99.at(-1) ?? Number.NaN, beside.p99.at(-1) ?? Number.NaN]
    tell(
      `round ${round + 1}: p99 ${before.toFixed(2)} ms, with readers ${after.toFixed(2)} ms; ${without.memory.at(-1)?.toFixed(0)} and ${beside.memory.at(-1)?.toFixed(0)} MiB`,
    )
  }
  return { without, beside }
}

const newFigures = (): Figures => ({ p50: [], p99: [], memory: [], busy: [], messages: [], bytes: [] })

function print({ without, beside }: { without: Figures; beside: Figures }, { readers }: Load): void {
  const row = (name: string, { p50, p99, memory: used, busy, messages, bytes }: Figures) => [
    name,
    `${median(p50).toFixed(2)} ms`,
    `${median(p99).toFixed(2)} ms`,
    `${median(used).toFixed(0)} MiB`,
    `${(median(busy) * 100).toFixed(0)} %`,
    median(messages).toFixed(0),
    `${(median(bytes) / 1000).toFixed(0)} kB`,
  ]
  const head = [
    `${RATE} refreshes a second`,
    'p50',
    'p99',
    'memory of the node',
    'of one core',
    'messages a second',
    'bytes a second',
  ]
  console.log(`\n${markdownTable(head, [row('without readers', without), row(`${readers} readers`, beside)])}`)
  // Before the first reader, and with the first readers. Afterwards the process keeps memory that it has freed, so later rounds do not differ.
  const [before = Number.NaN] = without.memory
  const [after = Number.NaN] = beside.memory
  const ratio = median(beside.p99) / median(without.p99)
  const most = Math.max(...beside.memory) - before
  console.log(
    `\nMemory of ${readers} readers: ${(after - before).toFixed(0)} MiB in the first round, ${most.toFixed(0)} MiB in any round`,
  )
  console.log(`p99 with readers against p99 without: ${ratio.toFixed(2)} ×`)
}
