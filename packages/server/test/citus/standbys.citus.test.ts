/** Machines of a Citus cluster with synchronous standbys: what was found done is acknowledged once the standby of its machine has it. */

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { endMatching } from '../../src/domain/consent/end-matching.ts'
import { sumOf } from '../../src/domain/model/pages.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../src/domain/model/store-errors.ts'
import { pack } from '../../src/store/packed.ts'
import { livingGrant, NOW, rotationOf } from '../store/contract/subject.ts'
import { addressOf, migratePostgres, openPostgresStore, type PostgresDatabase } from '../support/postgres-database.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { type Cluster, startCluster, using } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
let store: Store
beforeAll(async () => {
  cluster = await startCluster(2)
  database = await cluster.newDatabase()
  await migratePostgres(database.address, NOW)
  store = await openPostgresStore(addressOf(`${database.url}?statement_timeout=500`), { clock: 'given' })
})
afterAll(async () => {
  await store.close()
  await cluster.close()
})

/** Requires a standby of one machine that does not exist, or none. The machine applies the setting a moment later. */
const requireStandby = (machine: PostgresServer, name: 'elsewhere' | '') =>
  using(machine.urlOf('postgres'), async (sql) => {
    await sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
    await sql`SELECT pg_reload_conf()`
  })

/** Makes grants until there is one on the machine. */
async function grantOn(machine: PostgresServer) {
  for (;;) {
    const grant = await livingGrant(store)
    const [row] = await database.sql`
      SELECT nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('grants', ${pack(grant.id)}::bytea)`
    if (row?.nodeport === machine.port) return grant
  }
}

const outcomeOf = (call: () => Promise<unknown>): Promise<unknown> =>
  call().catch((error: unknown) => (error instanceof StoreUnavailable ? 'unavailable' : error))

test('What is found already done in a row is acknowledged only once the synchronous standby of its machine has it', {
  timeout: 60_000,
}, async () => {
  const [waiting, free] = cluster.workers as [PostgresServer, PostgresServer]
  const repeats = async (machine: PostgresServer) => {
    const [ended, refreshed] = [await grantOn(machine), await grantOn(machine)]
    const rotation = rotationOf(refreshed, 0)
    await store.grants.endGrant(ended.id, 'revoked', NOW)
    await store.grants.rotateRefreshToken(rotation)
    return {
      end: () => outcomeOf(() => store.grants.endGrant(ended.id, 'revoked', NOW)),
      refresh: () => outcomeOf(async () => (await store.grants.rotateRefreshToken(rotation)).kind),
      // Reads every machine: the ended grant is on none of the pages.
      endAll: () =>
        outcomeOf(() => sumOf(endMatching(store, { clientId: ended.clientId }, { reason: 'operator', now: () => NOW }))),
    }
  }
  const [there, elsewhere] = [await repeats(waiting), await repeats(free)]
  onTestFinished(() => requireStandby(waiting, ''))
  await requireStandby(waiting, 'elsewhere')
  await expect.poll(there.end, { timeout: 20_000 }).toBe('unavailable')
  expect(await there.refresh()).toBe('unavailable')
  expect(await there.endAll()).toBe('unavailable')
  expect(await elsewhere.end()).toBe('ended_before')
  expect(await elsewhere.refresh()).toBe('rotated')
  await requireStandby(waiting, '')
  await expect.poll(there.end, { timeout: 20_000 }).toBe('ended_before')
  await expect.poll(there.refresh, { timeout: 20_000 }).toBe('rotated')
  await expect.poll(there.endAll, { timeout: 20_000 }).toBe(0)
})
