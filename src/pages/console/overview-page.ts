import { number } from '../../operations/words.ts'
import { type Html, html } from '../html.ts'
import { fromNow } from '../times.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import { type JobView, jobsTable } from './job-page.ts'
import { facts, link, section, table, tag, titleRow } from './parts.ts'
import { plot } from './plot.ts'

type Percentiles = { p50: number | null; p95: number | null; p99: number | null }

export type OverviewView = {
  frame: Frame
  /** epoch seconds */
  now: number
  live: {
    startedAt: number
    now: Percentiles & { perSecond: number; faults: number }
    samples: (Percentiles & { at: number; requests: number; refusals: number })[]
    span: number
    refusals: { reason: string; count: number }[]
  }
  /** milliseconds of one read; null if the store cannot be reached */
  storeMs: number | null
  /** machines of the database that do not respond */
  away: string[]
  node: { host: string; pid: number; runtime: string }
  /** the age in seconds of the oldest key that makes tokens; null if unknown */
  keyAge: number | null
  jobs: JobView[]
}

const REASONS_SHOWN = 8

export function overviewPage(view: OverviewView): string {
  const { frame, live, now } = view
  const perSecond = live.samples.map(({ at, requests }) => (at + live.span <= live.startedAt ? null : requests / live.span))
  const hour = live.samples.reduce((sum, { requests }) => sum + requests, 0)
  return consoleLayout({
    title: 'Overview',
    frame,
    refresh: 10,
    content: html`${titleRow('Overview')}
<dl class="tiles">
${tilesOf(view).map(tile)}
</dl>
<div class="columns">
${section('Requests per second', plot({ lines: [{ name: 'requests', values: perSecond }], format: (value) => `${rate(value)} per second`, empty: 'Nothing to draw yet.', summary: `${number(hour)} requests in the last hour; at most ${rate(Math.max(0, ...perSecond.map((value) => value ?? 0)))} per second.` }))}
${section('Latency', plot({ lines: latencies(live.samples), format: milliseconds, empty: 'Nothing to draw yet.', summary: `In the last minute: p50 ${milliseconds(live.now.p50)}, p95 ${milliseconds(live.now.p95)}, p99 ${milliseconds(live.now.p99)}.` }))}
${section('Refusals in the last hour', refusalsTable(live.refusals))}
${section('This node', nodeFacts(view))}
</div>
${section('Jobs', html`${jobsTable(view.jobs, now, 'No job is under way.')}<p class="fine">${link('/console/jobs', 'All jobs')}</p>`)}
<p class="fine">The numbers are those of this process, in memory, since it started ${fromNow(live.startedAt, now)}. Each node and each worker shows its own. For all of them together, use the metrics.</p>`,
  })
}

type Tile = { name: string; value: string; aside: string; isBad?: boolean }

function tilesOf({ live, storeMs }: OverviewView): Tile[] {
  const { perSecond, faults, p50, p95, p99 } = live.now
  return [
    { name: 'Requests', value: `${rate(perSecond)}/s`, aside: 'in the last minute' },
    { name: 'Latency, p99', value: milliseconds(p99), aside: `p50 ${milliseconds(p50)} · p95 ${milliseconds(p95)}` },
    { name: 'Faults', value: number(faults), aside: 'answers 5xx in the last minute', isBad: faults > 0 },
    storeMs === null
      ? { name: 'Store', value: 'away', aside: 'it cannot be reached', isBad: true }
      : { name: 'Store', value: `${storeMs.toFixed(1)} ms`, aside: 'one read just now' },
  ]
}

function tile({ name, value, aside, isBad = false }: Tile): Html {
  return html`<div class="tile-box${isBad ? ' bad' : ''}"><dt>${name}</dt><dd><span class="value">${value}</span><span class="fine">${aside}</span></dd></div>`
}

function latencies(samples: OverviewView['live']['samples']) {
  return (['p50', 'p95', 'p99'] as const).map((name) => ({ name, values: samples.map((sample) => sample[name]) }))
}

function refusalsTable(refusals: { reason: string; count: number }[]): Html {
  const rest = refusals.slice(REASONS_SHOWN).reduce((sum, { count }) => sum + count, 0)
  const rows = [...refusals.slice(0, REASONS_SHOWN), ...(rest > 0 ? [{ reason: 'other reasons', count: rest }] : [])]
  return table(
    'Refusals in the last hour by reason',
    [
      { name: 'Reason', cell: ({ reason }) => html`<code>${reason}</code>`, kind: 'main' },
      { name: 'Requests', cell: ({ count }) => number(count), kind: 'number' },
    ],
    rows,
    'No request was refused.',
  )
}

function nodeFacts({ node, keyAge, away, storeMs, now }: OverviewView): Html {
  return facts([
    ['Machine', html`<code>${node.host}</code>, process <code>${node.pid}</code>`],
    ['Runtime', node.runtime],
    ['Store', storeMs === null ? tag('away', 'warn') : tag('reachable', 'good')],
    away.length > 0 && ['Away', html`${away.map((name) => html`<code>${name}</code> `)}`],
    [
      'Oldest key in use',
      keyAge === null ? 'unknown' : html`made ${fromNow(now - keyAge, now)} · ${link('/console/keys', 'Keys')}`,
    ],
  ])
}

const rate = (value: number): string =>
  value === 0 || value >= 10 ? number(Math.round(value)) : value.toFixed(value < 1 ? 2 : 1)

function milliseconds(seconds: number | null): string {
  if (seconds === null) return '–'
  const value = seconds * 1000
  return value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`
}
