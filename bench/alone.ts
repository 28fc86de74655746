/**
 * Refreshes one at a time on PostgreSQL, against one client of `pgbench` that sends the service's own statement to the same server, in alternation.
 * `pgbench` shows what the database and the disk allow. It runs once on the core of the database, and once on the core of the service: a message
 * between two cores takes longer. `servers/alone-process.ts` shows what remains if a Node server sends the same statement for each HTTP request.
 */
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { atExit } from './at-exit.ts'
import { CHECKOUT } from './built.ts'
import { closedLoop } from './load/closed-loop.ts'
import { requireStatus, type Work } from './load/work.ts'
import { isInstalled, pinned } from './machine.ts'
import { type Load, tell } from './measure.ts'
import { refreshing } from './operations.ts'
import { formPost } from './request.ts'
import { freePort, startNode } from './servers/process.ts'
import { median } from './statistics.ts'
import type { Target } from './target.ts'

/** Refreshes a second, one figure a round. */
export type AloneMeasured = {
  grantor: number[]
  pgbench: number[]
  /** `pgbench` on the core of the service, and the two paths of `servers/alone-process.ts` */
  pgbenchApart?: number[]
  floor?: number[]
  emptyPost?: number[]
}

/** Grants that are refreshed in turn, as many as the service has. */
const ROWS = 2000
const WARM_UP = 2

type Measures = Record<keyof AloneMeasured, (seconds: number) => Promise<number>>

/** Null without `pgbench`, which is in the package of the PostgreSQL server. */
export async function measureAlone(target: Target, load: Load, serviceCores: string | null): Promise<AloneMeasured | null> {
  if (!isInstalled('pgbench')) {
    tell('refreshes one at a time are not measured: pgbench is not installed')
    return null
  }
  const { measures, stop } = await prepareMeasures(target, serviceCores)
  try {
    return await measureInTurn(measures, load)
  } finally {
    await stop()
  }
}

async function prepareMeasures(target: Target, serviceCores: string | null) {
  const work = refreshing(target, (await target.supply?.refreshTokens(ROWS)) ?? [])
  const statement = await prepareStatement(target.databaseUrl ?? '')
  const update = preparePgbench(statement)
  const floor = await startFloor(statement, serviceCores)
  const one = async (port: number, each: Work, seconds: number) =>
    (await closedLoop(port, each, { connections: 1, seconds })).perSecond
  const measures: Measures = {
    grantor: (seconds) => one(target.port, work, seconds),
    pgbench: (seconds) => update(seconds, null),
    pgbenchApart: (seconds) => update(seconds, serviceCores),
    floor: (seconds) => one(floor.port, posts(target, '/refresh'), seconds),
    emptyPost: (seconds) => one(floor.port, posts(target, '/empty'), seconds),
  }
  return { measures, stop: floor.stop }
}

async function measureInTurn(measures: Measures, { rounds, seconds }: Load): Promise<AloneMeasured> {
  const measured: Required<AloneMeasured> = { grantor: [], pgbench: [], pgbenchApart: [], floor: [], emptyPost: [] }
  const names = Object.keys(measures) as (keyof AloneMeasured)[]
  for (const name of names) await measures[name](WARM_UP)
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) measured[name].push(await measures[name](seconds))
    const figures = names.map((name) => `${name} ${Math.round(measured[name].at(-1) ?? 0)}/s`)
    tell(`one at a time, round ${round + 1}: ${figures.join(', ')}`)
  }
  return measured
}

export function ratioOfAlone({ grantor }: AloneMeasured, against: number[]): number {
  return median(grantor) / median(against)
}

/** Posts as long as a refresh. */
function posts({ authorization }: Target, path: string): Work {
  const request = formPost(path, authorization, { grant_type: 'refresh_token', refresh_token: 'x'.repeat(85) })
  return { next: () => request, accept: (answer) => requireStatus(answer, 200, path) }
}

/** The beginning of a packed text, as PostgreSQL writes bytes (packages/server/src/store/packed.ts). */
const PACKED_TEXT = '\\x00'

/** The statement of a refresh with the values for each variable but the grant and its generation, and rows for it to change. */
type Prepared = { sql: postgres.Sql; databaseUrl: string; text: string; values: Record<string, string | number | boolean> }

