/** `@grantor/connect` as it is published, in a folder of its own. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { compilePackage } from '../../server/test/support/compiled-package.ts'

const ROOT = join(import.meta.dirname, '../../..')

export type Project = { folder: string; remove(): void }

/** A new folder with `@grantor/connect` and these packages of this checkout in `node_modules`. */
export function makeProject(packages: readonly string[]): Project {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-connect-'))
  const modules = join(folder, 'node_modules')
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
  compilePackage('connect', join(modules, '@grantor/connect'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
