/** Compares the files in ops with the program, without the tools that use these files. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { knownNames, table } from '../../src/config/table.ts'
import { test } from '../support/fixtures.ts'

const CHECKOUT = join(import.meta.dirname, '../../../..')
const FILES = ['compose', 'helm', 'systemd'].flatMap((folder) =>
  globSync(`ops/${folder}/**/*.{yaml,tpl,service,socket,json,md,txt}`, { cwd: CHECKOUT }),
)
const textOf = (path: string) => readFileSync(join(CHECKOUT, path), 'utf8')

test('Each setting that a unit, the Compose file or the chart names exists', () => {
  expect(FILES.length).toBeGreaterThan(10)
  // the name of the image is an argument of the Compose file
  const named = FILES.flatMap((path) => textOf(path).match(/GRANTOR_[A-Z_]*[A-Z]/g) ?? []).filter(
    (name) => name !== 'GRANTOR_IMAGE',
  )
  expect(named.filter((name) => !knownNames.includes(name))).toEqual([])
})

test('Each path of a probe answers 200 on both servers', async ({ grantor }) => {
  const paths = new Set(FILES.flatMap((path) => textOf(path).match(/\/health\/\w+/g) ?? []))
  expect([...paths].toSorted()).toEqual(['/health/live', '/health/ready'])
  for (const path of paths) {
    for (const origin of [grantor.authUrl, grantor.loginUrl]) expect((await fetch(origin + path)).status).toBe(200)
  }
})

test('No file sets a secret in plain text, and the chart makes no Secret', () => {
  for (const path of FILES) {
    expect(textOf(path)).not.toMatch(
      /kind: Secret$|stringData|PASSWORD: |GRANTOR_(LOGIN_|HOOK_)?SECRET(_PREVIOUS)?[=:,]|GRANTOR_REGISTRATION_TOKEN[=:,]/m,
    )
  }
})

test('The unit of the login server gives the program no secret of the auth service', () => {
  const unit = textOf('ops/systemd/grantor-login.service')
  expect(unit).not.toMatch(/(?<!login-)secret:|GRANTOR_SECRET/)
  // the environment file is shared
  expect(unit).toMatch(/^UnsetEnvironment=GRANTOR_DATABASE_URL GRANTOR_CHAINS$/m)
})

test('Each socket has the address that install.md gives to the program of its unit', () => {
  const install = textOf('docs/operating/install.md')
  for (const [unit, setting] of [
    ['grantor', 'GRANTOR_LISTEN'],
    ['grantor-login', 'GRANTOR_LOGIN_LISTEN'],
  ]) {
    const [, address] = new RegExp(`^${setting}=(.*)$`, 'm').exec(install) ?? []
    expect(textOf(`ops/systemd/${unit}.socket`)).toContain(`\nListenStream=${address}\n`)
  }
})

test('Each unit and each container may run ten seconds longer than the drain before it is killed', () => {
  const drain = Number(table.drainSeconds.preset)
  const limits = FILES.flatMap((path) =>
    [...textOf(path).matchAll(/^\s*(?:TimeoutStopSec=|stop_grace_period: )(\d+)s?$/gm)].map(([, text]) => Number(text)),
  )
  expect(limits.length).toBe(3)
  for (const limit of limits) expect(limit).toBeGreaterThanOrEqual(drain + 10)
})
