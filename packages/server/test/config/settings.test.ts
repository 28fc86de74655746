import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Program, readSettings, type Settings } from '../../src/config/settings.ts'

const SECRET = 'correct-horse-battery-staple-4711'
const complete = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_DATABASE_URL: 'sqlite:/var/lib/grantor/grantor.sqlite',
  GRANTOR_SECRET: SECRET,
  GRANTOR_LOGIN_SECRET: `${SECRET}-login`,
}

function settingsOf(more: Record<string, string> = {}): Settings<'serve'> {
  const reading = readSettings('serve', { ...complete, ...more })
  if (reading.kind === 'faults') throw new Error(reading.faults.join('\n'))
  return reading.settings
}

function faultsOf(more: Record<string, string | undefined>, program: Program = 'serve'): string[] {
  const reading = readSettings(program, { ...complete, ...more })
  return reading.kind === 'faults' ? reading.faults : []
}

const folder = mkdtempSync(join(tmpdir(), 'grantor-settings-'))
function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test('Plain http at *.test is allowed in grantor start and refused in serve (RFC 6761 §6.2)', () => {
  const plain = { GRANTOR_AUTH_URL: 'http://grantor.test:4000', GRANTOR_LOGIN_URL: 'http://grantor.test:4001' }
  expect(faultsOf(plain, 'start')).toEqual([])
  expect(faultsOf(plain, 'serve')).toEqual([
    expect.stringMatching(/^GRANTOR_AUTH_URL must use https/),
    expect.stringMatching(/^GRANTOR_LOGIN_URL must use https/),
  ])
  expect(faultsOf({ ...plain, GRANTOR_AUTH_URL: 'http://grantor.test.example.com' }, 'start')).toHaveLength(1)
})

describe('Defaults of the settings', () => {
  test('The default lifetimes, limits and switches are the documented ones', () => {
    expect(settingsOf()).toMatchObject({
      accessTokenLifetime: 600,
      codeLifetime: 60,
      refreshIdleLifetime: 14 * 86_400,
      refreshLifetime: 30 * 86_400,
      refreshRetryWindow: 60,
      refreshRetryWindowPublic: 10,
      sessionIdleLifetime: 12 * 3600,
      sessionLifetime: 14 * 86_400,
      signingAlg: 'ES256',
      keyRotationDays: 90,
      rateLimit: true,
      failureLimit: 1000,
      signInLimit: 600,
      pushLimit: 60,
      clientPushLimit: 6000,
      chainIds: [1],
      trustedProxies: [],
      loginMayVouch: false,
      dpopNonce: false,
      logLevel: 'info',
    })
    expect(settingsOf().metricsListen).toBeUndefined()
    expect(settingsOf().scopeDescriptions).toHaveProperty('enhancement')
  })

  test('By default, the servers listen on loopback at the port of their URL', () => {
    const { listen, loginListen } = settingsOf({
      GRANTOR_AUTH_URL: 'http://localhost:4000',
      GRANTOR_LOGIN_URL: 'https://login.example.com',
    })
    expect(listen).toEqual({ host: '127.0.0.1', port: 4000 })
    expect(loginListen).toEqual({ host: '127.0.0.1', port: 443 })
  })

  test('The default resource of tokens is the URL of the auth service, unless set (RFC 9068 §3)', () => {
    expect(settingsOf().defaultResource).toBe('https://auth.example.com')
    expect(settingsOf({ GRANTOR_DEFAULT_RESOURCE: 'https://api.example.com/' }).defaultResource).toBe('https://api.example.com/')
  })

  test('A shorter lifetime also limits the default idle lifetime, and a retry window of 0 applies to public clients, too', () => {
    const settings = settingsOf({
      GRANTOR_REFRESH_LIFETIME: '3600',
      GRANTOR_SESSION_LIFETIME: '600',
      GRANTOR_REFRESH_RETRY_WINDOW: '0',
    })
    expect(settings).toMatchObject({ refreshIdleLifetime: 3600, sessionIdleLifetime: 600, refreshRetryWindowPublic: 0 })
  })

  test('The programs serve and login-server have no default for a URL, a database or a secret', () => {
    const names = ['GRANTOR_AUTH_URL', 'GRANTOR_LOGIN_URL', 'GRANTOR_LOGIN_SECRET (or GRANTOR_LOGIN_SECRET_FILE)']
    const unset = (program: Program) => {
      const reading = readSettings(program, {})
      return reading.kind === 'faults' ? reading.faults : []
    }
    expect(unset('login-server')).toEqual(names.map((name) => `${name} is not set`))
    expect(unset('serve')).toHaveLength(5)
  })

  test('An empty value of a setting counts as not set', () => {
    expect(settingsOf({ GRANTOR_LOG_LEVEL: '', GRANTOR_SECRET_FILE: '' }).logLevel).toBe('info')
    expect(faultsOf({ GRANTOR_SECRET: '' })).toEqual(['GRANTOR_SECRET (or GRANTOR_SECRET_FILE) is not set'])
  })
})

