import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { secretMatches } from '../../../src/keys/secret.ts'
import { TOKEN_EXCHANGE } from '../../../src/oauth/grant-types.ts'
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

  test('create and show warn of a scope that no resource of the client has', async () => {
    const at = { ...env, ...ADDRESSES, GRANTOR_DEFAULT_RESOURCE: 'https://api.example.com/' }
    const notes = ['--scope', 'notes.read', '--default-scope', 'notes.read']
    await run(['resources', 'create', 'https://notes.example/', '--name', 'Notes', '--scope', 'notes.read=Read your notes'], at)
    const { exit, out } = await run([...APP, ...notes, '--json'], at)
    const { client_id: id, warnings } = JSON.parse(out) as Created & { warnings: string[] }
    const warning =
      'No resource of this client has the scope notes.read, so every request for this scope is refused. Add the resource to the client, or the scope to a resource.'
    expect([exit, warnings]).toEqual([0, [warning]])
    expect((await run(['clients', 'show', id], at)).out).toContain(warning)
    expect((await run(['clients', 'update', id, '--resource', 'https://notes.example/'], at)).out).not.toMatch(/warning/i)
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

  test('Without --json, clients create prints the secret with a note that the secret is shown only once', async () => {
    const { out } = await run(APP, env)
    expect(out).toMatch(/client_secret {2}[A-Za-z0-9_-]{43}\n/)
    expect(out).toContain('shown only once')
  })

  test('Only a hash of a client secret is readClient, and it is the hash of the secret that clients create printed', async () => {
    const { client_id, client_secret } = await create()
    const client = await readClient(client_id)
    expect(JSON.stringify(client)).not.toContain(client_secret)
    expect(
      secretMatches(
        client_secret!,
        client!.secrets.map((each) => each.secretHash),
      ),
    ).toBe(true)
  })

  test('Public and native clients have no secret, client_secret is null, and native clients always need a signed consent (RFC 8252)', async () => {
    expect(await create('--public')).toMatchObject({ client_secret: null, type: 'public', consent: 'session' })
    expect(await create('--native', '--redirect-uri', 'com.example.app:/callback')).toMatchObject({
      client_secret: null,
      type: 'native',
      consent: 'signed',
    })
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

  test('A resource server is registered without a redirect URI', async () => {
    const { exit, out } = await run(
      ['clients', 'create', '--name', 'My API', '--resource-server', 'https://api.example.com/', '--json'],
      env,
    )
    expect(exit).toBe(0)
    expect(await readClient((JSON.parse(out) as Created).client_id)).toMatchObject({
      resourceServer: 'https://api.example.com/',
      redirectUris: [],
    })
  })

  test.each([
    [['--scope', 'read write'], 'Scope "read write"'],
    [['--scope', 'ä'], 'Scope "ä"'],
    [['--scope', 'x'.repeat(65)], '1 to 64'],
    [['--default-scope', 'other'], 'default scopes'],
    [['--resource', 'api'], 'Resource "api"'],
    [['--resource', 'https://api.example.com/#x'], 'without fragment'],
    [['--resource', 'https://api.example.com/"x"'], 'Resource'],
    [['--redirect-uri', 'http://app.example.com/callback'], 'plain http outside loopback'],
    [['--redirect-uri', 'https://app.example.com/callback#top'], 'fragment'],
    [['--redirect-uri', 'https://app.example.com/a b'], 'RFC 3986'],
    [['--redirect-uri', 'com.example.app:/callback'], '--native'],
    [['--redirect-uri', 'https://app.example.com/%zz'], 'RFC 3986'],
    [['--redirect-uri', '//app.example.com/callback'], 'RFC 3986'],
    [['--native', '--redirect-uri', 'myapp:/callback'], 'with a dot'],
    [['--native', '--redirect-uri', 'javascript:alert(1)'], 'with a dot'],
    [['--public', '--token-endpoint-auth-method', 'client_secret_basic'], 'public client'],
    [['--token-endpoint-auth-method', 'none'], '--public'],
  ])('A registration with %j is refused, with one line that names the fault, and no client is stored', async (more, words) => {
    const { exit, out, err } = await run([...APP, ...more], env)
    expect([exit, out]).toEqual([2, ''])
    const lines = err.trimEnd().split('\n').slice(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(words)
    expect((await run(['clients', 'list', '--json'], env)).out).toBe('[]\n')
  })

  test('A registration without a name, with a blank name or with a bidirectional control character in the name is refused', async () => {
    for (const name of [[], ['--name='], ['--name', ' '], ['--name', 'a\u202eb']]) {
      expect(await run(['clients', 'create', ...name, '--redirect-uri', REDIRECT_URI], env)).toMatchObject({ exit: 2, out: '' })
    }
  })

  test('All faults of one registration are reported at once', async () => {
    const { err } = await run([...APP, '--scope', 'a b', '--resource', 'x', '--redirect-uri', 'http://example.com/'], env)
    expect(err.trimEnd().split('\n').length).toBeGreaterThanOrEqual(4)
  })
})

describe('Token exchange (RFC 8693)', () => {
  const [MCP, API, FILES] = ['https://mcp.example.com/mcp', 'https://api.example.com/', 'https://files.example.com/']
  const server = async (...more: string[]) =>
    run(['clients', 'create', '--name', 'My MCP server', '--resource-server', MCP, '--json', ...more], env)

  test('The command clients create --exchange-resource registers the resources and the grant type, and clients show prints them', async () => {
    const { out } = await server('--exchange-resource', API, '--exchange-resource', FILES)
    const { client_id } = JSON.parse(out) as Created
    expect(await readClient(client_id)).toMatchObject({ exchangeResources: [API, FILES], grantTypes: [TOKEN_EXCHANGE] })
    expect(JSON.parse((await run(['clients', 'show', client_id, '--json'], env)).out)).toMatchObject({
      exchange_resources: [API, FILES],
    })
    expect((await run(['clients', 'show', client_id], env)).out).toMatch(
      /exchanges tokens for +https:\/\/api\.example\.com\/\n +exchanges tokens for +https:\/\/files/,
    )
  })

  test('The command clients update replaces and removes exchange resources, and adds them only together with the grant type', async () => {
    const { client_id } = JSON.parse((await server()).out) as Created
    expect(await readClient(client_id)).toMatchObject({ exchangeResources: [], grantTypes: [] })
    const update = (...more: string[]) => run(['clients', 'update', client_id, ...more], env)
    expect(await update('--exchange-resource', API)).toMatchObject({
      exit: 2,
      err: expect.stringContaining(`use --grant-type ${TOKEN_EXCHANGE}`),
    })
    expect((await update('--exchange-resource', API, '--grant-type', TOKEN_EXCHANGE)).exit).toBe(0)
    expect((await update('--exchange-resource', FILES)).exit).toBe(0)
    expect(await readClient(client_id)).toMatchObject({ exchangeResources: [FILES], grantTypes: [TOKEN_EXCHANGE] })
    expect((await update('--no-exchange-resources')).exit).toBe(0)
    expect(await readClient(client_id)).toMatchObject({ exchangeResources: [] })
  })

  test('A public client, and a client that is not a resource server, cannot be registered for token exchange', async () => {
    const exchange = ['--exchange-resource', API]
    expect((await run([...APP, ...exchange], env)).err).toContain('Only a resource server receives tokens')
    expect((await run([...APP, '--public', ...exchange], env)).err).toContain('Only a confidential client may use')
  })
})

describe('The other clients commands', () => {
  test('The commands clients list and clients show print clients, but no secret and no hash of a secret', async () => {
    const { client_id, client_secret } = await create()
    const { secretHash } = (await readClient(client_id))!.secrets[0]!
    for (const argv of [
      ['clients', 'list'],
      ['clients', 'show', client_id],
    ]) {
      for (const json of [[], ['--json']]) {
        const { exit, out } = await run([...argv, ...json], env)
        expect(exit).toBe(0)
        expect(out).toContain(client_id)
        expect(out).not.toContain(client_secret)
        expect(out).not.toContain(secretHash)
      }
    }
    expect(JSON.parse((await run(['clients', 'show', client_id, '--json'], env)).out)).toMatchObject({
      client_id,
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'client_secret_basic',
      disabled_at: null,
    })
  })

  test('The command clients update changes only the named settings, and applies the rules of registration', async () => {
    const { client_id } = await create('--scope', 'profile')
    await run(['clients', 'update', client_id, '--name', 'New name', '--require-pkce'], env)
    expect(await readClient(client_id)).toMatchObject({
      name: 'New name',
      requirePkce: true,
      scopes: ['profile'],
      redirectUris: [REDIRECT_URI],
    })
    await run(['clients', 'update', client_id, '--no-require-pkce', '--redirect-uri', 'https://other.example.com/'], env)
    expect(await readClient(client_id)).toMatchObject({ requirePkce: false, redirectUris: ['https://other.example.com/'] })
    for (const wrong of [[], ['--redirect-uri', 'http://example.com/'], ['--scope', 'a b']]) {
      expect(await run(['clients', 'update', client_id, ...wrong], env)).toMatchObject({ exit: 2, out: '' })
    }
    expect(await readClient(client_id)).toMatchObject({ redirectUris: ['https://other.example.com/'] })
  })

  test('The command clients rotate-secret prints a new secret, and the earlier secret expires at the end of the overlap', async () => {
    const { client_id, client_secret } = await create()
    const { out } = await run(['clients', 'rotate-secret', client_id, '--overlap', '3600', '--json'], env, 1_800_000_000)
    const fresh = (JSON.parse(out) as Created).client_secret!
    expect(fresh).not.toBe(client_secret)
    const [first, second] = (await readClient(client_id))!.secrets
    expect(secretMatches(fresh, [first!.secretHash])).toBe(true)
    expect(secretMatches(client_secret!, [second!.secretHash])).toBe(true)
    expect([first!.expiresAt, second!.expiresAt]).toEqual([null, 1_800_003_600])
  })

  test('After clients rotate-secret --overlap 0, only the new secret is valid', async () => {
    const { client_id, client_secret } = await create()
    await run(['clients', 'rotate-secret', client_id, '--overlap', '0'], env)
    const { secrets } = (await readClient(client_id))!
    expect(secrets).toHaveLength(1)
    expect(
      secretMatches(
        client_secret!,
        secrets.map((each) => each.secretHash),
      ),
    ).toBe(false)
  })

  test('The command clients rotate-secret is refused for a public client, which has no secret', async () => {
    const { client_id } = await create('--public')
    expect(await run(['clients', 'rotate-secret', client_id], env)).toMatchObject({
      exit: 1,
      err: 'grantor: public clients have no secret\n',
    })
  })

  test('A client that is disabled twice keeps the time of the first clients disable, and clients enable removes that time', async () => {
    const { client_id } = await create()
    await run(['clients', 'disable', client_id], env, 1_800_000_000)
    await run(['clients', 'disable', client_id], env, 1_800_000_500)
    expect((await readClient(client_id))!.disabledAt).toBe(1_800_000_000)
    await run(['clients', 'enable', client_id], env)
    expect((await readClient(client_id))!.disabledAt).toBeNull()
  })

  test('The command clients delete is refused without --yes, and deletes the client with it', async () => {
    const { client_id } = await create()
    expect(await run(['clients', 'delete', client_id], env)).toMatchObject({ exit: 2 })
    expect(await readClient(client_id)).not.toBeNull()
    expect(await run(['clients', 'delete', client_id, '--yes', '--json'], env)).toMatchObject({
      exit: 0,
      out: `{"client_id":"${client_id}","grants_ended":0}\n`,
    })
    expect(await readClient(client_id)).toBeNull()
  })

  test.each(['show', 'update', 'rotate-secret', 'disable', 'enable', 'delete'])(
    'The command clients %s with an unknown client id exits with 1 and names that id in one error line',
    async (command) => {
      const more = command === 'update' ? ['--name', 'x'] : command === 'delete' ? ['--yes'] : []
      expect(await run(['clients', command, 'nobody', ...more], env)).toEqual({
        exit: 1,
        out: '',
        err: 'grantor: there is no client "nobody"; see: grantor clients list\n',
      })
    },
  )

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
