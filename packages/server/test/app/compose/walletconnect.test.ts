import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { releaseVersion } from '../../../src/app/compose/version.ts'
import { readWalletConnect } from '../../../src/app/compose/walletconnect.ts'
import { run } from '../run.ts'

const settings = { walletConnectProjectId: '0123456789abcdef0123456789abcdef', walletConnectRelay: 'wss://relay.example.com' }

/** A program beside a package `@grantor/walletconnect` of this version. */
function programBeside(packageVersion: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-walletconnect-'))
  const installed = join(folder, 'node_modules/@grantor/walletconnect')
  mkdirSync(installed, { recursive: true })
  const exports = { '.': './walletconnect.js', './package.json': './package.json' }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ version: packageVersion, type: 'module', exports }))
  writeFileSync(join(installed, 'walletconnect.js'), 'export {}')
  return join(folder, 'program.js')
}

test('Without GRANTOR_WALLETCONNECT_PROJECT_ID, the package is not read', () => {
  expect(readWalletConnect({ ...settings, walletConnectProjectId: undefined }, '/nowhere/program.js')).toBeUndefined()
})

test('With the setting, the library is read from the package @grantor/walletconnect beside the program', () => {
  expect(readWalletConnect(settings, programBeside(releaseVersion()))).toEqual({
    projectId: settings.walletConnectProjectId,
    relay: settings.walletConnectRelay,
    script: 'export {}',
  })
})

test('A package of another version is refused, because the script of the login page calls the package', () => {
  expect(() => readWalletConnect(settings, programBeside('0.0.1'))).toThrow(
    `@grantor/walletconnect has version 0.0.1, and Grantor has ${releaseVersion()}: run npm install @grantor/walletconnect@${releaseVersion()}`,
  )
})

test('With the setting and without the package, the login server does not start, and says what to install', async () => {
  const { exit, err } = await run(['login-server'], {
    GRANTOR_AUTH_URL: 'https://auth.example.com',
    GRANTOR_LOGIN_URL: 'https://login.example.com',
    GRANTOR_LOGIN_SECRET: 'a-secret-between-the-two-servers',
    GRANTOR_WALLETCONNECT_PROJECT_ID: settings.walletConnectProjectId,
  })
  expect(exit).toBe(2)
  expect(err).toContain(
    `GRANTOR_WALLETCONNECT_PROJECT_ID is set, but the package @grantor/walletconnect is not installed: run npm install @grantor/walletconnect@${releaseVersion()}`,
  )
})
