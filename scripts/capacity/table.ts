/** The plans of several loads as one Markdown table. */
import type { Load, Plan } from './model.ts'
import { LARGEST, NODE_CORES, planFor, WORKER } from './model.ts'

type Row = readonly [name: string, value: (plan: Plan) => string]

/** Bytes of tables and indexes that `pg_restore -j 2` makes in a second, as docs/operating/capacity.md says. */
const RESTORED_A_SECOND = 27e6

const ROWS: readonly Row[] = [
  ['refreshes a second, busiest hour', ({ rates }) => count(rates.refresh)],
  ['introspections a second', ({ rates }) => count(rates.newToken + rates.sameToken)],
  ['visits and sign-ins a second', ({ rates }) => count(rates.visit + rates.signIn)],
  ['grants', ({ rows }) => count(rows.grants)],
  ['disk', ({ room }) => bytes(room)],
  ['hours for a restore from a dump, with two jobs', ({ room }) => hours(room / RESTORED_A_SECOND / 3600)],
  ['receipts in an object storage', ({ objects }) => (objects === 0 ? '' : bytes(objects))],
  ['memory for the pages that refreshes touch', ({ hot }) => bytes(hot)],
  ['write-ahead log, busiest hour', ({ log }) => `${bytes(log)}/s`],
  ['write-ahead log a day: archive, or one more region', ({ logPerDay }) => bytes(logPerDay)],
  ['line to one more region', ({ log }) => `${bits(log)}/s`],
  [`**one primary**: machines of ${NODE_CORES} cores with nodes`, ({ primary }) => count(primary.nodeMachines)],
  ['cores of the primary, and of its standby', ({ primary }) => count(Math.max(2, primary.cores))],
  ['hours between two times at which all rows are frozen', ({ primary }) => hours(primary.freezeHours)],
  [`**Citus**: machines of ${NODE_CORES} cores with nodes`, ({ cluster }) => count(cluster.nodeMachines)],
  [
    `workers of ${WORKER.cores} cores and ${WORKER.memory / 1e9} GB, each with a standby`,
    ({ cluster }) => count(cluster.workers),
  ],
  ['cores of the coordinator, and of its standby', ({ cluster }) => count(Math.max(2, cluster.coordinatorCores))],
  ['hours between two times at which a worker freezes its rows', ({ cluster }) => hours(cluster.freezeHours)],
  [
    `**choose**, if ${LARGEST.cores} cores and ${bytes(LARGEST.memory)} are the largest machine`,
    ({ fitsOnePrimary }) => (fitsOnePrimary ? 'one primary' : 'Citus'),
  ],
]

export function tableOf(loads: readonly Load[]): string {
  const plans = loads.map(planFor)
  const lines = ROWS.map(([name, value]) => [name, ...plans.map(value)]).filter(([, ...values]) => values.some(Boolean))
  const head = ['users', ...loads.map(({ users }) => count(users))]
  return [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** Two significant digits: a plan is no more exact than that. */
function roundToTwoDigits(value: number): number {
  return Number(value.toPrecision(2))
}

function count(value: number): string {
  return Math.ceil(value) < 100 ? String(Math.ceil(value)) : roundToTwoDigits(value).toLocaleString('en-US')
}

function hours(value: number): string {
  return value > 1000 ? 'more than 1,000' : String(roundToTwoDigits(value))
}

function bytes(value: number): string {
  return inUnits(value, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'])
}

function bits(value: number): string {
  return inUnits(value * 8, ['bit', 'kbit', 'Mbit', 'Gbit', 'Tbit'])
}

function inUnits(value: number, units: readonly string[]): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)))
  return `${roundToTwoDigits(value / 1000 ** power)} ${units[power]}`
}
