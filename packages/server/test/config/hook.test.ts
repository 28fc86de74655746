import { describe, expect, test } from 'vitest'
import { hookSettings } from '../../src/app/compose/service-settings.ts'
import { readSettings, secretsOf } from '../../src/config/settings.ts'

const SECRET = `whsec_${Buffer.alloc(32, 'a secret').toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(24, 'another').toString('base64')}`
const COMPLETE = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_DATABASE_URL: 'sqlite:/tmp/grantor.sqlite',
  GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
  GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
}
const URL_ONLY = { GRANTOR_HOOK_URL: 'https://hook.example.com/grantor?team=a' }

function read(more: Record<string, string>) {
  const reading = readSettings('serve', { ...COMPLETE, ...more })
  return reading.kind === 'faults' ? reading.faults : reading.settings
}

describe('The settings of the hook', () => {
  test('Without an address there is no hook; with one, the secrets are bytes and the time is two seconds', () => {
    const off = read({})
    const on = read({ ...URL_ONLY, GRANTOR_HOOK_SECRET: SECRET, GRANTOR_HOOK_SECRET_PREVIOUS: OTHER })
    if (Array.isArray(off) || Array.isArray(on)) throw new Error('faults')
    expect(hookSettings(off)).toBe(null)
    expect(hookSettings(on)).toEqual({
      url: 'https://hook.example.com/grantor?team=a',
      secrets: [new Uint8Array(Buffer.alloc(32, 'a secret')), new Uint8Array(Buffer.alloc(24, 'another'))],
      timeoutMs: 2000,
    })
    expect(secretsOf(on), 'the log removes both').toEqual(expect.arrayContaining([SECRET, OTHER]))
  })

  test.each([
    'http://hook.example.com/',
    'http://10.0.0.1:8080/',
    'https://user:secret-in-url@hook.example.com/',
    'https://hook.example.com/#secret-in-url',
    'hook.example.com',
    'file:///etc/passwd',
  ])('%s is no address of a hook, and the fault does not repeat it', (url) => {
    const faults = read({ GRANTOR_HOOK_URL: url, GRANTOR_HOOK_SECRET: SECRET })
    expect(faults).toContainEqual(expect.stringMatching(/^GRANTOR_HOOK_URL must be an https URL/))
    expect(JSON.stringify(faults)).not.toContain('secret-in-url')
  })

  test.each(['http://localhost:8080/', 'http://127.0.0.1:8080/hook', 'http://[::1]:8080/', 'https://10.0.0.1/'])(
    '%s is an address of a hook',
    (url) => {
      expect(Array.isArray(read({ GRANTOR_HOOK_URL: url, GRANTOR_HOOK_SECRET: SECRET }))).toBe(false)
    },
  )

  test.each([
    'correct-horse-battery-staple-4711-correct',
    `whsec_${Buffer.alloc(23, 'short').toString('base64')}`,
    `whsec_${Buffer.alloc(65, 'long').toString('base64')}`,
    SECRET.slice(0, -1),
    `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    `whsec_${Buffer.alloc(32, 'url').toString('base64url')}*`,
  ])('%s is no secret of Standard Webhooks, and the fault does not repeat it', (secret) => {
    const faults = read({ ...URL_ONLY, GRANTOR_HOOK_SECRET: secret })
    expect(faults).toContainEqual(expect.stringMatching(/^GRANTOR_HOOK_SECRET .*openssl rand -base64 32/))
    expect(JSON.stringify(faults)).not.toContain(secret)
  })

  test('An address without a secret, a secret without an address, and equal secrets are faults of the auth service', () => {
    expect(read(URL_ONLY)).toContainEqual(expect.stringContaining('GRANTOR_HOOK_URL needs GRANTOR_HOOK_SECRET'))
    expect(read({ GRANTOR_HOOK_SECRET: SECRET })).toContainEqual(expect.stringContaining('without GRANTOR_HOOK_URL'))
    expect(read({ ...URL_ONLY, GRANTOR_HOOK_SECRET_PREVIOUS: SECRET })).toContainEqual(
      expect.stringContaining('GRANTOR_HOOK_SECRET_PREVIOUS is set without GRANTOR_HOOK_SECRET'),
    )
    expect(read({ ...URL_ONLY, GRANTOR_HOOK_SECRET: SECRET, GRANTOR_HOOK_SECRET_PREVIOUS: SECRET })).toEqual([
      'GRANTOR_HOOK_SECRET_PREVIOUS must not be the same as GRANTOR_HOOK_SECRET',
    ])
    const login = readSettings('login-server', { ...COMPLETE, ...URL_ONLY, GRANTOR_HOOK_SECRET_FILE: '/does/not/exist' })
    expect(login.kind, 'the login server needs no secret of the hook').toBe('settings')
  })

  test.each(['49', '10001', '2s'])('%s is no timeout of the hook', (milliseconds) => {
    expect(read({ GRANTOR_HOOK_TIMEOUT_MS: milliseconds })).toContainEqual(
      expect.stringMatching(/^GRANTOR_HOOK_TIMEOUT_MS must be a whole number of milliseconds from 50 to 10000/),
    )
  })
})
