import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { test as base, describe, expect } from 'vitest'
import { FILE, started } from '../../support/fixtures.ts'
import { sixInARow } from '../../support/free-ports.ts'
import { launch, launchForTest, newFolder, type Running, run } from '../run.ts'

const ready = 'Ctrl-C stops everything'

type StartOptions = { port?: number; folder?: string; env?: Record<string, string> }
type Demo = { port: number; folder: string; running: Running; id: string; secret: string; redirectUri: string }

async function startDemo(options: StartOptions = {}, launching: typeof launch = launchForTest): Promise<Demo> {
  const port = options.port ?? (await sixInARow())
  const folder = options.folder ?? join(newFolder(), 'data')
  const one = launching(['start', '--ports', String(port), '--data', folder], options.env)
  await one.printed(ready)
  const printed = (name: string) => new RegExp(` ${name} +(\\S+)`).exec(one.out())?.[1] ?? ''
  return {
    port,
    folder,
    running: one,
    id: printed('client_id'),
    secret: printed('client_secret'),
    redirectUri: printed('redirect_uri'),
  }
}

/** One instance for all tests that neither stop it nor change what the others read. */
const test = base.extend(
  'demo',
  FILE,
  started(() => startDemo({}, launch), stopDemo),
)

async function stopDemo({ running: one }: Demo): Promise<void> {
  const end = one.ended()
  one.child.kill('SIGTERM')
  expect((await end).code).toBe(0)
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

function post({ port, id, secret }: Demo, path: string, body: Record<string, string>) {
  return fetch(`http://localhost:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams(body),
  })
}

/** Signs in with a test account, as the curl commands of the README do. `session` is the browser's cookie. */
async function signIn(demo: Demo): Promise<{ code: string; session: string }> {
  const { port, id, redirectUri } = demo
  const authorize = await fetch(
    `http://localhost:${port}/oauth/authorize?${new URLSearchParams({ client_id: id, redirect_uri: redirectUri })}`,
    { redirect: 'manual' },
  )
  const cookies = authorize.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  const challenge = new URL(authorize.headers.get('location')!).searchParams.get('login_challenge')!
  const signed = await fetch(`http://localhost:${port + 1}/login/development-wallet`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ login_challenge: challenge, address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' }),
  })
  const { redirect_to } = (await signed.json()) as { redirect_to: string }
  const page = await fetch(redirect_to, { headers: { cookie: cookies.join('; ') } })
  const session = page.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  return { code: /[?&]code=([^"&]+)/.exec(await page.text())![1]!, session: session.join('; ') }
}

async function newTokens(demo: Demo): Promise<{ access_token: string; refresh_token: string; session: string }> {
  const { code, session } = await signIn(demo)
  const answer = await post(demo, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: demo.redirectUri,
  })
  expect(answer.status).toBe(200)
  return { ...((await answer.json()) as { access_token: string; refresh_token: string }), session }
}

async function listResources({ folder }: Demo) {
  const { out } = await run(['resources', 'list', '--data', folder, '--json'])
  return JSON.parse(out) as { resource: string; open_to: string[] }[]
}

/** Resolves when the service has read all earlier changes: it refuses a client that it accepted before and that is disabled now. */
async function waitForChanges(demo: Demo): Promise<void> {
  const create = [
    'clients',
    'create',
    '--name',
    'Last',
    '--redirect-uri',
    'https://app.example.com/cb',
    '--json',
    '--data',
    demo.folder,
  ]
  const { client_id, client_secret } = JSON.parse((await run(create)).out) as Record<string, string>
  const last = { ...demo, id: client_id ?? '', secret: client_secret ?? '' }
  const status = async () => (await post(last, '/oauth/introspect', { token: 'x' })).status
  // A new client is read at its first use, so this shows nothing about the changes before.
  expect(await status()).toBe(200)
  expect((await run(['clients', 'disable', last.id, '--data', demo.folder])).exit).toBe(0)
  await expect.poll(status).not.toBe(200)
}

describe('The command start', () => {
  test('The command start opens six loopback ports, and prints their URLs, the demo client and the URL to open first', async ({
    demo,
  }) => {
    const { port, running: one, id, secret, redirectUri } = demo
    for (const [name, offset] of [
      ['Auth service', 0],
      ['Login server', 1],
      ['Demo builder app', 2],
      ['Demo resource API', 3],
    ] as const) {
      expect(one.out()).toMatch(new RegExp(`${name} +http://localhost:${port + offset}\n`))
      expect((await fetch(`http://localhost:${port + offset}/${offset < 2 ? 'health/ready' : ''}`)).status).toBe(200)
    }
    expect(one.out()).toMatch(new RegExp(`Console +http://localhost:${port + 5}/console\n`))
    expect((await fetch(`http://localhost:${port + 5}/console`)).status).toBe(401)
    const mcp = `http://localhost:${port + 4}/mcp`
    expect(one.out()).toContain(`Demo MCP server    ${mcp}\n`)
    expect((await fetch(mcp, { method: 'POST' })).status).toBe(401)
    expect(one.out()).toMatch(
      new RegExp(`A client for the demo MCP server[^]*resource +${mcp}\n +scope +notes.read notes.write\n`),
    )
    const program = `npx node ${join('packages/server/demo/cli-device/index.ts')} http://localhost:${port} `
    expect(one.out()).toContain(program)
    expect(one.out()).toContain(`Open http://localhost:${port + 2} first`)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(redirectUri).toBe(`http://localhost:${port + 2}/callback`)
    expect(one.err()).toBe('')
  })

  test('With the printed client and a test account, code, newTokens, introspection, API, refresh and revocation work', async ({
    demo,
  }) => {
    const { access_token, refresh_token } = await newTokens(demo)
    const introspect = async () => (await post(demo, '/oauth/introspect', { token: access_token })).json()
    const callApi = () => fetch(`http://localhost:${demo.port + 3}/me`, { headers: { authorization: `Bearer ${access_token}` } })
    expect(await introspect()).toMatchObject({ active: true, client_id: demo.id, scope: 'enhancement' })
    expect((await callApi()).status).toBe(200)
    expect((await post(demo, '/oauth/token', { grant_type: 'refresh_token', refresh_token })).status).toBe(200)
    expect((await post(demo, '/oauth/revoke', { token: refresh_token })).status).toBe(200)
    expect(await introspect()).toEqual({ active: false })
    expect((await callApi()).status).toBe(401)
  })

  test('The data folder of start, its secret and its database can be read only by their owner', async ({ demo: { folder } }) => {
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const file of ['development-secret', 'grantor.sqlite', 'grantor.sqlite-wal'])
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  })

  test('With the data folder of start, clients create warns of a scope that no resource of the client has', async () => {
    const { folder, port } = await startDemo()
    const app = ['clients', 'create', '--data', folder, '--redirect-uri', 'https://notes.example/cb']
    const notes = ['--scope', 'notes.read', '--default-scope', 'notes.read']
    expect((await run([...app, ...notes, '--name', 'Notes'])).out).toMatch(
      /warning +No resource of this client has the scope notes\.read/,
    )
    expect(
      (await run([...app, ...notes, '--name', 'Diary', '--resource', `http://localhost:${port + 4}/mcp`])).out,
    ).not.toContain('warning')
    // The addresses are those of the running service, whatever the environment of the command has.
    const elsewhere = { GRANTOR_DEFAULT_RESOURCE: `http://localhost:${port + 4}/mcp` }
    expect((await run([...app, ...notes, '--name', 'Lists'], elsewhere)).out).toContain('warning')
  })

  test('After kill -9 and a new start, the demo client is the same and its refresh token is still valid', async () => {
    const first = await startDemo()
    const { refresh_token } = await newTokens(first)
    const end = first.running.ended()
    first.running.child.kill('SIGKILL')
    await end
    const again = await startDemo({ folder: first.folder, port: first.port })
    expect([again.id, again.secret]).toEqual([first.id, first.secret])
    expect((await post(again, '/oauth/token', { grant_type: 'refresh_token', refresh_token })).status).toBe(200)
  })

  test('If start uses an existing data folder with other ports, a user can sign in to the demo client there, and the resources of the demo are there too', async () => {
    const first = await startDemo()
    await stopDemo(first)
    const moved = await startDemo({ folder: first.folder })
    expect(moved.port).not.toBe(first.port)
    await newTokens(moved)
    const ports = (await listResources(moved)).map(({ resource }) => Number(new URL(resource).port))
    expect(ports).toEqual([moved.port + 3, moved.port + 4])
  })

  test('A second start on the same data folder exits with one line that names the folder, and the first instance still works', async ({
    demo: first,
  }) => {
    const second = launchForTest(['start', '--ports', String(await sixInARow()), '--data', first.folder])
    expect((await second.ended()).code).toBe(1)
    expect(second.err()).toMatch(/^grantor: another grantor start uses the folder \S+\. Stop it, or .*--data .*--ports \d+\n$/)
    await newTokens(first)
  })

  test('If a port is in use, start exits with one line that names the port and --ports, and the instance on that port still works', async ({
    demo: first,
  }) => {
    const second = launchForTest(['start', '--ports', String(first.port - 2), '--data', join(newFolder(), 'data')])
    expect(await second.ended()).toMatchObject({ code: 1 })
    expect(second.err()).toMatch(new RegExp(`^grantor: port ${first.port} is in use .*demo builder app.*--ports \\d+\\n$`))
    expect(second.out()).toBe('')
    await newTokens(first)
  })

  test('With GRANTOR_DEV_WALLET=off, the endpoint that signs for test accounts does not exist', async () => {
    const demo = await startDemo({ env: { GRANTOR_DEV_WALLET: 'off' } })
    const answer = await fetch(`http://localhost:${demo.port + 1}/login/development-wallet`, { method: 'POST' })
    expect(answer.status).toBe(404)
  })

  test('The command start ignores URLs, store and secret of the environment, prints their names, and applies the other settings', async () => {
    const env = {
      GRANTOR_AUTH_URL: 'https://auth.example.com',
      GRANTOR_SECRET: 'x'.repeat(40),
      GRANTOR_DATABASE_URL: 'postgres://db',
      GRANTOR_ACCESS_TOKEN_LIFETIME: '120',
    }
    const demo = await startDemo({ env })
    expect(demo.running.out()).toMatch(/ignored .*GRANTOR_AUTH_URL, GRANTOR_DATABASE_URL, GRANTOR_SECRET\n/)
    expect(await newTokens(demo)).toMatchObject({ expires_in: 120 })
  })

  test('An unknown setting in the environment stops start with exit code 2 and a suggestion', async () => {
    const one = launchForTest(['start', '--data', join(newFolder(), 'data')], { GRANTOR_RATELIMIT: 'off' })
    expect(await one.ended()).toMatchObject({ code: 2 })
    expect(one.err()).toContain('did you mean GRANTOR_RATE_LIMIT?')
  })

  test('On SIGINT, start exits with 0 within ten seconds', async () => {
    const demo = await startDemo()
    const end = demo.running.ended()
    demo.running.child.kill('SIGINT')
    const { code, ms } = await end
    expect(code).toBe(0)
    expect(ms).toBeLessThan(10_000)
  })

  test('On SIGTERM, start sends an undelivered logout token again before it exits (OpenID Connect Back-Channel Logout §2.5)', async () => {
    const received: string[] = []
    const receiver = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => received.push(chunk.toString().split('=')[0] ?? ''))
      request.on('end', () => response.writeHead(received.length === 1 ? 503 : 200).end())
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    try {
      const { port: at } = receiver.address() as AddressInfo
      const demo = await startDemo()
      const change = ['clients', 'update', demo.id, '--backchannel-logout-uri', `http://127.0.0.1:${at}/`, '--data', demo.folder]
      expect((await run(change)).exit).toBe(0)
      const { session } = await newTokens(demo)
      await waitForChanges(demo)
      await fetch(`http://localhost:${demo.port}/account/sign-out`, { method: 'POST', headers: { cookie: session } })
      await expect.poll(() => received).toHaveLength(1)
      await stopDemo(demo)
      expect(received, 'refused once, and sent again at once instead of in two seconds').toEqual(['logout_token', 'logout_token'])
      expect(demo.running.out()).toContain('logout_notice_delivered')
    } finally {
      receiver.close()
    }
  })

  test('No token or client secret is in the log or the database of start, and no address, code or login challenge is in the log', async () => {
    const demo = await startDemo({ env: { GRANTOR_LOG_LEVEL: 'trace' } })
    const { access_token, refresh_token } = await newTokens(demo)
    await stopDemo(demo)
    const log = demo.running.out().split(ready)[1]!
    const database = readFileSync(join(demo.folder, 'grantor.sqlite'), 'latin1')
    for (const secret of [access_token, refresh_token, demo.secret]) {
      expect(log).not.toContain(secret)
      expect(database).not.toContain(secret)
    }
    expect(log).toContain('POST /oauth/token 200')
    expect(log.toLowerCase()).not.toContain('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
    expect(log).not.toMatch(/code=|login_challenge=/)
  })

  test('With --data, the operator commands work on the store of a running start', async ({ demo }) => {
    const create = [
      'clients',
      'create',
      '--name',
      'Mine',
      '--redirect-uri',
      'https://mine.example.com/cb',
      '--data',
      demo.folder,
      '--json',
    ]
    const { client_id } = JSON.parse((await run(create)).out) as { client_id: string }
    const { out } = await run(['clients', 'list', '--data', demo.folder, '--json'])
    expect((JSON.parse(out) as { name: string }[]).map(({ name }) => name).sort()).toEqual([
      'Demo MCP client',
      'Demo MCP server',
      'Demo builder app',
      'Demo command line',
      'Demo resource API',
      'Mine',
    ])
    expect((await run(['keys', 'list', '--data', demo.folder])).exit).toBe(0)
    const page = await fetch(
      `http://localhost:${demo.port}/oauth/authorize?client_id=${client_id}&redirect_uri=https://mine.example.com/cb`,
      { redirect: 'manual' },
    )
    expect(page.status).toBe(302)
  })

  test('If --data names a folder without a store, the error names grantor start --data, and no store is created', async () => {
    const folder = newFolder()
    expect(await run(['clients', 'list', '--data', folder])).toMatchObject({
      exit: 1,
      err: expect.stringContaining(`grantor start --data ${folder}`),
    })
    expect(existsSync(join(folder, 'grantor.sqlite'))).toBe(false)
  })

  test('A SIGTERM that arrives as soon as the first port is open ends start in order, with 0', async () => {
    const port = await sixInARow()
    const one = launchForTest(['start', '--ports', String(port), '--data', join(newFolder(), 'data')])
    const end = one.ended()
    while (!(await isOpen(port))) await new Promise((resolve) => setImmediate(resolve))
    one.child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 0 })
  })

  test('If the secret of a data folder is missing, start exits with 1 and does not make another secret', async () => {
    const demo = await startDemo()
    await stopDemo(demo)
    rmSync(join(demo.folder, 'development-secret'))
    const one = launchForTest(['start', '--ports', String(demo.port), '--data', demo.folder])
    expect(await one.ended()).toMatchObject({ code: 1 })
    expect(one.err()).toContain('remove')
  })
})

