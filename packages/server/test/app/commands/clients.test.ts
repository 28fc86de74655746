import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newDatabase, newFolder, run } from '../run.ts'

const REDIRECT_URI = 'https://app.example.com/callback'
const APP = ['clients', 'create', '--name', 'My app', '--redirect-uri', REDIRECT_URI]

let path: string
let env: Record<string, string>
beforeEach(async () => {
  ;({ path, env } = await newDatabase())
})

type Created = {
  client_id: string
  client_secret: string | null
  name: string
  redirect_uris: string[]
  scopes: string[]
  type: string
  consent: string
}

async function create(...more: string[]): Promise<Created> {
  const { exit, out, err } = await run([...APP, '--json', ...more], env)
  expect([exit, err]).toEqual([0, ''])
  return JSON.parse(out) as Created
}

async function readClient(clientId: string) {
  const store = openSqliteStore(path)
  try {
    return await store.clients.readClient(clientId)
  } finally {
    await store.close()
  }
}

const MANY = Array.from({ length: 8 }, (_, i) => ['--scope', `notes.scope-${i}`]).flat()
const LONG = ['--resource', 'https://a.example/', '--resource', 'https://b.example/', ...MANY]
const ADDRESSES = { GRANTOR_AUTH_URL: 'https://auth.example.com', GRANTOR_LOGIN_URL: 'https://login.example.com' }
const WARNING =
  /The longest text that a wallet signs for this client has 1,\d{3} bytes\. Some hardware wallets sign at most 1,024\. /

describe('Warnings of the commands for clients', () => {
  test('create, show and update warn with the number of bytes of a text that some hardware wallets cannot sign', async () => {
    const at = { ...env, ...ADDRESSES }
    const { exit, out } = await run([...APP, ...LONG, '--json'], at)
    const { client_id: id, warnings } = JSON.parse(out) as Created & { warnings: string[] }
    expect([exit, warnings]).toEqual([0, [expect.stringMatching(WARNING)]])
    expect((await run([...APP, ...LONG], at)).out).toMatch(new RegExp(`\n  warning +${WARNING.source}`))
    expect((await run(['clients', 'show', id], at)).out).toMatch(WARNING)
    expect((await run(['clients', 'update', id, '--name', 'Notes'], at)).out).toMatch(WARNING)
    expect((await run(['clients', 'update', id, '--scope', 'read', '--default-scope', 'read'], at)).out).not.toMatch(/warning/i)
  })

  test('Without the addresses of the service, the commands do not warn', async () => {
    expect((await run([...APP, ...LONG], env)).out).not.toMatch(/warning/i)
  })
})

describe('The command clients create', () => {
  test('With --json, clients create prints one line with one JSON object, which has exactly the documented members', async () => {
    const { out } = await run([...APP, '--json'], env)
    expect(out.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(out)).toEqual({
      client_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      client_secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      name: 'My app',
      redirect_uris: [REDIRECT_URI],
      scopes: ['enhancement'],
      type: 'confidential',
      consent: 'session',
    })
  })

  test('With --env, clients create prints the client id and the secret as shell assignments, and only the id of a public client', async () => {
    const { out } = await run([...APP, '--env'], env)
    expect(out).toMatch(/^CLIENT_ID=[0-9a-f-]{36}\nCLIENT_SECRET=[A-Za-z0-9_-]{43}\n$/)
    expect((await run([...APP, '--public', '--env'], env)).out).toMatch(/^CLIENT_ID=[0-9a-f-]{36}\n$/)
  })

  test('The options --env and --json of clients create are refused together', async () => {
    const { exit, out, err } = await run([...APP, '--env', '--json'], env)
    expect([exit, out]).toEqual([2, ''])
    expect(err).toContain('--env and --json are both given')
  })

  test('The options of clients create for URIs, scopes, resources, PKCE and authentication are readClient with the client', async () => {
    const { client_id } = await create(
      '--redirect-uri=https://app.example.com/other',
      '--scope=profile',
      '--scope=email',
      '--default-scope=profile',
      '--resource=https://api.example.com/',
      '--require-pkce',
      '--token-endpoint-auth-method=client_secret_post',
      '--grant-type=authorization_code',
    )
    expect(await readClient(client_id)).toMatchObject({
      redirectUris: [REDIRECT_URI, 'https://app.example.com/other'],
      scopes: ['profile', 'email'],
      defaultScopes: ['profile'],
      resources: ['https://api.example.com/'],
      requirePkce: true,
      authMethod: 'client_secret_post',
      grantTypes: ['authorization_code'],
    })
  })

  test('All faults of one registration are reported at once', async () => {
    const { err } = await run([...APP, '--scope', 'a b', '--resource', 'x', '--redirect-uri', 'http://example.com/'], env)
    expect(err.trimEnd().split('\n').length).toBeGreaterThanOrEqual(4)
  })
})

test('The command clients show prints the resources for which a client exchanges tokens (RFC 8693)', async () => {
  const [API, FILES] = ['https://api.example.com/', 'https://files.example.com/']
  const { client_id } = await create(
    '--resource-server=https://mcp.example.com/mcp',
    `--exchange-resource=${API}`,
    `--exchange-resource=${FILES}`,
  )
  const { out } = await run(['clients', 'show', client_id], env)
  expect(out).toMatch(/exchanges tokens for +https:\/\/api\.example\.com\/\n +exchanges tokens for +https:\/\/files/)
  await run(['clients', 'update', client_id, '--no-exchange-resources'], env)
  expect(await readClient(client_id)).toMatchObject({ exchangeResources: [] })
})

describe('The other clients commands', () => {
  test('The options of clients update set and unset a value', async () => {
    const { client_id } = await create('--scope', 'profile')
    await run(['clients', 'update', client_id, '--name', 'New name', '--require-pkce'], env)
    expect(await readClient(client_id)).toMatchObject({ name: 'New name', requirePkce: true, scopes: ['profile'] })
    await run(['clients', 'update', client_id, '--no-require-pkce', '--redirect-uri', 'https://other.example.com/'], env)
    expect(await readClient(client_id)).toMatchObject({ requirePkce: false, redirectUris: ['https://other.example.com/'] })
  })

  test('With --json, clients rotate-secret prints the new secret, and clients delete prints the number of ended grants', async () => {
    const { client_id, client_secret } = await create()
    const { out } = await run(['clients', 'rotate-secret', client_id, '--overlap', '3600', '--json'], env)
    expect(JSON.parse(out)).toMatchObject({ client_id, client_secret: expect.not.stringMatching(client_secret ?? '') })
    expect(await run(['clients', 'delete', client_id, '--yes', '--json'], env)).toMatchObject({
      exit: 0,
      out: `{"client_id":"${client_id}","grants_ended":0}\n`,
    })
  })

  test('Without a database, clients list and clients create exit with 1, and the error names grantor migrate', async () => {
    const nowhere = { GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'none.sqlite')}` }
    for (const argv of [['clients', 'list'], APP]) {
      expect(await run(argv, nowhere)).toMatchObject({ exit: 1, err: expect.stringContaining('grantor migrate creates one') })
    }
  })

  test('Without settings, clients list exits with 2, and the error names GRANTOR_DATABASE_URL and --data', async () => {
    const { exit, err } = await run(['clients', 'list'])
    expect(exit).toBe(2)
    expect(err).toContain('GRANTOR_DATABASE_URL is not set')
    expect(err).toContain('--data')
  })
})
