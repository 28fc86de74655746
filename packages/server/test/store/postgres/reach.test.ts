/**
 * How many partitions each statement uses, on tables that are partitioned by the keys by which a distributed engine would
 * distribute them. A statement on a request's path uses one partition.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { DISTRIBUTED } from '../../../src/store/citus/distribution.ts'
import { everyStatement } from '../../../src/store/citus/every-statement.ts'
import { nameOf, type Reach, reachOf } from '../../../src/store/citus/statements-page.ts'
import { migratePostgres } from '../../../src/store/postgres/index.ts'
import type { RecordedStatement as Statement } from '../../../src/store/postgres/statements/recorder.ts'
import { compile } from '../../../src/store/postgres/statements/statement.ts'
import { fillOf } from '../../support/fill.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { PARTS, partitionTables } from '../../support/postgres-database.ts'
import { NOW } from '../contract/subject.ts'
import { callSitesInSource, FRESH, preparingCalls, VALUES } from './every-statement.ts'

const FILLED = [
  'grants',
  'sessions',
  'spent',
  'pushed_requests',
  'approvals',
  'draws',
  'audit_waiting',
  'wallets',
  'receipts',
] as const

let database: PostgresDatabase
let statements: readonly Statement[]
beforeAll(async () => {
  database = await createPostgresDatabase()
  await migratePostgres(database.address, NOW)
  await partitionTables(database)
  await database.sql.unsafe(`
    ${FILLED.map((table) => fillOf(table, 8000)).join(';\n')};
    ANALYZE`)
  statements = await everyStatement()
})
afterAll(() => database.drop())

const spread = (sql: string) => Object.keys(DISTRIBUTED).some((table) => new RegExp(`\\b${table}\\b`).test(sql))

/** The partitions that a statement scans or writes with a generic plan. */
async function partitionsOf({ sql }: Statement, values: Record<string, unknown>): Promise<string[]> {
  const { text, valuesOf } = compile(sql, 'database')
  const undo = new Error('undo')
  let touched: string[] = []
  await database.sql
    .begin(async (transaction) => {
      const counts = async () =>
        new Map(
          (
            await transaction.unsafe(
              `SELECT relname AS name, coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del AS count
               FROM pg_stat_xact_user_tables WHERE relname ~ '_[0-9]+$'`,
            )
          ).map((row) => [String(row.name), Number(row.count)]),
        )
      await transaction.unsafe('SET LOCAL plan_cache_mode = force_generic_plan')
      const before = await counts()
      await transaction.unsafe(text, valuesOf(values))
      touched = [...(await counts())].filter(([name, count]) => count !== before.get(name)).map(([name]) => name)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return touched.sort()
}

const numbersOf = (partitions: readonly string[]) => new Set(partitions.map((name) => /\d+$/.exec(name)?.[0]))

async function measuredReach(statement: Statement): Promise<Reach | 'some'> {
  if (!spread(statement.sql)) return 'coordinator'
  const [there, fresh] = [await partitionsOf(statement, VALUES), await partitionsOf(statement, { ...VALUES, ...FRESH })]
  const tables = [...new Set(there.map((name) => name.replace(/_\d+$/, '')))]
  // A wallet and its receipts lie in the same partition, and so do a grant and its approvals or draws.
  const isPair = ['receipts,wallets', 'approvals,grants', 'draws,grants'].includes(tables.join())
  expect([1, isPair ? 2 : 1], `one table: ${statement.sql}`).toContain(tables.length)
  // Rows that belong together have partitions of the same number.
  const count = numbersOf(there).size
  expect(numbersOf(fresh).size, `the same for a row that is not there: ${statement.sql}`).toBe(count)
  return count === 1 ? 'one' : count === PARTS ? 'every' : 'some'
}

test("A statement on a request's path uses one partition, and each statement that uses every partition is listed by name", async () => {
  const names = statements.filter(({ sql }) => spread(sql)).map(({ sql }) => nameOf(sql))
  expect(
    names.filter((name) => name === ''),
    'every statement has a name',
  ).toEqual([])
  expect(new Set(names).size, 'every statement has a name of its own').toBe(names.length)
  for (const statement of statements) {
    const { sql, place } = statement
    const reach = reachOf(sql)
    expect(await measuredReach(statement), `of ${sql}`).toBe(reach)
    // On Citus, the place identifies the machine for which a statement waits.
    if (spread(sql)) {
      expect(place?.table, `of ${sql}`).toMatch(new RegExp(`^(${Object.keys(DISTRIBUTED).join('|')})$`))
      expect(place?.key === undefined, `of ${sql}`).toBe(reach !== 'one')
    }
  }
  expect(statements.filter(({ sql }) => reachOf(sql) === 'one').length).toBeGreaterThan(20)
})

test('Each call in the source that prepares a statement is behind a statement that grantor migrate --statements prints', async () => {
  expect([...(await preparingCalls())].sort()).toEqual(callSitesInSource())
})

test("With a generic plan, a statement on a request's path skips all partitions but one, and scans no table", async () => {
  const hot = statements.filter(({ sql }) => reachOf(sql) === 'one' && !/^\s*INSERT/.test(sql))
  expect(hot.length).toBeGreaterThan(12)
  await database.sql.unsafe('SET plan_cache_mode = force_generic_plan')
  for (const [index, { sql }] of hot.entries()) {
    const { text, valuesOf } = compile(sql, 'database')
    const values = valuesOf(VALUES).map(literal).join(', ')
    await database.sql.unsafe(`PREPARE hot${index} AS ${text}`)
    const rows = await database.sql.unsafe(`EXPLAIN (COSTS OFF) EXECUTE hot${index}${values === '' ? '' : `(${values})`}`)
    const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
    expect(plan, `of ${sql}`).toMatch(new RegExp(`Subplans Removed: ${PARTS - 1}`))
    const scanned = plan.match(/(?:Scan|Scan Backward|Seq Scan) (?:using \S+ )?on \w+_\d+\b/g) ?? []
    expect(new Set(scanned.map((scan) => /\d+$/.exec(scan)?.[0])).size, `of ${plan}`).toBe(1)
    expect(plan, `of ${sql}`).not.toContain('Seq Scan')
  }
  await database.sql.unsafe('RESET plan_cache_mode')
})

test('A page of all grants is read in the order of the primary key, from any start, without sorting', async () => {
  const { text, valuesOf } = compile(statements.find(({ sql }) => nameOf(sql) === 'list grants')?.sql ?? '', 'database')
  const [after, limit] = valuesOf({ ...VALUES, afterId: 'g4000' }).map(literal)
  const rows = await database.sql.unsafe(`EXPLAIN (COSTS OFF) ${text.replace('$1', after ?? '').replace('$2', limit ?? '')}`)
  const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
  expect(plan.match(/Index Scan Backward using grants_\d+_pkey/g), `of ${plan}`).toHaveLength(PARTS)
  expect(plan).not.toMatch(/Seq Scan|Sort(?! Key)/)
})

function literal(value: unknown): string {
  if (value === null) return 'NULL'
  if (value instanceof Buffer) return `'\\x${value.toString('hex')}'`
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `'${text.replaceAll("'", "''")}'`
}

// Citus refuses these in a statement that changes rows (multi_router_planner.c).
test('No write calls a volatile function, or the clock inside CASE, DO UPDATE or RETURNING, which a distributed engine refuses', async () => {
  const volatile = await database.sql.unsafe(
    `SELECT DISTINCT proname AS name FROM pg_proc WHERE provolatile = 'v' AND pronamespace = 'pg_catalog'::regnamespace`,
  )
  const names = new Set(volatile.map(({ name }) => String(name)))
  expect(names).toContain('clock_timestamp')
  for (const { sql } of statements) {
    const { text } = compile(sql, 'database')
    if (!/\b(INSERT|UPDATE|DELETE)\b/.test(text)) continue
    const called = [...text.matchAll(/\b(\w+)\s*\(/g)].map(([, name = '']) => name.toLowerCase())
    expect(
      called.filter((name) => names.has(name)),
      `of ${text}`,
    ).toEqual([])
    // The values of an inserted row are computed before they are sent to a machine.
    if (/^\s*INSERT(?![^]*DO UPDATE)/.test(text)) continue
    for (const [part] of text.matchAll(/\bCASE\b[^]*?\bEND\b|\bDO UPDATE\b[^]*|\bRETURNING\b[^)]*/g)) {
      expect(part, `of ${text}`).not.toContain('statement_timestamp')
    }
  }
})
