/** A few times in `npm test`, as often as on SQLite in `npm run test:store`. */
import { afterAll, describe } from 'vitest'
import { createPostgresDatabase, type PostgresDatabase } from '../support/postgres.ts'
import { runs } from '../support/runs.ts'
import { noInputMakesA5xx } from './no-5xx.ts'

const times = process.env.TEST_STORE === 'full' ? runs : 10

describe('no input makes a 5xx on PostgreSQL', () => {
  let database: PostgresDatabase | undefined
  // after the service on it was closed: hooks of this kind run in reverse
  afterAll(() => database?.drop())
  noInputMakesA5xx(async () => {
    database = await createPostgresDatabase()
    return { postgres: database.address }
  }, times)
})
