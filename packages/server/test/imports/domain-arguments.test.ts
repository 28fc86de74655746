/** The linter refuses code of the domain that uses directly what the domain must get as arguments. */
import { expect } from 'vitest'
import { test as base, FILE } from '../support/fixtures.ts'
import { lintScratchTree } from './scratch-tree.ts'

const REFUSED: Record<string, string> = {
  'the clock': 'export const now = (): number => Date.now()',
  'the date of today': 'export const today = (): Date => new Date()',
  'the environment': 'export const secret = process.env.SECRET',
  'the network': `export const answer = (): Promise<Response> => fetch('http://127.0.0.1')`,
  'a timer': 'export const later = (then: () => void): unknown => setTimeout(then, 10)',
  'Math.random': 'export const dice = (): number => Math.random()',
  'standard output': `export const say = (): void => console.log('hello')`,
  'a module whose name is computed': 'export const there = (name: string): Promise<unknown> => import(name)',
}
const pathOf = (thing: string) => `packages/server/src/domain/tokens/${thing.replaceAll(' ', '-')}.ts`.toLowerCase()

// the rules that each file breaks, from one run of the linter
const test = base.extend('refusals', FILE, () =>
  lintScratchTree(Object.fromEntries(Object.entries(REFUSED).map(([thing, code]) => [pathOf(thing), `${code}\n`]))),
)

test.for(Object.keys(REFUSED))('The linter refuses code of the domain that uses %s directly', (thing, { refusals }) => {
  expect(refusals.get(pathOf(thing))).toContainEqual(expect.stringMatching(/no-restricted-|no-dynamic-require/))
})
