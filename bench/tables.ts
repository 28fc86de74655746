/** The result for people: the aims, and everything that was measured, as tables of Markdown. */
import type { Check } from './checks.ts'
import type { ClientsMeasured } from './clients.ts'
import type { MemoryMeasured } from './memory.ts'
import { OPERATIONS } from './operations.ts'
import type { PartResult } from './parts.ts'
import type { Stalls } from './stalls.ts'
import { median, spread } from './statistics.ts'

export function checksTable(checks: Check[]): string {
  const rows = checks.map(({ what, ours, against, theirs, measured, required, reached }) => [
    what,
    ours,
    against === '' ? '' : `${against}: ${theirs}`,
    measured,
    required === '' ? '' : `${required}${reached ? '' : ' **not reached**'}`,
  ])
  return markdownTable(['what', 'Grantor', 'against', 'measured', 'required'], rows)
}

/** Everything about throughput and latency, one row for each operation and server. */
function resultsTable(part: PartResult): string {
  const rows = part.results.map(({ operation, server, perSecond, processorMicroseconds, busy, latency }) => [
    OPERATIONS[operation].name,
    server,
    Math.round(median(perSecond)).toLocaleString('en'),
    `${Math.round(spread(perSecond) * 100)} %`,
    `${Math.round(median(processorMicroseconds))} µs`,
    `${Math.round(median(busy) * 100)} %`,
    ...(latency
      ? [`${ms(latency.shared.p50)} / ${ms(latency.shared.p99)} at ${Math.round(latency.shared.rate).toLocaleString('en')}/s`]
      : ['']),
    ...(latency
      ? [`${ms(latency.own.p50)} / ${ms(latency.own.p99)} at ${Math.round(latency.own.rate).toLocaleString('en')}/s`]
      : ['']),
  ])
  const head = [
    'operation',
    'server',
    'a second',
    'spread',
    'processor time each',
    'core in use',
    'p50 / p99 at one rate for all',
    'p50 / p99 at half its own',
  ]
  return markdownTable(head, rows)
}

/** The part `stalls`, one row for each server. */
function stallsTable(stalls: Stalls[]): string {
  const rows = stalls.map(({ server, rate, atHalfLoad, longestBlock, secondProcess }) => [
    server,
    rate.toLocaleString('en'),
    `${ms(atHalfLoad.p50)} / ${ms(atHalfLoad.p99)} / ${ms(atHalfLoad.p999)} / ${ms(atHalfLoad.max)}`,
    `${Math.round(longestBlock)} ms`,
    `${ms(secondProcess.p50)} / ${ms(secondProcess.p99)} / ${ms(secondProcess.max)}`,
  ])
  const head = [
    'server',
    'refreshes a second at half load',
    'p50 / p99 / p99.9 / longest',
    'longest block of the event loop',
    'a second process beside full load: p50 / p99 / longest',
  ]
  return markdownTable(head, rows)
}

/** The part `clients`: the rates, and the refreshes beside other requests. */
function clientsTable({ registered, document, poll, refreshesPerSecond, crowdPerSecond, crowds }: ClientsMeasured): string {
  const rates = [
    ['authorize without a session, a registered client', registered],
    ['authorize without a session, a metadata document in memory', document],
    ['a poll of a pending device code, on PostgreSQL', poll],
  ] as const
  const rateRows = rates.map(([what, { perSecond, processorMicroseconds }]) => [
    what,
    Math.round(median(perSecond)).toLocaleString('en'),
    `${Math.round(spread(perSecond) * 100)} %`,
    `${Math.round(median(processorMicroseconds))} µs`,
  ])
  const crowdRows = crowds.map(({ beside, p50, p99, busy, answered }) => [
    beside === 'nothing' ? beside : `${crowdPerSecond.toLocaleString('en')} authorize requests of ${beside}`,
    `${ms(median(p50))} / ${ms(median(p99))}`,
    `${Math.round(median(busy) * 100)} %`,
    Object.entries(answered)
      .map(([status, count]) => `${status}: ${count.toLocaleString('en')}`)
      .join(', '),
  ])
  return [
    markdownTable(['request', 'a second', 'spread', 'processor time each'], rateRows),
    markdownTable(
      [
        'beside, a second',
        `p50 / p99 of ${refreshesPerSecond} refreshes a second`,
        'core in use',
        'how the other requests were answered',
      ],
      crowdRows,
    ),
  ].join('\n\n')
}

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
  if (part.memory) return memoryTable(part.memory)
  return part.stalls ? stallsTable(part.stalls) : resultsTable(part)
}

/** Empty for the part `memory`, whose own table has the memory. */
export function serversTable(part: PartResult): string {
  if (part.memory) return ''
  const rows = part.servers.map(({ name, readyAfter, peakMemory }) => [
    name,
    `${Math.round(median(readyAfter))} ms`,
    `${Math.round(peakMemory)} MiB`,
  ])
  return markdownTable(['server', 'start to ready', 'memory at its highest'], rows)
}

const ms = (value: number): string => `${value.toFixed(2)} ms`

/** Cells must not hold `|`. */
export function markdownTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
