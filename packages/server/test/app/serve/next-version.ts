/**
 * `grantor …` of a future version: the present version with one more migration, which adds a column to every table and a new table.
 * With `TEST_NEXT_STEP=takes-away` there is a second migration, with which an older program cannot work.
 */
import { main } from '../../../src/app/main.ts'
import { type Migration, MIGRATIONS as ON_POSTGRES } from '../../../src/store/postgres/migrations.ts'
import { MIGRATIONS as ON_SQLITE } from '../../../src/store/sqlite/migrations.ts'

const TABLES = ['grants', 'wallets', 'sessions', 'receipts', 'clients', 'keys', 'revision', 'leases', 'restorations']

for (const [steps, kind] of [
  [ON_POSTGRES, 'text'],
  [ON_SQLITE, 'TEXT'],
] as const) {
  const last = steps.at(-1)?.number ?? 0
  const added: Migration[] = [
    {
      number: last + 1,
      name: 'of tomorrow',
      oldest: last,
      sql: [
        ...TABLES.map((table) => `ALTER TABLE ${table} ADD COLUMN added_tomorrow ${kind} NOT NULL DEFAULT 'nothing';`),
        'CREATE TABLE made_tomorrow (id integer PRIMARY KEY);',
      ].join('\n'),
    },
  ]
  if (process.env.TEST_NEXT_STEP === 'takes-away')
    added.push({ number: last + 2, name: 'takes away', oldest: last + 1, sql: 'DROP TABLE made_tomorrow;' })
  ;(steps as Migration[]).push(...added)
}

process.exitCode = await main(process.argv.slice(2))
