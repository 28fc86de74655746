/**
 * How many partitions each statement uses, on tables that are partitioned by the keys by which a distributed engine would
 * distribute them. A statement on a request's path uses one partition. This test writes docs/reference/statements.md: `npx
 * vitest run test/store/postgres/reach -u`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Batched, Connection, type ForMany, type Kind } from '../../../src/store/postgres/connection/connection.ts'
import type { Place } from '../../../src/store/postgres/connection/machines.ts'
import { compile } from '../../../src/store/postgres/connection/statement.ts'
import { DISTRIBUTED } from '../../../src/store/postgres/distribution.ts'
import { migratePostgres, storeOn } from '../../../src/store/postgres/index.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { PARTS, partitionTables } from '../../support/postgres-partitions.ts'
import { NOW, someWallet } from '../contract/subject.ts'
import { NAMED, nameOf, pageOf, type Reach } from '../statements-page.ts'

type Statement = { kind: Kind; sql: string; place: Place | undefined }

let database: PostgresDatabase
let statements: Statement[]
beforeAll(async () => {
  database = await createPostgresDatabase()
  await migratePostgres(database.address, NOW)
  await partitionTables(database)
  await database.sql.unsafe(`
    INSERT INTO grants (id, client_id, wallet, scopes, resources, created_at, expires_at, refresh_expires_at, generation,
                        refresh_key_id, rotated_at, attempt_id)
      SELECT 'g' || n, 'c' || n % 100, 'w' || n % 1000, '["s"]', '[]', 1, 1 + n, 9e9, 0, 'k', 1, 'a' FROM generate_series(1, 8000) AS n;
    INSERT INTO sessions (hash, wallet, chain_id, method, auth_time, last_seen_at, expires_at, attempt_id)
      SELECT 'h' || n, 'w' || n % 1000, 1, 'signature', n, n, 9e9, 'a' FROM generate_series(1, 8000) AS n;
    INSERT INTO spent SELECT 'h' || n, 'dpop', n, 'a' FROM generate_series(1, 8000) AS n;
    INSERT INTO pushed_requests SELECT 'g' || n, 'c1', '{}', n FROM generate_series(1, 8000) AS n;
    INSERT INTO wallets SELECT 'w' || n, 0, true FROM generate_series(1, 8000) AS n;
    INSERT INTO receipts SELECT 'w' || n % 1000, 'r' || n, 'ordinary', 1, 'c', 'u', '["s"]', '[]', n, 9e9, NULL, n, '' FROM generate_series(1, 8000) AS n;
    ANALYZE`)
  statements = await everyStatement()
}, 60_000)
afterAll(() => database.drop())

/** Every statement that a store prepares: most when the store is opened, those for lists at their first use. */
async function everyStatement(): Promise<Statement[]> {
  const recorded: Statement[] = []
  class Recording extends Connection {
    override prepare<Row>(kind: Kind, sql: string, place?: Place) {
      if (!recorded.some((each) => each.sql === sql)) recorded.push({ kind, sql, place })
      return super.prepare<Row>(kind, sql, place)
    }
    /** Statements over many rows are not used if rows lie on several machines. */
    override prepareBatched<Row>({ kind, one, place }: Batched) {
      return this.prepare<Row>(kind, one, place)
    }
    override prepareForEach({ kind, one, place }: ForMany) {
      this.prepare(kind, one, place)
      return () => Promise.resolve([])
    }
  }
  const store = storeOn(new Recording(database.address, 'given'))
  const [wallet, clientId] = [someWallet(), 'c']
  for (const of of [{ wallet }, { clientId }, { wallet, clientId }, {}]) {
    await store.grants.listGrants({ ...of, at: NOW, limit: 1 })
    await store.grants.listGrants({ ...of, living: true, at: NOW, limit: 1 })
  }
  await store.grants.listGrants({ clientId, order: 'oldest', at: NOW, limit: 1 })
  for (const of of [{}, { clientId }]) {
    await store.grants.listUnendedGrants({ wallet, ...of, limit: 1 })
    await store.receipts.listReceipts(wallet, { ...of, limit: 1 })
    await store.receipts.listReceipts(wallet, { ...of, state: 'withdrawn', limit: 1 })
  }
  await store.close()
  return recorded
}

