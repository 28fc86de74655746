/** A distributed PostgreSQL: `grantor migrate` spreads the tables by itself. Citus is not here; what it would be told is. */
import { expect, test } from 'vitest'
import { DISTRIBUTED, EVERYWHERE } from '../../src/store/postgres/distribution.ts'
import { migratePostgres, openPostgresStore } from '../../src/store/postgres/index.ts'
import { callsOf, installFakeCitus } from '../support/fake-citus.ts'
import { newPostgresDatabase } from '../support/postgres.ts'
import { NOW } from './contract/subject.ts'

const TOLD = [
  ...EVERYWHERE.map((table) => `everywhere: ${table}`),
  'grants by id, beside none',
  'sessions by hash, beside none',
  'wallets by address, beside none',
  'receipts by wallet, beside wallets',
  'spent by hash, beside none',
  'pushed_requests by id, beside none',
]

test('where the database has Citus, migrating spreads the tables, once, one machine after the other', async () => {
  const database = await newPostgresDatabase()
  await installFakeCitus(database)
  await migratePostgres(database.address, NOW)
  const calls = await callsOf(database)
  expect(calls.map(({ call }) => call)).toEqual(TOLD)
  expect(new Set(calls.map(({ mode }) => mode))).toEqual(new Set(['sequential']))
  await migratePostgres(database.address, NOW)
  expect(await callsOf(database), 'what is spread stays as it is').toEqual(calls)
  await (await openPostgresStore(database.address)).close()
})

test('a database that got Citus later, or a table, is spread by the next migration', async () => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  await installFakeCitus(database)
  await database.sql.unsafe(`INSERT INTO pg_dist_partition VALUES ('grants'), ('clients')`)
  expect(await migratePostgres(database.address, NOW)).toEqual([])
  const left = TOLD.filter((call) => !/^grants|: clients/.test(call))
  expect((await callsOf(database)).map(({ call }) => call)).toEqual(left)
})

test('several that migrate at once spread each table once', async () => {
  const database = await newPostgresDatabase()
  await installFakeCitus(database)
  await Promise.all(Array.from({ length: 5 }, () => migratePostgres(database.address, NOW)))
  expect((await callsOf(database)).map(({ call }) => call)).toEqual(TOLD)
})

test('where spreading fails the database stays as it was', async () => {
  const database = await newPostgresDatabase()
  await installFakeCitus(database)
  await database.sql.unsafe('ALTER TABLE citus.calls ADD CHECK (call NOT LIKE $$receipts%$$)')
  await expect(migratePostgres(database.address, NOW)).rejects.toThrow('violates check constraint')
  expect(await callsOf(database)).toEqual([])
  expect(await database.sql.unsafe(`SELECT 1 FROM pg_tables WHERE schemaname = 'public' AND tablename = 'grants'`)).toEqual([])
})

test('every table has its place, and every unique key of a spread table holds the column it is spread by', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const tables = await sql.unsafe(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`)
  expect(tables.map(({ name }) => String(name)).sort()).toEqual([...EVERYWHERE, ...Object.keys(DISTRIBUTED)].sort())
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
  expect(foreign, 'a foreign key would tie tables together that lie apart').toEqual([])
})
