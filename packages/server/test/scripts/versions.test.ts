/** package.json has the version. Everything else that names the version agrees. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { places, versionsIn, writeVersion } from '../../../../scripts/release/places.ts'
import { releaseVersion, version, versionOfTree } from '../../src/app/compose/version.ts'
import { newFolder, run } from '../app/run.ts'
import { test as base } from '../support/fixtures.ts'
import { send } from '../support/send.ts'
import { repository } from './repository.ts'

const test = base.extend('options', { admin: true })
const CHECKOUT = join(import.meta.dirname, '../../../..')
const textOf = (path: string) => readFileSync(join(CHECKOUT, path), 'utf8')
const PRESENT = (JSON.parse(textOf('package.json')) as { version: string }).version

test('The chart, the values, the lock file, the documents and the first entry of the changelog have the version of package.json', () => {
  for (const { file, pattern } of places)
    expect({ file, versions: new Set(versionsIn(textOf(file), pattern)) }).toEqual({ file, versions: new Set([PRESENT]) })
  const lock = JSON.parse(textOf('package-lock.json')) as { version: string; packages: { '': { version: string } } }
  expect([lock.version, lock.packages[''].version]).toEqual([PRESENT, PRESENT])
  expect(/^## (\S+) — /m.exec(textOf('CHANGELOG.md'))?.[1]).toBe(PRESENT)
})

test('The OpenAPI document that is served has the version of the release, and --version and the console that of the build', async ({
  grantor,
}) => {
  const document = (await send(grantor.adminUrl, { path: '/openapi.json' })).json() as { info: { version: string } }
  expect([document.info.version, releaseVersion()]).toEqual([PRESENT, PRESENT])
  expect(version().split('+')[0]).toBe(PRESENT)
  expect(await run(['--version'])).toEqual({ exit: 0, out: `${version()}\n`, err: '' })
})

test('A build names its commit, unless the commit has the tag of the release and nothing was changed since', () => {
  const { folder, git } = repository('1.2.3')
  const commit = git('rev-parse', '--short=7', 'HEAD')
  expect(versionOfTree(folder, '1.2.3')).toBe(`1.2.3+${commit}`)
  git('tag', 'v1.2.3')
  expect(versionOfTree(folder, '1.2.3')).toBe('1.2.3')
  expect(versionOfTree(folder, '1.2.4')).toBe(`1.2.4+${commit}`)
  writeFileSync(join(folder, 'package.json'), '{}')
  expect(versionOfTree(folder, '1.2.3')).toBe(`1.2.3+${commit}.dirty`)
})

test('Two trees of one release never have the same version, unless their files are the same', () => {
  const [one, other] = [repository('1.2.3'), repository('1.2.3')]
  writeFileSync(join(other.folder, 'further.txt'), 'text')
  other.git('add', '.')
  other.git('commit', '--quiet', '--message', 'further')
  expect(versionOfTree(one.folder, '1.2.3')).not.toBe(versionOfTree(other.folder, '1.2.3'))
  // Also inside of the repository of another project.
  const inner = newFolder()
  expect(versionOfTree(inner, '1.2.3')).toBe('1.2.3+unknown')
})

test('npm version writes the new version in every place', () => {
  const { folder } = repository(PRESENT)
  writeVersion(folder, '9.8.7')
  for (const { file, pattern } of places) {
    const before = textOf(file)
    const after = readFileSync(join(folder, file), 'utf8')
    expect(new Set(versionsIn(after, pattern))).toEqual(new Set(['9.8.7']))
    expect(after.replaceAll('9.8.7', PRESENT)).toBe(before)
  }
  expect(execFileSync('git', ['diff', '--name-only'], { cwd: folder, encoding: 'utf8' }).trim().split('\n')).toEqual(
    [...new Set(places.map(({ file }) => file))].toSorted((a, b) => (a < b ? -1 : 1)),
  )
})
