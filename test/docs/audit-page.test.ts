import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LINE_EVENTS } from '../../src/domain/audit/recorded-events.ts'

test('docs/operating/audit.md names every event that a line of the audit trail can have', () => {
  const page = readFileSync(new URL('../../docs/operating/audit.md', import.meta.url), 'utf8')
  expect([...LINE_EVENTS].filter((event) => !page.includes(`\`${event}\``))).toEqual([])
})
