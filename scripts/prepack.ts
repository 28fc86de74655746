/**
 * Prepares the package in the current folder for `npm pack`: compiles it into an empty `dist`, and copies the files that lie elsewhere in the
 * repository. `--remove` removes the copies afterwards. npm calls it before and after packing (`prepack`, `postpack`).
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { versionOfTree } from '../packages/server/src/app/compose/version.ts'
import { completePage, generatePage } from './docs/generated-pages.ts'
import { type Lock, shrinkwrapOf } from './shrinkwrap.ts'

const root = join(import.meta.dirname, '..')
const folder = process.cwd()
const isServer = folder === join(root, 'packages/server')
const copies = isServer ? ['LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'docs', 'ops'] : ['LICENSE']
/** What this file and `packages/walletconnect/build.ts` write. A server in a checkout would find the latter. */
const MADE = ['npm-shrinkwrap.json', 'walletconnect.js', 'LICENSES.txt']

const { values } = parseArgs({ options: { remove: { type: 'boolean', default: false } } })
remove()
if (!values.remove) {
  if (existsSync(join(folder, 'tsconfig.json'))) compile()
  const filter = (path: string) => path !== join(root, 'docs/site')
  for (const name of copies) cpSync(join(root, name), join(folder, name), { recursive: true, filter })
  if (isServer) {
    completeServer()
    await completeDocuments()
  }
}

function remove(): void {
  for (const name of [...copies, ...MADE]) rmSync(join(folder, name), { recursive: true, force: true })
}

function compile(): void {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['--build', folder], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`tsc --build ${folder} failed`)
}

/** What `tsc` does not write: stylesheets, icons, browser scripts, languages, the version of the build, and the tested versions of all dependencies. */
function completeServer(): void {
  for (const name of ['src', 'demo', 'locales'])
    cpSync(join(folder, name), join(folder, 'dist', name), { recursive: true, filter: isServedAsItLies })
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  writeFileSync(join(folder, 'dist/build.json'), `${JSON.stringify({ version: versionOfTree(root, version) })}\n`)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  writeFileSync(join(folder, 'npm-shrinkwrap.json'), `${JSON.stringify(shrinkwrapOf(lock, 'packages/server'), null, 2)}\n`)
}

/** The package has no source from which a reader could generate a page. */
async function completeDocuments(): Promise<void> {
  for (const page of globSync('docs/**/*.md', { cwd: folder })) {
    const path = join(folder, page)
    writeFileSync(path, await completePage(readFileSync(path, 'utf8')))
  }
  writeFileSync(join(folder, 'docs/reference/admin-openapi.json'), await generatePage('openapi.json'))
}

/** All that is neither compiled nor written for readers of the source. */
function isServedAsItLies(path: string): boolean {
  return statSync(path).isDirectory() || !(path.endsWith('.ts') || path.endsWith('.md') || basename(path) === 'tsconfig.json')
}
