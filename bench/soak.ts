/**
 * `npm run bench -- soak`: half an hour of refreshes at half of the highest rate, on SQLite, while grants are revoked, people sign in, a
 * signing key is rotated and expired rows are removed. Latencies and memory, minute by minute.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { atExit } from './at-exit.ts'
import { CHECKOUT } from './built.ts'
import { lineChartOf } from './chart.ts'
import { closedLoop, sendAll } from './load/closed-loop.ts'
import { latenciesOf } from './load/open-loop.ts'
import { requireStatus } from './load/work.ts'
import { chooseCores, memory, stayOn } from './machine.ts'
import { tell } from './measure.ts'
import { refreshing } from './operations.ts'
import { layOut } from './package-home.ts'
import { formPost } from './request.ts'
import { startGrantor } from './servers/grantor.ts'
import { median, percentile } from './statistics.ts'
import { markdownTable } from './tables.ts'
import type { Target } from './target.ts'

const CHAINS = 2000
/** Grants that are made and revoked each minute. */
const ENDED = 300
/** Minutes between two rotations of the signing key. */
const ROTATED_EVERY = 5

/** Latencies in milliseconds, memory in MiB. */
type Minute = { p50: number; p99: number; p999: number; max: number; memory: number }

export async function measureSoak(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '30' },
      folder: { type: 'string', default: tmpdir() },
      chart: { type: 'string' },
    },
  })
  const folder = mkdtempSync(join(values.folder, 'grantor-bench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const cores = chooseCores(false)
  stayOn(cores.load)
  const target = await startGrantor({
    name: 'grantor',
    home: layOut(CHECKOUT, join(folder, 'grantor')),
    databaseUrl: `sqlite:${join(folder, 'soak.sqlite')}`,
    workers: 1,
    cores: cores.server,
    folder,
    starts: 1,
    // Expired rows appear within the run.
    settings: { GRANTOR_CODE_LIFETIME: '60' },
  })
  try {
    const minutes = await soak(target, Number(values.minutes))
    const head = ['minute', 'p50', 'p99', 'p99.9', 'longest', 'memory']
    const rows = minutes.map(({ p50, p99, p999, max, memory: held }, index) => [
      String(index + 1),
      ...[p50, p99, p999, max].map((latency) => `${latency.toFixed(2)} ms`),
      `${Math.round(held)} MiB`,
    ])
    console.log(`\n${markdownTable(head, rows)}`)
    if (values.chart) writeFileSync(values.chart, chartOfMinutes(minutes))
  } finally {
    await target.stop()
  }
}

async function soak(target: Target, count: number): Promise<Minute[]> {
  const work = refreshing(target, (await target.supply?.refreshTokens(CHAINS)) ?? [])
  const rates: number[] = []
  for (let round = 0; round < 3; round++)
    rates.push((await closedLoop(target.port, work, { connections: 64, seconds: 2 })).perSecond)
  const rate = Math.floor(median(rates) / 2)
  tell(`refreshes at ${rate}/s for ${count} minutes`)
  const minutes: Minute[] = []
  while (minutes.length < count) {
    const [sorted] = await Promise.all([
      latenciesOf(target.port, work, { connections: 128, rate, seconds: 60 }),
      endGrants(target),
      minutes.length % ROTATED_EVERY === ROTATED_EVERY - 1 ? target.run?.(['keys', 'rotate']) : undefined,
    ])
    const at = (share: number) => percentile(sorted, share)
    const minute: Minute = { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1), memory: memory(target.running.pid) }
    minutes.push(minute)
    tell(
      `minute ${minutes.length}: p99 ${minute.p99.toFixed(2)} ms, p99.9 ${minute.p999.toFixed(2)} ms, ${Math.round(minute.memory)} MiB`,
    )
  }
  return minutes
}

/** People sign in, their codes are exchanged, and their grants are revoked: lines of the audit trail, and rows that expire. */
async function endGrants(target: Target): Promise<void> {
  const tokens = (await target.supply?.refreshTokens(ENDED)) ?? []
  await sendAll(target.port, {
    next() {
      const token = tokens.pop()
      return token && formPost(target.paths.revoke, target.authorization, { token, token_type_hint: 'refresh_token' })
    },
    accept: (answer) => requireStatus(answer, 200, 'revoke'),
  })
}

function chartOfMinutes(minutes: Minute[]): string {
  return lineChartOf('Latency of refreshes at half load, by the minute, in milliseconds', [
    { name: 'p99.9', values: minutes.map(({ p999 }) => p999) },
    { name: 'p99', values: minutes.map(({ p99 }) => p99) },
    { name: 'p50', values: minutes.map(({ p50 }) => p50) },
  ])
}
