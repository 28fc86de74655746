/** Migrates and opens databases that can be on Citus, as the commands do. */
import { loadPlacement } from '../../src/cli/compose/database.ts'
import { migratePostgres as migrate, openPostgresStore as open, type PostgresAddress } from '../../src/store/postgres/index.ts'

export const openPostgresStore = (address: PostgresAddress, options: Parameters<typeof open>[1] = {}) =>
  open(address, { ...options, loadPlacement })

export const migratePostgres = (address: PostgresAddress, at: number, report?: (line: string) => void) =>
  migrate(address, at, { report, loadPlacement })
