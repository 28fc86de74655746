/** The program of 0.1.0, which has no limits, from the history of the repository. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../app/run.ts'

const ROOT = join(import.meta.dirname, '../../../..')
/** The last commit of 0.1.0. */
const COMMIT = '65ee84fe'

/** False in a checkout without the history. */
export function hasEarlierProgram(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Writes the packages of the commit into a new folder, beside links to the dependencies of this checkout. Returns the path of the program. */
export function writeEarlierProgram(): string {
  const folder = newFolder()
  const packages = execFileSync('git', ['archive', COMMIT, 'packages'], { cwd: ROOT, maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x', '-C', folder], { input: packages })
  const [from, to] = [join(ROOT, 'node_modules'), join(folder, 'node_modules')]
  mkdirSync(join(to, '@grantor'), { recursive: true })
  for (const name of readdirSync(from)) if (!existsSync(join(to, name))) symlinkSync(join(from, name), join(to, name))
  for (const name of readdirSync(join(folder, 'packages'))) {
    const path = join(folder, 'packages', name)
    const { name: published } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { name: string }
    if (published.startsWith('@grantor/')) symlinkSync(path, join(to, published))
  }
  return join(folder, 'packages/server/bin/grantor.js')
}
