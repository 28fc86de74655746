import { expect, test } from 'vitest'
import { describeSettings, settingsPage } from '../../src/config/describe.ts'
import { readSettings } from '../../src/config/settings.ts'
import { knownNames, type Setting, table } from '../../src/config/table.ts'

// After a change of the table, this command writes the page: npx vitest run packages/server/test/config -u
test('The page docs/reference/settings.md equals the page that the table of settings generates', async () => {
  await expect(settingsPage()).toMatchFileSnapshot('../../../../docs/reference/settings.md')
})

test('Every name of a setting is on the generated settings page', () => {
  const page = settingsPage()
  for (const name of knownNames) expect(page).toContain(`\`${name}\``)
})

test('Every documented default is accepted by its own setting', () => {
  for (const { name, preset, parse } of Object.values<Setting>(table)) {
    if (preset !== undefined) expect({ name, ...parse(preset) }).toHaveProperty('value')
  }
})

test('The help of serve marks exactly those settings as required without which serve does not start', () => {
  const reading = readSettings('serve', {})
  const missing = reading.kind === 'faults' ? reading.faults.map((fault) => fault.split(' ')[0]) : []
  const required = describeSettings('serve').filter(({ words }) => words.endsWith('Must be set.'))
  expect(new Set(required.map(({ name }) => name))).toEqual(new Set(missing))
})
