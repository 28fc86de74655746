/** The result for people: the aims, and everything that was measured, as tables of Markdown. */
import type { AloneMeasured } from './alone.ts'
import type { Check } from './checks.ts'
import type { ClientsMeasured } from './clients.ts'
import { costOf, type HostileMeasured, ratioOf } from './hostile.ts'
import type { MemoryMeasured } from './memory.ts'
import { OPERATIONS } from './operations.ts'
import type { PartResult } from './parts.ts'
import type { Slowest, Stalls } from './stalls.ts'
import { median, spread, sum } from './statistics.ts'

export function checksTable(checks: Check[]): string {
  const rows = checks.map(({ what, against, measured, required, reached }) => [
    what,
    against,
    measured,
    required === '' ? '' : `${required}${reached ? '' : ' **not reached**'}`,
  ])
  return markdownTable(['what', 'against', 'measured', 'required'], rows)
}

/** Throughput and latency, one row for each operation and server. The stored figures also have the latency at half of the server's own rate. */
function resultsTable(part: PartResult): string {
  const hasLatency = part.results.some(({ latency }) => latency !== null)
  const rows = part.results.map(({ operation, server, perSecond, processorMicroseconds, latency }) => [
    OPERATIONS[operation].name,
    server,
    Math.round(median(perSecond)).toLocaleString('en'),
    `${Math.round(spread(perSecond) * 100)} %`,
    `${Math.round(median(processorMicroseconds))} µs`,
    ...(hasLatency ? [latency ? latencyText(latency.shared) : ''] : []),
  ])
  const head = ['operation', 'server', 'a second', 'spread', 'processor time each']
  return markdownTable(hasLatency ? [...head, 'p50, p99 at one rate for all'] : head, rows)
}

function latencyText({ p50, p99, rate }: { p50: number; p99: number; rate: number }): string {
  return `${p50.toFixed(2)}, ${ms(p99)} at ${Math.round(rate).toLocaleString('en')}/s`
}

/** The part `stalls`, one row for each server. */
function stallsTable(stalls: Stalls[]): string {
  const rows = stalls.map(({ server, rate, atHalfLoad, longestBlock, secondProcess, disk }) => [
    server,
    rate.toLocaleString('en'),
    slowestText(atHalfLoad),
    disk ? slowestText(disk) : '',
    `${Math.round(longestBlock)} ms`,
    `${ms(secondProcess.p50)} / ${ms(secondProcess.p99)} / ${ms(secondProcess.max)}`,
  ])
  const head = [
    'server',
    'refreshes a second at half load',
    'p50 / p99 / p99.9 / longest',
    'an append with fsync to the same disk: p50 / p99 / p99.9 / longest',
    'longest block of the event loop',
    'a second process beside full load: p50 / p99 / longest',
  ]
  return markdownTable(head, rows)
}

function slowestText({ p50, p99, p999, max }: Slowest): string {
  return [p50, p99, p999, max].map(ms).join(' / ')
}

/** The part `clients`. */
function clientsTable({ registered, document, poll }: ClientsMeasured): string {
  const rates = [
    ['authorize without a session, a registered client', registered],
    ['authorize without a session, a metadata document in memory', document],
    ['a poll of a pending device code, on PostgreSQL', poll],
  ] as const
  const rows = rates.map(([what, { perSecond, processorMicroseconds }]) => [
    what,
    Math.round(median(perSecond)).toLocaleString('en'),
    `${Math.round(spread(perSecond) * 100)} %`,
    `${Math.round(median(processorMicroseconds))} µs`,
  ])
  return markdownTable(['request', 'a second', 'spread', 'processor time each'], rows)
}

/** The part `alone`. */
function aloneTable({ grantor, pgbench, pgbenchApart, floor, emptyPost }: AloneMeasured): string {
  const measured: Record<string, number[] | undefined> = {
    grantor,
    'one client of pgbench': pgbench,
    'the same on the core of the service': pgbenchApart,
    'a Node server with the same statement and one signature': floor,
    'an empty post to that server': emptyPost,
  }
  const rows = Object.entries(measured).flatMap(([who, perSecond]) => (perSecond ? [{ who, perSecond }] : []))
  const cells = rows.map(({ who, perSecond }) => [
    who,
    Math.round(median(perSecond)).toLocaleString('en'),
    `${Math.round(spread(perSecond) * 100)} %`,
    ms(1000 / median(perSecond)),
  ])
  return markdownTable(['refreshes one at a time', 'a second', 'spread', 'each'], cells)
}

/** The part `hostile`, one row for each scene. The stored figures also have the statuses of the other requests. */
function hostileTable(measured: HostileMeasured[]): string {
  const rows = measured.map((each) => {
    const { scene, server, rate, nothing, beside, memory } = each
    const cost = costOf(each).server
    return [
      scene,
      `${server}, ${rate.toLocaleString('en')}/s`,
      `${median(nothing.p99).toFixed(2)}, ${ms(median(beside.p99))}`,
      `${ratioOf(each).toFixed(2)} ×`,
      String(sum(beside.errors)),
      `${roundsWithCollection(nothing)}, ${roundsWithCollection(beside)} of ${beside.p99.length}`,
      `${Math.round(memory)} MiB`,
      Number.isNaN(cost) ? '' : `${Math.round(cost)} µs`,
    ]
  })
  const head = [
    'beside',
    'server, refreshes a second',
    'p99 beside nothing, beside it',
    'ratio',
    'failed refreshes',
    'rounds with a collection',
    'memory at its highest',
    'each other request',
  ]
  return markdownTable(head, rows)
}

const roundsWithCollection = ({ collections = [] }: HostileMeasured['beside']): number =>
  collections.filter((count) => count > 0).length

/** The part `memory`, one row for each server. */
function memoryTable(measured: MemoryMeasured[]): string {
  const rows = measured.map(({ server, perSecond, start, peak, end }) => [
    server,
    Math.round(median(perSecond)).toLocaleString('en'),
    ...[start, peak, end].map((mebibytes) => `${Math.round(mebibytes)} MiB`),
  ])
  const head = ['server', 'requests a second, six operations at once', 'memory after the start', 'at its highest', 'at the end']
  return markdownTable(head, rows)
}

/** Everything that a part measured of requests. */
export function measuredTable(part: PartResult): string {
  if (part.clients) return clientsTable(part.clients)
  if (part.alone) return aloneTable(part.alone)
  if (part.hostile) return hostileTable(part.hostile)
  if (part.memory) return memoryTable(part.memory)
  return part.stalls ? stallsTable(part.stalls) : resultsTable(part)
}

/** The start and the memory of each server, as one sentence. Empty for the parts whose own table has the memory. */
export function serversText(part: PartResult): string {
  if (part.memory || part.hostile) return ''
  const texts = part.servers.map(
    ({ name, readyAfter, peakMemory }) => `${name} ${Math.round(median(readyAfter))} ms, ${Math.round(peakMemory)} MiB`,
  )
  return texts.length === 0 ? '' : `Start to ready, and memory at its highest: ${texts.join('; ')}.`
}

const ms = (value: number): string => `${value.toFixed(2)} ms`

/** Cells must not hold `|`. */
export function markdownTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
