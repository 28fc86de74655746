import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import { migratePostgres, storeOn } from '../../../src/store/postgres/index.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { anyOrderContract } from '../contract/any-order.ts'
import { codesContract } from '../contract/codes.ts'
import { NOW, type StoreUnderTest } from '../contract/subject.ts'
import { storeContract } from '../store-contract.ts'
import { Apart } from './apart.ts'
import { postgresUnderTest } from './under-test.ts'

// One database for all tests of the contract, emptied before each one: creating a database takes longer than most tests.
let database: PostgresDatabase
beforeAll(async () => {
  database = await createPostgresDatabase()
  await migratePostgres(database.address, NOW)
})
afterAll(() => database.drop())

storeContract('PostgreSQL', () => postgresUnderTest(database))

// A cluster redeems a code in three steps, and so does one primary if the session of the code was replaced.
describe.each([
  ['in three steps on both nodes', () => [apart(), apart()] as const],
  ['in three steps on one node, and in one on the other', ([, other]: StoreUnderTest['nodes']) => [apart(), other] as const],
] as const)('PostgreSQL, a redemption %s', (_, nodesOf) => {
  let underTest: StoreUnderTest
  beforeEach(async () => {
    const both = await postgresUnderTest(database)
    const nodes = nodesOf(both.nodes)
    const close = async () => void (await Promise.all([both.close(), ...nodes.map((node) => node.close())]))
    underTest = { ...both, nodes: [...nodes], close }
  })
  afterEach(() => underTest.close())

  describe('Authorization codes', () => codesContract(() => underTest))
  describe('Arbitrary sequences of operations', () => anyOrderContract(() => underTest))
})

const apart = () => storeOn(new Apart(database.address, { clock: 'given' }), { now: () => NOW })
