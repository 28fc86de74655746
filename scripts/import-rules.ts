/** Writes what is derived from the import rules: overrides of the linter, and a table in docs/reference/architecture.md. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { withOverrides } from './imports/linter.ts'
import { withTable } from './imports/page.ts'

for (const [file, derive] of [
  ['.oxlintrc.json', withOverrides],
  ['docs/reference/architecture.md', withTable],
] as const) {
  const path = new URL(`../${file}`, import.meta.url)
  writeFileSync(path, derive(readFileSync(path, 'utf8')))
}
execFileSync('biome', ['format', '--write', '.oxlintrc.json'], { cwd: new URL('..', import.meta.url), stdio: 'inherit' })
