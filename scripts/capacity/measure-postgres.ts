/**
 * Measures the cost of each operation on PostgreSQL, for docs/operating/scaling.md: processor time in this process and in the database,
 * write-ahead log, and room on disk.
 *
 *     node scripts/capacity/measure-postgres.ts [--grants 1000000] [--operations 40000] [--wal-compression on] [--programs FOLDER | --citus 3 [--via worker] [--shards 64]] [--by-wallet] [--at-once 32] [--pause 4]
 *
 * --programs is the folder of the programs of PostgreSQL, to compare a primary of the same version with Citus. Without it, they are those of the tests.
 *
 * With --citus, the rows are on so many workers of a Citus cluster (`TEST_CITUS_PG_BIN`, as for `npm run test:citus`). The address of the
 * database is the coordinator's, or, with `--via worker`, that of a worker. Statements for one row go straight to the machine of the row.
 * The processor time that the servers need while idle is measured first, and subtracted.
 *
 * Without --pause, the callers are in step: all results of a batch arrive together, and so do the next operations of
 * its callers. With --pause, each caller waits for a random time of up to so many milliseconds before each operation.
 *
 * With --by-wallet, each wallet has five grants and two sessions, and what finds rows by their wallet is measured: on Citus, grants and sessions on every
 * machine, receipts on one (docs/decisions/0018-citus.md).
 *
 * The script starts its own database on loopback, with its files in memory if there is room: the time in which a disk
 * syncs a commit is not measured. It takes about two minutes and, with a million grants, 3 GB.
 */
