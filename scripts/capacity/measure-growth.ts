/**
 * Measures how long growth takes on Citus, for docs/operating/citus.md: `grantor migrate` distributes tables that have rows, an index is built,
 * and the shards of the tables move to a worker that was added.
 *
 *     TEST_CITUS_PG_BIN=DIR node scripts/capacity/measure-growth.ts [--grants 1000000] [--workers 2] [--shards 32]
 *
 * No requests are served meanwhile: `packages/server/test/citus/growth.citus.test.ts` serves requests. The servers are on loopback, with their files in memory if there is
 * room. With a million grants it takes about five minutes and 8 GB.
 */
import { parseArgs } from 'node:util'
import { startCluster, startMachine } from '../../packages/server/test/citus/cluster.ts'
import { migratePostgres } from '../../packages/server/test/support/postgres-database.ts'
import { connect, type Sql } from '../../packages/server/test/support/sql.ts'
import { fill, NOW } from './rows.ts'

const { values } = parseArgs({
  options: {
    grants: { type: 'string', default: '1000000' },
    workers: { type: 'string', default: '2' },
    shards: { type: 'string', default: '32' },
  },
})
const GRANTS = Number(values.grants)
const SETTINGS = {
  shared_buffers: "'2GB'",
  max_wal_size: "'16GB'",
  checkpoint_timeout: "'1h'",
  'citus.shard_count': values.shards,
}

async function printTime(what: string, task: () => Promise<unknown>): Promise<void> {
  const began = performance.now()
  await task()
  console.log(`| ${what} | ${((performance.now() - began) / 1000).toFixed(1)} s |`)
}

async function buildIndex(sql: Sql, on: string): Promise<void> {
  await printTime(`build an index on ${GRANTS.toLocaleString('en')} grants, ${on}`, () =>
    sql.unsafe('CREATE INDEX CONCURRENTLY measured ON grants (created_at)'),
  )
  await sql.unsafe('DROP INDEX measured')
}

/** Moves one shard of a table after the other, as a rebalance does, until the new worker has its share. */
async function moveShards(sql: Sql, table: string, to: number): Promise<void> {
  const shards = await sql.unsafe(
    `SELECT shardid AS id, nodeport AS port FROM citus_shards WHERE table_name = '${table}'::regclass ORDER BY shardid`,
  )
  const moved = shards.slice(0, Math.floor(shards.length / (Number(values.workers) + 1)))
  const [{ rows }] = (await sql.unsafe(`SELECT count(*) AS rows FROM ${table}`)) as [{ rows: string }]
  const share = Math.round((Number(rows) * moved.length) / shards.length).toLocaleString('en')
  await printTime(`move ${moved.length} of ${shards.length} shards of ${table} (${share} rows)`, async () => {
    for (const { id, port } of moved)
      await sql`SELECT citus_move_shard_placement(${id}::bigint, '127.0.0.1', ${port}, '127.0.0.1', ${to}, 'force_logical')`
  })
}

const cluster = await startCluster(Number(values.workers), SETTINGS)
const added = await startMachine(SETTINGS)
try {
  const { name, address, url } = await cluster.newDatabase({ name: 'measured', joined: false })
  const sql = connect(url)
  await migratePostgres(address, NOW)
  await fill(sql, { grants: GRANTS, perWallet: { grants: 1, sessions: 1 } })
  await sql.unsafe('VACUUM (FREEZE, ANALYZE)')
  console.log('| | time |\n|---|---|')
  await buildIndex(sql, 'one server')
  await cluster.join(name)
  const report = (line: string) => {
    const done = /^Distributed (\w+) in (.+)\.$/.exec(line)
    if (done) console.log(`| distribute ${done[1]} | ${done[2]} |`)
  }
  await migratePostgres(address, NOW, report)
  await buildIndex(sql, `${values.workers} workers`)
  const admin = connect(added.urlOf('postgres'))
  await admin.unsafe(`CREATE DATABASE ${name}`)
  await admin.end()
  const worker = connect(added.urlOf(name))
  await worker.unsafe('CREATE EXTENSION citus')
  await worker.end()
  await sql`SELECT citus_add_node('127.0.0.1', ${added.port})`
  for (const table of ['grants', 'sessions']) await moveShards(sql, table, added.port)
  await sql.end()
} finally {
  await Promise.all([cluster.close(), added.remove()])
}