async function prepareStatement(databaseUrl: string): Promise<Prepared> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  // The ids are numbers, so that a variable of pgbench can name the row. The service would end the oldest grants of one wallet.
  await sql`
    INSERT INTO grants
    SELECT (jsonb_populate_record(template, jsonb_build_object('id', ${PACKED_TEXT} || encode(convert_to(kind || n, 'UTF8'), 'hex'),
      'wallet', ${PACKED_TEXT} || encode(convert_to('wallet ' || kind || n, 'UTF8'), 'hex'), 'generation', 0))).*
    FROM (SELECT grants AS template FROM grants LIMIT 1) AS one, (VALUES (''), ('floor ')) AS kinds (kind),
      generate_series(0, ${ROWS - 1}::int) AS n`
  const [row] = await sql<
    { client_id: string; refresh_key_id: string }[]
  >`SELECT client_id::text, refresh_key_id FROM grants WHERE id = ${PACKED_TEXT + Buffer.from('0').toString('hex')}::text::bytea`
  const values = {
    clientId: row?.client_id ?? '',
    refreshKeyId: row?.refresh_key_id ?? '',
    attemptId: '\\xb0000000000040008000000000000000',
    refreshIdle: 1_209_600,
    walletChecked: false,
    clientScopes: '{enhancement}',
  }
  return { sql, databaseUrl, text: refreshStatement(), values }
}

/** Returns a function that runs one client of `pgbench` for some seconds on these cores, or on those of the bench, and returns the updates a second. */
function preparePgbench({
  sql,
  databaseUrl,
  text,
  values,
}: Prepared): (seconds: number, cores: string | null) => Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-bench-pgbench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const script = join(folder, 'refresh.sql')
  const next = ['\\set n :n + 1', `\\set grantId :n % ${ROWS}`, `\\set generation :n / ${ROWS}`]
  writeFileSync(script, [...next, `${text};`, ''].join('\n'))
  const given = Object.entries(values).flatMap(([name, value]) => ['-D', `${name}=${value}`])
  // As the connections of the service.
  const env = { ...process.env, PGOPTIONS: CONNECTION_OPTIONS }
  let sent = 0
  return async (seconds, cores) => {
    const options = ['-n', '-c', '1', '-M', 'prepared', '-f', script, '-T', String(Math.ceil(seconds)), '-D', `n=${sent - 1}`]
    const [command = '', ...rest] = pinned(cores, ['pgbench', ...options, ...given, databaseUrl])
    const { stdout } = await promisify(execFile)(command, rest, { env })
    sent += Number(/actually processed: (\d+)/.exec(stdout)?.[1])
    const [stored] = await sql`SELECT sum(generation)::int AS updates FROM grants WHERE length(id) < 6`
    if (stored?.updates !== sent) throw new Error(`pgbench sent ${sent} updates, and ${stored?.updates} changed a row`)
    return Number(/tps = ([\d.]+) \(without initial connection time\)/.exec(stdout)?.[1])
  }
}

const CONNECTION_OPTIONS = '-c enable_seqscan=off -c jit=off'

async function startFloor({ databaseUrl, text, values }: Prepared, cores: string | null) {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'grantor-bench-alone-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const statement = { text, values, rows: ROWS, idPrefix: 'floor ', options: CONNECTION_OPTIONS }
  const env = {
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    STATEMENT: JSON.stringify(statement),
    // The limits that `packages/server/bin/grantor.js` sets.
    NODE_OPTIONS: '--max-semi-space-size=8',
    MALLOC_ARENA_MAX: '1',
  }
  const args = [join(import.meta.dirname, 'servers/alone-process.ts')]
  const running = startNode({ args, env, cores, log: join(folder, 'floor.log') })
  await once(running.child, 'message')
  return { port, stop: running.stop }
}

/** The statement of a refresh, with the variables of `pgbench`, as `grantor migrate --statements` prints it. */
function refreshStatement(): string {
  const printed = execFileSync(process.execPath, [
    join(CHECKOUT, 'packages/server/bin/grantor.js'),
    'migrate',
    '--statements',
    '--json',
  ])
  const statements = JSON.parse(printed.toString()) as { name: string; sql: string }[]
  const text = statements.find(({ name }) => name === 'refresh')?.sql
  if (text === undefined) throw new Error('grantor migrate --statements lacks the statement of a refresh')
  return text
    .trim()
    .replaceAll(/:at\b/g, 'floor(extract(epoch FROM statement_timestamp()))::bigint')
    .replaceAll(':dpopJkt::packed', 'NULL::bytea')
    .replaceAll(':grantId::packed', `('${PACKED_TEXT}'::bytea || convert_to(:grantId::text, 'UTF8'))`)
    .replaceAll('::packed', '::bytea')
}