describe('Faults in the settings', () => {
  test('All invalid settings are reported at once, with one fault per setting that starts with its name', () => {
    const faults = faultsOf({
      GRANTOR_AUTH_URL: 'http://auth.example.com',
      GRANTOR_SECRET: 'short',
      GRANTOR_LOGLEVEL: 'debug',
      GRANTOR_CODE_LIFETIME: '601',
      GRANTOR_DATABASE_URL: undefined,
    })
    expect(faults).toHaveLength(5)
    for (const name of ['AUTH_URL', 'SECRET', 'LOGLEVEL', 'CODE_LIFETIME', 'DATABASE_URL']) {
      expect(faults.filter((fault) => fault.startsWith(`GRANTOR_${name} `))).toHaveLength(1)
    }
  })

  test.each([
    ['GRANTOR_LOGLEVEL', 'GRANTOR_LOG_LEVEL'],
    ['GRANTOR_ATUH_URL', 'GRANTOR_AUTH_URL'],
    ['GRANTOR_SECRETFILE', 'GRANTOR_SECRET_FILE'],
    ['GRANTOR_REFRESH_LIFE_TIME', 'GRANTOR_REFRESH_LIFETIME'],
    ['GRANTOR_CHAIN_ID', 'GRANTOR_CHAIN_IDS'],
  ])('The unknown setting %s is a fault that proposes %s', (typed, meant) => {
    expect(faultsOf({ [typed]: 'x' })).toEqual([`${typed} is not a setting of Grantor; did you mean ${meant}?`])
  })

  test('An unknown setting that resembles no other is a fault without a proposal, and variables without the prefix GRANTOR_ are ignored', () => {
    expect(faultsOf({ GRANTOR_FROBNICATE: 'x' })).toEqual(['GRANTOR_FROBNICATE is not a setting of Grantor'])
    expect(faultsOf({ TEST_RUNS: '1', PATH: '/bin', grantor_x: '1' })).toEqual([])
  })

  test('Every program accepts settings that only other programs use', () => {
    const everything = {
      ...complete,
      GRANTOR_METRICS_LISTEN: '127.0.0.1:9090',
      GRANTOR_DEV_WALLET: 'off',
      GRANTOR_LOGIN_LISTEN: '127.0.0.1:4001',
    }
    for (const program of ['start', 'serve', 'login-server', 'migrate', 'clients', 'grants', 'keys'] as const) {
      expect(readSettings(program, everything).kind).toBe('settings')
    }
  })

  test('An invalid value is a fault also in a program that does not use the setting', () => {
    expect(faultsOf({ GRANTOR_ACCESS_TOKEN_LIFETIME: 'ten minutes' }, 'login-server')).toHaveLength(1)
  })
})