/** So many keys that each partition contains some. */
const MANY = `{${Array.from({ length: 100 }, (_, index) => `n${index + 1}`).join(',')}}`

const VALUES: Record<string, unknown> = {
  id: 'g1', grantId: 'g1', clientId: 'c1', wallet: 'w1', hash: 'h1', walletKind: 'ordinary', receiptId: null, consented: true,
  scopes: ['s'], clientScopes: '{s}', resources: [], expiresAt: 9e9, refreshIdle: 9e8, refreshKeyId: 'k', attemptId: 'b', endReason: null,
  generation: 0, walletChecked: true, storable: true, retryWindow: 60, jti: 'j', reason: 'revoked', chainId: 1, method: 'signature',
  epoch: 0, authTime: 1, lastSeenAt: 1, endedAt: null, redirectUri: 'u', issuedAt: 1, withdrawnAt: null, checkedAt: 1, sealed: '',
  except: null, standing: true, naming: ['s'], limit: 50, overFor: 1, madeAt: 9e9, after: '', afterId: '~', afterMadeAt: 9e9, after1: '',
  first: 1, last: 50, ids: MANY.replaceAll('n', 'r'), key0: 'g1', key1: 'r1', after0: '',
  dpopJkt: null, sessionHash: 'h1', sessionReceiptId: null, elsewhere: false, replacedBy: null, by: 'h2', request: '{}', kind: 'dpop',
  rotatedAt: 1, refreshExpiresAt: 9e9, scopesByResource: null, resource: null,
} // biome-ignore format: a list of values

/** Keys of rows that do not exist. */
const FRESH = { id: 'new', grantId: 'new', hash: 'new', wallet: 'new', sessionHash: 'new' }

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
      await transaction.unsafe(text, valuesOf(values) as never[], { prepare: true })
      touched = [...(await counts())].filter(([name, count]) => count !== before.get(name)).map(([name]) => name)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return touched.sort()
}

async function reachOf(statement: Statement): Promise<Reach> {
  if (!spread(statement.sql)) return 'coordinator'
  const [there, fresh] = [await partitionsOf(statement, VALUES), await partitionsOf(statement, { ...VALUES, ...FRESH })]
  const tables = [...new Set(there.map((name) => name.replace(/_\d+$/, '')))]
  // A wallet and its receipts lie in the same partition.
  expect([1, tables.join() === 'receipts,wallets' ? 2 : 1], `one table: ${statement.sql}`).toContain(tables.length)
  const count = there.length / tables.length
  expect(fresh.length, `the same for a row that is not there: ${statement.sql}`).toBe(count)
  return count === 1 ? 'one' : count === PARTS ? 'every' : 'some'
}

test("A statement on a request's path uses one partition, and each statement that uses every partition is listed by name", async () => {
  const reached = []
  for (const statement of statements) reached.push({ ...statement, reach: await reachOf(statement) })
  const names = reached.filter(({ sql }) => spread(sql)).map(({ sql }) => nameOf(sql))
  expect(new Set(names).size, 'every statement has a name of its own').toBe(names.length)
  for (const { sql, reach, place } of reached) {
    const expected = NAMED.find(({ is }) => is.test(sql))?.reach
    if (expected) expect(reach, `of ${sql}`).toBe(expected)
    // On Citus, the place identifies the machine for which a statement waits.
    if (spread(sql)) {
      expect(place?.table, `of ${sql}`).toMatch(new RegExp(`^(${Object.keys(DISTRIBUTED).join('|')})$`))
      expect(place?.key === undefined, `of ${sql}`).toBe(reach !== 'one')
    } else expect(spread(sql), `a name for ${sql}`).toBe(false)
  }
  expect(reached.filter(({ reach }) => reach === 'one').length).toBeGreaterThan(20)
  await expect(pageOf(reached)).toMatchFileSnapshot('../../../docs/reference/statements.md')
})

test("With a generic plan, a statement on a request's path skips all partitions but one, and scans no table", async () => {
  const hot = statements.filter(
    ({ sql }) => NAMED.some(({ is, reach }) => reach === 'one' && is.test(sql)) && !/^\s*INSERT/.test(sql),
  )
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
    expect(new Set(scanned.map((scan) => /\w+_\d+$/.exec(scan)?.[0])).size, `of ${plan}`).toBe(1)
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
