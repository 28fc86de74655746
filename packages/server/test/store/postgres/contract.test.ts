import { afterAll, beforeAll } from 'vitest'
import { migratePostgres } from '../../../src/store/postgres/index.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { NOW } from '../contract/subject.ts'
import { storeContract } from '../store-contract.ts'
import { postgresUnderTest } from './under-test.ts'

// One database for all tests of the contract, emptied before each one: creating a database takes longer than most tests.
let database: PostgresDatabase
beforeAll(async () => {
  database = await createPostgresDatabase()
  await migratePostgres(database.address, NOW)
})
afterAll(() => database.drop())

storeContract('PostgreSQL', () => postgresUnderTest(database))
