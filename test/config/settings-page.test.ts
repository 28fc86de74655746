import { expect, test } from 'vitest'
import { describeSettings, settingsPage } from '../../src/config/describe.ts'
import { readSettings } from '../../src/config/settings.ts'
import { knownNames, type Setting, table } from '../../src/config/table.ts'

// To write the page anew after a change of the table: npx vitest run test/config -u
test('docs/reference/settings.md says what the program reads, word for word', async () => {
  await expect(settingsPage()).toMatchFileSnapshot('../../docs/reference/settings.md')
})

test('every name the environment may hold is on the page', () => {
  const page = settingsPage()
  for (const name of knownNames) expect(page).toContain(`\`${name}\``)
})

test('every documented default is one its own setting accepts', () => {
  for (const { name, preset, parse } of Object.values<Setting>(table)) {
    if (preset !== undefined) expect({ name, ...parse(preset) }).toHaveProperty('value')
  }
})

test("a program's help tells exactly which settings it cannot do without", () => {
  const reading = readSettings('serve', {})
  const missing = reading.kind === 'faults' ? reading.faults.map((fault) => fault.split(' ')[0]) : []
  const told = describeSettings('serve').filter(({ words }) => words.endsWith('Must be set.'))
  expect(new Set(told.map(({ name }) => name))).toEqual(new Set(missing))
})
