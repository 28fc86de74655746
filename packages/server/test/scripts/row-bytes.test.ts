/** The bytes of a row and its indexes stay within the bounds that docs/operating/capacity.md states. */
import { expect, onTestFinished, test } from 'vitest'
import { measureBytes, onPostgres, type RowBytes } from '../../../../scripts/capacity/row-bytes.ts'
import { newPostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'

const together = (...rows: (RowBytes | undefined)[]) =>
  rows.reduce((sum, each) => sum + (each?.row ?? 0) + (each?.indexes ?? 0), 0)

test('On PostgreSQL a grant takes at most 560 bytes with its indexes, a sign-in 1,600, a line of the audit trail 450, an approval 600, and a draw 400', {
  timeout: 240_000,
}, async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, 0)
  // With the clock of the database, the size would depend on the speed of the machine: rows of one second share entries of an index.
  const store = await openPostgresStore(address, { clock: 'given' })
  onTestFinished(() => store.close())
  const { rows } = await measureBytes(onPostgres(store, sql), 3000, { rowsOnly: true })
  expect(together(rows.grants)).toBeLessThanOrEqual(560)
  expect(together(rows.sessions, rows.wallets, rows.receipts)).toBeLessThanOrEqual(1600)
  expect(together(rows.audit_lines)).toBeLessThanOrEqual(450)
  expect(together(rows.approvals)).toBeLessThanOrEqual(600)
  expect(together(rows.draws)).toBeLessThanOrEqual(400)
})
