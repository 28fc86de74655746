import { expect, test } from 'vitest'
import { describeSettings, settingsPageText } from '../../src/config/describe.ts'
import { readSettings } from '../../src/config/settings.ts'
import { knownNames, type Setting, table } from '../../src/config/table.ts'

test('Every setting has a text that ends with a full stop, and a section of the generated page with its default and its programs', () => {
  const page = settingsPageText()
  for (const setting of Object.values<Setting>(table)) {
    expect(setting.words).toMatch(/\.$/)
    const [, section = ''] = page.split(`### \`GRANTOR_${setting.name}\``.replace('GRANTOR_OTEL_', 'OTEL_'))
    expect({ name: setting.name, section: section.split('\n### ', 1)[0] }).toMatchObject({
      section: expect.stringMatching(/(Must be set for|Default: )[^]*Read by `/) as string,
    })
  }
})

test('Every name of a setting is on the generated settings page', () => {
  const page = settingsPageText()
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