test('The demo API and the demo MCP server are registered as resources and open to clients that no operator registered', async ({
  demo,
}) => {
  expect(await listResources(demo)).toMatchObject([
    {
      resource: `http://localhost:${demo.port + 3}`,
      scopes: [
        { name: 'enhancement', description: "use the platform's enhancement features for you" },
        { name: 'history' },
        { name: 'enhance', limit: { uses: 3, per: 'day', each: 5000 } },
      ],
      open_to: ['registered', 'metadata', 'dynamic'],
    },
    {
      resource: `http://localhost:${demo.port + 4}/mcp`,
      scopes: [{ name: 'notes.read' }, { name: 'notes.write' }],
      open_to: ['registered', 'metadata', 'dynamic'],
    },
  ])
  const metadata = await fetch(`http://localhost:${demo.port}/.well-known/oauth-authorization-server`)
  expect(((await metadata.json()) as { scopes_supported: string[] }).scopes_supported).toContain('enhancement')
})

test('A client with a metadata document gets a token for the demo resource as soon as the service is ready', async () => {
  const demo = await startDemo()
  const redirectUri = 'http://localhost/callback'
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ client_id: clientId, client_name: 'Agent', redirect_uris: [redirectUri] }))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const clientId = `http://localhost:${(server.address() as AddressInfo).port}/client.json`
  const query = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    resource: `http://localhost:${demo.port + 3}`,
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
  }
  const answer = await fetch(`http://localhost:${demo.port}/oauth/authorize?${new URLSearchParams(query)}`, {
    redirect: 'manual',
  })
  expect(answer.headers.get('location')).toContain('/login?login_challenge=')
  const page = await (await fetch(answer.headers.get('location')!)).text()
  expect(page).toContain('use the platform&#39;s enhancement features for you')
  server.close()
  await stopDemo(demo)
})

