/** Checks the imports of `packages/server`: the rules of scripts/imports/rules.ts, and no circles. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { circles, foldersOf, forbiddenImports, readImports } from './imports/check.ts'

const ROOT = join(import.meta.dirname, '../packages/server')
const files = globSync('{src,bin,demo,test}/**/*.{ts,js}', { cwd: ROOT })
const imports = new Map(files.map((file) => [file, readImports(file, readFileSync(join(ROOT, file), 'utf8'))]))

const forbidden = [...imports].flatMap(([file, each]) => forbiddenImports(file, each).map((to) => `${file} may not import ${to}`))
const byFile = new Map([...imports].map(([file, each]) => [file, each.files]))
const circular = [
  ...circles(byFile),
  ...circles(foldersOf(new Map([...byFile].filter(([file]) => file.startsWith('src/'))))),
].map((each) => `A circle: ${each.join(', ')}`)
for (const fault of [...forbidden, ...circular]) console.error(fault)
process.exitCode = forbidden.length + circular.length > 0 ? 1 : 0
