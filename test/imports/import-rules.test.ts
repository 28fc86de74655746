/** The import rules: the linter applies each of them and refuses every way around them, and the derived files are up to date. */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect } from 'vitest'
import { withOverrides } from '../../scripts/imports/linter.ts'
import { withTable } from '../../scripts/imports/page.ts'
import { importRules, ruleOf } from '../../scripts/imports/rules.ts'
import { test as base, FILE } from '../support/fixtures.ts'
import { lintScratchTree, type Refusals, ROOT } from './scratch-tree.ts'

const folders = [...importRules.map(({ folder }) => folder), 'src/http/routes', 'src/store/postgres/connection', 'examples/demo']
const everywhere = [...folders, 'bench/load', 'scripts/conformance', 'test/support']

const WAYS_AROUND: Record<string, string> = {
  'the package by its own name': `export { there } from 'grantor/resource'`,
  'a detour through an allowed folder': `export { there } from '../oauth/../store/sqlite/there.ts'`,
  'a detour inside an allowed folder': `export { there } from '../domain/model/../maintenance/there.ts'`,
  'a detour through the root': `export { there } from '../../src/store/sqlite/there.ts'`,
  'a type named in place': `export type There = import('../store/sqlite/there.ts').There`,
  require: `import there = require('../store/sqlite/there.ts')\nexport { there }`,
  'an import of a computed name': `export const there = (name: string): Promise<unknown> => import(name)`,
}

const OUTSIDE: Record<string, string> = {
  'the clock': 'export const now = (): number => Date.now()',
  'the date of today': 'export const today = (): Date => new Date()',
  'the environment': 'export const secret = process.env.SECRET',
  'the file system': `export { readFileSync } from 'node:fs'`,
  'a database': `export { DatabaseSync } from 'node:sqlite'`,
  'a database over the network': `export { default } from 'pg'`,
  'a framework': `export { fastify } from 'fastify'`,
  'the network': `export const answer = (): Promise<Response> => fetch('http://127.0.0.1')`,
  'a timer': `export const later = (then: () => void): unknown => setTimeout(then, 10)`,
  'Math.random': 'export const dice = (): number => Math.random()',
  'standard output': `export const say = (): void => console.log('hello')`,
}

const test = base.extend('refusals', FILE, () => lintScratchTree(scratchTree()))

test.for(folders)(
  'The linter refuses each import from %s that its rule does not allow: by value, by type, re-exported or dynamic',
  (from, { refusals }) => {
    const forbidden = everywhere.filter((to) => !isAllowed(from, to))
    expect(forbidden.filter((to) => restricted(refusals, probe(from, to)) !== WAYS_TO_IMPORT)).toEqual([])
  },
)

test.for(folders)('The linter accepts each import from %s that its rule allows', (from, { refusals }) => {
  const allowed = everywhere.filter((to) => isAllowed(from, to))
  expect(allowed.filter((to) => restricted(refusals, probe(from, to)) !== 0)).toEqual([])
})

test.for(Object.keys(WAYS_AROUND))('The linter refuses this way around the import rules: %s', (way, { refusals }) => {
  expect(refusals.get(detour(way))).toContainEqual(expect.stringMatching(/restricted-imports|type-imports|require/))
})

test.for(Object.keys(OUTSIDE))(
  'The linter refuses direct access of the domain to things that the domain must get as arguments: %s',
  (thing, { refusals }) => {
    expect(refusals.get(reach(thing))).toContainEqual(expect.stringContaining('no-restricted-'))
  },
)

test('The linter refuses two files that import each other', ({ refusals }) => {
  expect(refusals.get('src/domain/tokens/hen.ts')).toContain('import(no-cycle)')
})

test('Every folder of src has an import rule of its own or of a parent folder', () => {
  expect([...sourceFolders].filter((folder) => !ruleOf(folder))).toEqual([])
})

