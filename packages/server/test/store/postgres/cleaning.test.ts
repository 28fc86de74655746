/** Expired rows are found through an index on PostgreSQL too, whatever other rows the table has. A refresh writes no index. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCleaning } from '../../../src/store/postgres/cleaning.ts'
import { migratePostgres } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import { compile, type StatementKind } from '../../../src/store/postgres/statements/statement.ts'
import { fillOf } from '../../support/fill.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { NOW } from '../contract/subject.ts'

const ROWS = 30_000

let database: PostgresDatabase
beforeAll(async () => {
  database = await createPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const { sql } = database
  const over = { expires_at: `${NOW} + n` }
  for (const table of ['grants', 'sessions', 'receipts', 'spent', 'pushed_requests', 'approvals'] as const)
    await sql.unsafe(fillOf(table, ROWS, over))
  await sql.unsafe(`
    INSERT INTO keys (id, kind, number, algorithm, created_at, starts_at, retired_at)
    SELECT gen_random_uuid(), 'seal', n, 'AES-256-GCM', ${NOW}, ${NOW}, ${NOW} + n FROM generate_series(1, ${ROWS}) AS n`)
  await sql.unsafe(`
    INSERT INTO audit_writers (id, number, previous, used_at)
    SELECT gen_random_uuid(), 1, 0, ${NOW} + n FROM generate_series(1, ${ROWS}) AS n`)
  await sql.unsafe(`
    INSERT INTO nodes (id, at, record) SELECT gen_random_uuid(), ${NOW} + n, '{}' FROM generate_series(1, ${ROWS}) AS n`)
  await sql.unsafe('ANALYZE')
})
afterAll(() => database.drop())

/** Records every statement that it prepares. */
class RecordingConnection extends PostgresConnection {
  readonly sql: string[] = []
  override prepare<Row>(kind: StatementKind, sql: string) {
    this.sql.push(sql)
    return super.prepare<Row>(kind, sql)
  }
}

test('On PostgreSQL, each sweep finds expired rows by an index, without a table scan or a sort, by either clock', async () => {
  for (const clock of ['database', 'given'] as const) {
    const connection = new RecordingConnection(database.address, { clock })
    createCleaning(connection)
    const sweeps = connection.sql.filter((sql) => !sql.includes('ANY (:ids') && !sql.includes('leases'))
    expect(sweeps.map((sql) => sql.split(' ')[0])).toEqual(Array.from({ length: 9 }, () => ['SELECT', 'WITH']).flat())
    for (const sweep of sweeps) {
      const { text, valuesOf } = compile(sweep, clock)
      const values = valuesOf({ at: NOW + ROWS, overFor: 100, limit: 50, first: NOW, last: NOW + 50 })
      const rows = await database.sql.unsafe(`EXPLAIN ${text}`, values)
      const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
      expect(plan, `${clock}: ${sweep}`).not.toContain('Seq Scan')
      expect(plan, `${clock}: ${sweep}`).not.toMatch(/Sort/)
      expect(plan, `${clock}: ${sweep}`).toMatch(/(Index (Only )?Scan using|Bitmap Index Scan on) \w+_by_end/)
    }
    await connection.close()
  }
})

test('A refresh on PostgreSQL writes no index: the new version of its row stays on the same page (HOT update)', async () => {
  const { sql } = database
  // One row on a page that has room for all its versions. With many rows, a full page could move a version to another page.
  await sql.unsafe('CREATE TEMPORARY TABLE one AS SELECT * FROM grants LIMIT 1')
  await sql.unsafe('TRUNCATE grants')
  await sql.unsafe('INSERT INTO grants SELECT * FROM one')
  const hot = async () => {
    await sql.unsafe('SELECT pg_stat_force_next_flush()')
    const [row] = await sql.unsafe(
      "SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'grants'",
    )
    return { all: Number(row?.all), hot: Number(row?.hot) }
  }
  const rotate = `UPDATE grants SET generation = generation + 1, rotated_at = rotated_at + 1, refresh_expires_at = refresh_expires_at + 1
                  WHERE id = (SELECT id FROM grants ORDER BY id LIMIT 1)`
  const before = await hot()
  for (let time = 0; time < 20; time++) await sql.unsafe(rotate)
  const after = await hot()
  expect(after.all - before.all).toBe(20)
  expect(after.hot - before.hot).toBe(20)
})
