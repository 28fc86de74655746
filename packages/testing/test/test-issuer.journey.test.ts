/** The program `test-issuer`: the same for tests in other languages, over HTTP. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished } from 'vitest'
import { launch, launchForTest, newFolder, type Running } from '../../server/test/app/run.ts'
import { test as base, FILE, started } from '../../server/test/support/fixtures.ts'
import { freePorts } from '../../server/test/support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../server/test/support/own-environment.ts'
import { send } from '../../server/test/support/send.ts'

const PROGRAM = fileURLToPath(new URL('../bin/test-issuer.js', import.meta.url))

type Facts = {
  issuer: string
  login_url: string
  control_url: string
  clients: { name: string; client_id: string; client_secret: string; redirect_uris: string[] }[]
  wallets: string[]
}

const CLIENT = [
  '--client',
  'My app=http://localhost:3000/callback',
  '--scope',
  'notes.read',
  '--resource',
  'https://api.example.com/',
]

/** The database is in the folder of the tests, because the process is killed at the end. */
function launchHere(argv: string[], env: Record<string, string> = {}): Running {
  return launchForTest(argv, { TMPDIR: tmpdir(), ...env }, PROGRAM)
}

async function factsOf(running: Running): Promise<Facts> {
  await running.printed('\n')
  return JSON.parse(running.out()) as Facts
}

async function startIssuer() {
  // The settings of a real service must not reach the test issuer.
  const running = launch(
    ['--json', ...CLIENT],
    {
      TMPDIR: tmpdir(),
      GRANTOR_AUTH_URL: 'https://auth.example.com',
      GRANTOR_DATABASE_URL: 'postgres://db.example.com/grantor',
      GRANTOR_LISTEN: '0.0.0.0:4000',
      GRANTOR_ACCESS_TOKEN_LIFETIME: '300',
    },
    PROGRAM,
  )
  return { running, facts: await factsOf(running) }
}

const test = base.extend(
  'issuer',
  FILE,
  started(startIssuer, ({ running }) => running.child.kill('SIGKILL')),
)

async function control(facts: Facts, method: string, path: string, body?: unknown) {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const answer = await send(facts.control_url, {
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, json: answer.body === '' ? null : (JSON.parse(answer.body) as Record<string, unknown>) }
}

const introspect = async ({ issuer, clients: [client] }: Facts, token: unknown) => {
  const authorization = `Basic ${Buffer.from(`${client?.client_id}:${client?.client_secret}`).toString('base64')}`
  return fetch(`${issuer}/oauth/introspect`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ token: String(token) }),
  })
}

