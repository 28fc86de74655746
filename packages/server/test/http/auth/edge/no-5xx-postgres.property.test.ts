/** Runs ten times for each endpoint in `npm test`, and as often as on SQLite in `npm run test:store`. */
import { afterAll, describe } from 'vitest'
import { createPostgresDatabase, type PostgresDatabase } from '../../../support/postgres.ts'
import { runs } from '../../../support/runs.ts'
import { testArbitraryInput } from './no-5xx.ts'

const times = process.env.TEST_STORE === 'full' ? runs : 10

describe('Arbitrary input on PostgreSQL', () => {
  let database: PostgresDatabase | undefined
  // Hooks of this kind run in reverse order: the service closes before its database is dropped.
  afterAll(() => database?.drop())
  testArbitraryInput(async () => {
    database = await createPostgresDatabase()
    return { postgres: database.address }
  }, times)
})
