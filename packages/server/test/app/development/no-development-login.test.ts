/** Only `grantor start` has a development login. No setting enables the development login in another program. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { composeLoginServer } from '../../../src/app/compose/compose.ts'
import { readSettings } from '../../../src/config/settings.ts'
import { type Setting, table } from '../../../src/config/table.ts'
import { createLogger } from '../../../src/observability/log/logger.ts'

const complete = {
  GRANTOR_AUTH_URL: 'http://localhost:4000',
  GRANTOR_LOGIN_URL: 'http://localhost:4001',
  GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
}

/** Every setting that can be switched on. */
const switches = Object.values<Setting>(table)
  .filter(({ parse }) => 'value' in parse('on') && 'value' in parse('off') && 'fault' in parse('maybe'))
  .map(({ name }) => `GRANTOR_${name}`)

test('The on/off settings of this file include the development wallet, vouching and the rate limit', () => {
  expect(switches).toEqual(expect.arrayContaining(['GRANTOR_DEV_WALLET', 'GRANTOR_LOGIN_MAY_VOUCH', 'GRANTOR_RATE_LIMIT']))
})

test.each(switches)('The login server with %s on does not start, or has no development login', async (name) => {
  const reading = readSettings('login-server', { ...complete, [name]: 'on' })
  if (reading.kind === 'faults') return expect(reading.faults.join()).toMatch(new RegExp(`^${name} (?:is on|needs)`))
  const server = await composeLoginServer(reading.settings, { logger: createLogger({ level: 'silent' }), now: () => 0 })
  for (const url of ['/login/development', '/login/development-wallet']) {
    const answer = await server.inject({ method: 'POST', url, payload: { login_challenge: 'C', address: `0x${'1'.repeat(40)}` } })
    expect(answer.statusCode).toBe(404)
  }
  await server.close()
})

test('Apart from packages/server/src/http/login, only the file of grantor start loads the development wallet', () => {
  const files = readdirSync('packages/server/src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const loading = files.filter((file) =>
    /['"].*\/development-wallet\.ts['"]/.test(readFileSync(`packages/server/src/${file}`, 'utf8')),
  )
  expect(loading.filter((file) => !file.startsWith('http/login/'))).toEqual(['app/commands/start.ts'])
})

test('Only the development wallet and what @grantor/testing takes load the keys of the test accounts, and no file of the server loads the test issuer', () => {
  const files = readdirSync('packages/server/src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const loading = (name: RegExp) =>
    new Set(files.filter((file) => name.test(readFileSync(`packages/server/src/${file}`, 'utf8'))))
  expect(loading(/['"].*\/test-accounts\.ts['"]/)).toEqual(new Set(['app/development/development-wallet.ts', 'app/private.ts']))
  expect(loading(/['"].*\/private\.ts['"]|['"]@grantor\/testing/)).toEqual(new Set())
})
