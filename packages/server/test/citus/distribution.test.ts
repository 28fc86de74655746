/**
 * Where each table lies on a Citus cluster. `migrations.citus.test.ts` tests on a real cluster that `grantor migrate` distributes the tables
 * so.
 */
import { expect, test } from 'vitest'
import { DISTRIBUTED, ON_COORDINATOR } from '../../src/store/citus/distribution.ts'
import { migratePostgres } from '../../src/store/postgres/index.ts'
import { NOW } from '../store/contract/subject.ts'
import { newPostgresDatabase } from '../support/postgres.ts'

test('Every table is either distributed or on the coordinator, and every unique key of a distributed table contains its distribution column', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const tables = await sql.unsafe(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`)
  expect(tables.map(({ name }) => String(name)).sort()).toEqual([...ON_COORDINATOR, ...Object.keys(DISTRIBUTED)].sort())
  const keys = await sql.unsafe<{ table: string; columns: string[] }[]>(
    `SELECT relname AS table, (SELECT jsonb_agg(attname) FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY (indkey)) AS columns
     FROM pg_index JOIN pg_class ON pg_class.oid = indrelid WHERE indisunique AND relnamespace = 'public'::regnamespace`,
  )
  for (const [table, column] of Object.entries(DISTRIBUTED)) {
    const ofTable = keys.filter((key) => key.table === table)
    expect(ofTable.length, `of ${table}`).toBeGreaterThan(0)
    for (const { columns } of ofTable) expect(columns, `of ${table}`).toContain(column)
  }
  const foreign = await sql.unsafe(`SELECT 1 FROM pg_constraint WHERE contype = 'f'`)
  expect(foreign, 'a foreign key would link tables on different machines').toEqual([])
})
