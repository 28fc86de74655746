/**
 * Prints the lines of the operators' side: the operations, the admin API, the console, its pages, and the commands. Then the lines of all of
 * `src` and of the tests. With a path, counts another checkout, for example one of an earlier commit:
 * `node scripts/count-operators-side.ts ../before`.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folders of today and of the commits before `packages/server/src/operations`. */
const FOLDERS = [
  'packages/server/src/operations',
  'packages/server/src/admin',
  'packages/server/src/console',
  'src/pages/console',
  'packages/server/src/cli/operation-commands',
  'src/cli/clients',
  'src/cli/resources',
  'src/cli/operators',
  'src/cli/webhooks',
  'packages/server/src/cli/configuration',
  'packages/server/src/cli/commands',
  'src/domain/configuration',
  'packages/server/src/domain/operators',
]

const root = process.argv[2] ?? '.'
let all = 0
for (const folder of FOLDERS) all += printCount(folder)
console.log(`${String(all).padStart(6)} lines of the operators' side\n`)
for (const folder of ['src', 'test']) printCount(folder)

function printCount(folder: string): number {
  const files = globSync(`${folder}/**/*.ts`, { cwd: root })
  const lines = files.reduce((sum, file) => sum + readFileSync(join(root, file), 'utf8').split('\n').length - 1, 0)
  if (files.length > 0) console.log(`${String(lines).padStart(6)} lines in ${String(files.length).padStart(4)} files  ${folder}`)
  return lines
}
