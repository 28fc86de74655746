/** The steps that distribute tables, with a session that answers like Citus. `test/citus` distributes real tables. */
import { expect, test } from 'vitest'
import { distribute } from '../../../src/store/postgres/cluster/distribute.ts'
import { DISTRIBUTED } from '../../../src/store/postgres/cluster/distribution.ts'
import type { Session } from '../../../src/store/postgres/connection/server.ts'

const ANSWERS: [RegExp, unknown][] = [
  [/AS found/, { found: true }],
  [/AS level/, { level: 'logical', libraries: null }],
]

/** Records which tables are distributed, all of which have rows. */
function sessionOf(distributed: string[]): Session {
  return {
    async query<Row>(text: string) {
      const table = /create_distributed_table_concurrently\('(\w+)'/.exec(text)?.[1]
      if (table) {
        // An error of the other connection arrives meanwhile.
        await new Promise((resolve) => setImmediate(resolve))
        distributed.push(table)
      }
      return ANSWERS.filter(([pattern]) => pattern.test(text)).map(([, row]) => row as Row)
    },
  }
}

test('If the progress of a distribution cannot be read, all tables are distributed nevertheless', async () => {
  const distributed: string[] = []
  const reported: string[] = []
  await distribute(sessionOf(distributed), {
    report: (line) => reported.push(line),
    runLocking: (task) => task(),
    useAnother: () => Promise.reject(new Error('too many connections')),
  })
  expect(distributed).toEqual(Object.keys(DISTRIBUTED))
  expect(reported).toContain('Distributing grants: the progress cannot be read')
})
