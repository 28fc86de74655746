/** The first page: what this process and the store do now. */
import { hostname } from 'node:os'
import { type Html, html } from '../../pages/html.ts'
import type { Admin } from '../api/admin.ts'
import { listKeys } from '../operations/keys.ts'
import { requireScope } from '../operations/service.ts'
import { aboutText, getTotals, grantsText, type TotalsRecord } from '../operations/totals.ts'
import { formatCount, number } from '../operations/words.ts'
import { jobsTable, readJobViews } from './jobs.ts'
import { facts, link, pathTo, section, table, tag, titleRow } from './parts.ts'
import { bars, plot } from './plot.ts'
import { fromNow } from './times.ts'
import { addPage, type Console, type Visit } from './visit.ts'

type Live = ReturnType<Admin['live']['read']>

const REASONS_SHOWN = 8
const SENDERS_SHOWN = 12

/** The page refreshes itself more often than the totals change. */
const TOTALS_FOR = 60

export function overviewPage(console: Console): void {
  const { admin } = console
  const readTotals = totalsReader()
  addPage(console, '/console', async (visit) => {
    const now = admin.deps.now()
    // The other parts of the page are shown if the store fails, and if the role may not read the keys.
    const [storeMs, totals, keys, jobs] = await Promise.all([
      timeOfRead(admin),
      readTotals(visit).catch(() => null),
      visit.run(listKeys).then(
        ({ output }) => output.items,
        () => [],
      ),
      readJobViews(console, visit).catch(() => []),
    ])
    const inUse = keys.filter(({ state }) => state === 'makes').map(({ created_at: at }) => at)
    const oldestKey =
      inUse.length > 0 ? html`made ${fromNow(Math.min(...inUse), now)} · ${link('/console/keys', 'Keys')}` : 'unknown'
    const underWay = jobs.filter(({ done_at: doneAt }) => doneAt === null)
    const live = admin.live.read()
    return {
      title: 'Overview',
      refresh: 10,
      content: html`${titleRow('Overview')}
${totalsContent(totals)}
<h2 class="part">This process</h2>
<dl class="tiles">
${tilesOf(live, storeMs).map(tile)}
</dl>
<div class="columns">
${section('Requests per second', requestsPlot(live))}
${section('Latency', latencyPlot(live))}
${section('Refusals in the last hour', refusalsTable(live.refusals))}
${section('This node', nodeFacts(admin, storeMs !== null, oldestKey))}
</div>
${section('Who was refused in the last hour', sendersTable(admin.live.refusedSenders.read()))}
${section('Jobs', html`${jobsTable(underWay, now, 'No job is under way.')}<p class="fine">${link('/console/jobs', 'All jobs')}</p>`)}
<p class="fine">The numbers below “This process” are those of one process, in memory, since it started ${fromNow(live.startedAt, now)}. Each node and each worker shows its own. For all of them together, use the metrics.</p>`,
    }
  })
}

/** Reads the totals once a minute. Each role may read them. */
function totalsReader(): (visit: Visit) => Promise<TotalsRecord> {
  let last: { minute: number; totals: TotalsRecord } | undefined
  return async (visit) => {
    const minute = Math.floor(visit.now / TOTALS_FOR)
    requireScope(visit.actor, getTotals.scope)
    if (last?.minute !== minute) last = { minute, totals: (await visit.run(getTotals)).output }
    return last.totals
  }
}

/** Null if the store cannot be reached. */
function totalsContent(totals: TotalsRecord | null): Html | false {
  if (totals === null) return false
  const { clients, grants, active_wallets: active, sign_ins: signIns } = totals
  const tiles: Tile[] = [
    { name: 'Clients', value: number(clients), aside: 'registered' },
    { name: 'Grants', value: grantsText(grants), aside: 'with those that ended in the last day' },
    { name: 'Active wallets', value: aboutText(active.day), aside: 'in the last 24 hours' },
    { name: 'Active wallets', value: aboutText(active.thirty_days), aside: 'in the last 30 days' },
  ]
  return html`<dl class="tiles" id="totals">
${tiles.map(tile)}
</dl>
${section('Sign-ins a day', signInsPlot(signIns))}`
}

