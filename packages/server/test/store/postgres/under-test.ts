/** Two nodes on one migrated, empty database, for the contract. */
import { NO_LINE } from '../../../src/domain/model/audit-store.ts'
import type { PostgresDatabase } from '../../support/postgres.ts'
import { openPostgresStore } from '../../support/postgres-database.ts'
import type { Sql } from '../../support/sql.ts'
import { NOW } from '../contract/subject.ts'
import type { StoreUnderTest } from '../store-contract.ts'

/** `workers`: connections to the other machines of a cluster. */
export async function postgresUnderTest(database: PostgresDatabase, workers: readonly Sql[] = []): Promise<StoreUnderTest> {
  const { address, name, sql } = database
  await sql.unsafe(
    'TRUNCATE grants, wallets, sessions, receipts, clients, resources, keys, spent, pushed_requests, approvals, draws, leases, restorations, audit_lines, audit_writers, audit_waiting, webhooks, console_drafts, activity, nodes',
  )
  await sql.unsafe(`UPDATE lists SET items = '[]', attempts = ''`)
  await sql.unsafe(`UPDATE audit_head SET seq = 0, hash = '${NO_LINE}'`)
  const open = () => openPostgresStore(address, { clock: 'given', now: () => NOW })
  const nodes = [await open(), await open()] as const
  const opened = [...nodes]
  const closeAll = () => Promise.all(opened.map((store) => store.close()))
  return {
    nodes: [...nodes],
    async restart() {
      await closeAll()
      const store = await open()
      opened.push(store)
      return store
    },
    async refuseWrites() {
      const machines = [sql, ...workers]
      const change = async (setting: string) => {
        // Without this, Citus would change the setting of the other machines over connections that are read-only by then.
        for (const machine of machines)
          await machine.unsafe(
            `SET citus.enable_ddl_propagation = off; ALTER DATABASE ${name} ${setting}; RESET citus.enable_ddl_propagation`,
          )
        // The connections of Citus end with the connections that they serve.
        for (const machine of machines)
          await machine`
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = ${name} AND pid <> pg_backend_pid() AND application_name NOT LIKE 'citus_internal%'`
      }
      await change('SET default_transaction_read_only = on')
      return () => change('RESET default_transaction_read_only')
    },
    close: async () => void (await closeAll()),
  }
}