describe('The control endpoint', () => {
  test('The control endpoint repeats the printed facts, and the environment of a real service does not change them', async ({
    issuer: { facts },
  }) => {
    expect(await control(facts, 'GET', '/test')).toEqual({ status: 200, json: facts })
    expect(facts.issuer).toMatch(/^http:\/\/localhost:\d+$/)
    expect(facts.clients).toMatchObject([{ name: 'My app', redirect_uris: ['http://localhost:3000/callback'] }])
    expect(facts.wallets).toHaveLength(3)
  })

  test('The control endpoint gives a token, which is active until the test moves the clock past its end', async ({
    issuer: { facts },
  }) => {
    const { status, json } = await control(facts, 'POST', '/test/token', { wallet: facts.wallets[1], scope: 'notes.read' })
    expect([status, json]).toEqual([200, expect.objectContaining({ token_type: 'Bearer', expires_in: 300, scope: 'notes.read' })])
    const before = (await (await introspect(facts, json?.access_token)).json()) as object
    expect(before).toMatchObject({ active: true, sub: facts.wallets[1] })
    expect((await control(facts, 'POST', '/test/clock', { advance: 301 })).json).toEqual({ now: expect.any(Number) })
    expect(await (await introspect(facts, json?.access_token)).json()).toEqual({ active: false })
  })

  test('The control endpoint orders faults and removes them', async ({ issuer: { facts } }) => {
    const status = async () => (await introspect(facts, 'x')).status
    expect((await control(facts, 'POST', '/test/faults', { endpoint: 'introspect', status: 503, times: 2 })).status).toBe(204)
    expect([await status(), await status(), await status()]).toEqual([503, 503, 200])
    await control(facts, 'POST', '/test/faults', { endpoint: 'introspect', slow_ms: 1 })
    await control(facts, 'POST', '/test/faults', { endpoint: 'introspect' })
    expect([await status(), (await control(facts, 'DELETE', '/test/faults')).status, await status()]).toEqual([200, 204, 200])
  })

  test.for([
    ['/test/token', { walet: 'x' }, '"walet" is not supported: wallet, client, scope, resource'],
    ['/test/token', { client: 1 }, 'client must be a text'],
    ['/test/token', { scope: 'none' }, 'invalid_scope'],
    ['/test/token', [], 'the body must be a JSON object'],
    ['/test/clock', { advance: '1' }, 'the clock moves forward by whole seconds'],
    ['/test/clock', {}, 'the clock moves forward by whole seconds'],
    ['/test/faults', { endpoint: 'toString' }, '"toString" is no endpoint with faults'],
    ['/test/faults', { endpoint: 'token', status: 503, slow_ms: 1 }, 'a fault has status or slow_ms, not both'],
    ['/test/faults', { endpoint: 'token', times: 0.5 }, 'at most 1000 faults'],
  ] as const)('%s refuses %j with the reason', async ([path, body, reason], { issuer: { facts } }) => {
    const { status, json } = await control(facts, 'POST', path, body)
    expect([status, json]).toEqual([
      400,
      { error: 'invalid_request', error_description: expect.stringContaining(reason) as string },
    ])
  })

  test('A page of another site cannot use it: plain text, forms and other host names are refused', async ({
    issuer: { facts },
  }) => {
    const post = (headers: Record<string, string>) =>
      send(facts.control_url, { method: 'POST', path: '/test/token', headers, body: '{}' }).then(({ status }) => status)
    expect(await post({ 'content-type': 'text/plain' })).toBe(415)
    expect(await post({ 'content-type': 'application/x-www-form-urlencoded' })).toBe(415)
    expect(await post({ 'content-type': 'application/json', host: 'rebound.example' })).toBe(400)
    const preflight = await fetch(`${facts.control_url}/test/token`, {
      method: 'OPTIONS',
      headers: { origin: 'https://site.example' },
    })
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('The command', () => {
  test('test-issuer prints the addresses and the credentials, and a signal ends it with 0', async () => {
    const [first = 0] = await freePorts(1)
    const running = launchHere(['--port', String(first)])
    await running.printed('Ctrl-C stops it')
    expect(running.out()).toContain(`issuer            http://localhost:${first}\n`)
    expect(running.out()).toContain(`control endpoint  http://localhost:${first + 2}/test\n`)
    expect(running.out()).toMatch(
      /Test app\n {2}client_id {6}\S+\n {2}client_secret {2}\S{43}\n {2}redirect_uri {3}http:\/\/localhost:3000\/callback\n/,
    )
    running.child.kill('SIGTERM')
    expect((await running.ended()).code).toBe(0)
    expect(running.err()).toBe('')
  })

  test('With --json the issuer ends with 0 when its standard input closes, and not before', async () => {
    const child = spawn(process.execPath, [PROGRAM, '--json'], { env: { ...OWN_ENVIRONMENT, TMPDIR: tmpdir() } })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const facts = JSON.parse(line.toString()) as Facts
    child.stdin.write('this text is ignored\n')
    expect((await control(facts, 'GET', '/test')).status).toBe(200)
    const ended = once(child, 'exit')
    child.stdin.end()
    expect(await ended).toEqual([0, null])
  })

  test('A signal ends the issuer although its standard input stays open', async () => {
    const child = spawn(process.execPath, [PROGRAM, '--json'], { env: { ...OWN_ENVIRONMENT, TMPDIR: tmpdir() } })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  test('test-issuer reads clients and resources from the file of grantor apply', async () => {
    const file = join(newFolder(), 'grantor.yaml')
    writeFileSync(
      file,
      `resources:
  - resource: https://api.example.com/
    name: My notes
    scopes: [{ name: notes.read, description: read your notes }]
clients:
  - name: From the file
    redirect_uris: [https://app.example.net/callback]
    scopes: [notes.read]
    resources: [https://api.example.com/]
operators:
  - operator: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
    role: owner
`,
    )
    const facts = await factsOf(launchHere(['--json', '--file', file]))
    expect(facts.clients.map(({ name }) => name)).toEqual(['From the file'])
    expect((await control(facts, 'POST', '/test/token', {})).json).toMatchObject({ scope: 'notes.read' })
  })

  test('The URLs have the given host name, which need not resolve in the process of the issuer', async () => {
    const facts = await factsOf(launchHere(['--json', '--name', 'grantor.test']))
    expect(facts.issuer).toMatch(/^http:\/\/grantor\.test:\d+$/)
    expect((await control(facts, 'POST', '/test/token', {})).json).toMatchObject({ token_type: 'Bearer' })
  })

  test('With 0.0.0.0 it prints a warning, or refuses to run if this machine has a public address', async () => {
    const running = launchHere(['--json', '--host', '0.0.0.0'])
    await expect
      .poll(running.err)
      .toMatch(/^(?:Every program that can reach 0\.0\.0\.0 can get tokens|grantor: .* is a public address)/)
  })

  test.for([
    [[], { NODE_ENV: 'production' }, /^grantor: the test issuer was not started: NODE_ENV is production\. .*\n$/],
    [['--host', '93.184.216.34'], {}, /^grantor: the test issuer was not started: 93\.184\.216\.34 is a public address, .*\n$/],
    [['--name', 'auth.example.com'], {}, /^grantor: the test issuer was not started: its host name must be localhost, .*\n$/],
    [['--port', '65534'], {}, /^grantor: --port must be a port from 1 to 65533, the first of three, not "65534"\n$/],
    [['--client', 'My app'], {}, /^grantor: --client must be NAME=REDIRECT_URI, not "My app"\n$/],
    [['--client', 'My app=ftp://x'], {}, /^grantor: "clients and resources" cannot be applied; nothing was changed\n {2}- /],
    [['--file', '/nowhere', '--scope', 'x'], {}, /^grantor: --file is given/],
    [['--file', '/nowhere'], {}, /^grantor: "\/nowhere" cannot be read \(ENOENT\)\n$/],
    [[], { GRANTOR_ACCESS_TOKEN_LIFETIME: 'x' }, /^grantor: one setting needs attention\n {2}- GRANTOR_ACCESS_TOKEN_LIFETIME /],
  ] as const)(
    'The command line %j with the environment %j exits with 2, and prints the fault alone',
    async ([argv, env, fault]) => {
      const running = launchHere([...argv], env)
      expect((await running.ended()).code).toBe(2)
      expect([running.out(), running.err()]).toEqual(['', expect.stringMatching(fault)])
    },
  )
})
