import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { buildWalletConnect, writeWalletConnect } from '../build.ts'

type Manifest = {
  version: string
  license: string
  files: string[]
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

function manifestOf(name: string): Manifest {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../..', name, 'package.json'), 'utf8')) as Manifest
}

const FILE = { scope: 'file' } as const
const test = base.extend('build', FILE, () => buildWalletConnect())

test('The script of @grantor/walletconnect contains the pinned client library, and no package that writes to the browser', ({
  build,
}) => {
  const { devDependencies = {} } = manifestOf('walletconnect')
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

test('The package has the script and the licences, the licence of each package in the script, and no dependencies', async ({
  build,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-walletconnect-'))
  await writeWalletConnect(folder)
  expect(readdirSync(folder).toSorted()).toEqual(['LICENSES.txt', 'walletconnect.js'])
  const { files, license, dependencies, version } = manifestOf('walletconnect')
  expect([files, dependencies, version]).toEqual([['walletconnect.js', 'LICENSES.txt'], undefined, manifestOf('server').version])
  const inScript = build.contents.flatMap((each) => each.license.split(/ AND | OR /))
  expect(license).toBe([...new Set(['Apache-2.0', ...inScript])].join(' AND '))
  expect(manifestOf('server').dependencies).not.toHaveProperty('@walletconnect/sign-client')
})
