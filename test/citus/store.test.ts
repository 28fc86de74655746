/** The contract of the store on a Citus cluster of three workers. */
import { afterAll, beforeAll } from 'vitest'
import { migratePostgres } from '../../src/store/postgres/index.ts'
import { NOW } from '../store/contract/subject.ts'
import { postgresUnderTest } from '../store/postgres/under-test.ts'
import { storeContract } from '../store/store-contract.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
beforeAll(async () => {
  cluster = await startCluster()
  database = await cluster.newDatabase()
  await migratePostgres(database.address, NOW)
})
afterAll(() => cluster.close())

storeContract('Citus', () => postgresUnderTest(database))
