/** The steps that distribute tables, with a session that answers like Citus. `migrations.citus.test.ts` distributes real tables. */
import { expect, test } from 'vitest'
import { StoreUnavailable } from '../../src/domain/model/store-errors.ts'
import { distribute } from '../../src/store/citus/distribute.ts'
import { DISTRIBUTED } from '../../src/store/citus/distribution.ts'
import type { PostgresSession } from '../../src/store/postgres/connection/server.ts'

/** All tables have rows. Records which tables are distributed. `before` is called before each of them. */
function sessionOf(distributed: string[], before: (table: string) => Promise<unknown>): PostgresSession {
  const answers: [RegExp, () => unknown[]][] = [
    [/pg_dist_partition/, () => distributed.map((name) => ({ name, isDistributed: true }))],
    [/AS found/, () => [{ found: true }]],
    [/AS level/, () => [{ level: 'logical', libraries: null }]],
  ]
  return {
    async query<Row>(text: string) {
      const table = /create_distributed_table_concurrently\('(\w+)'/.exec(text)?.[1]
      if (table) {
        await before(table)
        if (distributed.includes(table)) throw new Error(`table ${table} is already distributed`)
        distributed.push(table)
      }
      return (answers.find(([pattern]) => pattern.test(text))?.[1]() ?? []) as Row[]
    },
  }
}

const distributing = {
  report: () => undefined,
  runLocking: <Result>(task: () => Promise<Result>) => task(),
  useAnother: () => Promise.resolve(),
}

test('If the progress of a distribution cannot be read, all tables are distributed nevertheless', async () => {
  const distributed: string[] = []
  const reported: string[] = []
  // The error of the other connection arrives while a table is copied.
  const session = sessionOf(distributed, () => new Promise((resolve) => setImmediate(resolve)))
  const useAnother = () => Promise.reject(new Error('too many connections'))
  await distribute(session, { ...distributing, report: (line) => reported.push(line), useAnother })
  expect(distributed).toEqual(Object.keys(DISTRIBUTED))
  expect(reported).toContain('Distributing grants: the progress cannot be read')
})

test('While another program distributes a table, the distribution fails as one that can be repeated', async () => {
  // For example the server process of a `grantor migrate` that was killed.
  const message = 'another create_distributed_table_concurrently operation is in progress'
  const session = sessionOf([], () => Promise.reject(Object.assign(new Error(message), { code: 'XX000' })))
  await expect(distribute(session, distributing)).rejects.toThrow(StoreUnavailable)
})

test('A table that another program has distributed meanwhile is skipped', async () => {
  const distributed: string[] = []
  const session = sessionOf(distributed, async (table) => {
    if (table === 'grants') distributed.push('sessions')
  })
  await distribute(session, distributing)
  expect(distributed.toSorted()).toEqual(Object.keys(DISTRIBUTED).sort())
})
