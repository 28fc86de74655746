/** Each statement that `grantor migrate --statements` prints runs on Citus, from the coordinator and from a worker. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { loadPlacement } from '../../src/app/compose/database.ts'
import { BESIDE, DISTRIBUTED, ON_COORDINATOR } from '../../src/store/citus/distribution.ts'
import { everyStatement } from '../../src/store/citus/every-statement.ts'
import { PostgresConnection } from '../../src/store/postgres/statements/connection.ts'
import { drawOf, limitedGrant } from '../store/contract/draws.ts'
import { NOW } from '../store/contract/subject.ts'
import { MORE_VALUES, VALUES } from '../store/postgres/every-statement.ts'
import { addressOf, type PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
beforeAll(async () => {
  cluster = await startCluster(2)
  database = await cluster.newDatabase()
  await migratePostgres(database.address, NOW)
})
afterAll(() => cluster.close())

test.for(['coordinator', 'worker'] as const)(
  'Every statement of the store runs on Citus over a connection to the %s',
  async (machine) => {
    const server = machine === 'coordinator' ? cluster.coordinator : cluster.workers[0]
    expect(await findFailures(server?.urlOf(database.name) ?? '')).toEqual([])
  },
)

test('Every statement of the store runs while the tables beside grants and wallets are not yet distributed', async () => {
  const plain = await cluster.newDatabase({ joined: false })
  await migratePostgres(plain.address, NOW)
  await cluster.join(plain.name)
  for (const table of ON_COORDINATOR) await plain.sql.unsafe(`SELECT citus_add_local_table_to_metadata('${table}')`)
  for (const [table, column] of Object.entries(DISTRIBUTED))
    await plain.sql.unsafe(
      table in BESIDE
        ? `SELECT citus_add_local_table_to_metadata('${table}')`
        : `SELECT create_distributed_table('${table}', '${column}', colocate_with => 'none')`,
    )
  expect(await findFailures(plain.url)).toEqual([])
  await expectDrawsCounted(plain)
  await plain.drop()
})

/** Draws, also equal ones at once, and returns of grants on every machine. */
async function expectDrawsCounted(plain: PostgresDatabase): Promise<void> {
  const store = await openPostgresStore(plain.address, { clock: 'given' })
  onTestFinished(() => store.close())
  for (let made = 0; made < 8; made++) {
    const grant = await limitedGrant(store)
    const [request, another] = [drawOf(grant), drawOf(grant)]
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => store.draws.draw(request)))
    expect(outcomes.filter((outcome) => outcome.kind === 'drawn' && !outcome.isAgain)).toHaveLength(1)
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => 'drawn'))
    expect(await store.draws.draw(another)).toMatchObject({ kind: 'drawn', draw: { number: 2 } })
    expect(await store.draws.giveBack(another, { amount: 100, at: NOW + 20 })).toMatchObject({ kind: 'returned' })
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ drawn: { uses: 1, amount: 100, draws: 2 } })
    await store.grants.endGrant(grant.id, 'user', NOW + 20)
  }
  expect(await store.cleaning.sweep('grants', { overFor: 10, limit: 100, at: NOW + 30 })).toBeGreaterThanOrEqual(8 + 8 * 2)
  expect(await plain.sql.unsafe('SELECT key FROM draws')).toEqual([])
}

async function findFailures(url: string): Promise<string[]> {
  const statements = await everyStatement()
  const failures: string[] = []
  for (const clock of ['database', 'given'] as const) {
    const connection = new PostgresConnection(addressOf(url), { clock, loadPlacement })
    for (const { kind, sql, place } of statements)
      await connection
        .prepare(
          kind,
          sql,
          place,
        )({ ...VALUES, ...MORE_VALUES, at: NOW })
        .catch((error: Error) => failures.push(`${error.message}: ${sql}`))
    await connection.close()
  }
  return failures
}
