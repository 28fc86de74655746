/**
 * `npm run bench -- appends`: how long lines wait for their place in the audit trail, and how many lines a second several writers append
 * together. A writer is a trail with a store of its own, as each process of a service has. Each process here holds several.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { atExit } from './at-exit.ts'
import { CHECKOUT } from './built.ts'
import { tell } from './measure.ts'
import type { Writing, Written } from './servers/append-process.ts'
import { startPostgres } from './servers/postgres.ts'
import { percentile } from './statistics.ts'
import { markdownTable } from './tables.ts'

const PROCESSES_AT_MOST = 4

/** A database that a build has migrated. */
type Place = { name: string; home: string; url: string }

export async function measureAppends(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      writers: { type: 'string', default: '1,4,12,28' },
      rate: { type: 'string', default: '140' },
      seconds: { type: 'string', default: '5' },
      store: { type: 'string', default: 'sqlite,postgres' },
      baseline: { type: 'string' },
      url: { type: 'string' },
      folder: { type: 'string', default: tmpdir() },
    },
  })
  const folder = mkdtempSync(join(values.folder, 'grantor-bench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const homes = [...(values.baseline === undefined ? [] : [['before', resolve(values.baseline)]]), ['now', CHECKOUT]]
  const postgres =
    values.url === undefined && values.store.includes('postgres')
      ? await startPostgres({ folder: values.folder, cores: null })
      : null
  const places: Place[] = []
  if (values.url !== undefined) places.push({ name: 'given', home: resolve(values.baseline ?? CHECKOUT), url: values.url })
  for (const [name = '', home = ''] of values.url === undefined ? homes : []) {
    if (values.store.includes('sqlite'))
      places.push({ name: `SQLite, ${name}`, home, url: `sqlite:${join(folder, `${name}.sqlite`)}` })
    if (postgres) places.push({ name: `PostgreSQL, ${name}`, home, url: await postgres.urlOf(name) })
  }
  for (const { home, url } of places) migrate(home, url)
  const rows: string[][] = []
  for (const rate of [Number(values.rate), 0]) {
    for (const writers of values.writers.split(',').map(Number)) {
      for (const place of places) {
        rows.push(await measurePlace(place, { writers, rate, seconds: Number(values.seconds) }))
        tell(rows.at(-1)?.join(', ') ?? '')
      }
    }
  }
  await postgres?.stop()
  const head = ['trail', 'writers', 'lines a second asked', 'lines a second', 'p50', 'p99', 'slowest', 'times behind', 'lost']
  console.log(`\n${markdownTable(head, rows)}`)
}

function migrate(home: string, databaseUrl: string): void {
  const { status, stderr } = spawnSync(process.execPath, [join(home, 'packages/server/bin/grantor.js'), 'migrate'], {
    env: { PATH: process.env.PATH, GRANTOR_DATABASE_URL: databaseUrl },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`grantor migrate failed: ${stderr}`)
}

type Load = { writers: number; rate: number; seconds: number }

async function measurePlace({ name, home, url }: Place, { writers, rate, seconds }: Load): Promise<string[]> {
  const processes = Math.min(writers, PROCESSES_AT_MOST)
  const children = Array.from({ length: processes }, (_, index) => {
    const share = Math.floor(writers / processes) + (index < writers % processes ? 1 : 0)
    return startWriters({ home, url, writers: share, rate: rate / writers, seconds })
  })
  await Promise.all(children.map(nextMessage))
  const results = children.map(nextMessage)
  const began = performance.now()
  for (const child of children) child.send('go')
  const written = (await Promise.all(results)) as Written[]
  const elapsed = (performance.now() - began) / 1000
  const took = written.flatMap((each) => each.took).sort((a, b) => a - b)
  const [p50, p99, slowest] = [0.5, 0.99, 1].map((share) => `${percentile(took, share).toFixed(1)} ms`)
  const sum = (of: 'behind' | 'lost'): string => String(written.reduce((total, each) => total + each[of], 0))
  const perSecond = Math.round(took.length / elapsed).toLocaleString('en')
  const asked = rate === 0 ? 'as many as possible' : String(rate)
  return [name, String(writers), asked, perSecond, p50 ?? '', p99 ?? '', slowest ?? '', sum('behind'), sum('lost')]
}

function startWriters(writing: Writing): ChildProcess {
  const child = fork(join(import.meta.dirname, 'servers/append-process.ts'), [JSON.stringify(writing)], {
    execArgv: ['--no-warnings'],
  })
  atExit(() => void child.kill())
  return child
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolveMessage, reject) => {
    child.once('message', resolveMessage)
    child.once('exit', (code) => reject(new Error(`a process of writers ended with ${code}`)))
  })
}
