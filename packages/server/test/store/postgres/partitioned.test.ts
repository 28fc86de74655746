/**
 * The whole contract on tables that are partitioned as a distributed engine would distribute them. `npm run test:store` runs
 * it.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import { migratePostgres } from '../../../src/store/postgres/index.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { partitionTables } from '../../support/postgres-database.ts'
import { NOW } from '../contract/subject.ts'
import { storeContract } from '../store-contract.ts'
import { postgresUnderTest } from './under-test.ts'

// This run takes as long as the contract on unpartitioned tables, and finds nothing that reach.test.ts does not find. `npm
// test` skips it.
describe.runIf(process.env.TEST_STORE === 'full')('The contract on partitioned tables', () => {
  let database: PostgresDatabase
  beforeAll(async () => {
    database = await createPostgresDatabase()
    await migratePostgres(database.address, NOW)
    await partitionTables(database)
  })
  afterAll(() => database.drop())

  storeContract('PostgreSQL, tables in eight parts', () => postgresUnderTest(database))
})
