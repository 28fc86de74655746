/**
 * Builds `dist`: what an installed package runs, because Node strips no types under node_modules.
 *
 * dist mirrors the tree (dist/src, dist/examples), so a path relative to a file means the same in both.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { versionOfTree } from '../src/cli/terminal/version.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
const tsc = spawnSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (tsc.error) throw tsc.error
if (tsc.status !== 0) process.exit(1)

for (const folder of ['src', 'examples', 'locales']) {
  cpSync(join(root, folder), join(dist, folder), { recursive: true, filter: isServedAsItLies })
}

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
writeFileSync(join(dist, 'build.json'), `${JSON.stringify({ version: versionOfTree(root, version) })}\n`)

/** Stylesheets, icons, browser scripts: all that is neither compiled nor written for readers of the source. */
function isServedAsItLies(path: string): boolean {
  return statSync(path).isDirectory() || !(path.endsWith('.ts') || path.endsWith('.md') || basename(path) === 'tsconfig.json')
}
