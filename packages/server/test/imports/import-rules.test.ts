/** The import rules: the check reports each import that a rule forbids, in every form, and each circle. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { circles, foldersOf, forbiddenImports, readImports } from '../../../../scripts/imports/check.ts'
import { withTable } from '../../../../scripts/imports/page.ts'
import { importRules, ruleOf } from '../../../../scripts/imports/rules.ts'

const ROOT = join(import.meta.dirname, '../..')
const sources = new Map(globSync('src/**/*.ts', { cwd: ROOT }).map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
const folders = new Set([...sources.keys()].map((file) => dirname(file)))

const forbiddenIn = (file: string, text: string) => forbiddenImports(file, readImports(file, text))

describe('The check of the import rules', () => {
  test.each([
    `import { there } from '../store/sqlite/there.ts'`,
    `import type { There } from '../store/sqlite/there.ts'`,
    `import '../store/sqlite/there.ts'`,
    `export { there } from '../store/sqlite/there.ts'`,
    `export type { There } from '../store/sqlite/there.ts'`,
    `export * from '../store/sqlite/there.ts'`,
    `export const later = () => import('../store/sqlite/there.ts')`,
    `export type There = import('../store/sqlite/there.ts').There`,
    `import there = require('../store/sqlite/there.ts')`,
    `import { there } from '../protocol/../store/sqlite/there.ts'`,
    `import { there } from './../store/sqlite/there.ts'`,
    `import { there } from '../../src/store/sqlite/there.ts'`,
  ])('The check reports a forbidden file in every form of import: %s', (text) => {
    expect(forbiddenIn('src/http/here.ts', text)).toEqual(['src/store/sqlite/there.ts'])
  })

  test.each([
    ['a module of Node', 'src/domain/tokens/here.ts', 'node:fs'],
    ['a package', 'src/domain/tokens/here.ts', 'pg'],
    ['another package of ours', 'src/domain/tokens/here.ts', '@grantor/resource'],
  ])('The check reports %s that the rule does not name', (_, file, name) => {
    expect(forbiddenIn(file, `import { there } from '${name}'`)).toEqual([name])
  })

  test.each([
    ['the same folder', 'src/http/auth/routes/here.ts', '../there.ts'],
    ['an allowed folder', 'src/http/auth/here.ts', '../../protocol/oauth/there.ts'],
    ['a subfolder without a rule of its own', 'src/app/compose/here.ts', '../../http/auth/routes/there.ts'],
    ['a part of an allowed package', 'src/protocol/wallet/here.ts', '@noble/curves/secp256k1.js'],
    ['a package of ours in the demo', 'demo/here.ts', '@grantor/resource'],
    ['the package that all packages share', 'src/domain/tokens/here.ts', '@grantor/protocol/scope'],
  ])('The check accepts an import of %s', (_, file, name) => {
    expect(forbiddenIn(file, `import { there } from '${name}'`)).toEqual([])
  })

  test.each([
    ['a subfolder with a rule of its own', 'src/operators/console/here.ts', '../../http/auth/there.ts'],
    ['a folder of the same name elsewhere', 'src/http/login/here.ts', '../../domain/login/there.ts'],
  ])('The check reports an import of %s', (_, file, name) => {
    expect(forbiddenIn(file, `import { there } from '${name}'`)).toEqual([join(dirname(file), name)])
  })

  test('The check reports each circle once, and no file that only leads to a circle', () => {
    const imports = { a: ['b'], b: ['c', 'leaf'], c: ['b'], d: ['d'], leaf: [] }
    expect(circles(new Map(Object.entries(imports)))).toEqual([['b', 'c'], ['d']])
  })
})

test('Each room, which is a folder of src, has an import rule of its own', () => {
  const rooms = new Set([...folders].map((folder) => folder.split('/').slice(0, 2).join('/')))
  expect([...rooms].filter((room) => ruleOf(room)?.folder !== room)).toEqual([])
})

test('The folders of src form no circle, also within a room', () => {
  expect(circles(foldersOf(new Map([...sources].map(([file, text]) => [file, readImports(file, text).files]))))).toEqual([])
  const planted = { 'src/a/b/one.ts': ['src/a/c/two.ts'], 'src/a/c/three.ts': ['src/a/b/deep/four.ts'] }
  expect(circles(foldersOf(new Map(Object.entries(planted))))).toEqual([['src/a/b', 'src/a/c']])
})

test('The import rules allow no cycle of folders', () => {
  expect(circles(new Map(importRules.map(({ folder, mayImport }) => [folder, mayImport])))).toEqual([])
})

test('Each import that a rule allows is used by a file', () => {
  const made = new Set<string>()
  for (const [file, text] of sources)
    for (const to of readImports(file, text).files) made.add(`${ruleOf(file)?.folder} ${ruleOf(to)?.folder}`)
  const allowed = importRules.flatMap(({ folder, mayImport }) => mayImport.map((to) => `${folder} ${to}`))
  expect(allowed.filter((arrow) => !made.has(arrow))).toEqual([])
})

test('docs/reference/architecture.md has the table of the import rules (npx vitest run packages/server/test/imports -u writes it)', async () => {
  const page = join(ROOT, '../../docs/reference/architecture.md')
  await expect(withTable(readFileSync(page, 'utf8'))).toMatchFileSnapshot(page)
})
