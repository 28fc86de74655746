/** A step of the schema stays as it is once databases may have taken the step. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { MIGRATIONS as ON_POSTGRES } from '../../src/store/postgres/migrations.ts'
import { MIGRATIONS as ON_SQLITE } from '../../src/store/sqlite/migrations.ts'

/** The hash of each step that is in the main branch, without its comments and line breaks. A new step adds a line; no line changes. */
const LANDED = {
  'SQLite 26': 'O7Whqq06SPl4PZ0HiBMPyUSFozYrDAdJCdr4Ry0hEQc',
  'PostgreSQL 26': 'MNiow8-dOXn9XjwgCrc2RVbTWJ4mDe62OG617kdHuWQ',
  'SQLite 27': 'wYQ5wXKlelMOOjlKmpdfXsh9enFCdBEqr9ZrD1FeeYw',
  'PostgreSQL 27': 'tgJKT2-M1RQS23RUfzerZemAsp22DsDn9dzhC5RKzfQ',
  'SQLite 28': '61VAa6XGpin9PUYGrKMj7Cd7xzmrKqpVreFF1Uf9fCo',
  'PostgreSQL 28': 'FNs6bw-4AEabQQU2Qs5LH9EhWzVDTUp2J9VEjGarZ6k',
  'SQLite 29': 'ACuS156C1XmrC5mjO24uNgOKiOSCbCWv64Rm_jFBAUk',
  'PostgreSQL 29': 'JVehzJ8TCqVctqhAfr9CMfRQK5abwx5E5C_uQlwSFxE',
}

test('No step of the schema that is in the main branch has changed, on either engine', () => {
  const found = { ...hashesOf('SQLite', ON_SQLITE), ...hashesOf('PostgreSQL', ON_POSTGRES) }
  expect(found, 'Databases have taken this step. Leave it as it was, and add a new step.').toEqual(LANDED)
})

function hashesOf(engine: string, steps: typeof ON_SQLITE): Record<string, string> {
  return Object.fromEntries(
    steps.map(({ number, name, oldest, sql }) => {
      const statements = sql
        .replace(/^\s*--.*$/gm, '')
        .replace(/\s+/g, ' ')
        .trim()
      return [
        `${engine} ${number}`,
        createHash('sha256')
          .update(JSON.stringify([number, name, oldest, statements]))
          .digest('base64url'),
      ]
    }),
  )
}