function signInsPlot(signIns: TotalsRecord['sign_ins']): Html {
  const values = signIns.map(({ sign_ins: count }) => count)
  const total = values.reduce((sum, count) => sum + count, 0)
  const drawing = bars({
    values,
    format: (value) => `${number(value)} a day`,
    empty: 'There was no sign-in yet.',
    ends: [signIns[0]?.day ?? '', 'today'],
    summary: `${formatCount(total, 'sign-in')} in ${formatCount(signIns.length, 'day')}; ${number(values.at(-1) ?? 0)} today.`,
  })
  return html`${drawing}<p class="fine">${formatCount(total, 'sign-in')} in ${formatCount(signIns.length, 'day')}, ${number(values.at(-1) ?? 0)} of them today (UTC). Of all nodes, up to the last minute.</p>`
}

/** Milliseconds of one small read; null if the store cannot be reached. */
async function timeOfRead({ store }: Admin): Promise<number | null> {
  const begun = performance.now()
  try {
    await store.readRevision()
    return performance.now() - begun
  } catch {
    return null
  }
}

function requestsPlot({ samples, span, startedAt }: Live): Html {
  const values = samples.map(({ at, requests }) => (at + span <= startedAt ? null : requests / span))
  const hour = samples.reduce((sum, { requests }) => sum + requests, 0)
  const most = Math.max(0, ...values.map((value) => value ?? 0))
  return plot({
    lines: [{ name: 'requests', values }],
    format: (value) => `${rate(value)} per second`,
    empty: 'Nothing to draw yet.',
    ends: ['1 hour ago', 'now'],
    summary: `${number(hour)} requests in the last hour; at most ${rate(most)} per second.`,
  })
}

function latencyPlot({ samples, now: { p50, p95, p99 } }: Live): Html {
  return plot({
    lines: (['p50', 'p95', 'p99'] as const).map((name) => ({ name, values: samples.map((sample) => sample[name]) })),
    format: milliseconds,
    empty: 'Nothing to draw yet.',
    ends: ['1 hour ago', 'now'],
    summary: `In the last minute: p50 ${milliseconds(p50)}, p95 ${milliseconds(p95)}, p99 ${milliseconds(p99)}.`,
  })
}

type Tile = { name: string; value: string; aside: string; isBad?: boolean }

function tilesOf({ now: { perSecond, faults, p50, p95, p99 } }: Live, storeMs: number | null): Tile[] {
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

type Senders = ReturnType<Admin['live']['refusedSenders']['read']>

function sendersTable({ senders, others }: Senders): Html {
  const rest = senders.slice(SENDERS_SHOWN).reduce((sum, { count }) => sum + count, others)
  const shown = table(
    'Refused requests of the last hour by network, client and reason',
    [
      { name: 'Network', cell: ({ network }) => html`<code>${network}</code>`, kind: 'main' },
      { name: 'Client', cell: ({ client }) => clientCell(client) },
      { name: 'Reason', cell: ({ reason }) => html`<code>${reason}</code>` },
      { name: 'Requests', cell: ({ count }) => number(count), kind: 'number' },
    ],
    senders.slice(0, SENDERS_SHOWN),
    'No request was refused.',
  )
  return html`${shown}${rest > 0 && html`<p class="fine">${formatCount(rest, 'more refusal')} of other senders. The log has all of them.</p>`}`
}

/** `client` is from `countedClient`. */
function clientCell(client: string): Html | string {
  if (client === 'none') return 'unknown'
  return client === 'unregistered' ? 'not registered' : link(pathTo('clients', client), html`<code>${client}</code>`)
}

function nodeFacts({ machinesAway, endings }: Admin, isReachable: boolean, oldestKey: Html | string): Html {
  const away = machinesAway()
  return facts([
    ['Machine', html`<code>${hostname()}</code>, process <code>${process.pid}</code>`],
    ['Runtime', `Node.js ${process.version}`],
    ['Store', isReachable ? tag('reachable', 'good') : tag('away', 'warn')],
    away.length > 0 && ['Away', html`${away.map((name) => html`<code>${name}</code> `)}`],
    ['Oldest key in use', oldestKey],
    ['Feed of endings', feedWords(endings)],
  ])
}

function feedWords({ feed, readers }: Admin['endings']): string {
  const { entries, age } = feed.facts()
  if (age === null) return 'no resource server reads it'
  return `${formatCount(readers.count, 'reader')}, ${formatCount(entries, 'ending')}, ${age.toFixed(1)} s old`
}

const rate = (value: number): string =>
  value === 0 || value >= 10 ? number(Math.round(value)) : value.toFixed(value < 1 ? 2 : 1)

function milliseconds(seconds: number | null): string {
  if (seconds === null) return '–'
  const value = seconds * 1000
  return value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`
}
