/** The import walls of the house, each broken once, and the ways around them. */
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { lintScratchTree, type Refusals } from './scratch-tree.ts'

const MAY_IMPORT: Record<string, string[]> = {
  'src/oauth': [],
  'src/wallet': [],
  'src/chain': ['src/wallet'],
  'src/outbound': [],
  'src/keys': ['src/oauth'],
  'src/domain': ['src/oauth', 'src/wallet', 'src/keys'],
  'src/store/sqlite': ['src/domain'],
  'src/store/postgres': ['src/domain'],
  'src/pages': ['src/oauth'],
  'src/resource': ['src/oauth', 'src/keys'],
  'src/ops': [],
  'src/config': [],
  'src/http': ['src/oauth', 'src/domain', 'src/pages', 'src/ops'],
  'src/http/routes': ['src/oauth', 'src/domain', 'src/pages', 'src/ops'],
  'src/login-server': ['src/oauth', 'src/pages', 'src/ops'],
  'examples/demo': [],
  'bench/load': [],
}
const folders = Object.keys(MAY_IMPORT)
const everywhere = [...folders, 'src/cli', 'test/support']

const WAYS_AROUND: Record<string, string> = {
  'the package by its own name': `export { there } from 'grantor/resource'`,
  'a detour through a lawful folder': `export { there } from '../oauth/../store/sqlite/there.ts'`,
  'a type named in place': `export type There = import('../store/sqlite/there.ts').There`,
  require: `import there = require('../store/sqlite/there.ts')\nexport { there }`,
  'an import of a computed name': `export const there = (name: string): Promise<unknown> => import(name)`,
}

const WORLD: Record<string, string> = {
  'the clock': 'export const now = (): number => Date.now()',
  'the date of today': 'export const today = (): Date => new Date()',
  'the environment': 'export const secret = process.env.SECRET',
  'the file system': `export { readFileSync } from 'node:fs'`,
  'a database': `export { DatabaseSync } from 'node:sqlite'`,
  'a database over the network': `export { default } from 'pg'`,
  'a framework': `export { fastify } from 'fastify'`,
  'the network': `export const answer = (): Promise<Response> => fetch('http://127.0.0.1')`,
  'a timer': `export const later = (then: () => void): unknown => setTimeout(then, 10)`,
  chance: 'export const dice = (): number => Math.random()',
  'standard output': `export const say = (): void => console.log('hello')`,
}

let refusals: Refusals
beforeAll(async () => {
  refusals = await lintScratchTree(scratchTree())
})

test.each(folders)('%s cannot import what its wall keeps out, by value, by type, passed on or later', (from) => {
  const kept = everywhere.filter((to) => isKeptOut(from, to))
  const through = kept.filter((to) => restricted(probe(from, to)) !== WAYS_TO_IMPORT)
  expect(through, 'folders imported past the wall').toEqual([])
})

test.each(folders)('%s can import what its wall lets in', (from) => {
  const lawful = [from, ...(MAY_IMPORT[from] ?? [])]
  const refused = lawful.filter((to) => restricted(probe(from, to)) !== 0)
  expect(refused, 'folders the wall keeps out by mistake').toEqual([])
})

test.each(Object.keys(WAYS_AROUND))('no way around a wall: %s', (way) => {
  expect(refusals.get(detour(way))).toContainEqual(expect.stringMatching(/restricted-imports|type-imports|require/))
})

test.each(Object.keys(WORLD))('the domain cannot reach for %s', (thing) => {
  expect(refusals.get(reach(thing))).toContainEqual(expect.stringContaining('no-restricted-'))
})

test('files cannot import each other in a circle', () => {
  expect(refusals.get('src/grants/hen.ts')).toContain('import(no-cycle)')
})

test('every folder of src has a wall', () => {
  const walled = everywhere.map((folder) => folder.split('/').slice(0, 2).join('/'))
  const present = readdirSync(join(import.meta.dirname, '../../src'), { withFileTypes: true })
  const open = present.filter((entry) => entry.isDirectory() && !walled.includes(`src/${entry.name}`))
  expect(open.map(({ name }) => name)).toEqual([])
})

/** A folder and those below it are one house; every other folder is kept out unless the wall lets it in. */
function isKeptOut(from: string, to: string): boolean {
  const sameHouse = from === to || from.startsWith(`${to}/`) || to.startsWith(`${from}/`)
  return !sameHouse && !MAY_IMPORT[from]?.includes(to)
}

function scratchTree(): Record<string, string> {
  const files: Record<string, string> = {
    'src/grants/hen.ts': `import { egg } from './egg.ts'\nexport const hen = (): unknown => egg`,
    'src/grants/egg.ts': `import { hen } from './hen.ts'\nexport const egg = (): unknown => hen`,
  }
  for (const folder of everywhere) files[`${folder}/there.ts`] = 'export const there = 1\nexport type There = number\n'
  for (const from of folders) for (const to of everywhere) files[probe(from, to)] = importsOf(from, to)
  for (const [way, code] of Object.entries(WAYS_AROUND)) files[detour(way)] = `${code}\n`
  for (const [thing, code] of Object.entries(WORLD)) files[reach(thing)] = `${code}\n`
  return files
}

const WAYS_TO_IMPORT = 5

function importsOf(from: string, to: string): string {
  const there = from === to ? './there.ts' : `${relative(from, to)}/there.ts`
  return [
    `import { there } from '${there}'`,
    `import type { There } from '${there}'`,
    `export { there as again } from '${there}'`,
    `export type { There as Again } from '${there}'`,
    `export const later = (): Promise<unknown> => import('${there}')`,
    'export const used: There = there',
  ].join('\n')
}

const restricted = (path: string): number =>
  refusals.get(path)?.filter((rule) => rule === 'eslint(no-restricted-imports)').length ?? 0
const probe = (from: string, to: string): string => `${from}/imports-${to.replaceAll('/', '-')}.ts`
const detour = (way: string): string => `src/http/${way.replaceAll(' ', '-')}.ts`
const reach = (thing: string): string => `src/domain/${thing.replaceAll(' ', '-')}.ts`
