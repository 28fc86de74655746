import { expect, test } from 'vitest'
import { readSettings } from '../../src/config/settings.ts'

const MARK = 'marked-secret-part-0123456789-0123456789'

const ENVIRONMENT = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_DATABASE_URL: `postgres://grantor:${MARK}@db.example.com:5432/grantor?pool_size=20`,
  GRANTOR_SECRET: MARK,
  GRANTOR_LOGIN_SECRET: `login-${MARK}`,
  GRANTOR_CHAINS: JSON.stringify({
    1: { name: 'Ethereum', rpc: [`https://rpc.example.com/${MARK}`, `https://rpc.example.net/?key=${MARK}`], home: true },
  }),
  GRANTOR_HOOK_URL: `https://hook.example.com/${MARK}?key=${MARK}`,
  GRANTOR_HOOK_SECRET: `whsec_${Buffer.from(MARK).toString('base64')}`,
  GRANTOR_REGISTRATION_TOKEN: `token-${MARK}`,
  OTEL_EXPORTER_OTLP_ENDPOINT: `https://otlp.example.com/${MARK}`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Basic%20${MARK}`,
}

function inForce(env: Record<string, string>) {
  const reading = readSettings('serve', env)
  if (reading.kind === 'faults') throw new Error(reading.faults.join('\n'))
  return reading.settings.inForce
}

test('The settings in force show values and their sources, and no secret, password or key in the path of a URL', () => {
  const all = inForce(ENVIRONMENT)
  expect(JSON.stringify(all)).not.toContain(MARK)
  expect(JSON.stringify(all)).not.toContain(Buffer.from(MARK).toString('base64'))
  const shown = Object.fromEntries(all.map(({ name, value, source }) => [name, [value, source]]))
  expect(shown).toMatchObject({
    GRANTOR_AUTH_URL: ['https://auth.example.com', 'environment'],
    GRANTOR_DATABASE_URL: ['postgres://grantor@db.example.com:5432/grantor?pool_size=20', 'environment'],
    GRANTOR_SECRET: [null, 'environment'],
    GRANTOR_CHAINS: ['1 Ethereum (home) at rpc.example.com, rpc.example.net', 'environment'],
    GRANTOR_HOOK_URL: ['https://hook.example.com/…', 'environment'],
    OTEL_EXPORTER_OTLP_ENDPOINT: ['https://otlp.example.com/…', 'environment'],
    GRANTOR_CODE_LIFETIME: ['60', 'default'],
    // A default that depends on another setting has its value.
    GRANTOR_LISTEN: ['127.0.0.1:443', 'default'],
    GRANTOR_REFRESH_IDLE_LIFETIME: ['1209600', 'default'],
    GRANTOR_CLIENT_METADATA: ['off', 'default'],
    GRANTOR_SECRET_PREVIOUS: [null, 'default'],
  })
  expect(all.find(({ name }) => name === 'GRANTOR_SECRET')).toMatchObject({ isSet: true, isSecret: true })
  expect(all.find(({ name }) => name === 'GRANTOR_SECRET_PREVIOUS')).toMatchObject({ isSet: false, isSecret: true })
})

test('The settings that are on under grantor start only have the value of the program, and a number has its unit', () => {
  const names = ['GRANTOR_CLIENT_METADATA', 'GRANTOR_DYNAMIC_REGISTRATION', 'GRANTOR_DEV_WALLET']
  const valuesOf = (program: 'start' | 'serve') => {
    const reading = readSettings(program, ENVIRONMENT)
    if (reading.kind === 'faults') throw new Error(reading.faults.join('\n'))
    return reading.settings.inForce.filter(({ name }) => names.includes(name)).map(({ value }) => value)
  }
  expect(valuesOf('start')).toEqual(['on', 'on', 'on'])
  expect(valuesOf('serve')).toEqual(['off', 'off'])
  const units = Object.fromEntries(inForce(ENVIRONMENT).map(({ name, unit }) => [name, unit]))
  expect(units).toMatchObject({ GRANTOR_CODE_LIFETIME: 'seconds', GRANTOR_AUDIT_DAYS: 'days', GRANTOR_AUTH_URL: null })
})

test('Every setting that a program reads is in force once, and a setting of another program is not', () => {
  const names = inForce(ENVIRONMENT).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toContain('GRANTOR_DRAIN_SECONDS')
  expect(names).not.toContain('GRANTOR_WALLET_WINDOW')
})
