/**
 * Refreshes one at a time on PostgreSQL, against one client of `pgbench` that sends the service's own statement to the same server, in alternation.
 * `pgbench` shows what the database and the disk allow.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { atExit } from './at-exit.ts'
import { CHECKOUT } from './built.ts'
import { closedLoop } from './load/closed-loop.ts'
import { isInstalled } from './machine.ts'
import { type Load, tell } from './measure.ts'
import { refreshing } from './operations.ts'
import { median } from './statistics.ts'
import type { Target } from './target.ts'

/** Refreshes a second, one figure a round. */
export type AloneMeasured = { grantor: number[]; pgbench: number[] }

/** Grants that are refreshed in turn, as many as the service has. */
const ROWS = 2000
const WARM_UP = 2

/** Null without `pgbench`, which is in the package of the PostgreSQL server. */
export async function measureAlone(target: Target, { rounds, seconds }: Load): Promise<AloneMeasured | null> {
  if (!isInstalled('pgbench')) {
    tell('refreshes one at a time are not measured: pgbench is not installed')
    return null
  }
  const work = refreshing(target, (await target.supply?.refreshTokens(ROWS)) ?? [])
  const refresh = async (length: number) => (await closedLoop(target.port, work, { connections: 1, seconds: length })).perSecond
  const update = await preparePgbench(target.databaseUrl ?? '')
  await refresh(WARM_UP)
  await update(WARM_UP)
  const measured: AloneMeasured = { grantor: [], pgbench: [] }
  for (let round = 0; round < rounds; round++) {
    const both = [
      async () => measured.grantor.push(await refresh(seconds)),
      async () => measured.pgbench.push(await update(Math.ceil(seconds))),
    ]
    for (const measure of round % 2 === 0 ? both : both.toReversed()) await measure()
    tell(
      `one at a time, round ${round + 1}: ${Math.round(measured.grantor.at(-1) ?? 0)}/s, pgbench ${Math.round(measured.pgbench.at(-1) ?? 0)}/s`,
    )
  }
  return measured
}

export function ratioOfAlone({ grantor, pgbench }: AloneMeasured): number {
  return median(grantor) / median(pgbench)
}

/** Returns a function that runs one client of `pgbench` for some seconds, and returns the updates a second. */
async function preparePgbench(databaseUrl: string): Promise<(seconds: number) => Promise<number>> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  // The ids are numbers, so that a variable of pgbench can name the row. The service would end the oldest grants of one wallet.
  await sql`
    INSERT INTO grants
    SELECT (jsonb_populate_record(template, jsonb_build_object('id', n, 'wallet', 'wallet ' || n, 'generation', 0))).*
    FROM (SELECT grants AS template FROM grants LIMIT 1) AS one, generate_series(0, ${ROWS - 1}::int) AS n`
  const [row] = await sql<
    { client_id: string; refresh_key_id: string }[]
  >`SELECT client_id, refresh_key_id FROM grants WHERE id = '0'`
  const folder = mkdtempSync(join(tmpdir(), 'grantor-bench-pgbench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const script = join(folder, 'refresh.sql')
  const next = ['\\set n :n + 1', `\\set grantId :n % ${ROWS}`, `\\set generation :n / ${ROWS}`]
  writeFileSync(script, [...next, `${refreshStatement()};`, ''].join('\n'))
  const variables = {
    clientId: row?.client_id,
    refreshKeyId: row?.refresh_key_id,
    attemptId: 'b0000000-0000-4000-8000-000000000000',
    refreshIdle: 1_209_600,
    walletChecked: false,
    clientScopes: '{enhancement}',
  }
  const given = Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`])
  // As the connections of the service.
  const env = { ...process.env, PGOPTIONS: '-c enable_seqscan=off -c jit=off' }
  let sent = 0
  return async (seconds) => {
    const options = ['-n', '-c', '1', '-M', 'prepared', '-f', script, '-T', String(seconds), '-D', `n=${sent - 1}`]
    const { stdout } = await promisify(execFile)('pgbench', [...options, ...given, databaseUrl], { env })
    sent += Number(/actually processed: (\d+)/.exec(stdout)?.[1])
    const [stored] = await sql`SELECT sum(generation)::int AS updates FROM grants WHERE length(id) < 5`
    if (stored?.updates !== sent) throw new Error(`pgbench sent ${sent} updates, and ${stored?.updates} changed a row`)
    return Number(/tps = ([\d.]+) \(without initial connection time\)/.exec(stdout)?.[1])
  }
}

/** The statement of a refresh, with the variables of `pgbench`, as docs/reference/statements.md has it. */
function refreshStatement(): string {
  const page = readFileSync(join(CHECKOUT, 'docs/reference/statements.md'), 'utf8')
  const [, text] = /\*\*Refresh\*\* \(move\):\n\n```sql\n([^]*?)\n```/.exec(page) ?? []
  if (text === undefined) throw new Error('docs/reference/statements.md lacks the statement of a refresh')
  return text
    .replaceAll(/:at\b/g, 'floor(extract(epoch FROM statement_timestamp()))::bigint')
    .replaceAll(':dpopJkt::text', 'NULL::text')
}
