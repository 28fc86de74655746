/** The first page: the service, over all nodes. */
import { type Fillable, type Html, html } from '../../pages/html.ts'
import { requireScope } from '../operations/service.ts'
import { getStatus, type StatusRecord } from '../operations/status.ts'
import { aboutText, getTotals, grantsText, type TotalsRecord } from '../operations/totals.ts'
import { formatCount, number } from '../operations/words.ts'
import { jobsTable, readJobViews } from './jobs.ts'
import { clock, link, nameOr, pathTo, readableText, section, table, tag, titleRow } from './parts.ts'
import { bars, plot } from './plot.ts'
import { fromNow } from './times.ts'
import { addPage, type Console, type Visit } from './visit.ts'

const SENDERS_SHOWN = 12
const NODES_SHOWN = 50

/** The page refreshes itself more often than the totals change. */
const TOTALS_FOR = 60

type Minutes = StatusRecord['minutes']
type NodeRow = StatusRecord['nodes'][number]

export function overviewPage(console: Console): void {
  const readTotals = totalsReader()
  addPage(console, '/console', async (visit) => {
    const [{ output: status }, totals, jobs] = await Promise.all([
      visit.run(getStatus),
      readTotals(visit),
      readJobViews(console, visit),
    ])
    const own = console.service.ownReport()?.id
    const underWay = jobs.filter(({ done_at: doneAt }) => doneAt === null)
    return {
      title: 'Overview',
      refresh: 10,
      content: html`${titleRow('Overview')}
${section('Attention', attentionList(status.attention, visit), 'attention')}
<div class="columns charts">
${requestsCard(status.minutes)}
${latencyCard(status.minutes)}
${errorsCard(status.minutes)}
</div>
${section('Refused in the last hour', refusalsTable(status), 'refusals')}
${section('Nodes', nodesTable(status.nodes, { now: visit.now, own }), 'nodes')}
${section('Wallets and sign-ins', totalsContent(totals), 'totals')}
${section('Jobs', underWay.length > 0 ? html`${jobsTable(underWay, visit.now, '')}<p class="fine">${link('/console/jobs', 'All jobs')}</p>` : html`<p class="lead">No job is under way. ${link('/console/jobs', 'All jobs')}</p>`)}`,
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

type AttentionItem = StatusRecord['attention'][number]

function attentionList(items: readonly AttentionItem[], { now }: Pick<Visit, 'now'>): Html {
  if (items.length === 0) return html`<p class="calm">Nothing needs your attention.</p>`
  return html`<ul class="attention">${items.map((item) => {
    const path = pathOfItem(item)
    return html`<li class="${item.until === null ? 'lasts' : 'over'}"><span>${readableText(item.text)}${path !== null && html` ${link(path, 'Open')}`}</span><span class="fine">${timeOfItem(item, now)}</span></li>
`
  })}</ul>`
}

function pathOfItem({ kind, subject }: AttentionItem): string | null {
  if (kind === 'secret_ends') return pathTo('clients', subject)
  if (kind === 'key_due') return '/console/keys'
  return kind === 'webhook_failing' || kind === 'webhook_paused' ? pathTo('webhooks', subject) : null
}

function timeOfItem({ kind, at, until }: AttentionItem, now: number): Html {
  if (until !== null) return span(at, until, now)
  return html`${kind === 'node_silent' && 'last report '}${fromNow(at, now)}`
}

const TO_THE_SECOND = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'UTC' })

/** "07:28:31–07:29:50 UTC", with the day if that is not today. */
function span(from: number, until: number, now: number): Html {
  const time = (at: number) =>
    html`<time datetime="${new Date(at * 1000).toISOString()}">${TO_THE_SECOND.format(at * 1000)}</time>`
  const isToday = Math.floor(from / 86_400) === Math.floor(now / 86_400)
  return html`${!isToday && `${DAY.format(from * 1000)}, `}${time(from)}${until > from && html`–${time(until)}`} UTC`
}

type Card = { title: string; value: string; aside: Fillable; drawing: Html }

function card({ title, value, aside, drawing }: Card): Html {
  return section(
    title,
    html`<p class="figure"><span class="value">${value}</span> <span class="fine">${aside}</span></p>${drawing}`,
  )
}

function requestsCard(minutes: Minutes): Html {
  const rates = minutes.map(({ requests }) => (requests === null ? null : requests / 60))
  const hour = sumOf(minutes, 'requests')
  return card({
    title: 'Requests per second',
    value: rate(rates.at(-1) ?? 0),
    aside: `now · ${number(hour)} requests in the last hour`,
    drawing: plot({
      lines: [{ name: 'requests', values: rates }],
      format: rate,
      empty: 'No request in the last hour.',
      times: timesOf(minutes),
      summary: `${number(hour)} requests in the last hour; at most ${rate(Math.max(0, ...rates.map((value) => value ?? 0)))} per second.`,
    }),
  })
}

function latencyCard(minutes: Minutes): Html {
  const { p50 = null, p95 = null, p99 = null } = minutes.at(-1) ?? {}
  return card({
    title: 'Latency',
    value: milliseconds(p99),
    aside: `p99 · p95 ${milliseconds(p95)} · p50 ${milliseconds(p50)}`,
    drawing: plot({
      lines: (['p50', 'p95', 'p99'] as const).map((name) => ({ name, values: minutes.map((minute) => minute[name]) })),
      format: milliseconds,
      empty: 'No request in the last hour.',
      times: timesOf(minutes),
      summary: `In the last minute: p50 ${milliseconds(p50)}, p95 ${milliseconds(p95)}, p99 ${milliseconds(p99)}.`,
    }),
  })
}

function errorsCard(minutes: Minutes): Html {
  const [faults, limited] = [sumOf(minutes, 'answers_5xx'), sumOf(minutes, 'answers_429')]
  const valuesOf = (name: 'answers_5xx' | 'answers_429') =>
    minutes.map((minute) => (minute.requests === null ? null : minute[name]))
  return card({
    title: 'Errors',
    value: number(faults),
    aside: `5xx · ${number(limited)} answers 429 in the last hour`,
    drawing: plot({
      lines: [
        { name: '5xx', values: valuesOf('answers_5xx'), tone: 2 },
        { name: '429', values: valuesOf('answers_429'), tone: 1 },
      ],
      format: number,
      isCount: true,
      empty: 'No answer 5xx or 429 in the last hour.',
      times: timesOf(minutes),
      summary: `${number(faults)} answers 5xx and ${number(limited)} answers 429 in the last hour, by minute.`,
    }),
  })
}

function sumOf(minutes: Minutes, name: 'requests' | 'answers_5xx' | 'answers_429'): number {
  return minutes.reduce((sum, minute) => sum + (minute[name] ?? 0), 0)
}

/** The first minute, that in the middle, and the last one. */
function timesOf(minutes: Minutes): string[] {
  const ends = [0, minutes.length / 2, minutes.length - 1].map((index) => minutes[index]?.at ?? 0)
  return ends.map((at, index) => `${new Date(at * 1000).toISOString().slice(11, 16)}${index === 2 ? ' UTC' : ''}`)
}

function refusalsTable({ refusals, other_refusals: others }: StatusRecord): Html {
  const rest = refusals.slice(SENDERS_SHOWN).reduce((sum, { requests }) => sum + requests, others)
  const shown = table(
    'Refused requests of the last hour by network, client and reason',
    [
      { name: 'Network', cell: ({ network }) => html`<code>${network}</code>`, kind: 'main' },
      {
        name: 'Client',
        cell: ({ client_id: id, client }) => (id === null ? client : link(pathTo('clients', id), nameOr(client, id))),
      },
      { name: 'Reason', cell: ({ reason }) => html`<code>${reason}</code>` },
      { name: 'Requests', cell: ({ requests }) => number(requests), kind: 'number' },
    ],
    refusals.slice(0, SENDERS_SHOWN),
    'No request was refused.',
  )
  return html`${shown}${rest > 0 && html`<p class="fine">${formatCount(rest, 'more refusal')} of other senders. The log has all of them.</p>`}`
}

function nodesTable(nodes: readonly NodeRow[], { now, own }: { now: number; own: string | undefined }): Html {
  const present = nodes.filter(({ state }) => state !== 'stopped')
  const shown = table(
    'Nodes',
    [
      {
        name: 'Node',
        cell: ({ machine, process_id: pid, node_id: id }) =>
          html`<code>${machine}</code> <span class="fine">process ${pid}${id === own && ', this page'}</span>`,
        kind: 'main',
      },
      { name: 'Version', cell: ({ version }) => version },
      {
        name: 'State',
        cell: ({ state, reported_at: at }) =>
          state === 'silent' ? html`${tag('silent', 'warn')} since ${clock(at)}` : tag('running', 'good'),
      },
      { name: 'Started', cell: ({ started_at: at }) => fromNow(at, now) },
      { name: 'Store', cell: ({ store_milliseconds: time }) => `${number(time)} ms`, kind: 'number' },
      { name: 'Lag', cell: ({ lag_milliseconds: time }) => `${number(time)} ms`, kind: 'number' },
    ],
    present.slice(0, NODES_SHOWN),
    'No node has reported yet.',
  )
  const more = [
    present.length > NODES_SHOWN && `${formatCount(present.length - NODES_SHOWN, 'more node')}: grantor status show.`,
    nodes.length > present.length && `${number(nodes.length - present.length)} stopped in the last hour.`,
    feedWords(present),
  ]
  return html`${shown}<p class="fine">${more.filter((words) => words !== false).join(' ')}</p>`
}

function feedWords(nodes: readonly NodeRow[]): string {
  const readers = nodes.reduce((sum, { feed_readers: count }) => sum + count, 0)
  if (readers === 0) return 'No resource server reads the feed of endings.'
  const lag = Math.max(...nodes.map(({ feed_lag_seconds: seconds }) => seconds))
  return `The feed of endings has ${formatCount(readers, 'reader')}, at most ${lag.toFixed(1)} s behind.`
}

function totalsContent({ clients, grants, active_wallets: active, sign_ins: signIns }: TotalsRecord): Html {
  const figures: [name: string, value: string][] = [
    ['Wallets, 30 days', aboutText(active.thirty_days)],
    ['Wallets, 24 hours', aboutText(active.day)],
    ['Grants', grantsText(grants)],
    ['Clients', number(clients)],
  ]
  return html`<dl class="figures">${figures.map(([name, value]) => html`<div><dt>${name}</dt><dd class="value">${value}</dd></div>`)}</dl>
<h3>Sign-ins a day</h3>
${signInsPlot(signIns)}`
}

function signInsPlot(signIns: TotalsRecord['sign_ins']): Html {
  const values = signIns.map(({ sign_ins: count }) => count)
  const total = values.reduce((sum, count) => sum + count, 0)
  const words = `${formatCount(total, 'sign-in')} in ${formatCount(signIns.length, 'day')}, ${number(values.at(-1) ?? 0)} of them today (UTC)`
  const middle = signIns[Math.floor(signIns.length / 2)]?.day
  const drawing = bars({
    values,
    format: number,
    isCount: true,
    empty: 'There was no sign-in yet.',
    times: [dayName(signIns[0]?.day), dayName(middle), 'today'],
    summary: `${words}.`,
  })
  return html`${drawing}<p class="fine">${words}.</p>`
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const dayName = (day = '1970-01-01'): string => DAY.format(Date.parse(day))

const rate = (value: number): string =>
  value === 0 || value >= 10 ? number(Math.round(value)) : value.toFixed(value < 1 ? 2 : 1)

function milliseconds(seconds: number | null): string {
  if (seconds === null) return '–'
  const value = seconds * 1000
  return value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`
}