import { randomInt, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { databaseUrl } from '../../packages/server/src/config/database-url.ts'
import { endEverything } from '../../packages/server/src/domain/consent/end-grants.ts'
import { PAGE } from '../../packages/server/src/domain/model/pages.ts'
import type { Store } from '../../packages/server/src/domain/model/store.ts'
import { startCluster } from '../../packages/server/test/citus/cluster.ts'
import { migratePostgres, openPostgresStore } from '../../packages/server/test/support/postgres-database.ts'
import { type PostgresServer, startPostgres } from '../../packages/server/test/support/postgres-server.ts'
import { connect, type Sql } from '../../packages/server/test/support/sql.ts'
import { CLIENT, DAY, fill, idOf, NOW, walletOf } from './rows.ts'

const { values } = parseArgs({
  options: {
    grants: { type: 'string', default: '1000000' },
    operations: { type: 'string', default: '40000' },
    'wal-compression': { type: 'string', default: 'off' },
    programs: { type: 'string' },
    citus: { type: 'string', default: '0' },
    via: { type: 'string', default: 'coordinator' },
    shards: { type: 'string', default: '32' },
    'by-wallet': { type: 'boolean', default: false },
    'at-once': { type: 'string' },
    pause: { type: 'string', default: '0' },
  },
})
const [GRANTS, OPERATIONS, PAUSE] = [Number(values.grants), Number(values.operations), Number(values.pause)]
const PER_WALLET = values['by-wallet'] ? { grants: 5, sessions: 2 } : { grants: 1, sessions: 1 }
const WALLETS = GRANTS / PER_WALLET.grants
// A statement on every machine is slow: with 32 at once, statements that wait would exceed the timeout.
const IN_FLIGHT = Number(values['at-once'] ?? (values['by-wallet'] ? 4 : 32))

// A row has one refresh at a time, as a client has.
const busy = new Set<number>()

type Cost = { perSecond: number; node: number; coordinator: number; workers: number; wal: number; pages: number }

const SETTINGS = {
  shared_buffers: "'2GB'",
  max_wal_size: "'16GB'",
  checkpoint_timeout: "'1h'",
  wal_compression: values['wal-compression'],
  autovacuum_naptime: '10s',
}

type Servers = { coordinator: PostgresServer; workers: PostgresServer[]; database: string; close(): Promise<void> }

async function start(): Promise<Servers> {
  if (values.citus === '0') {
    const server = await startPostgres(SETTINGS, values.programs)
    return { coordinator: server, workers: [], database: 'postgres', close: () => server.remove() }
  }
  const cluster = await startCluster(Number(values.citus), { ...SETTINGS, 'citus.shard_count': values.shards })
  await cluster.newDatabase({ name: 'measured' })
  return { ...cluster, database: 'measured' }
}

const { coordinator, workers, database, close } = await start()

async function measure(): Promise<void> {
  const parsed = databaseUrl(coordinator.urlOf(database))
  if ('fault' in parsed || parsed.value.kind !== 'postgres') throw new Error('no address')
  await migratePostgres(parsed.value, NOW)
  const sql = connect(coordinator.urlOf(database))
  console.log(`${(await sql`SELECT version()`)[0]?.version}`)
  await fill(sql, { grants: GRANTS, perWallet: PER_WALLET })
  if (workers.length === 0) await printSizes(sql)
  const [worker] = workers
  const via = values.via === 'worker' && worker ? worker : coordinator
  const servers = [{ host: '127.0.0.1', port: via.port }]
  const store = await openPostgresStore({ ...parsed.value, servers, poolSize: 16 })
  const generations = new Int32Array(GRANTS + 1)
  const refresh = async (number: number) => {
    const generation = generations[number] ?? 0
    const { kind } = await store.grants.rotateRefreshToken(rotationOf(number, generation))
    if (kind !== 'rotated') throw new Error(`a refresh was ${kind}`)
    generations[number] = generation + 1
  }
  const anyGrant = (): number => randomInt(1, GRANTS + 1)
  await sql`VACUUM (FREEZE, ANALYZE)`
  console.log(`\nEach of ${OPERATIONS} times, ${IN_FLIGHT} at once, on rows chosen by chance:\n`)
  console.log(
    '| | per second | node | database, or coordinator | workers | log | of it whole pages |\n|---|---|---|---|---|---|---|',
  )
  background = await measureBackground()
  if (values['by-wallet']) {
    await measureByWallet(sql, store)
    await store.close()
    return sql.end()
  }
  const measured = (name: string, move: (number: number) => Promise<unknown>) => printCost(sql, name, move)
  await sql`CHECKPOINT`
  await measured('refresh, first touch of a page since a checkpoint', () => refreshOnce(refresh, anyGrant()))
  // All rows are in a small part of the table, and each page of it changes before the measurement: no page is then written to the log as a whole.
  const few = Math.min(GRANTS, 2000)
  await each(few * 2, (index) => refreshOnce(refresh, 1 + (index % few)))
  await measured('refresh, pages touched before', () => refreshOnce(refresh, randomInt(1, few + 1)))
  await measured('introspection (read whether a grant is valid)', () => store.grants.readGrantValidity(idOf(anyGrant())))
  await measured('redeem (put a grant, read an epoch)', async () => {
    await store.grants.redeemCode(someGrant(), randomUUID(), NOW)
    await store.wallets.readEpoch(walletOf(anyGrant()))
  })
  await measured('revocation (end a grant)', () => store.grants.endGrant(idOf(anyGrant()), 'revoked', NOW))
  await measured('authorize with a session (read session, epoch)', async () => {
    await store.sessions.readSession(`session-${anyGrant()}`)
    await store.wallets.readEpoch(walletOf(anyGrant()))
  })
  const [hot] = await sql`SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'grants'`
  console.log(`\nUpdates of grants that wrote no index: ${hot?.hot} of ${hot?.all}`)
  await store.close()
  await sql.end()
}

/** What finds rows by their wallet, and a code exchange to compare with. */
async function measureByWallet(sql: Sql, store: Store): Promise<void> {
  const measured = (name: string, move: () => Promise<unknown>) => printCost(sql, name, move)
  const anyWallet = () => walletOf(randomInt(1, WALLETS + 1))
  await measured('redeem (put a grant, read an epoch)', async () => {
    await store.grants.redeemCode(someGrant(), randomUUID(), NOW)
    await store.wallets.readEpoch(anyWallet())
  })
  const ofClient = () => store.grants.listUnendedGrants({ wallet: anyWallet(), clientId: CLIENT, limit: PAGE })
  await measured('list a wallet’s grants with a client (after a code exchange)', ofClient)
  await measured('list a wallet’s grants', () => store.grants.listUnendedGrants({ wallet: anyWallet(), limit: PAGE }))
  await measured('list a wallet’s sessions (after a sign-in)', () =>
    store.sessions.listSessions(anyWallet(), { at: NOW, limit: PAGE }),
  )
  await measured('list a wallet’s receipts', () => store.receipts.listReceipts(anyWallet(), { limit: PAGE }))
  const endings = { add: async () => null, read: async () => null }
  const ending = { store, endings, now: () => NOW + 1, audit: async () => {}, announceEnded: () => {} }
  let wallet = 0
  await measured('end everything: five grants, two sessions', () => endEverything(ending, walletOf(++wallet)))
}

async function refreshOnce(refresh: (number: number) => Promise<void>, wanted: number): Promise<void> {
  let number = wanted
  while (busy.has(number)) number = (number % GRANTS) + 1
  busy.add(number)
  await refresh(number).finally(() => busy.delete(number))
}

async function each(times: number, move: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (next < times) {
        if (PAUSE > 0) await pause(Math.random() * PAUSE)
        await move(next++)
      }
    }),
  )
}

async function printCost(sql: Sql, name: string, move: (index: number) => Promise<unknown>): Promise<void> {
  await each(Math.min(2000, OPERATIONS), move)
  const cost = await costOf(sql, move)
  const micro = (seconds: number) => `${Math.round(seconds * 1e6)} µs`
  console.log(
    `| ${name} | ${Math.round(cost.perSecond).toLocaleString('en')} | ${micro(cost.node)} | ${micro(cost.coordinator)} | ${micro(cost.workers)} | ${Math.round(cost.wal)} B | ${cost.pages.toFixed(2)} |`,
  )
}

