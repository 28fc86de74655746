import { describe, expect, test } from 'vitest'
import { databaseUrl, type PostgresUrl } from '../../src/config/database-url.ts'

const read = (url: string) => databaseUrl(url)
const fault = (words: string) => ({ fault: expect.stringContaining(words) as string })
function postgres(url: string): PostgresUrl {
  const parsed = read(url)
  if ('fault' in parsed || parsed.value.kind !== 'postgres') throw new Error(`refused: ${JSON.stringify(parsed)}`)
  return parsed.value
}

test('a SQLite database is a file; one in memory would forget everything', () => {
  expect(read('sqlite:data/grantor.sqlite')).toEqual({ value: { kind: 'sqlite', path: 'data/grantor.sqlite' } })
  const refused = ['sqlite:', 'sqlite://x', 'sqlite::memory:', 'mysql://h/db', '/var/lib/x.sqlite', 'postgres:h']
  expect(refused.filter((text) => 'value' in read(text))).toEqual([])
})

describe('a PostgreSQL database', () => {
  test('is named as libpq names it, under either scheme, everything percent-decoded', () => {
    for (const scheme of ['postgres', 'postgresql']) {
      expect(postgres(`${scheme}://us%40er:p%3Aa%2Fss%3F@db.example.com:6432/gr%61ntor`)).toMatchObject({
        servers: [{ host: 'db.example.com', port: 6432 }],
        user: 'us@er',
        password: 'p:a/ss?',
        database: 'grantor',
      })
    }
  })

  test('may be on several servers, of which the one that takes writes is meant unless the URL says otherwise', () => {
    const { servers, target } = postgres('postgres://a,b:6000,[::1]:7000,[2001:db8::1]/db')
    expect(servers).toEqual([
      { host: 'a', port: 5432 },
      { host: 'b', port: 6000 },
      { host: '::1', port: 7000 },
      { host: '2001:db8::1', port: 5432 },
    ])
    expect(target).toBe('read-write')
    expect(postgres('postgres://a,b/db?target_session_attrs=any').target).toBe('any')
    expect(postgres('postgres://a/db').target).toBe('any')
    expect(postgres('postgres://a/db?target_session_attrs=read-write').target).toBe('read-write')
    expect(postgres('postgres://a/db?target_session_attrs=primary').target).toBe('read-write')
  })

  test('may be reached through the folder of a Unix socket', () => {
    expect(postgres('postgres://grantor@%2Fvar%2Frun%2Fpostgresql/db')).toMatchObject({
      servers: [{ host: '/var/run/postgresql', port: 5432 }],
      tls: null,
    })
  })

  test.each([
    ['postgres://db.example.com/g', { verify: 'verify-full' }],
    ['postgres://localhost/g', null],
    ['postgres://127.0.0.1,[::1]/g', null],
    ['postgres://localhost,db.example.com/g', { verify: 'verify-full' }],
    ['postgres://localhost/g?sslmode=verify-full', { verify: 'verify-full' }],
    ['postgres://db.example.com/g?sslmode=disable', null],
    ['postgres://db.example.com/g?sslmode=require', { verify: 'require' }],
    ['postgres://db/g?sslmode=verify-ca&sslrootcert=/etc/ca.pem', { verify: 'verify-ca', rootCert: '/etc/ca.pem' }],
    ['postgres://db/g?sslrootcert=system', { verify: 'verify-full' }],
    ['postgres://db/g?sslcert=/c.pem&sslkey=/k.pem', { verify: 'verify-full', cert: '/c.pem', key: '/k.pem' }],
  ])('%s: TLS with a checked certificate everywhere but on this machine, unless the URL says otherwise', (url, tls) => {
    expect(postgres(url).tls).toEqual(tls)
  })

  test.each(['prefer', 'allow'])('sslmode=%s is refused: anybody on the way could turn it off', (mode) => {
    expect(read(`postgres://db/g?sslmode=${mode}`)).toEqual(fault('verify-full'))
  })

  test('its pool and its times are parameters too, within bounds', () => {
    const preset = { poolSize: 10, connectTimeoutMs: 2000, statementTimeoutMs: 1500, applicationName: 'grantor' }
    expect(postgres('postgres://h/db')).toMatchObject(preset)
    const url = 'postgres://h/db?pool_size=40&connect_timeout=5&statement_timeout=1200&application_name=node%201'
    expect(postgres(url)).toMatchObject({
      poolSize: 40,
      connectTimeoutMs: 5000,
      statementTimeoutMs: 1200,
      applicationName: 'node 1',
    })
    for (const wrong of [
      'pool_size=0',
      'pool_size=ten',
      'connect_timeout=31',
      'statement_timeout=99',
      'statement_timeout=2001',
      'pool_size=',
    ]) {
      expect(read(`postgres://h/db?${wrong}`)).toEqual(fault('a whole number'))
    }
  })

  test.each([
    ['postgres://h/db?sslmod=require', 'which is not one of'],
    ['postgres://h/db?sslmode=require&sslmode=disable', 'twice'],
    ['postgres://h/db?target_session_attrs=standby', 'target_session_attrs'],
    ['postgres://h/db?sslcert=/c.pem', 'together'],
    ['postgres://h', 'must be postgres://'],
    ['postgres:///db', 'must name its servers'],
    ['postgres://h:0/db', 'must name its servers'],
    ['postgres://h:99999/db', 'must name its servers'],
    ['postgres://a,,b/db', 'must name its servers'],
    ['postgres://u:p%ZZ@h/db', 'hexadecimal'],
    ['postgres://u:p@ss@h/db', 'written as %XX'],
  ])('%s is refused, in words', (url, words) => {
    expect(read(url)).toEqual(fault(words))
  })

  test('no fault repeats the password', () => {
    for (const end of ['@h', '@h:0/db', '@h/db?sslmode=hunter2', '@h/db?pool_size=hunter2', '@x@h/db', '%ZZ@h/db', '#@h/db']) {
      const parsed = read(`postgres://user:hunter2${end}`)
      expect(parsed).toEqual({ fault: expect.not.stringContaining('hunter2') })
    }
  })
})
