/** The cost of each operation on PostgreSQL: its statements, the rows that it writes, and how each statement finds its rows. */

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createApprovalStore } from '../../../src/store/postgres/approvals.ts'
import { createCleaning } from '../../../src/store/postgres/cleaning.ts'
import { createDrawStore } from '../../../src/store/postgres/draws.ts'
import { createEndingStore } from '../../../src/store/postgres/endings.ts'
import { createGrantStore } from '../../../src/store/postgres/grants.ts'
import { migratePostgres, storeOn } from '../../../src/store/postgres/index.ts'
import { createPushedRequestStore } from '../../../src/store/postgres/pushed-requests.ts'
import { createReceiptStore } from '../../../src/store/postgres/receipts.ts'
import { createRecords } from '../../../src/store/postgres/records.ts'
import { createRestorationStore } from '../../../src/store/postgres/restorations.ts'
import { createSessionStore } from '../../../src/store/postgres/sessions.ts'
import { createSpentStore } from '../../../src/store/postgres/spent.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import {
  type Ask,
  type Batched,
  type Clock,
  compile,
  compileForMany,
  type ForMany,
  type StatementKind,
  textArray,
} from '../../../src/store/postgres/statements/statement.ts'
import { createWalletStore } from '../../../src/store/postgres/wallets.ts'
import { createRecordStores } from '../../../src/store/record-stores.ts'
import { fillOf, packed } from '../../support/fill.ts'
import { createPostgresDatabase, newPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { livingGrant, NOW, newGrant, rotationOf, someClient, someReceipt, someSession, someWallet } from '../contract/subject.ts'

/** Records the statements that it prepares and runs. */
class RecordingConnection extends PostgresConnection {
  readonly prepared: string[] = []
  executed: string[] = []
  override prepare<Row>(kind: StatementKind, sql: string): Ask<Row> {
    this.prepared.push(sql)
    const ask = super.prepare<Row>(kind, sql)
    return (named) => {
      this.executed.push(sql.trim().split(/\s/)[0] ?? '')
      return ask(named)
    }
  }
  readonly forMany: ForMany[] = []
  /** Runs each statement alone, so that the statements of one request can be counted. */
  override prepareBatched<Row>(batched: Batched): Ask<Row> {
    this.forMany.push(batched)
    return this.prepare(batched.kind, batched.one)
  }
  override prepareForMany<Row>(changes: ForMany) {
    this.forMany.push(changes)
    return super.prepareForMany<Row>(changes)
  }
}

/** A connection that is closed when the test has finished. */
function record({ address }: PostgresDatabase, clock: Clock): RecordingConnection {
  const recording = new RecordingConnection(address, { clock })
  onTestFinished(() => recording.close())
  return recording
}

async function newMigratedDatabase(): Promise<PostgresDatabase> {
  const fresh = await newPostgresDatabase()
  await migratePostgres(fresh.address, NOW)
  return fresh
}

let database: PostgresDatabase
let connection: RecordingConnection
let stores: ReturnType<typeof storesOn>
const storesOn = (on: PostgresConnection) => ({
  grants: createGrantStore(on),
  wallets: createWalletStore(on),
  sessions: createSessionStore(on),
  receipts: createReceiptStore(on),
  clients: createRecordStores(createRecords(on), async () => undefined).clients,
  spent: createSpentStore(on),
})

beforeAll(async () => {
  database = await createPostgresDatabase()
  await migratePostgres(database.address, NOW)
  // One connection, so that all transactions are counted in one place.
  connection = new RecordingConnection({ ...database.address, poolSize: 1 }, { clock: 'given' })
  stores = storesOn(connection)
  await database.sql.unsafe(`${fillTables(20_000)}; ANALYZE`)
})
afterAll(async () => {
  await connection.close()
  await database.drop()
})

/** Inserts so many rows into the large tables. */
function fillTables(rows: number): string {
  const made = { created_at: 'n', expires_at: 'n', refresh_expires_at: 'n', rotated_at: 'n' }
  return [
    fillOf('grants', rows, made),
    ...(['sessions', 'spent', 'receipts'] as const).map((table) => fillOf(table, rows, { expires_at: 'n' })),
    fillOf('wallets', rows),
    fillOf('pushed_requests', rows),
    fillOf('approvals', rows),
    fillOf('draws', rows),
    `INSERT INTO clients SELECT 'c' || n, '{}', n FROM generate_series(1, 2000) AS n`,
  ].join(';\n')
}

/**
 * The statements of an operation by their first words, each a transaction of its own, and the number of rows written in this
 * database.
 */
async function costOf(move: () => Promise<unknown>) {
  // The same connection reads the counters, because each connection counts for itself until its counters are flushed.
  const flush = connection.prepare('read', 'SELECT pg_stat_force_next_flush()')
  const count = connection.prepare<{ rows: number }>(
    'read',
    'SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint AS rows FROM pg_stat_user_tables',
  )
  const written = async () => {
    await flush()
    return (await count())[0]?.rows ?? 0
  }
  const before = await written()
  connection.executed = []
  await move()
  const statements = [...connection.executed]
  return { statements, writes: (await written()) - before }
}

const fifty = <Made>(make: () => Made): Made[] => Array.from({ length: 50 }, make)
const newLivingGrant = () => livingGrant({ grants: stores.grants } as never)

test.each<[string, () => Promise<() => Promise<unknown>>, { statements: string[]; writes: number }]>([
  [
    'redeeming a code',
    async () => () => stores.grants.redeemCode(newGrant(), randomUUID(), NOW),
    { statements: ['INSERT'], writes: 1 },
  ],
  [
    'a refresh',
    async () => {
      const grant = await newLivingGrant()
      return () => stores.grants.rotateRefreshToken(rotationOf(grant, 0))
    },
    { statements: ['UPDATE'], writes: 1 },
  ],
  [
    'a retried refresh, which writes nothing',
    async () => {
      const grant = await newLivingGrant()
      await stores.grants.rotateRefreshToken(rotationOf(grant, 0))
      return () => stores.grants.rotateRefreshToken(rotationOf(grant, 0))
    },
    { statements: ['UPDATE', 'SELECT'], writes: 0 },
  ],
  [
    'a replayed refresh',
    async () => {
      const grant = await newLivingGrant()
      await stores.grants.rotateRefreshToken(rotationOf(grant, 0))
      await stores.grants.rotateRefreshToken(rotationOf(grant, 1))
      return () => stores.grants.rotateRefreshToken(rotationOf(grant, 0))
    },
    { statements: ['UPDATE', 'SELECT', 'UPDATE'], writes: 1 },
  ],
  [
    'revoking a grant',
    async () => {
      const { id } = await newLivingGrant()
      return () => stores.grants.endGrant(id, 'revoked', NOW)
    },
    { statements: ['UPDATE'], writes: 1 },
  ],
  [
    'revoking an access token',
    async () => {
      const { id, clientId } = await newLivingGrant()
      return () => stores.grants.revokeAccessToken({ grantId: id, clientId, jti: 'j', expiresAt: NOW + 9, at: NOW })
    },
    { statements: ['WITH'], writes: 2 },
  ],
  ['introspecting a token', async () => () => stores.grants.readGrant('g1'), { statements: ['SELECT'], writes: 0 }],
  ['reading a session', async () => () => stores.sessions.readSession('h1'), { statements: ['SELECT'], writes: 0 }],
  ['reading an epoch', async () => () => stores.wallets.readEpoch(someWallet()), { statements: ['SELECT'], writes: 0 }],
  [
    'starting a session',
    async () => () => stores.sessions.startSession(someSession(), 'a'),
    { statements: ['INSERT'], writes: 1 },
  ],
  [
    'storing a receipt',
    async () => {
      const receipt = someReceipt()
      await stores.wallets.rememberProof(receipt.wallet)
      return () => stores.receipts.insertReceipt(receipt, 0)
    },
    { statements: ['INSERT'], writes: 1 },
  ],
  [
    'storing the first receipt of a wallet without a row, such as a contract',
    async () => () => stores.receipts.insertReceipt(someReceipt(), 0),
    { statements: ['INSERT', 'INSERT', 'INSERT'], writes: 2 },
  ],
  [
    'a use of an assertion or a proof',
    async () => () => stores.spent.spend({ kind: 'assertion', hash: 'new', expiresAt: NOW, attemptId: 'a' }),
    { statements: ['INSERT'], writes: 1 },
  ],
  ['registering a client', async () => () => stores.clients.insertClient(someClient()), { statements: ['WITH'], writes: 2 }],
  [
    'registering fifty clients at once',
    async () => () => Promise.all(fifty(() => stores.clients.insertClient(someClient()))),
    { statements: ['WITH'], writes: 51 },
  ],
  [
    'changing fifty clients at once',
    async () => {
      const clients = fifty(someClient)
      await Promise.all(clients.map((client) => stores.clients.insertClient(client)))
      return () => Promise.all(clients.map(({ id }) => stores.clients.changeClient(id, (client) => ({ ...client, name: 'New' }))))
    },
    { statements: ['SELECT', 'WITH'], writes: 51 },
  ],
])('The number of statements and written rows is as documented for: %s', async (_, prepare, cost) => {
  const move = await prepare()
  expect(await costOf(move)).toEqual(cost)
})

/** How each table is scanned: the kind of scan and its index, one line each. */
async function planOf(sql: string, lines = /(Seq |Index |Bitmap |Index Only )Scan/, clock: Clock = 'given'): Promise<string[]> {
  const { text } = compile(sql, clock)
  const name = `s${randomUUID().replaceAll('-', '')}`
  await database.sql.unsafe(`PREPARE ${name} AS ${text}`)
  const [types] = await database.sql.unsafe(
    `SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = '${name}'`,
  )
  const count = Number(types?.count)
  // The plan of a statement that is used often: it does not depend on the values.
  await database.sql.unsafe('SET plan_cache_mode = force_generic_plan')
  const nulls = count === 0 ? '' : `(${Array.from({ length: count }, () => 'NULL').join(', ')})`
  const rows = await database.sql.unsafe(`EXPLAIN (COSTS OFF) EXECUTE ${name}${nulls}`)
  return rows.map((row) => String(row['QUERY PLAN']).trim().replace(/^-> +/, '')).filter((line) => lines.test(line))
}

test("On PostgreSQL, each statement on a request's path finds its row by the primary key of its table", async () => {
  const recording = record(database, 'database')
  createGrantStore(recording)
  createWalletStore(recording)
  createSessionStore(recording)
  createSpentStore(recording)
  createPushedRequestStore(recording)
  const hot = recording.prepared.filter((sql) => !/wallet = :wallet|= ANY \(:/.test(sql))
  expect(hot.length).toBeGreaterThan(12)
  for (const sql of hot) {
    const steps = await planOf(sql)
    const elsewhere = steps.filter(
      (step) => !/^Index (Only )?Scan using (grants|wallets|sessions|spent|pushed_requests)_pkey on /.test(step),
    )
    expect(elsewhere, `plan of ${sql}`).toEqual([])
    expect(steps.length > 0 || /^\s*INSERT/.test(sql), `a plan for ${sql}`).toBe(true)
  }
})

test('On PostgreSQL, a draw and its grant are found by their keys, and the draws of a grant by its id', async () => {
  const recording = record(database, 'database')
  createDrawStore(recording)
  expect(recording.prepared.length).toBeGreaterThan(5)
  for (const sql of recording.prepared)
    for (const clock of ['given', 'database'] as const) {
      const steps = (await planOf(sql, undefined, clock)).filter((step) => !step.startsWith('Bitmap Heap Scan'))
      const byKey = /(Scan using|Bitmap Index Scan on) (draws|grants)_pkey\b|CTE Scan/
      expect(
        steps.filter((step) => !byKey.test(step)),
        `plan of ${sql}`,
      ).toEqual([])
    }
})

test('On PostgreSQL, an approval is found by its key, its wallet or its user code, also by a plan that was made when all approvals had expired', async () => {
  const recording = record(database, 'database')
  createApprovalStore(recording)
  expect(recording.prepared.length).toBeGreaterThan(8)
  for (const sql of recording.prepared) {
    const column = /WHERE (?:approvals\.)?(wallet|user_code) = /.exec(sql)?.[1]
    const index = column === undefined ? '(approvals|grants)_pkey' : `approvals_by_${column}`
    for (const clock of ['given', 'database'] as const) {
      const steps = (await planOf(sql, undefined, clock)).filter((step) => !step.startsWith('Bitmap Heap Scan'))
      const uses = (name: string) => (step: string) => new RegExp(`(Scan using|Bitmap Index Scan on) ${name}\\b`).test(step)
      // The list of a wallet also reads the grant of each row.
      const elsewhere = steps.filter((step) => !uses(index)(step) && !uses('grants_pkey')(step))
      expect(elsewhere, `plan of ${sql}`).toEqual([])
      expect(steps.some(uses(index)), `a plan for ${sql}`).toBe(true)
    }
  }
})

test('On PostgreSQL, a statement over many rows finds each row by the primary key of its table, with a generic plan', async () => {
  const recording = record(database, 'database')
  storeOn(recording)
  expect(recording.forMany.length).toBeGreaterThan(8)
  await database.sql.unsafe('SET plan_cache_mode = force_generic_plan')
  for (const [index, { forMany, parameters }] of recording.forMany.entries()) {
    await database.sql.unsafe(`PREPARE many${index} AS ${compileForMany(forMany, parameters, 'database').text}`)
    const empty = Object.keys(parameters).map(() => `'{}'`)
    const rows = await database.sql.unsafe(`EXPLAIN (COSTS OFF) EXECUTE many${index}(${empty.join(', ')})`)
    const scans = rows
      .map((row) => String(row['QUERY PLAN']))
      .filter((line) => /(Seq|Index|Bitmap \w+|Index Only) Scan/.test(line))
    for (const scan of scans) expect(scan, `in ${forMany}`).toMatch(/Index (Only )?Scan using \w+_pkey on /)
    expect(scans.length > 0 || /^\s*INSERT/.test(forMany), `a plan for ${forMany}`).toBe(true)
  }
  await database.sql.unsafe('RESET plan_cache_mode')
})

test('On PostgreSQL, a statement over many rows reads no whole table, even if the table is small and has no statistics', async () => {
  const young = await newMigratedDatabase()
  await young.sql.unsafe(fillTables(500))
  const own = record(young, 'database')
  storeOn(own)
  const sample = { text: 'g1', packed: '\\x006731', bigint: '1', integer: '1', boolean: 'true', jsonb: '[]' }
  for (const { forMany, parameters } of own.forMany) {
    const { text } = compileForMany(forMany, parameters, 'database')
    const explain = own.prepare<{ 'QUERY PLAN': string }>('read', `EXPLAIN (COSTS OFF) ${text.replaceAll(/\$(\d+)/g, ':p$1')}`)
    const columns = Object.values(parameters).map((type, index) => [`p${index + 1}`, textArray(Array(20).fill(sample[type]))])
    const plan = (await explain(Object.fromEntries(columns))).map((row) => row['QUERY PLAN'])
    expect(
      plan.filter((line) => line.includes('Seq Scan')),
      `in ${forMany}`,
    ).toEqual([])
  }
})

test('A statement without an index, which counts as expensive while sequential scans are off, is not compiled (jit)', async () => {
  // Every plan that costs anything would be compiled, if the connection did not turn this off.
  await database.sql.unsafe(`ALTER DATABASE ${database.name} SET jit_above_cost = 0`)
  onTestFinished(async () => void (await database.sql.unsafe(`ALTER DATABASE ${database.name} RESET jit_above_cost`)))
  const own = record(database, 'database')
  const plan = await own.prepare<{ 'QUERY PLAN': string }>('read', 'EXPLAIN SELECT sum(created_at) FROM clients')()
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).not.toContain('JIT')
  expect(await own.prepare('read', 'SHOW jit')()).toEqual([{ jit: 'off' }])
})

test('On PostgreSQL, the wallets with a shortened address are found through an index of each table', async () => {
  const recording = record(database, 'database')
  createRestorationStore(recording)
  const searches = recording.prepared.filter((sql) => sql.startsWith('SELECT DISTINCT wallet'))
  expect(searches).toHaveLength(3)
  await database.sql.unsafe('SET enable_seqscan = off')
  for (const sql of searches) {
    const [line = '', ...more] = await planOf(sql, /(Scan|Index Cond)/)
    expect([line, ...more].join('\n'), `of ${sql}`).toMatch(
      /Index.*\b(sessions_unended|grants_(by|of)_wallet|receipts_\w+)\b[^]*Index Cond: .*wallet/,
    )
  }
  await database.sql.unsafe('RESET enable_seqscan')
})

test('On PostgreSQL, expired rows are found through an index on their expiry, never by a table scan', async () => {
  const recording = record(database, 'database')
  createCleaning(recording)
  const statements = recording.prepared.filter(
    (sql) => / FROM (grants|sessions|receipts|spent|pushed_requests|approvals)\b/.test(sql) && !sql.includes('ANY (:ids'),
  )
  expect(statements).toHaveLength(12)
  for (const sql of statements) {
    const plan = (await planOf(sql)).filter((step) => !step.startsWith('Bitmap Heap Scan'))
    expect(plan, `plan of ${sql}`).toEqual([
      expect.stringMatching(/^(Index (Only )?Scan using|Bitmap Index Scan on) \w+_by_end\b/),
    ])
  }
})

test('On PostgreSQL, a search for wallets reads the primary key, as one range', async () => {
  const recording = record(database, 'given')
  const { findWallets } = createWalletStore(recording)
  const before = recording.prepared.length
  await findWallets({ prefix: '0xabcdefab', limit: 21, after: '' })
  const [sql = ''] = recording.prepared.slice(before)
  expect(await planOf(sql)).toEqual([expect.stringMatching(/^Index Only Scan using wallets_pkey\b/)])
})

test('On PostgreSQL, a page of endings is read in the order of an index, and only the endings of one second are sorted', async () => {
  const recording = record(database, 'database')
  createEndingStore(recording)
  const pages = recording.prepared.filter((sql) => /ORDER BY/.test(sql) && !/run_command/.test(sql))
  const byId = recording.prepared.filter((sql) => /= ANY/.test(sql))
  const plans = await Promise.all([...pages, ...byId].map((sql) => planOf(sql, /Sort$|Scan|Presorted/)))
  expect(plans).toEqual([
    ['Incremental Sort', 'Presorted Key: (COALESCE(ended_at, expires_at))', 'Index Scan using grants_by_end on grants'],
    ['Incremental Sort', 'Presorted Key: expires_at', 'Index Scan using spent_by_end on spent'],
    ['Index Scan using grants_pkey on grants'],
  ])
})

test("On PostgreSQL, a page of a wallet's grants, sessions or receipts is read in the order of one index, without a sort", async () => {
  const recording = record(database, 'given')
  const { grants, receipts } = storesOn(recording)
  const wallet = someWallet()
  for (const of of [{}, { clientId: 'c' }]) {
    await grants.listUnendedGrants({ wallet, ...of, limit: 50 })
    await receipts.listReceipts(wallet, { ...of, limit: 50 })
    await receipts.listReceipts(wallet, { ...of, state: 'withdrawn', limit: 50 })
  }
  const pages = recording.prepared.filter((sql) => /^\s*SELECT[^]*wallet = :wallet[^]*ORDER BY/.test(sql))
  expect(pages).toHaveLength(7)
  for (const sql of pages) {
    const index = '(grants_by_wallet|sessions_unended|receipts_by_client)'
    expect(await planOf(sql), `plan of ${sql}`).toEqual([
      expect.stringMatching(new RegExp(`^Index Scan( Backward)? using ${index} on `)),
    ])
  }
})

test('On PostgreSQL, a page of any list of grants is read in the order of an index, and only the grants of one second are sorted', async () => {
  const recording = record(database, 'given')
  const { grants } = storesOn(recording)
  const before = recording.prepared.length
  await grants.listGrants({ limit: 50 })
  await grants.listGrants({ wallet: someWallet(), limit: 50 })
  await grants.listGrants({ clientId: 'c', limit: 50 })
  await grants.listGrants({ clientId: 'c', unended: true, order: 'oldest', limit: 50 })
  const pages = recording.prepared.slice(before)
  const plans = await Promise.all(pages.map((sql) => planOf(sql, /Sort$|Scan|Presorted/)))
  const sorted = ['Incremental Sort', 'Presorted Key: created_at']
  expect(plans).toEqual([
    ['Index Scan Backward using grants_pkey on grants'],
    ['Sort', 'Bitmap Heap Scan on grants', 'Bitmap Index Scan on grants_by_wallet'],
    [...sorted, 'Index Scan Backward using grants_by_client on grants'],
    [...sorted, 'Index Scan Backward using grants_by_client on grants'],
    [...sorted, 'Index Scan using grants_by_client on grants'],
  ])
})

test('On PostgreSQL, listing the grants of a wallet or a client reads its own grants only, and of a client a page of them, however many others there are or have ended', async () => {
  const fresh = await newMigratedDatabase()
  const recording = record(fresh, 'given')
  // Ids begin with their time, so the newest grants are the last.
  const owner = packed("CASE WHEN n > 28500 THEN 'young' ELSE 'old' END")
  const rows = fillOf('grants', 30_000, {
    id: packed("to_char(n, '000000')"),
    client_id: owner,
    wallet: packed("'w' || n % 20"),
    created_at: 'n',
    ended_at: 'CASE WHEN n % 300 = 0 THEN NULL ELSE n END',
  })
  await fresh.sql.unsafe(`${rows}; ANALYZE`)
  const { grants } = storesOn(recording)
  const before = recording.prepared.length
  for (const name of ['old', 'young']) {
    await grants.listGrants({ clientId: name, limit: 100 })
    await grants.listGrants({ clientId: name, unended: true, order: 'oldest', limit: 100 })
  }
  const pages = recording.prepared.slice(before)
  expect(pages).toHaveLength(6)
  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    await fresh.sql.unsafe(`SET plan_cache_mode = ${mode}`)
    for (const [index, sql] of pages.entries()) {
      const name = index < 3 ? 'old' : 'young'
      const { text, valuesOf } = compile(sql, 'given')
      const isFirst = sql.includes('id) >')
      const after = { afterMadeAt: isFirst ? 0 : 9e9, afterId: isFirst ? '' : '~' }
      const values = valuesOf({ clientId: name, ...after, limit: 100 })
      const rows = await fresh.sql.unsafe(`EXPLAIN (ANALYZE, COSTS OFF) ${text}`, values)
      const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
      expect(plan, `under ${mode}`).toMatch(/Index Scan (Backward )?using grants_by_client on grants/)
      expect(plan, `under ${mode}`).not.toMatch(/-> +Sort|Rows Removed/)
      expect(plan, `under ${mode}`).toMatch(/Index Scan .* rows=(\d\d?|1[0-6]\d)\./)
    }
    await grants.listGrants({ wallet: 'w1' as `0x${string}`, limit: 100 })
    const { text, valuesOf } = compile(recording.prepared.at(-1) ?? '', 'given')
    const values = valuesOf({ wallet: 'w1', afterMadeAt: 9e9, afterId: '~', limit: 100 })
    const plan = (await fresh.sql.unsafe(`EXPLAIN (ANALYZE, COSTS OFF) ${text}`, values)).map((row) => String(row['QUERY PLAN']))
    expect(plan.join('\n'), `under ${mode}`).toMatch(/Scan (using|on) grants_by_wallet .* rows=1500\./)
    expect(plan.join('\n'), `under ${mode}`).not.toMatch(/Seq Scan/)
  }
})

