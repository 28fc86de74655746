/** The number of all grants on PostgreSQL: beyond the bound, what the database assumes. */
import { expect, test } from 'vitest'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { partitionTables } from '../../support/postgres-database.ts'
import { livingGrant, NOW } from '../contract/subject.ts'

test.for(['one table', 'partitions'])(
  'Beyond the bound, the number of grants is the estimate of the analysed table, also of %s, and at least the bound before',
  async (form) => {
    const database = await newPostgresDatabase()
    await migratePostgres(database.address, NOW)
    if (form === 'partitions') await partitionTables(database)
    const store = await openPostgresStore(database.address, { clock: 'given' })
    try {
      for (let n = 0; n < 30; n++) await livingGrant(store)
      expect(await store.grants.countGrants(10)).toEqual({ number: 10, kind: 'at_least' })
      await database.sql`ANALYZE grants`
      expect(await store.grants.countGrants(10)).toEqual({ number: 30, kind: 'estimate' })
      expect(await store.grants.countGrants(30)).toEqual({ number: 30, kind: 'exact' })
    } finally {
      await store.close()
    }
  },
)
