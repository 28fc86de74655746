/** The generated page of audit events names every event of the audit log. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { eventsPage } from '../../../../scripts/docs/events-page.ts'
import { auditEvents } from '../../src/domain/model/audit-events.ts'

test('The generated page of audit events has a row for each event', () => {
  const page = eventsPage()
  for (const name of Object.keys(auditEvents)) expect(page).toContain(`\n| \`${name}\` |`)
})

test('Every event in the table of audit events is used by the source code', () => {
  const src = new URL('../../src/', import.meta.url)
  const code = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('audit-events.ts'))
    .map((path) => readFileSync(new URL(path, src), 'utf8'))
    .join('')
  const isUsed = (name: string) => code.includes(`'${name}'`) || name.startsWith('audit_trail_')
  expect(Object.keys(auditEvents).filter((name) => !isUsed(name))).toEqual([])
})
