/**
 * The Compose file. `npm run test:packages` runs this test if TEST_COMPOSE names the checker of the Compose specification's Go module.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readSettings } from '../../src/config/settings.ts'
import { ASKED } from './missing.ts'

const COMPOSE = join(import.meta.dirname, '../../../../ops/compose/compose.yaml')
const CHECKER = process.env.TEST_COMPOSE
if (ASKED && !CHECKER) console.log('skipped: the Compose file; TEST_COMPOSE=/path/to/checker, see docs/contributing/release.md')

const ARGUMENTS: Record<string, string> = {
  GRANTOR_IMAGE: 'registry.example.com/grantor:0.1.0',
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
}
type Service = { environment?: Record<string, string>; read_only?: boolean; cap_drop?: string[]; secrets?: { source: string }[] }

test.runIf(ASKED && CHECKER)(
  'The Compose specification accepts the Compose file, and the programs accept the settings in it',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'grantor-compose-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'compose.yaml')
    // the checker reads no environment
    writeFileSync(
      path,
      readFileSync(COMPOSE, 'utf8').replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => ARGUMENTS[name] ?? ''),
    )
    const { status, stdout, stderr } = spawnSync(CHECKER ?? '', ['--format', 'json', path], { cwd: folder, encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const { services } = JSON.parse(stdout) as { services: Record<string, Service> }
    const secrets = join(folder, 'run/secrets')
    mkdirSync(secrets, { recursive: true })
    for (const name of ['secret', 'login-secret']) writeFileSync(join(secrets, name), `${name}-0123456789-0123456789-0123456789`)
    for (const [name, program] of [
      ['auth', 'serve'],
      ['login', 'login-server'],
      ['migrate', 'migrate'],
    ] as const) {
      const { environment = {}, read_only, cap_drop } = services[name] ?? {}
      expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] })
      const env = Object.entries(environment).map(([key, value]) => [key, value.replace('/run/secrets', secrets)])
      const reading = readSettings(program, Object.fromEntries(env) as Record<string, string>)
      expect(reading.kind === 'faults' ? reading.faults : []).toEqual([])
    }
    expect(services.login?.secrets?.map(({ source }) => source)).toEqual(['login-secret'])
  },
)