/** Seconds for which the background processes of the servers are measured alone. */
const IDLE = 4
let background = { coordinator: 0, workers: 0 }

/** Processor seconds in each second that the servers need without statements, which are not part of the cost of an operation. */
async function measureBackground(): Promise<typeof background> {
  const before = databaseSeconds()
  await pause(IDLE * 1000)
  const after = databaseSeconds()
  return { coordinator: (after.coordinator - before.coordinator) / IDLE, workers: (after.workers - before.workers) / IDLE }
}

async function costOf(sql: Sql, move: (index: number) => Promise<unknown>): Promise<Cost> {
  const [began, node, seconds, log] = [performance.now(), process.cpuUsage(), databaseSeconds(), await logOf(sql)]
  await each(OPERATIONS, move)
  const took = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(node)
  // PostgreSQL updates the counters of the log with a delay.
  await pause(1500)
  const [after, spent] = [await logOf(sql), databaseSeconds()]
  const elapsed = (performance.now() - began) / 1000
  const costIn = (side: keyof typeof background) => (spent[side] - seconds[side] - background[side] * elapsed) / OPERATIONS
  return {
    perSecond: OPERATIONS / took,
    node: (user + system) / 1e6 / OPERATIONS,
    coordinator: costIn('coordinator'),
    workers: costIn('workers'),
    wal: (after.bytes - log.bytes) / OPERATIONS,
    pages: (after.pages - log.pages) / OPERATIONS,
  }
}

async function logOf(sql: Sql): Promise<{ bytes: number; pages: number }> {
  const [row] = await sql`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes, wal_fpi AS pages FROM pg_stat_wal`
  return { bytes: Number(row?.bytes), pages: Number(row?.pages) }
}

function databaseSeconds(): { coordinator: number; workers: number } {
  return { coordinator: secondsOf(coordinator), workers: workers.reduce((sum, worker) => sum + secondsOf(worker), 0) }
}

/** Processor seconds of all processes of a server so far, including those that clean and write in the background (Linux). */
function secondsOf(server: PostgresServer): number {
  for (;;) {
    try {
      return presentSecondsOf(server)
    } catch (error) {
      // A process has ended meanwhile. Its time is then part of the main process's time.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

function presentSecondsOf(server: PostgresServer): number {
  const master = Number(readFileSync(`${server.folder}/postmaster.pid`, 'utf8').split('\n')[0])
  const children = readFileSync(`/proc/${master}/task/${master}/children`, 'utf8').trim().split(' ')
  const ticks = [String(master), ...children].map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    // For the main process, also the time of its children that have ended.
    const own = pid === String(master) ? [11, 12, 13, 14] : [11, 12]
    return own.reduce((sum, field) => sum + Number(fields[field]), 0)
  })
  return ticks.reduce((sum, each) => sum + each, 0) / 100
}

const rotationOf = (number: number, generation: number): Parameters<Store['grants']['rotateRefreshToken']>[0] => ({
  grantId: idOf(number),
  clientId: CLIENT,
  generation,
  refreshKeyId: 'abcdefghij',
  refreshExpiresAt: NOW + 14 * DAY,
  retryWindow: 60,
  scopes: [],
  clientScopes: ['enhancement'],
  resources: [],
  walletChecked: false,
  dpopJkt: null,
  attemptId: randomUUID(),
  at: NOW,
})

const someGrant = (): Parameters<Store['grants']['redeemCode']>[0] => ({
  id: randomUUID(),
  clientId: CLIENT,
  wallet: walletOf(randomInt(1, WALLETS + 1)),
  walletKind: 'ordinary',
  receiptId: randomUUID(),
  consented: true,
  scopes: ['enhancement'],
  resources: ['https://api.example.com/'],
  scopesByResource: null,
  expiresAt: NOW + 30 * DAY,
  refreshExpiresAt: NOW + 14 * DAY,
  refreshKeyId: 'abcdefghij',
  dpopJkt: null,
  authTime: NOW,
  chainId: 1,
  sessionHash: null,
  sessionReceiptId: null,
  signedLimit: null,
  epoch: 0,
})

async function printSizes(sql: Sql): Promise<void> {
  console.log('\n| row of | table | indexes | together |\n|---|---|---|---|')
  for (const table of ['grants', 'sessions', 'wallets', 'receipts']) {
    const [size] = await sql.unsafe(
      `SELECT pg_table_size('${table}') AS table, pg_indexes_size('${table}') AS indexes, (SELECT count(*) FROM ${table}) AS rows`,
    )
    const [own, indexes] = [Number(size?.table) / Number(size?.rows), Number(size?.indexes) / Number(size?.rows)]
    console.log(`| ${table} | ${Math.round(own)} B | ${Math.round(indexes)} B | ${Math.round(own + indexes)} B |`)
  }
}

try {
  await measure()
} finally {
  await close()
}
