/** A package as it is published, without packing: its manifest and what `tsc` makes of its `src`. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../../..')

/** Only for a package that needs no other package of this repository. */
export function compilePackage(name: string, folder: string): void {
  const source = join(ROOT, 'packages', name)
  const options = ['--composite', 'false', '--tsBuildInfoFile', 'null', '--incremental', 'false', '--declaration']
  const { status, stdout } = spawnSync(
    join(ROOT, 'node_modules/.bin/tsc'),
    ['--project', source, ...options, '--outDir', join(folder, 'dist')],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`tsc --project ${source} failed: ${stdout}`)
  mkdirSync(folder, { recursive: true })
  const manifest = readFileSync(join(source, 'package.json'), 'utf8')
  // There is no `src`, which the condition leads to.
  writeFileSync(join(folder, 'package.json'), manifest.replaceAll('"grantor-source"', '"no-source"'))
}
