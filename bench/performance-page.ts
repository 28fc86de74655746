/** The generated parts of docs/evidence/performance.md and its chart, made from the figures that are kept. */
import { readFileSync, writeFileSync } from 'node:fs'
import { chartOf, type Group } from './chart.ts'
import { checksOf } from './checks.ts'
import { coresFor, costsOf } from './cost.ts'
import { CHART, type Figures, HOSTILE_CHART, PAGE } from './figures.ts'
import { ratioOf } from './hostile.ts'
import { OPERATIONS, type OperationName } from './operations.ts'
import { BASELINE } from './parts.ts'
import { median } from './statistics.ts'
import { checksTable, markdownTable, measuredTable, serversText } from './tables.ts'

const TITLES = {
  peer: 'Six operations, one core',
  floor: 'Four operations and their floors',
  postgres: 'PostgreSQL, everything on two cores',
  workers: 'Two workers, everything on two cores',
  grants: 'A large store',
  stalls: 'The slowest refreshes of a large store',
  clients: 'Clients that are not registered, and devices',
  alone: 'Refreshes one at a time, on PostgreSQL',
  hostile: 'Refreshes beside hostile or heavy work',
  memory: 'Memory under mixed load',
  limits: 'Draws from limits',
  others: 'Hydra and Keycloak on the same PostgreSQL',
} as const

const HOSTILE_TITLE = 'p99 of refreshes at half load, divided by the p99 beside nothing. The line is the aim of 1.5'

/** Writes the tables of the page and the chart from the stored figures. Text outside of the marks is not changed. */
export function rewrite(all: Figures[]): void {
  writeFileSync(PAGE, withFigures(readFileSync(PAGE, 'utf8'), all))
  for (const [file, chart] of chartsFrom(all)) writeFileSync(file, chart)
}

/** The charts of the page and their files, of the parts that were measured. */
export function chartsFrom(all: Figures[]): [file: string, chart: string][] {
  const charts: [string, string | null][] = [
    [CHART, ratesChart(all)],
    [HOSTILE_CHART, hostileChart(all)],
  ]
  return charts.filter((each): each is [string, string] => each[1] !== null)
}

function hostileChart(all: Figures[]): string | null {
  const { hostile = [] } = all.find(({ part }) => part === 'hostile') ?? {}
  if (hostile.length === 0) return null
  const groups = hostile.map((measured) => ({
    label: measured.scene,
    bars: [{ series: measured.server, value: ratioOf(measured) }],
  }))
  return chartOf(HOSTILE_TITLE, groups, { left: 440, digits: 2, aim: 1.5 })
}

/** The page's text with these figures between its marks. */
export function withFigures(page: string, all: Figures[]): string {
  return Object.entries(sectionsOf(all)).reduce((text, [name, content]) => between(text, name, content), page)
}

function ratesChart(all: Figures[]): string | null {
  const peer = all.find(({ part }) => part === 'peer')
  if (!peer) return null
  const groups = (Object.keys(OPERATIONS) as OperationName[]).flatMap((operation): Group[] => {
    const results = peer.results.filter((result) => result.operation === operation && result.server !== BASELINE)
    const bars = results.map(({ server, perSecond }) => ({ series: server, value: median(perSecond) }))
    return bars.length === 0 ? [] : [{ label: OPERATIONS[operation].name, bars }]
  })
  return chartOf('Requests a second on one core', groups)
}

function sectionsOf(all: Figures[]): Record<string, string> {
  const peer = all.find(({ part }) => part === 'peer')
  return {
    // The hostile scenes have a table of their own, with each ratio, and a chart with the aim.
    aims: checksTable(
      all
        .filter(({ part }) => part !== 'hostile')
        .flatMap(checksOf)
        .filter(({ required }) => required !== ''),
    ),
    measured: all
      .map((figures) => [
        `### ${TITLES[figures.part]}`,
        about(figures),
        figures.hostile ? `![${HOSTILE_TITLE}](bench/hostile.svg)` : '',
        measuredTable(figures),
        serversText(figures),
      ])
      .map((parts) => parts.filter(Boolean).join('\n\n'))
      .join('\n\n'),
    cost: peer ? costSection(peer) : '',
  }
}

function about({ measuredOn, machine, load, loadCheck }: Figures): string {
  const { processor, cores, node, system } = machine
  const check = loadCheck
    ? ` The empty post gave ${perSecond(loadCheck.ours)} under our load and ${perSecond(loadCheck.wrk)} under wrk.`
    : ''
  return `${measuredOn}, ${processor}, ${cores} cores, Node ${node}, ${system}; ${load.rounds} rounds of ${load.seconds} s, ${load.connections} connections.${check}`
}

function costSection(peer: Figures): string {
  const costs = costsOf(peer)
  if (costs.length === 0) return ''
  const rows = costs.map(({ operation, times, why, microseconds, coreHours }) => [
    operation,
    String(times),
    why,
    `${Math.round(microseconds)} µs`,
    coreHours.toFixed(2),
  ])
  const { average, peak } = coresFor(costs)
  return [
    markdownTable(['operation', 'times a day', 'why', 'processor time each', 'core hours for a million people'], rows),
    `Together ${average.toFixed(2)} cores on average over the day, and ${peak.toFixed(2)} in a busiest hour with three times the average.`,
  ].join('\n\n')
}

function between(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- bench: ${name} -->`, `<!-- bench: end of ${name} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`docs/evidence/performance.md lacks the marks of ${name}`)
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`
}

const perSecond = (values: number[]): string => `${Math.round(median(values)).toLocaleString('en')}/s`
