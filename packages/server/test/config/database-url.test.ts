import { describe, expect, test } from 'vitest'
import { databaseUrl, type PostgresUrl } from '../../src/config/database-url.ts'

const read = (url: string) => databaseUrl(url)
const fault = (words: string) => ({ fault: expect.stringContaining(words) as string })
function postgres(url: string): PostgresUrl {
  const parsed = read(url)
  if ('fault' in parsed || parsed.value.kind !== 'postgres') throw new Error(`refused: ${JSON.stringify(parsed)}`)
  return parsed.value
}

test('A sqlite: URL names a file; a SQLite database in memory and other schemes are refused', () => {
  expect(read('sqlite:data/grantor.sqlite')).toEqual({ value: { kind: 'sqlite', path: 'data/grantor.sqlite' } })
  const refused = ['sqlite:', 'sqlite://x', 'sqlite::memory:', 'mysql://h/db', '/var/lib/x.sqlite', 'postgres:h']
  expect(refused.filter((text) => 'value' in read(text))).toEqual([])
})

describe('The URL of a PostgreSQL database', () => {
  test('A postgres:// or postgresql:// URL is read as by libpq, with user, password and database percent-decoded', () => {
    for (const scheme of ['postgres', 'postgresql']) {
      expect(postgres(`${scheme}://us%40er:p%3Aa%2Fss%3F@db.example.com:6432/gr%61ntor`)).toMatchObject({
        servers: [{ host: 'db.example.com', port: 6432 }],
        user: 'us@er',
        password: 'p:a/ss?',
        database: 'grantor',
      })
    }
  })

  test('A PostgreSQL URL may name several servers, and then connects to the one that accepts writes unless target_session_attrs is set', () => {
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

  test('A PostgreSQL URL may name the folder of a Unix socket, and then uses no TLS', () => {
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
  ])(
    'PostgreSQL connections verify the server’s certificate unless all servers are on loopback or the URL sets otherwise: %s',
    (url, tls) => {
      expect(postgres(url).tls).toEqual(tls)
    },
  )

  test.each(['prefer', 'allow'])(
    'The PostgreSQL option sslmode=%s is refused, because an attacker on the network could turn TLS off',
    (mode) => {
      expect(read(`postgres://db/g?sslmode=${mode}`)).toEqual(fault('verify-full'))
    },
  )

  test('A PostgreSQL URL sets pool size, timeouts and application name, and values out of bounds are refused', () => {
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
  ])('The malformed or contradictory PostgreSQL URL %s is refused, and the fault names the reason', (url, words) => {
    expect(read(url)).toEqual(fault(words))
  })

  test('No fault of a PostgreSQL URL repeats its password', () => {
    for (const end of ['@h', '@h:0/db', '@h/db?sslmode=hunter2', '@h/db?pool_size=hunter2', '@x@h/db', '%ZZ@h/db', '#@h/db']) {
      const parsed = read(`postgres://user:hunter2${end}`)
      expect(parsed).toEqual({ fault: expect.not.stringContaining('hunter2') })
    }
  })
})
