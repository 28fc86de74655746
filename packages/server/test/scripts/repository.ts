import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { places } from '../../../../scripts/release/places.ts'
import { newFolder } from '../app/run.ts'

const CHECKOUT = join(import.meta.dirname, '../../../..')

/** A repository with one commit: the files that name the version, and a changelog with an entry for `version`. */
export function repository(version: string) {
  const folder = newFolder()
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
    }).trim()
  for (const { file } of places) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    cpSync(join(CHECKOUT, file), join(folder, file))
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'grantor', version }))
  writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n## ${version} — unreleased\n\n- New.\n`)
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
  return { folder, git }
}
