/** `apply` changes the store by the operations of the API, the console and the command line, and in no other way. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { planSections } from '../../../src/operators/configuration/plan.ts'

const FOLDER = new URL('../../../src/operators/configuration/', import.meta.url)

test('No file of the configuration calls a method of the store that writes: each step of a plan performs an operation', () => {
  const files = globSync('*.ts', { cwd: FOLDER })
  expect(files.length).toBeGreaterThan(Object.keys(planSections).length)
  const writing = files.flatMap((name) => {
    const source = readFileSync(new URL(name, FOLDER), 'utf8')
    const calls =
      source.match(/\b(?:store|clients|resources|webhooks|lists|grants)\.(?:insert|change|delete|end|set)[A-Z]\w*/g) ?? []
    return calls.map((call) => `${name}: ${call}`)
  })
  expect(writing).toEqual([])
})
