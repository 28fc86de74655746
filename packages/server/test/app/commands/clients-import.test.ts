/** `grantor clients import`: client metadata of another authorization server (RFC 7591). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { newDatabase, newFolder, run } from '../run.ts'

const METADATA = {
  subject_type: 'public',
  client_name: 'Imported',
  redirect_uris: ['https://app.example.com/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  scope: 'openid enhancement',
  token_endpoint_auth_method: 'client_secret_post',
  backchannel_logout_uri: 'https://app.example.com/logout',
}

let env: Record<string, string>
let folder: string
beforeEach(async () => {
  env = (await newDatabase()).env
  folder = newFolder()
})

function importing(metadata: unknown, ...options: string[]) {
  const file = join(folder, 'clients.json')
  writeFileSync(file, typeof metadata === 'string' ? metadata : JSON.stringify(metadata))
  return run(['clients', 'import', file, ...options], env)
}
const clients = async () => JSON.parse((await run(['clients', 'list', '--json'], env)).out) as Record<string, unknown>[]

test('Metadata becomes a client with a new secret, and importing the metadata again changes nothing', async () => {
  const { exit, out } = await importing(METADATA, '--yes')
  expect([exit, out]).toEqual([0, expect.stringMatching(/create client "Imported"[^]*shown only once: [\w-]{43}\n/)])
  expect(await clients()).toMatchObject([
    {
      name: 'Imported',
      type: 'confidential',
      redirect_uris: ['https://app.example.com/callback'],
      scopes: ['openid', 'enhancement'],
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
      backchannel_logout_uri: 'https://app.example.com/logout',
      secrets: [{}],
    },
  ])
  expect((await importing([METADATA], '--yes')).out).toContain('Nothing to change')
})

test('Metadata without grant_types means authorization_code, and the method none means a public or a native client (RFC 7591 §2)', async () => {
  const { grant_types: _, ...shorter } = { ...METADATA, token_endpoint_auth_method: 'none' }
  await importing([shorter, { ...shorter, client_name: 'On a device', application_type: 'native' }], '--yes')
  expect(await clients()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'Imported', type: 'public', grant_types: ['authorization_code'] }),
      expect.objectContaining({ name: 'On a device', type: 'native', consent: 'signed' }),
    ]),
  )
})

test.each([
  [{ logo_uri: 'https://app.example.com/logo.png' }, 'client 2.logo_uri is not supported'],
  [{ client_secret: 'abc' }, 'client 2.client_secret is not supported. The file holds no secrets'],
  [{ software_statement: 'ey' }, 'client 2.software_statement is not supported'],
  [{ initiate_login_uri: 'https://app.example.com/login' }, 'client 2.initiate_login_uri is not supported'],
  [{ subject_type: 'pairwise' }, 'client 2.subject_type must be one of public, not "pairwise"'],
  [{ response_types: [] }, 'client 2: response_types must be ["code"] with these grant_types'],
  [{ response_types: ['token'] }, 'client 2.response_types must be one of code, not "token"'],
  [{ grant_types: ['implicit'] }, 'client 2.grant_types must be one of authorization_code'],
  [{ token_endpoint_auth_method: 'client_secret_jwt' }, 'client 2.token_endpoint_auth_method must be one of'],
  [{ redirect_uris: ['http://app.example.com/callback'] }, 'Redirect URI http://app.example.com/callback'],
  [{ client_id: 'my-app' }, 'client_id'],
])('Metadata with %j is refused by name, and no client of the file is registered', async (member, words) => {
  const { exit, err } = await importing(
    [
      { ...METADATA, client_name: 'First' },
      { ...METADATA, ...member },
    ],
    '--yes',
  )
  expect([exit, err]).toEqual([2, expect.stringContaining(words)])
  expect(err).toContain('nothing was changed')
  expect(await clients()).toEqual([])
})

test('The refusal of an unknown member names the option that leaves the member out, and the option works', async () => {
  const exported = { ...METADATA, logo_uri: 'https://app.example.com/logo.png', client_secret: 'abc', client_id: 'my-app' }
  const { err } = await importing(exported, '--yes')
  expect(err).toContain('--leave-out logo_uri')
  const options = ['logo_uri', 'client_secret', 'client_id'].flatMap((name) => ['--leave-out', name])
  expect(await importing(exported, '--yes', ...options)).toMatchObject({ exit: 0 })
  expect(await clients()).toMatchObject([{ name: 'Imported', logo: null }])
})

test.each([
  ['redirect_uris', 'supports redirect_uris'],
  ['dpop_bound_access_tokens', 'supports dpop_bound_access_tokens'],
  ['logo_ury', 'no client of the file has logo_ury'],
])('--leave-out %s is refused, and no client is registered', async (name, words) => {
  const { exit, err } = await importing(
    { ...METADATA, logo_uri: 'https://app.example.com/logo.png' },
    '--yes',
    '--leave-out',
    name,
  )
  expect([exit, err]).toEqual([2, expect.stringContaining(words)])
  expect(await clients()).toEqual([])
})

test('An import never changes a client that is registered already, by its id or by its name', async () => {
  await importing(METADATA, '--yes')
  const [before] = await clients()
  const changed = { ...METADATA, redirect_uris: ['https://elsewhere.example/callback'] }
  for (const other of [changed, { ...changed, client_name: 'Renamed', client_id: before?.client_id }]) {
    const { exit, err } = await importing([{ ...METADATA, client_name: 'New' }, other], '--yes')
    expect([exit, err]).toEqual([2, expect.stringMatching(/is registered already, and differs/)])
    expect(await clients()).toEqual([before])
  }
})

test('Without --yes and without a terminal the import changes nothing, and --dry-run prints the plan and exits with 1', async () => {
  expect(await importing(METADATA)).toMatchObject({ exit: 2, err: expect.stringContaining('nothing was changed') })
  expect(await importing(METADATA, '--dry-run')).toMatchObject({ exit: 1, out: expect.stringContaining('1 to create') })
  expect(await importing(METADATA, '--dry-run', '--yes')).toMatchObject({ exit: 2 })
  expect(await clients()).toEqual([])
})

test('--secrets writes the new secrets to a new file, and --json prints the plan and the secrets', async () => {
  const secrets = join(folder, 'secrets.jsonl')
  const { out } = await importing(METADATA, '--yes', '--secrets', secrets)
  expect(out).not.toMatch(/[\w-]{43}/)
  expect(JSON.parse(readFileSync(secrets, 'utf8'))).toMatchObject({
    name: 'Imported',
    client_secret: expect.stringMatching(/^[\w-]{43}$/),
  })
  const { out: json } = await importing({ ...METADATA, client_name: 'Second' }, '--yes', '--json')
  expect(JSON.parse(json)).toMatchObject({
    applied: 1,
    changes: [{ action: 'create', name: 'Second' }],
    secrets: [{ name: 'Second' }],
  })
  expect(existsSync(secrets)).toBe(true)
})

test.each([
  ['no JSON', '{', 'cannot be imported'],
  ['a text', '"x"', 'must be an object'],
  ['an empty list', '[]', 'has no client'],
  ['a member twice', '{"client_name":"A","client_name":"B","redirect_uris":["https://a.example/cb"]}', 'is given twice'],
])('A file with %s is refused', async (_, text, words) => {
  expect(await importing(text, '--yes')).toMatchObject({ exit: 2, err: expect.stringContaining(words) })
  expect(await clients()).toEqual([])
})
