/** The secrets of clients and webhooks that move to another database: `--stored-secrets` of export and apply. */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as base, expect, onTestFinished } from 'vitest'
import { planSections } from '../../../src/operators/configuration/plan.ts'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'
import { hashSecret, newSecret } from '../../../src/protocol/keys/secret.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { blockWith } from '../../support/page-blocks.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { connect } from '../../support/sql.ts'
import { newDatabase, newFolder, run } from '../run.ts'

const NOW = 1_800_000_000
const SECRET = 'test-secret-that-wraps-the-keys-0123456789'
const CALLBACK = ['--redirect-uri', 'https://app.example/cb']

type Installation = { path: string; env: Record<string, string> }

async function newInstallation(): Promise<Installation> {
  const { path, env } = await newDatabase()
  return { path, env: { ...env, GRANTOR_SECRET: SECRET } }
}

async function read({ path }: Installation) {
  const store = openSqliteStore(path)
  const [clients, webhooks] = [await store.clients.listClients(), await store.webhooks.listWebhooks()]
  await store.close()
  return { clients, webhooks }
}

async function done(argv: string[], { env }: Installation, at = NOW): Promise<string> {
  const { exit, out, err } = await run(argv, env, at)
  expect([exit, err]).toEqual([0, ''])
  return out
}

const test = base
  .extend('old', () => newInstallation())
  .extend('fresh', () => newInstallation())
  .extend('folder', () => newFolder())
  .extend('files', ({ folder }) => ({ yaml: join(folder, 'grantor.yaml'), secrets: join(folder, 'stored-secrets.ndjson') }))

/** Registers a client, and returns its id and its secret. */
async function createClient(of: Installation, name = 'App'): Promise<{ id: string; secret: string }> {
  const out = await done(['clients', 'create', '--name', name, ...CALLBACK, '--json'], of)
  const { client_id: id, client_secret: secret } = JSON.parse(out) as { client_id: string; client_secret: string }
  return { id, secret }
}

async function exportTo({ yaml, secrets }: { yaml: string; secrets: string }, of: Installation): Promise<void> {
  writeFileSync(yaml, await done(['export', '--stored-secrets', secrets], of))
}

test('With --stored-secrets, the clients and webhooks of a new database keep their secrets, also both secrets of a rotation', async ({
  old,
  fresh,
  files,
}) => {
  const { id, secret } = await createClient(old)
  const rotated = await done(['clients', 'rotate-secret', id, '--overlap', '3600', '--json'], old)
  const webhook = JSON.parse(await done(['webhooks', 'create', 'https://siem.example/grantor', '--json'], old)) as {
    secret: string
  }
  await exportTo(files, old)
  expect(statSync(files.secrets).mode & 0o777).toBe(0o600)
  const applied = await done(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], fresh)
  expect(applied).toContain('  keeps 2 client secrets of the file\n')
  expect(applied).toContain('  keeps 1 webhook secret of the file\n')
  expect(applied).not.toContain('shown only once')
  const [before, after] = [await read(old), await read(fresh)]
  expect(after.clients.map(({ secrets }) => secrets)).toEqual(before.clients.map(({ secrets }) => secrets))
  const { client_secret: newest } = JSON.parse(rotated) as { client_secret: string }
  expect(after.clients[0]?.secrets.map(({ secretHash }) => secretHash)).toEqual([newest, secret].map(hashSecret))
  const [{ id: webhookId, secret: wrapped } = { id: '', secret: '' }] = after.webhooks
  const opened = createKeyWrap(SECRET).unwrap(Buffer.from(wrapped, 'base64url'), webhookId, 'webhook')
  expect(`whsec_${Buffer.from(opened ?? []).toString('base64')}`).toBe(webhook.secret)
  expect(await done(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], fresh)).toBe(
    'Nothing to change: 2 unchanged.\n',
  )
})

test('The audit trail has how many secrets a new client kept, and neither the plan nor the trail has a hash', async ({
  old,
  fresh,
  files,
}) => {
  const { id, secret } = await createClient(old)
  await exportTo(files, old)
  const plan = await done(['apply', files.yaml, '--yes', '--json', '--stored-secrets', files.secrets], fresh)
  expect(JSON.parse(plan)).toMatchObject({ changes: [{ id, new_secret: false, secrets_imported: 1 }], secrets: [] })
  const trail = await done(['audit', 'list', '--json'], fresh)
  expect(trail).toMatch(/"secrets_imported":\s*1/)
  expect(plan + trail).not.toContain(hashSecret(secret))
})

test('A secret that has expired is not imported, and a client without a line gets a new secret', async ({
  old,
  fresh,
  files,
}) => {
  const { id } = await createClient(old)
  await done(['clients', 'rotate-secret', id, '--overlap', '3600'], old)
  await createClient(old, 'Other')
  await exportTo(files, old)
  const lines = readFileSync(files.secrets, 'utf8').split('\n')
  writeFileSync(files.secrets, lines.filter((line) => line.includes(id)).join('\n'))
  const applied = await done(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], fresh, NOW + 3601)
  expect(applied).toContain('  keeps 1 client secret of the file\n')
  expect(applied.match(/shown only once/g)).toHaveLength(1)
})

