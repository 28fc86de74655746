/** The bytes of a row and its indexes stay within the bounds that docs/operating/capacity.md states. */
import { expect, onTestFinished, test } from 'vitest'
import { measureBytes, onPostgres, type RowBytes } from '../../../../scripts/capacity/row-bytes.ts'
import { newPostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'

const together = (...rows: (RowBytes | undefined)[]) =>
  rows.reduce((sum, each) => sum + (each?.row ?? 0) + (each?.indexes ?? 0), 0)

test('On PostgreSQL a grant takes at most 560 bytes with its indexes, a sign-in 1,600, and a line of the audit trail 450', {
  timeout: 120_000,
}, async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, 0)
  const store = await openPostgresStore(address)
  onTestFinished(() => store.close())
  const { rows } = await measureBytes(onPostgres(store, sql), 3000)
  expect(together(rows.grants)).toBeLessThanOrEqual(560)
  expect(together(rows.sessions, rows.wallets, rows.receipts)).toBeLessThanOrEqual(1600)
  expect(together(rows.audit_lines)).toBeLessThanOrEqual(450)
})
