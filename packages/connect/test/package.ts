/** `@grantor/connect` as it is published, in a folder of its own. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

/** A project of its own with packages of the registry: two of them need different versions of `jose`. */
export function downloadProject(packages: readonly string[]): Project {
  const project = makeProject([])
  // A link to the package would also install what the package is tested with.
  const options = ['--install-links', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel', 'error']
  writeFileSync(join(project.folder, 'package.json'), '{}')
  const connect = join(project.folder, 'connect')
  renameSync(join(project.folder, 'node_modules/@grantor/connect'), connect)
  const { status, stderr } = spawnSync('npm', ['install', ...options, ...packages, connect], {
    cwd: project.folder,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return project
}