test('A client that the store has with another secret is refused, so an old file brings back no secret that was replaced', async ({
  old,
  files,
}) => {
  const { id } = await createClient(old)
  await exportTo(files, old)
  await done(['clients', 'rotate-secret', id, '--overlap', '0'], old)
  const { exit, err } = await run(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], old.env, NOW)
  expect([exit, err]).toEqual([2, expect.stringContaining(`${id}: the store has the client with other secrets`)])
  expect(await done(['apply', files.yaml, '--yes'], old)).toBe('Nothing to change: 1 unchanged.\n')
})

test('A secret of a client that authenticates with keys is refused', async ({ old, fresh, files }) => {
  const { id } = await createClient(old)
  await exportTo(files, old)
  const text = readFileSync(files.yaml, 'utf8').replace(
    'token_endpoint_auth_method: client_secret_basic',
    'token_endpoint_auth_method: private_key_jwt\n    jwks_uri: https://app.example/jwks',
  )
  writeFileSync(files.yaml, text)
  const { exit, err } = await run(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], fresh.env, NOW)
  expect([exit, err]).toEqual([2, expect.stringContaining('which authenticates by private_key_jwt')])
  expect((await read(fresh)).clients.map((client) => client.id)).not.toContain(id)
})

test('The secret of a webhook that was wrapped with another GRANTOR_SECRET is refused', async ({ old, fresh, files }) => {
  await done(['webhooks', 'create', 'https://siem.example/grantor'], old)
  await exportTo(files, old)
  const env = { ...fresh.env, GRANTOR_SECRET: 'another-secret-that-wraps-the-keys-0123456789' }
  const { exit, err } = await run(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], env, NOW)
  expect([exit, err]).toEqual([2, expect.stringContaining('was wrapped with another GRANTOR_SECRET')])
  const previous = { ...env, GRANTOR_SECRET_PREVIOUS: SECRET }
  expect((await run(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], previous, NOW)).exit).toBe(0)
})

const HASH = hashSecret('one')
const line = (more: object, id = '00000000-0000-4000-8000-000000000001') =>
  JSON.stringify({ client_id: id, client_secret_hash: HASH, created_at: 0, expires_at: null, ...more })

test.each<[string, string]>([
  ['a hash that is too short', line({ client_secret_hash: HASH.slice(1) })],
  ['a hash whose last character has bits of no byte', line({ client_secret_hash: `${HASH.slice(0, 42)}_` })],
  ['a hash in hexadecimal digits', line({ client_secret_hash: 'a'.repeat(64) })],
  [
    'a secret in place of its hash',
    JSON.stringify({ client_id: '00000000-0000-4000-8000-000000000001', client_secret: newSecret() }),
  ],
  ['a member too many', line({ name: 'App' })],
  ['a time that is a text', line({ expires_at: '2027-01-01' })],
  ['an id that is no UUID', line({}, 'app')],
  ['a member twice', line({}).replace('{', `{"client_secret_hash":"${HASH}",`)],
  ['no JSON', HASH],
  ['a hash twice', `${line({})}\n${line({})}`],
  ['three secrets of a client', [1, 2, 3].map((n) => line({ client_secret_hash: hashSecret(`${n}`) })).join('\n')],
])('A file of stored secrets with %s is refused with the number of the line, and nothing is printed of it', async (_, text) => {
  const { env, path } = await newInstallation()
  const folder = newFolder()
  const [yaml, secrets] = [join(folder, 'grantor.yaml'), join(folder, 'secrets.ndjson')]
  const id = '00000000-0000-4000-8000-000000000001'
  writeFileSync(yaml, `clients:\n  - {client_id: ${id}, name: App, redirect_uris: ["https://app.example/cb"]}\n`)
  writeFileSync(secrets, `\n${text}\n`, { mode: 0o600 })
  const { exit, out, err } = await run(['apply', yaml, '--yes', '--stored-secrets', secrets], env, NOW)
  expect([exit, out, err]).toEqual([2, '', expect.stringMatching(/line [234] of .*; nothing was changed\n$/)])
  expect(err).not.toMatch(/[\w-]{43}/)
  expect((await read({ env, path })).clients).toEqual([])
})

test('A file of stored secrets that other users can use is refused, and export overwrites no file', async ({
  old,
  fresh,
  files,
}) => {
  await createClient(old)
  await exportTo(files, old)
  expect(await run(['export', '--stored-secrets', files.secrets], old.env, NOW)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('exists already, and is not overwritten'),
  })
  chmodSync(files.secrets, 0o640)
  const { exit, err } = await run(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], fresh.env, NOW)
  expect([exit, err]).toEqual([2, expect.stringContaining('can be used by other users: chmod 600')])
})

