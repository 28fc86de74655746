import { expect, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { knownNames } from '../../src/config/table.ts'
import { operatingPages as page } from '../support/operations-page.ts'

test('The pages on operation, updates and recovery name only settings that exist', () => {
  const named = new Set(page.match(/GRANTOR_[A-Z_]*[A-Z]/g))
  expect([...named].filter((name) => !knownNames.includes(name))).toEqual([])
})

test('The pages on operation, updates and recovery name only commands and options that exist', async () => {
  for (const { name, load } of commands) {
    const { options } = await load()
    for (const [, rest = ''] of page.matchAll(new RegExp(`grantor ${name}\\b([^\\n\`]*)`, 'g'))) {
      for (const [, option = ''] of rest.matchAll(/ --([a-z-]+)/g)) expect(['help', ...Object.keys(options)]).toContain(option)
    }
  }
  const names = commands.map(({ name }) => name)
  const used = [
    ...page.matchAll(/(?:`|^|bin\/|env )grantor ([a-z-]+(?: (?:create|list|show|update|delete|revoke|rotate|retire|rewrap))?)/gm),
  ].map(([, name]) => name)
  expect(used.length).toBeGreaterThan(10)
  expect(used.filter((name) => !names.includes(name ?? ''))).toEqual([])
})