test('The first test account is the owner of the console of a new data folder, and is not added again after it was removed', async () => {
  const first = await startDemo()
  expect(first.running.out()).toContain('The first test account is the owner of the console.')
  const list = async () => (await run(['operators', 'list', '--json', '--data', first.folder])).out
  expect(await list()).toContain('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  await run(['operators', 'add', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '--role', 'owner', '--data', first.folder])
  await run(['operators', 'remove', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '--data', first.folder])
  await stopDemo(first)
  const again = await startDemo({ folder: first.folder })
  expect(await list()).not.toContain('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  await stopDemo(again)
})

describe('The command test-token', () => {
  const testToken = ({ folder }: Pick<Demo, 'folder'>, ...more: string[]) => run(['test-token', '--data', folder, ...more])

  test('The command test-token prints one access token, of the first test account, which the demo API accepts', async ({
    demo,
  }) => {
    const { exit, out, err } = await testToken(demo, '--scope', 'enhancement')
    expect([exit, err]).toEqual([0, ''])
    expect(out).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const answer = await fetch(`http://localhost:${demo.port + 3}/me`, { headers: { authorization: `Bearer ${out.trim()}` } })
    expect(await answer.json()).toMatchObject({ wallet: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' })
  })

  test('With --curl, test-token prints what the API answers to the wallet of --wallet, and a refusal is an error with its challenge', async ({
    demo,
  }) => {
    const api = `http://localhost:${demo.port + 3}/me`
    const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    const called = await testToken(demo, '--wallet', wallet, '--curl', api)
    expect(called.exit).toBe(0)
    expect(JSON.parse(called.out)).toMatchObject({ wallet })
    const mcp = `http://localhost:${demo.port + 4}/mcp`
    const refused = await testToken(demo, '--resource', mcp, '--scope', 'notes.read', '--curl', api)
    expect([refused.exit, refused.err]).toEqual([1, expect.stringMatching(/HTTP 401, WWW-Authenticate: Bearer /)])
  })

  test('With --env, test-token prints credentials with which the token can be introspected and refreshed, the same client each time', async ({
    demo,
  }) => {
    const lines = async () =>
      new URLSearchParams((await testToken(demo, '--env')).out.trim().replaceAll('\n', '&')) as { get(name: string): string }
    const [first, second] = [await lines(), await lines()]
    expect(second.get('CLIENT_ID')).toBe(first.get('CLIENT_ID'))
    const client = { ...demo, id: first.get('CLIENT_ID'), secret: first.get('CLIENT_SECRET') }
    const introspected = await post(client, '/oauth/introspect', { token: first.get('ACCESS_TOKEN') })
    expect(await introspected.json()).toMatchObject({ active: true })
    const refresh_token = first.get('REFRESH_TOKEN')
    expect((await post(client, '/oauth/token', { grant_type: 'refresh_token', refresh_token })).status).toBe(200)
  })

  test.for([
    [['--resource', 'https://other.example/'], /the resource https:\/\/other\.example\/ is not registered/],
    [['--scope', 'pay'], /has no scope pay: its scopes are /],
    [['--wallet', '0x12'], /the login was refused: HTTP status 400/],
    [['--curl', 'http://127.0.0.1:1/'], /cannot be called: ECONNREFUSED/],
  ] as const)('A test token with %j is refused with the reason', async ([options, reason], { demo }) => {
    expect(await testToken(demo, ...options)).toEqual({ exit: 1, out: '', err: expect.stringMatching(reason) })
  })

  test('A test token comes only from a running grantor start with test accounts: each other place is refused in words', async () => {
    const empty = newFolder()
    expect(await testToken({ folder: empty })).toMatchObject({
      exit: 1,
      err: expect.stringContaining('holds no development store'),
    })

    const demo = await startDemo({ env: { GRANTOR_DEV_WALLET: 'off' } })
    expect((await testToken(demo)).err).toContain('the login server has no development accounts')

    const file = join(demo.folder, 'addresses.json')
    const kept = readFileSync(file, 'utf8')
    writeFileSync(file, kept.replaceAll('http://localhost', 'https://auth.example.com'))
    expect((await testToken(demo)).err).toContain('is no address for development')
    writeFileSync(file, kept)
    await stopDemo(demo)
    expect((await testToken(demo)).err).toMatch(/does not run \(.*ECONNREFUSED\): start it with grantor start --data/)
  })

  test('After the registration of a client or an API, the command that gets a token is printed, and a wrong scope or URL is explained', async ({
    demo,
  }) => {
    const resource = `http://localhost:${demo.port + 4}/mcp`
    const create = ['clients', 'create', '--data', demo.folder, '--name', 'Mine']
    const command = `npx grantor test-token --data ${demo.folder} --resource ${resource}\n`
    const app = [...create, '--redirect-uri', 'https://mine.example/cb']
    expect((await run([...app, '--scope', 'notes.read', '--resource', resource])).out).toContain(command)
    expect((await run([...create, '--resource-server', resource])).out).toContain(command)
    expect((await run(app)).out).not.toContain('test-token')
    const api = 'https://api.example.com/mine'
    const registered = await run([
      'resources',
      'create',
      api,
      '--data',
      demo.folder,
      '--name',
      'Mine',
      '--scope',
      'mine.read=read',
    ])
    expect(registered.out).toContain(`npx grantor test-token --data ${demo.folder} --resource ${api}\n`)
    const asked = ['test-token', '--data', demo.folder, '--resource', api]
    expect((await run([...asked, '--scope', 'other'])).err).toContain(`${api} has no scope other: its scopes are mine.read`)
    expect((await run([...asked, '--curl', 'localhost:3000/me'])).err).toContain('http:// or https://')
  })
})
