import { expect, test } from 'vitest'
import { commands } from '../../src/app/commands.ts'
import { knownNames } from '../../src/config/table.ts'
import { operatingPages as page } from '../support/operations-page.ts'

test('The pages of docs/operating name only settings that exist', () => {
  const named = new Set(page.match(/GRANTOR_[A-Z_]*[A-Z]/g))
  // Only the Compose file reads the name of the image.
  named.delete('GRANTOR_IMAGE')
  expect([...named].filter((name) => !knownNames.includes(name))).toEqual([])
})

test('The pages of docs/operating name only commands and options that exist', async () => {
  for (const { name, load } of commands) {
    const { options } = await load()
    for (const [, rest = ''] of page.matchAll(new RegExp(`grantor ${name}\\b([^\\n\`]*)`, 'g'))) {
      for (const [, option = ''] of rest.matchAll(/ --([a-z-]+)/g)) expect(['help', ...Object.keys(options)]).toContain(option)
    }
  }
  const names = commands.map(({ name }) => `${name} `)
  const used = [...page.matchAll(/(?:`|^|bin\/|env )grantor ([a-z][a-z-]*(?: [a-z-]+)?)/gm)].map(([, words]) => `${words} `)
  expect(used.length).toBeGreaterThan(10)
  // One word can be the name of a group, such as `grantor keys`.
  expect(used.filter((words) => !names.some((name) => words.startsWith(name) || name.startsWith(words)))).toEqual([])
})
