import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { buildWalletConnect, writeWalletConnectPackage } from '../../scripts/build-walletconnect-package.ts'

const FILE = { scope: 'file' } as const
const test = base.extend('build', FILE, () => buildWalletConnect())

test('The script of @grantor/walletconnect contains the pinned client library, and no package that writes to the browser', ({
  build,
}) => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { devDependencies: Record<string, string> }
  for (const name of ['@walletconnect/core', '@walletconnect/sign-client'])
    expect(build.contents).toContainEqual({ name, version: devDependencies[name], license: 'Apache-2.0' })
  const names = build.contents.map(({ name }) => name)
  for (const name of ['@walletconnect/keyvaluestorage', 'unstorage', 'idb-keyval']) expect(names).not.toContain(name)
  expect(build.script).not.toMatch(/indexedDB|localStorage\.setItem|\beval\(|new Function/)
})

test('The licence of every package in the script is shipped with it, and none of them is the WalletConnect Community License', ({
  build,
}) => {
  expect(build.contents.length).toBeGreaterThan(20)
  for (const { name, version, license } of build.contents)
    expect(build.licences).toContain(`== ${name} ${version} (${license})\n\n`)
  expect(build.licences).not.toMatch(/community license/i)
})

test('The package has the version of Grantor, the script, the licences and a guide, and no dependencies', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'grantor-walletconnect-')), 'package')
  await writeWalletConnectPackage(folder)
  expect(readdirSync(folder).toSorted()).toEqual(['LICENSE', 'LICENSES.txt', 'README.md', 'package.json', 'walletconnect.js'])
  const [own, manifest] = ['package.json', join(folder, 'package.json')].map((path) => JSON.parse(readFileSync(path, 'utf8')))
  expect(manifest).toMatchObject({
    name: '@grantor/walletconnect',
    version: own.version,
    license: 'Apache-2.0 AND ISC AND MIT AND 0BSD',
  })
  expect(manifest).not.toHaveProperty('dependencies')
  expect(own.dependencies).not.toHaveProperty('@walletconnect/sign-client')
})
