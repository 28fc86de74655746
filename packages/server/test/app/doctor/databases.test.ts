import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { Finding } from '../../../src/app/doctor/check.ts'
import { hasPgBouncer, startPgBouncer } from '../../support/pgbouncer.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { configure, startPostgres } from '../../support/postgres-server.ts'
import { connect } from '../../support/sql.ts'
import { run } from '../run.ts'
import { now, runDoctor } from './installation.ts'

/** The services do not run: only the findings about the database count. */
const envWith = (url: string) => ({
  GRANTOR_AUTH_URL: 'http://localhost:9',
  GRANTOR_LOGIN_URL: 'http://localhost:7',
  GRANTOR_DATABASE_URL: url,
  GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
  GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
})

async function findings(url: string, check = 'database'): Promise<Finding[]> {
  return (await runDoctor(envWith(url))).findings.filter((finding) => finding.check === check)
}

test('A PostgreSQL database is ok after grantor migrate, and its schema is wrong before', async () => {
  const { url } = await newPostgresDatabase()
  expect(await findings(url, 'schema')).toMatchObject([{ verdict: 'wrong', remedy: 'Run: grantor migrate' }])
  await run(['migrate'], envWith(url), now())
  expect((await findings(url)).map(({ verdict }) => verdict)).toEqual(['ok', 'ok'])
  expect(await findings(url, 'schema')).toMatchObject([{ verdict: 'ok' }])
  expect(await findings(url, 'keys')).toMatchObject([{ verdict: 'warning', found: 'there are no keys yet' }])
})

test('A database from before the first release is named, with the way to this version', async () => {
  const { url, sql } = await newPostgresDatabase()
  await sql.unsafe('CREATE TABLE migrations (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)')
  await sql.unsafe("INSERT INTO migrations VALUES (16, 'endings of wallets', 0)")
  expect(await findings(url, 'schema')).toMatchObject([
    { verdict: 'wrong', remedy: expect.stringMatching(/before the first release.*grantor export.*grantor apply.*upgrade\.md/) },
  ])
})

test('A database whose clock differs by five minutes is found', async () => {
  const { url } = await newPostgresDatabase()
  const before = now()
  const { findings: all } = await runDoctor(envWith(url), before - 300)
  const elapsed = now() - before
  const found = all.filter(({ check }) => check === 'database')
  const text = /^the clock of PostgreSQL at .* is (\d+) seconds ahead of/
  expect(found).toMatchObject([{ verdict: 'ok' }, { verdict: 'wrong', found: expect.stringMatching(text) }])
  const ahead = Number(text.exec(found[1]?.found ?? '')?.[1])
  // The doctor reads PostgreSQL's clock at some moment of its run.
  expect(ahead).toBeGreaterThanOrEqual(299)
  expect(ahead).toBeLessThanOrEqual(301 + elapsed)
})

test('fsync, full_page_writes and synchronous_commit that are off, and another isolation level, are each found', async () => {
  const server = await startPostgres({
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    default_transaction_isolation: "'serializable'",
  })
  onTestFinished(() => server.remove())
  const found = await findings(server.urlOf('postgres'))
  expect(found.filter(({ verdict }) => verdict === 'wrong').map(({ remedy }) => remedy)).toEqual([
    'Set fsync = on.',
    expect.stringContaining('Set full_page_writes = on'),
    'Set synchronous_commit = on.',
    expect.stringContaining('read committed'),
  ])
})

test('A limit in a database without a synchronous standby is a warning: the last draws could be drawn again after a loss', async () => {
  const { url } = await newPostgresDatabase()
  await run(['migrate'], envWith(url), now())
  const resource = ['resources', 'create', 'https://api.example.com/', '--name', 'The API']
  expect((await run([...resource, '--scope', 'enhancement=enhance an item'], envWith(url), now())).exit).toBe(0)
  expect((await findings(url)).filter(({ verdict }) => verdict === 'warning')).toEqual([])
  const limited = [
    'resources',
    'update',
    'https://api.example.com/',
    '--scope',
    'enhancement=enhance an item | at most 20 times a week',
  ]
  expect((await run(limited, envWith(url), now())).exit).toBe(0)
  expect((await findings(url)).filter(({ verdict }) => verdict === 'warning')).toMatchObject([
    {
      found: expect.stringContaining('the scope enhancement has a limit, and no synchronous standby is named'),
      remedy: expect.stringContaining('synchronous_standby_names'),
    },
  ])
})