/** Stores clients without the command, which would take seconds. */
async function addClients(of: Installation, count: number): Promise<void> {
  await createClient(of)
  const database = new DatabaseSync(of.path)
  const { id, record } = database.prepare('SELECT id, record FROM clients').get() as { id: string; record: string }
  const insert = database.prepare('INSERT INTO clients (id, record, created_at) VALUES (?, ?, 0)')
  database.exec('BEGIN')
  for (let number = 1; number < count; number++) {
    const other = `${id.slice(0, 24)}${String(number).padStart(12, '0')}`
    insert.run(other, record.replaceAll(id, other))
  }
  database.exec('COMMIT')
  database.close()
}

test('export prints more clients than apply reads in one file, and writes them as several files that apply reads', async ({
  old,
  fresh,
  folder,
}) => {
  await addClients(old, 10_003)
  const printed = await run(['export', '--json'], old.env, NOW)
  expect([printed.exit, printed.err]).toEqual([
    0,
    expect.stringContaining('at most 10000 clients in one file: see grantor export --folder'),
  ])
  const { clients } = JSON.parse(printed.out) as { clients: { client_id: string }[] }
  expect(new Set(clients.map(({ client_id: id }) => id)).size).toBe(10_003)
  const parts = join(folder, 'parts')
  const secrets = join(folder, 'secrets.ndjson')
  expect(await done(['export', '--json', '--folder', parts, '--stored-secrets', secrets], old)).toBe(
    'grantor-0001.json\ngrantor-0002.json\n',
  )
  const inParts = readdirSync(parts).map(
    (name) => JSON.parse(readFileSync(join(parts, name), 'utf8')) as { clients: { client_id: string }[] },
  )
  expect(inParts.flatMap((part) => part.clients)).toEqual(clients)
  expect(inParts.map((part) => part.clients.length <= planSections.clients.atMost)).toEqual([true, true])
  const last = inParts.at(-1)?.clients.length
  expect(last).toBeLessThan(100)
  const applied = await done(['apply', join(parts, 'grantor-0002.json'), '--yes', '--stored-secrets', secrets], fresh)
  expect(applied).toContain(`Applied ${last} changes.`)
  expect(applied).not.toContain('shown only once')
})

/** The lines of the file that the statements of the page for an earlier version write. */
const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each) as object)

test('The SQL of upgrade.md reads from SQLite what export --stored-secrets writes', async ({ old, files }) => {
  const { id } = await createClient(old)
  await done(['clients', 'rotate-secret', id, '--overlap', '3600'], old)
  await done(['webhooks', 'create', 'https://siem.example/grantor'], old)
  await exportTo(files, old)
  const database = new DatabaseSync(old.path)
  const statements = blockWith('operating/upgrade.md', 'json_extract')
    .split(';')
    .filter((each) => each.trim() !== '')
  const rows = statements.flatMap((statement) =>
    database
      .prepare(statement)
      .all()
      .flatMap((row) => Object.values(row)),
  )
  database.close()
  expect(linesOf(rows.join('\n'))).toEqual(linesOf(readFileSync(files.secrets, 'utf8')))
  expect(rows).toHaveLength(3)
})

test('On PostgreSQL, the clients of a new database keep their secrets, and the SQL of upgrade.md reads the same as export', async ({
  files,
}) => {
  const [old, fresh] = [await newPostgresDatabase(), await newPostgresDatabase()].map(({ url }) => ({
    path: '',
    env: { GRANTOR_DATABASE_URL: url, GRANTOR_SECRET: SECRET },
  })) as unknown as [Installation, Installation]
  for (const each of [old, fresh]) await run(['migrate'], each.env, NOW)
  const { id } = await createClient(old)
  await done(['clients', 'rotate-secret', id, '--overlap', '3600'], old)
  await done(['webhooks', 'create', 'https://siem.example/grantor'], old)
  await exportTo(files, old)
  const sql = connect(old.env.GRANTOR_DATABASE_URL ?? '', 'test')
  onTestFinished(() => sql.end())
  const statements = blockWith('operating/upgrade.md', 'json_build_object')
    .split(';')
    .filter((each) => each.trim() !== '')
  const rows: object[] = []
  for (const statement of statements) rows.push(...(await sql.unsafe(statement)).flatMap((row) => Object.values(row) as object[]))
  expect(rows).toEqual(linesOf(readFileSync(files.secrets, 'utf8')))
  const applied = await done(['apply', files.yaml, '--yes', '--stored-secrets', files.secrets], fresh)
  expect(applied).toMatch(/keeps 2 client secrets of the file[^]*keeps 1 webhook secret of the file/)
  const again = join(newFolder(), 'again.ndjson')
  await done(['export', '--stored-secrets', again], fresh)
  const clientLines = (path: string) => linesOf(readFileSync(path, 'utf8')).filter((each) => 'client_id' in each)
  expect(clientLines(again)).toEqual(clientLines(files.secrets))
})
