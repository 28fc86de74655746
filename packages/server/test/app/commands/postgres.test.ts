/** The commands on a PostgreSQL database, which behave as on a SQLite file. */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { version } from '../../../src/app/compose/version.ts'
import { newGrantId } from '../../../src/domain/model/grant-id.ts'
import { MIGRATIONS } from '../../../src/store/postgres/migrations.ts'
import { NOW, newGrant } from '../../store/contract/subject.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { openPostgresStore } from '../../support/postgres-database.ts'
import { connect } from '../../support/sql.ts'
import { newFolder, run } from '../run.ts'

const steps = MIGRATIONS.map(({ number, name }) => ({ number, name }))

test('On PostgreSQL, migrate takes each step once, and migrate --status --json lists the applied and the pending steps', async () => {
  const { url } = await newPostgresDatabase()
  const env = { GRANTOR_DATABASE_URL: url }
  const before = await run(['migrate', '--status', '--json'], env)
  expect(before.exit).toBe(1)
  expect(JSON.parse(before.out)).toEqual({
    exists: true,
    applied: [],
    pending: steps.map((step) => ({ ...step, while_serving: false })),
  })
  expect(await run(['migrate'], env, 1_800_000_000)).toMatchObject({ exit: 0, out: expect.stringContaining('Took step 26') })
  expect(await run(['migrate'], env)).toMatchObject({ exit: 0, out: 'The database is up to date.\n' })
  const after = await run(['migrate', '--status', '--json'], env)
  expect(after.exit).toBe(0)
  expect(JSON.parse(after.out)).toEqual({
    exists: true,
    applied: steps.map((step) => ({ ...step, applied_at: 1_800_000_000 })),
    pending: [],
  })
})

test('On PostgreSQL, migrate warns about a connected server of another version if steps are pending, and not about one of this version', async () => {
  const { url } = await newPostgresDatabase()
  const env = { GRANTOR_DATABASE_URL: url }
  await run(['migrate'], env)
  const connectAs = async (applicationName: string) => {
    const sql = connect(url, applicationName)
    onTestFinished(() => sql.end())
    await sql`SELECT 1`
    return sql
  }
  const sql = await connectAs(`grantor ${version()}`)
  await connectAs('psql')
  await sql`DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)`
  expect(await run(['migrate', '--status'], env)).toMatchObject({ exit: 1, err: '' })
  await connectAs('grantor 0.0.9')
  const { exit, err } = await run(['migrate', '--status'], env)
  expect(exit).toBe(1)
  expect(err).toMatch(/^Warning: the database is in use by grantor 0\.0\.9 at \S+\. .*\n$/)
})

test('On PostgreSQL, clients list prints a client that clients create registered', async () => {
  const { url } = await newPostgresDatabase()
  const env = { GRANTOR_DATABASE_URL: url }
  await run(['migrate'], env)
  const create = ['clients', 'create', '--name', 'My app', '--redirect-uri', 'https://app.example.com/callback', '--json']
  const created = await run(create, env)
  expect(created.exit).toBe(0)
  const { out } = await run(['clients', 'list', '--json'], env)
  expect(out).toContain((JSON.parse(created.out) as { client_id: string }).client_id)
})

test('On PostgreSQL, grants list --all prints all of 1,100 grants, newest first', async () => {
  const { url, address } = await newPostgresDatabase()
  const env = { GRANTOR_DATABASE_URL: url }
  await run(['migrate'], env)
  const store = await openPostgresStore(address)
  const grants = Array.from({ length: 1100 }, (_, index) => newGrant({ id: newGrantId(NOW + index), clientId: 'app' }))
  for (let first = 0; first < grants.length; first += 100)
    await Promise.all(grants.slice(first, first + 100).map((grant) => store.grants.redeemCode(grant, randomUUID(), NOW)))
  await store.close()
  const newestFirst = grants.map(({ id }) => id).toReversed()
  const { out } = await run(['grants', 'list', '--all', '--json'], env)
  expect((JSON.parse(out) as { grant_id: string }[]).map(({ grant_id }) => grant_id)).toEqual(newestFirst)
})

test('On PostgreSQL, an outdated schema or a failed connection is reported in one error line without the password', async () => {
  const { url } = await newPostgresDatabase()
  const password = /:([^:@]+)@/.exec(url)?.[1] ?? ''
  for (const [wrong, words] of [
    [url, 'not up to date'],
    [url.replace(/@.*$/, '@127.0.0.1:1/nowhere'), 'ECONNREFUSED'],
    [`${url}?sslmode=require`, 'the database cannot be used'],
  ] as const) {
    const { exit, err } = await run(['clients', 'list'], { GRANTOR_DATABASE_URL: wrong })
    expect(exit).toBe(1)
    expect(err).toMatch(/^grantor: .*\n$/)
    expect(err).toContain(words)
    expect(err).not.toContain(password)
  }
})

test('On PostgreSQL, apply creates what a file names, export prints it, a second run changes nothing, and --prune deletes a client', async () => {
  const { url } = await newPostgresDatabase()
  const env = { GRANTOR_DATABASE_URL: url }
  await run(['migrate'], env)
  const file = join(newFolder(), 'grantor.yaml')
  writeFileSync(
    file,
    `resources: [{resource: "https://api.example.com/", name: API, scopes: [{name: read, description: read it}]}]
clients: [{name: My app, redirect_uris: ["https://app.example.com/callback"]}]
operators: [{operator: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", role: owner}]`,
  )
  expect(await run(['apply', file, '--yes'], env)).toMatchObject({ exit: 0, out: expect.stringContaining('Applied 3 changes.') })
  const { out: text } = await run(['export'], env)
  writeFileSync(file, text)
  expect(await run(['apply', file, '--yes', '--prune'], env)).toMatchObject({ exit: 0, out: 'Nothing to change: 3 unchanged.\n' })
  writeFileSync(file, text.replace('name: My app', 'name: Your app'))
  expect(await run(['apply', file, '--yes'], env)).toMatchObject({
    exit: 0,
    out: expect.stringContaining('name: "My app" → "Your app"'),
  })
  expect((await run(['apply', file, '--yes', '--prune'], env)).out).toContain('Nothing to change')
  writeFileSync(file, 'clients: []')
  const pruned = await run(['apply', file, '--yes', '--prune'], env)
  expect([pruned.exit, pruned.out]).toEqual([0, expect.stringMatching(/^Deleted client \S+ and ended 0 grants\.$/m)])
  expect(JSON.parse((await run(['clients', 'list', '--json'], env)).out)).toEqual([])
})