test('A pool that is larger than the connections of the server is wrong, and a server with room for one pool is a warning', async () => {
  const server = await startPostgres({ max_connections: '18' })
  onTestFinished(() => server.remove())
  const url = server.urlOf('postgres')
  expect(await findings(`${url}?pool_size=20`)).toMatchObject([
    { verdict: 'wrong', found: expect.stringContaining('allows 15 connections') },
    {},
  ])
  expect(await findings(url)).toMatchObject([
    { verdict: 'warning', found: expect.stringContaining('too few for two pools of 10') },
    {},
  ])
  expect(await findings(`${url}?pool_size=5`)).toMatchObject([{ verdict: 'ok' }, { verdict: 'ok' }])
})

test('A server that waits for a synchronous standby that is not connected is found', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  configure(server.folder, { synchronous_standby_names: "'one'" })
  await server.stop()
  await server.start()
  expect(await findings(server.urlOf('postgres'))).toMatchObject([
    { verdict: 'wrong', found: expect.stringContaining('no standby is connected') },
    {},
  ])
})

test('A server that is away, a wrong password and a server that hangs are found within the time of the command', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  const url = server.urlOf('postgres')
  const wrongPassword = await findings(url.replace(/:[^:@]*@/, ':wrong@'))
  expect(wrongPassword).toMatchObject([
    { verdict: 'wrong', found: expect.stringContaining('password authentication failed') },
    { verdict: 'wrong' },
  ])
  expect(JSON.stringify(wrongPassword)).not.toContain('wrong@')
  server.freeze()
  const began = performance.now()
  expect(await findings(url)).toMatchObject([
    { verdict: 'wrong' },
    { verdict: 'wrong', found: expect.stringContaining('accepts writes') },
  ])
  expect(performance.now() - began).toBeLessThan(16_000)
  server.thaw()
  await server.stop()
  expect(await findings(url)).toMatchObject([{ verdict: 'wrong', found: expect.stringContaining('ECONNREFUSED') }, {}])
})

test('A role that may not change a table is found, with the name of the table', async () => {
  const { url } = await newPostgresDatabase()
  await run(['migrate'], envWith(url), now())
  const sql = connect(url)
  const role = `reader_${randomBytes(4).toString('hex')}`
  const { password } = new URL(url)
  await sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
  await sql.unsafe(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`)
  await sql.unsafe(`REVOKE INSERT ON audit_waiting FROM ${role}`)
  onTestFinished(async () => {
    await sql.unsafe(`DROP OWNED BY ${role}`)
    await sql.unsafe(`DROP ROLE ${role}`)
    await sql.end()
  })
  const asReader = new URL(url)
  asReader.username = role
  const found = await findings(asReader.href)
  expect(found.filter(({ verdict }) => verdict === 'wrong')).toMatchObject([
    {
      found: 'the role of GRANTOR_DATABASE_URL may not read or change audit_waiting',
      remedy: expect.stringContaining('GRANT SELECT, INSERT, UPDATE, DELETE ON audit_waiting'),
    },
  ])
})

test.skipIf(!hasPgBouncer)(
  'A pooler with transaction pooling in front of the server is found, and one with session pooling is no fault',
  async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const [shared] = await findings(await startPgBouncer(server, { pool_mode: 'transaction' }))
    expect(shared).toMatchObject({
      verdict: 'wrong',
      found: expect.stringContaining('is behind a pooler that shares its connections'),
    })
    expect((await findings(await startPgBouncer(server, { pool_mode: 'session' }))).map(({ verdict }) => verdict)).toEqual([
      'ok',
      'ok',
    ])
  },
)
