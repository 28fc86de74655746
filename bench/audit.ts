/**
 * `npm run bench -- audit`: how long searches of a large audit trail take, on each engine.
 *
 * The lines are written with SQL, because appends would take hours. The searches are those of the built package's stores, one after the
 * other, each with other values.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { atExit } from './at-exit.ts'
import { type BuiltStore, CHECKOUT, openBuiltStore } from './built.ts'
import { tell } from './measure.ts'
import { startPostgres } from './servers/postgres.ts'
import { percentile } from './statistics.ts'

/** What this file uses of a store. */
type Filter = Record<string, string | number>
type Line = { at: number; seq: number }
type Searched = {
  audit: { searchLines(filter: Filter, page: { limit: number; before?: Line | undefined }): Promise<Line[]> }
}

const FROM = 1_700_000_000
/** Lines of one page, as the console shows them. */
const PAGE = 50
const WALLETS = 1_000_000
const CLIENTS = 1000

const pick = (count: number): number => Math.floor(Math.random() * count)
const walletOf = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`
const clientOf = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`
const grantOf = (n: number): string => `0190a000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** Each kind of search. One client has a third of the lines, one wallet a hundredth, one reason a thousandth. */
function searchesOf(lines: number): Record<string, () => { filter: Filter; before?: Line }> {
  const at = () => FROM + pick(lines / 10)
  const alone = (filter: () => Filter) => () => ({ filter: filter() })
  return {
    'the newest lines': alone(() => ({})),
    'a page in the middle': () => ({ filter: {}, before: { at: at(), seq: pick(lines) } }),
    'one hour': alone(() => {
      const since = at()
      return { since, until: since + 3600 }
    }),
    'a wallet': alone(() => ({ wallet: walletOf(pick(WALLETS)) })),
    'the busiest wallet': alone(() => ({ wallet: walletOf(0) })),
    'a wallet that has no line': alone(() => ({ wallet: walletOf(WALLETS + pick(WALLETS)) })),
    'a client': alone(() => ({ clientId: clientOf(1 + pick(CLIENTS - 1)) })),
    'the busiest client': alone(() => ({ clientId: clientOf(0) })),
    'a grant': alone(() => ({ grantId: grantOf(pick(lines / 5)) })),
    'an operator': alone(() => ({ operator: `cli:operator${pick(5)}` })),
    'a frequent reason': alone(() => ({ reason: 'signature' })),
    'a rare reason': alone(() => ({ reason: 'refresh_replayed' })),
    'a frequent event': alone(() => ({ event: 'session_started' })),
    'a rare event': alone(() => ({ event: 'key_made' })),
    'a client and a rare reason': alone(() => ({ clientId: clientOf(1 + pick(CLIENTS - 1)), reason: 'refresh_replayed' })),
    'the busiest client and a rare reason': alone(() => ({ clientId: clientOf(0), reason: 'refresh_replayed' })),
    'a wallet and an event': alone(() => ({ wallet: walletOf(pick(WALLETS)), event: 'grant_ended' })),
    'an event of one client on one day': alone(() => {
      const since = at()
      return { clientId: clientOf(pick(CLIENTS)), event: 'grant_ended', since, until: since + 86_400 }
    }),
  }
}

/** `n` is the number of the line, from 1. `bytes` makes the bytes of hexadecimal digits, and `hash` a packed hash. */
type Dialect = { hex: (expression: string, digits: number) => string; bytes: (digits: string) => string; hash: string }

function columnsOf(
  n: string,
  { hex, bytes, hash }: Dialect,
  { seq, at }: { seq: number; at: number } = { seq: 0, at: FROM },
): string {
  // A packed address has five bytes for the case of its digits.
  const wallet = bytes(`${hex(`CASE WHEN ${n} % 100 = 7 THEN 0 ELSE (${n} * 7919) % ${WALLETS} END`, 40)} || '0000000000'`)
  const client = bytes(`'00000000000040008000' || ${hex(`CASE WHEN ${n} % 3 = 0 THEN 0 ELSE (${n} * 31) % ${CLIENTS} END`, 12)}`)
  const grant = `CASE WHEN ${n} % 5 = 0 THEN ${bytes(`'0190a000000070008000' || ${hex(`${n} / 5`, 12)}`)} END`
  const operator = `CASE WHEN ${n} % 1000 = 3 THEN 'cli:operator' || ((${n} / 1000) % 5) END`
  const event = `CASE WHEN ${n} % 100000 = 11 THEN 'key_made' WHEN ${n} % 5 = 0 THEN 'grant_ended' WHEN ${n} % 2 = 0 THEN 'wallet_proved' ELSE 'session_started' END`
  const reason = `CASE WHEN ${n} % 1000 = 5 THEN 'refresh_replayed' WHEN ${n} % 5 = 0 THEN 'revoked' ELSE 'signature' END`
  const id = bytes(`'00000000000040008000' || ${hex(n, 12)}`)
  return `${seq} + ${n}, ${at} + ${n} / 10, ${event}, ${reason}, ${client}, ${grant}, ${wallet}, ${operator}, ${id}, ${id}, '203.0.113', NULL, ${hash}`
}

/** `from`: the number and the time before the first line. */
export async function fillTrail(url: string, lines: number, from?: { seq: number; at: number }): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  const indexes =
    await sql`SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE tablename = 'audit_lines' AND indexname NOT LIKE '%pkey'`
  for (const { name } of indexes) await sql.unsafe(`DROP INDEX ${name}`)
  await sql.unsafe("SET synchronous_commit = off; SET maintenance_work_mem = '1GB'")
  const dialect = {
    hex: (expression: string, digits: number) => `lpad(to_hex(${expression}), ${digits}, '0')`,
    bytes: (digits: string) => `decode(${digits}, 'hex')`,
    hash: 'sha256(n::text::bytea)',
  }
  for (let first = 1; first <= lines; first += 1_000_000) {
    const to = Math.min(first + 999_999, lines)
    await sql.unsafe(
      `INSERT INTO audit_lines SELECT ${columnsOf('n', dialect, from)} FROM generate_series(${first}::bigint, ${to}) AS n`,
    )
    tell(`  ${to.toLocaleString('en')} lines`)
  }
  for (const { sql: statement } of indexes) await sql.unsafe(statement as string)
  await sql.unsafe('VACUUM ANALYZE audit_lines')
  await sql.end()
}

function fillSqlite(path: string, lines: number): void {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY')
  const dialect = {
    hex: (expression: string, digits: number) => `printf('%0${digits}x', ${expression})`,
    bytes: (digits: string) => `unhex(${digits})`,
    hash: 'randomblob(32)',
  }
  const indexes = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'audit_lines' AND sql IS NOT NULL")
    .all() as { name: string; sql: string }[]
  for (const { name } of indexes) database.exec(`DROP INDEX ${name}`)
  database.exec(`INSERT INTO audit_lines
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${lines})
    SELECT ${columnsOf('n', dialect)} FROM numbers`)
  for (const { sql } of indexes) database.exec(sql)
  database.close()
}

async function measure(name: string, store: Searched, lines: number, rounds: number): Promise<string[]> {
  const rows: string[] = []
  for (const [kind, next] of Object.entries(searchesOf(lines))) {
    const took: number[] = []
    let found = 0
    const began = performance.now()
    // At least twenty searches, then as many as fit into ten seconds.
    for (let round = 0; round < rounds && (round < 20 || performance.now() - began < 10_000); round++) {
      const { filter, before } = next()
      const start = performance.now()
      const page = await store.audit.searchLines(filter, { limit: PAGE, before })
      took.push(performance.now() - start)
      found += page.length
    }
    const ascending = took.toSorted((a, b) => a - b)
    const [p50, p95, max] = [0.5, 0.95, 1].map((share) => percentile(ascending, share).toFixed(1))
    rows.push(`| ${name} | ${kind} | ${took.length} | ${Math.round(found / took.length)} | ${p50} | ${p95} | ${max} |`)
    tell(rows.at(-1) ?? '')
  }
  return rows
}

function migrate(databaseUrl: string): void {
  const { status, stderr } = spawnSync(process.execPath, [join(CHECKOUT, 'packages/server/bin/grantor.js'), 'migrate'], {
    env: { PATH: process.env.PATH, GRANTOR_DATABASE_URL: databaseUrl },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`grantor migrate failed: ${stderr}`)
}

/** `--postgres N` and `--sqlite N` are the numbers of lines; 0 leaves an engine out. */
export async function measureAudit(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      postgres: { type: 'string', default: '10000000' },
      sqlite: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '200' },
      folder: { type: 'string', default: tmpdir() },
    },
  })
  const folder = mkdtempSync(join(values.folder, 'grantor-bench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const rows: string[] = []
  const counts = { sqlite: Number(values.sqlite), postgres: Number(values.postgres) }
  if (counts.sqlite > 0) {
    const path = join(folder, 'audit.sqlite')
    migrate(`sqlite:${path}`)
    tell(`filling SQLite with ${counts.sqlite.toLocaleString('en')} lines`)
    fillSqlite(path, counts.sqlite)
    const store = await openBuiltStore(`sqlite:${path}`)
    rows.push(...(await measure('SQLite', store as BuiltStore & Searched, counts.sqlite, Number(values.rounds))))
    await store.close()
  }
  if (counts.postgres > 0) {
    const server = await startPostgres({ folder: values.folder, cores: null })
    const url = await server.urlOf('audit')
    migrate(url)
    tell(`filling PostgreSQL with ${counts.postgres.toLocaleString('en')} lines`)
    await fillTrail(url, counts.postgres)
    const store = await openBuiltStore(url)
    rows.push(...(await measure('PostgreSQL', store as BuiltStore & Searched, counts.postgres, Number(values.rounds))))
    await store.close()
    await server.stop()
  }
  console.log(
    `\n| engine | search | times | lines found | p50 ms | p95 ms | slowest ms |\n|---|---|---|---|---|---|---|\n${rows.join('\n')}`,
  )
}
