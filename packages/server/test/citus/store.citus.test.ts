/** The contract of the store on a Citus cluster of three workers. */
import { afterAll, beforeAll } from 'vitest'
import { NOW } from '../store/contract/subject.ts'
import { postgresUnderTest } from '../store/postgres/under-test.ts'
import { storeContract } from '../store/store-contract.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres } from '../support/postgres-database.ts'
import { connect, type Sql } from '../support/sql.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
let workers: Sql[]
beforeAll(async () => {
  cluster = await startCluster()
  database = await cluster.newDatabase()
  await migratePostgres(database.address, NOW)
  workers = cluster.workers.map(({ urlOf }) => connect(urlOf(database.name)))
})
afterAll(async () => {
  await Promise.all(workers.map((sql) => sql.end()))
  await cluster.close()
})

storeContract('Citus', () => postgresUnderTest(database, workers))
