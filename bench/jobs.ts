/**
 * `npm run bench -- jobs`: the latency of refreshes while a job ends 1,000,000 grants of another client, on each engine.
 *
 * The job is stored as the admin API stores it, and the service's own worker does it.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { atExit } from './at-exit.ts'
import { type BuiltStore, CHECKOUT, importBuilt, openBuiltStore } from './built.ts'
import { closedLoop } from './load/closed-loop.ts'
import { latenciesOf } from './load/open-loop.ts'
import { chooseCores, stayOn } from './machine.ts'
import { tell } from './measure.ts'
import { refreshing } from './operations.ts'
import { layOut } from './package-home.ts'
import { fillPostgres, fillSqlite } from './servers/fill.ts'
import { startGrantor } from './servers/grantor.ts'
import { startPostgres } from './servers/postgres.ts'
import { freePort } from './servers/process.ts'
import { median, percentile } from './statistics.ts'
import { markdownTable } from './tables.ts'
import type { Target } from './target.ts'

/** Refreshes a second. */
const RATE = 500
const CHAINS = 2000
const SECONDS = 2
/** Rounds without the job, before and after the rounds beside it. */
const QUIET_ROUNDS = 5
const OTHER_CLIENT = 'b0000000-0000-4000-8000-000000000000'

type Job = { clientId: string; grantsEnded: number; createdAt: number; doneAt: number | null }
type Jobs = {
  addJob(store: BuiltStore, job: { kind: string; clientId: string; startedBy: string }, at: number): Promise<Job | null>
  readJobs(store: BuiltStore): Promise<Job[]>
}

/** Milliseconds, one figure a round. */
type Latencies = { p50: number[]; p99: number[] }

export async function measureJobs(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      grants: { type: 'string', default: '1000000' },
      store: { type: 'string', default: 'sqlite,postgres' },
      folder: { type: 'string', default: tmpdir() },
    },
  })
  const folder = mkdtempSync(join(values.folder, 'grantor-bench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const home = layOut(CHECKOUT, join(folder, 'grantor'))
  const rows: string[][] = []
  for (const engine of values.store.split(',')) {
    const within = join(folder, engine)
    mkdirSync(within)
    rows.push(await measureEngine(engine, { home, folder: within, grants: Number(values.grants) }))
  }
  const head = ['engine', 'grants ended', 'job', 'p50 / p99 without the job', 'p50 / p99 beside the job', 'p99']
  console.log(`\n${markdownTable(head, rows)}`)
}

type Place = { home: string; folder: string; grants: number }

async function measureEngine(engine: string, { home, folder, grants }: Place): Promise<string[]> {
  const cores = chooseCores(engine === 'postgres')
  stayOn(cores.load)
  const database = engine === 'postgres' ? await startPostgres({ folder: tmpdir(), cores: cores.server }) : null
  const file = join(folder, 'jobs.sqlite')
  const databaseUrl = database ? await database.urlOf('jobs') : `sqlite:${file}`
  const adminPort = await freePort()
  const target = await startGrantor({
    name: `grantor-${engine}`,
    home,
    databaseUrl,
    workers: 1,
    cores: cores.server,
    folder,
    starts: 1,
    chains: CHAINS,
    async fill() {
      tell(`filling ${engine} with ${grants.toLocaleString('en')} grants of another client`)
      if (database) await fillPostgres(databaseUrl, grants, { clientId: OTHER_CLIENT })
      else fillSqlite(file, grants, { clientId: OTHER_CLIENT })
    },
    settings: { GRANTOR_ADMIN_URL: `http://localhost:${adminPort}`, GRANTOR_ADMIN_LISTEN: `127.0.0.1:${adminPort}` },
  })
  try {
    return await measureJob(engine, target)
  } finally {
    await target.stop()
    await database?.stop()
  }
}

async function measureJob(engine: string, target: Target): Promise<string[]> {
  const work = refreshing(target, (await target.supply?.refreshTokens(CHAINS)) ?? [])
  await closedLoop(target.port, work, { connections: 64, seconds: SECONDS })
  const measure = async (latencies: Latencies) => {
    const sorted = await latenciesOf(target.port, work, { connections: 64, rate: RATE, seconds: SECONDS })
    latencies.p50.push(percentile(sorted, 0.5))
    latencies.p99.push(percentile(sorted, 0.99))
  }
  const [quiet, beside] = [newLatencies(), newLatencies()]
  for (let round = 0; round < QUIET_ROUNDS; round++) await measure(quiet)
  const { addJob, readJobs } = (await importBuilt('domain/operators/jobs.js')) as Jobs
  const store = await openBuiltStore(target.databaseUrl ?? '')
  try {
    const at = Math.floor(Date.now() / 1000)
    await addJob(store, { kind: 'end_grants_of_client', clientId: OTHER_CLIENT, startedBy: 'bench' }, at)
    const readJob = async () => (await readJobs(store))[0]
    const began = performance.now()
    while ((await readJob())?.grantsEnded === 0) await pause(50)
    while ((await readJob())?.doneAt === null) {
      await measure(beside)
      tell(`${engine}: ${(await readJob())?.grantsEnded.toLocaleString('en')} ended, p99 ${beside.p99.at(-1)?.toFixed(2)} ms`)
    }
    const took = (performance.now() - began) / 1000
    const ended = (await readJob())?.grantsEnded ?? 0
    for (let round = 0; round < QUIET_ROUNDS; round++) await measure(quiet)
    const ratio = median(beside.p99) / median(quiet.p99)
    const told = ({ p50, p99 }: Latencies) => `${median(p50).toFixed(2)} / ${median(p99).toFixed(2)} ms`
    const row = [engine, ended.toLocaleString('en'), `${took.toFixed(0)} s`, told(quiet), told(beside), `${ratio.toFixed(2)} ×`]
    tell(row.join(', '))
    return row
  } finally {
    await store.close()
  }
}

const newLatencies = (): Latencies => ({ p50: [], p99: [] })