describe('Secrets in the settings', () => {
  test('A secret is read from a file without the newline at its end', () => {
    const settings = settingsOf({ GRANTOR_SECRET: '', GRANTOR_SECRET_FILE: file('secret', `${SECRET}\n`) })
    expect(settings.secret).toBe(SECRET)
  })

  test('A secret that is set both directly and by file is a fault, even if both values are equal', () => {
    expect(faultsOf({ GRANTOR_SECRET_FILE: file('same', SECRET) })).toEqual([
      'GRANTOR_SECRET and GRANTOR_SECRET_FILE are both set: keep one',
    ])
  })

  test('A secret file that is missing or too short is a fault that names the file’s setting', () => {
    expect(faultsOf({ GRANTOR_SECRET: undefined, GRANTOR_SECRET_FILE: join(folder, 'none') })[0]).toMatch(
      /^GRANTOR_SECRET_FILE .*ENOENT/,
    )
    expect(faultsOf({ GRANTOR_SECRET: undefined, GRANTOR_SECRET_FILE: file('short', 'short') })[0]).toMatch(
      /^GRANTOR_SECRET_FILE .*32 characters/,
    )
  })

  test('A program reads only the secret files that it uses: the login server starts without the file of GRANTOR_SECRET', () => {
    const path = file('unreadable', SECRET)
    chmodSync(path, 0o000)
    const { GRANTOR_SECRET: _, ...rest } = complete
    expect(readSettings('login-server', { ...rest, GRANTOR_SECRET_FILE: join(folder, 'not-there') }).kind).toBe('settings')
  })

  test.each(['a'.repeat(31), 'a'.repeat(64)])(
    'A secret that is shorter than 32 characters or repeats one character is refused: %s',
    (weak) => {
      expect(faultsOf({ GRANTOR_SECRET: weak })).toHaveLength(1)
    },
  )

  test('GRANTOR_LOGIN_SECRET must differ from GRANTOR_SECRET', () => {
    expect(faultsOf({ GRANTOR_LOGIN_SECRET: SECRET })).toEqual(['GRANTOR_LOGIN_SECRET must not be the same as GRANTOR_SECRET'])
  })

  test('A previous secret may be set beside the new one, also by file, and must differ from the new one', () => {
    const previous = `${SECRET}-previous`
    expect(settingsOf({ GRANTOR_SECRET_PREVIOUS_FILE: file('previous', `${previous}\n`) }).secretPrevious).toBe(previous)
    expect(settingsOf({ GRANTOR_LOGIN_SECRET_PREVIOUS: previous })).toMatchObject({ loginSecretPrevious: previous })
    expect(faultsOf({ GRANTOR_SECRET_PREVIOUS: SECRET, GRANTOR_LOGIN_SECRET_PREVIOUS: complete.GRANTOR_LOGIN_SECRET })).toEqual([
      'GRANTOR_SECRET_PREVIOUS must not be the same as GRANTOR_SECRET',
      'GRANTOR_LOGIN_SECRET_PREVIOUS must not be the same as GRANTOR_LOGIN_SECRET',
    ])
  })

  test('No fault of the settings repeats a secret, a database password or a credential in a URL', () => {
    const faults = faultsOf({
      GRANTOR_SECRET: 'hunter2',
      GRANTOR_LOGIN_SECRET: 'hunter2',
      GRANTOR_DATABASE_URL: 'postgres://grantor:hunter2@db.example.com/grantor?sslmode=hunter2',
      GRANTOR_AUTH_URL: 'https://user:hunter2@auth.example.com',
      GRANTOR_LOGIN_URL: 'https://login.example.com?token=hunter2',
      GRANTOR_SECERT: 'hunter2',
    })
    expect(faults.length).toBeGreaterThanOrEqual(6)
    expect(faults.join('\n')).not.toContain('hunter2')
  })
})

describe('Settings that exclude each other', () => {
  test('GRANTOR_LOGIN_URL must be another origin than GRANTOR_AUTH_URL', () => {
    expect(faultsOf({ GRANTOR_LOGIN_URL: complete.GRANTOR_AUTH_URL })).toEqual([
      'GRANTOR_LOGIN_URL must be another origin than GRANTOR_AUTH_URL',
    ])
  })

  test('An idle lifetime that is longer than the total lifetime is a fault', () => {
    expect(faultsOf({ GRANTOR_REFRESH_LIFETIME: '3600', GRANTOR_REFRESH_IDLE_LIFETIME: '7200' })).toHaveLength(1)
    expect(faultsOf({ GRANTOR_SESSION_LIFETIME: '3600', GRANTOR_SESSION_IDLE_LIFETIME: '7200' })).toHaveLength(1)
  })

  test.each(['serve', 'login-server', 'migrate', 'clients', 'grants', 'keys'] as const)(
    'GRANTOR_DEV_WALLET=on is a fault in %s, and GRANTOR_DEV_WALLET=off is not',
    (program) => {
      expect(faultsOf({ GRANTOR_DEV_WALLET: 'on' }, program).join()).toMatch(/GRANTOR_DEV_WALLET is on/)
      expect(faultsOf({ GRANTOR_DEV_WALLET: 'off' }, program)).toEqual([])
    },
  )
})