test('On PostgreSQL, a page of the active grants of a wallet reads a page of rows, also if nearly all grants are those of this wallet at one client', async () => {
  const fresh = await newMigratedDatabase()
  const recording = record(fresh, 'given')
  const rows = fillOf('grants', 30_000, {
    id: packed("to_char(n, '000000')"),
    client_id: packed("'app'"),
    wallet: packed("CASE WHEN n % 100 = 0 THEN 'other' || n ELSE 'wallet' END"),
    created_at: 'n / 3',
  })
  await fresh.sql.unsafe(`${rows}; ANALYZE`)
  const { grants } = storesOn(recording)
  const page = { wallet: 'wallet' as `0x${string}`, limit: 50 }
  await grants.listUnendedGrants(page)
  const { text, valuesOf } = compile(recording.prepared.at(-1) ?? '', 'given')
  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    await fresh.sql.unsafe(`SET plan_cache_mode = ${mode}`)
    for (const [madeAt, id] of [[9900, ' 029701'] as const, [5000, ' 015001'] as const]) {
      const rows = await fresh.sql.unsafe(
        `EXPLAIN (ANALYZE, COSTS OFF) ${text}`,
        valuesOf({ ...page, clientId: 'app', madeAt, id }),
      )
      const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
      expect(plan, `under ${mode}`).toMatch(/Index Scan Backward using grants_by_wallet on grants .* rows=5\d\./)
      expect(plan, `under ${mode}`).not.toMatch(/Bitmap|-> +Sort/)
    }
  }
})

test('On PostgreSQL, a thousand refreshes add no row, and at least 950 of them are HOT updates, which write no index', async () => {
  const grant = await newLivingGrant()
  const rows = async () => Number((await database.sql.unsafe('SELECT count(*) AS count FROM grants'))[0]?.count)
  const before = await rows()
  for (let generation = 0; generation < 1000; generation++) {
    expect((await stores.grants.rotateRefreshToken(rotationOf(grant, generation))).kind).toBe('rotated')
  }
  expect(await rows()).toBe(before)
  // The counters arrive late. They include every update of this connection once it is closed.
  await connection.close()
  await expect
    .poll(async () => {
      const [table] = await database.sql.unsafe(`SELECT n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'grants'`)
      return Number(table?.hot)
    })
    .toBeGreaterThanOrEqual(950)
})