test('A folder of src whose sibling folder has an import rule has an import rule of its own', () => {
  const parents = new Set(importRules.map(({ folder }) => dirname(folder)))
  const without = [...sourceFolders].filter((folder) => parents.has(dirname(folder)) && ruleOf(folder)?.folder !== folder)
  expect(without).toEqual([])
})

test('The import rules allow no cycle of folders', () => {
  const open = new Map(importRules.map(({ folder, mayImport }) => [folder, mayImport]))
  for (let done = -1; done !== 0; ) {
    const leaves = [...open].filter(([, mayImport]) => !mayImport.some((folder) => open.has(folder)))
    for (const [folder] of leaves) open.delete(folder)
    done = leaves.length
  }
  expect([...open.keys()]).toEqual([])
})

test('Each import that a rule allows is used by a file', () => {
  const made = new Set(
    sourceFiles.flatMap((file) => importsIn(file).map((to) => `${ruleOf(file)?.folder} ${ruleOf(to)?.folder}`)),
  )
  const allowed = importRules.flatMap(({ folder, mayImport }) => mayImport.map((to) => `${folder} ${to}`))
  expect(allowed.filter((arrow) => !made.has(arrow))).toEqual([])
})

test('The overrides in .oxlintrc.json are up to date with the import rules (npm run import-rules writes them)', () => {
  const present = readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome')
  const format = [biome, 'format', '--stdin-file-path=.oxlintrc.json']
  const derived = execFileSync(process.execPath, format, { cwd: ROOT, input: withOverrides(present), encoding: 'utf8' })
  expect(derived).toBe(present)
})

test('The table in docs/reference/architecture.md is up to date with the import rules (npm run import-rules writes it)', () => {
  const present = readFileSync(join(ROOT, 'docs/reference/architecture.md'), 'utf8')
  expect(withTable(present)).toBe(present)
})

const sourceFiles = globSync('src/**/*.ts', { cwd: ROOT })
const sourceFolders = new Set(sourceFiles.map((file) => dirname(file)))

/** The files that a file imports, as paths from the root. */
function importsIn(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, path = '']) => join(dirname(file), path))
}

function isAllowed(from: string, to: string): boolean {
  const [rule, target] = [ruleOf(from), ruleOf(to)]
  return target !== undefined && (rule === target || rule?.mayImport.includes(target.folder) === true)
}

function scratchTree(): Record<string, string> {
  const files: Record<string, string> = {
    'src/domain/tokens/hen.ts': `import { egg } from './egg.ts'\nexport const hen = (): unknown => egg`,
    'src/domain/tokens/egg.ts': `import { hen } from './hen.ts'\nexport const egg = (): unknown => hen`,
  }
  for (const folder of everywhere) files[`${folder}/there.ts`] = 'export const there = 1\nexport type There = number\n'
  for (const from of folders) for (const to of everywhere) files[probe(from, to)] = importsOf(from, to)
  for (const [way, code] of Object.entries(WAYS_AROUND)) files[detour(way)] = `${code}\n`
  for (const [thing, code] of Object.entries(OUTSIDE)) files[reach(thing)] = `${code}\n`
  return files
}

const WAYS_TO_IMPORT = 5

function importsOf(from: string, to: string): string {
  const path = relative(from, `${to}/there.ts`)
  const there = path.startsWith('.') ? path : `./${path}`
  return [
    `import { there } from '${there}'`,
    `import type { There } from '${there}'`,
    `export { there as again } from '${there}'`,
    `export type { There as Again } from '${there}'`,
    `export const later = (): Promise<unknown> => import('${there}')`,
    'export const used: There = there',
  ].join('\n')
}

const restricted = (refusals: Refusals, path: string): number =>
  refusals.get(path)?.filter((rule) => rule === 'eslint(no-restricted-imports)').length ?? 0
const probe = (from: string, to: string): string => `${from}/imports-${to.replaceAll('/', '-')}.ts`
const detour = (way: string): string => `src/http/${way.replaceAll(' ', '-')}.ts`
const reach = (thing: string): string => `src/domain/tokens/${thing.replaceAll(' ', '-')}.ts`
