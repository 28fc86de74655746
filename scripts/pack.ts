/** Packs every package into `build/packages`, or the folder of `--output`. A release publishes these files. */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { output: { type: 'string', default: join(root, 'build/packages') } } })
const output = resolve(values.output)
mkdirSync(output, { recursive: true })
const { status } = spawnSync('npm', ['pack', '--silent', '--workspace', 'packages', '--pack-destination', output], {
  cwd: root,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
