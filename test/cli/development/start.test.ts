import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fiveInARow } from '../../support/free-ports.ts'
import { launched, newFolder, type Running, run } from '../run.ts'

const ready = 'Ctrl-C stops everything'

type Demo = { port: number; folder: string; running: Running; id: string; secret: string; redirectUri: string }

async function started(options: { port?: number; folder?: string; env?: Record<string, string> } = {}): Promise<Demo> {
  const port = options.port ?? (await fiveInARow())
  const folder = options.folder ?? join(newFolder(), 'data')
  const one = launched(['start', '--ports', String(port), '--data', folder], options.env)
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

async function stopped({ running: one }: Demo): Promise<void> {
  const end = one.ended()
  one.child.kill('SIGTERM')
  expect((await end).code).toBe(0)
}

function post({ port, id, secret }: Demo, path: string, body: Record<string, string>) {
  return fetch(`http://localhost:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams(body),
  })
}

/** Signs in with a test account, as the README's curl walk does. `session` is the browser's cookie. */
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

async function tokens(demo: Demo): Promise<{ access_token: string; refresh_token: string; session: string }> {
  const { code, session } = await signIn(demo)
  const answer = await post(demo, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: demo.redirectUri,
  })
  expect(answer.status).toBe(200)
  return { ...((await answer.json()) as { access_token: string; refresh_token: string }), session }
}

/** Resolves once the service has noticed the changes of before: a client that was made after them. */
async function untilNoticed(demo: Demo): Promise<void> {
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
  await expect.poll(async () => (await post(last, '/oauth/introspect', { token: 'x' })).status).toBe(200)
}

describe('grantor start', () => {
  test('opens five addresses on loopback, prints them and the demo client, and says where to begin', async () => {
    const { port, running: one, id, secret, redirectUri } = await started()
    for (const [name, offset] of [
      ['Auth service', 0],
      ['Login server', 1],
      ['Demo builder app', 2],
      ['Demo resource API', 3],
    ] as const) {
      expect(one.out()).toMatch(new RegExp(`${name} +http://localhost:${port + offset}\n`))
      expect((await fetch(`http://localhost:${port + offset}/${offset < 2 ? 'health/ready' : ''}`)).status).toBe(200)
    }
    const mcp = `http://localhost:${port + 4}/mcp`
    expect(one.out()).toContain(`Demo MCP server    ${mcp}\n`)
    expect((await fetch(mcp, { method: 'POST' })).status).toBe(401)
    const program = `node ${join('examples', 'cli-device', 'index.ts')} http://localhost:${port} `
    expect(one.out()).toContain(program)
    expect(one.out()).toContain(`Open http://localhost:${port + 2} first`)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(redirectUri).toBe(`http://localhost:${port + 2}/callback`)
    expect(one.err()).toBe('')
  })

  test('all four phases work with the printed client and a test account: code, tokens, introspection, API, revocation', async () => {
    const demo = await started()
    const { access_token, refresh_token } = await tokens(demo)
    const introspected = async () => (await post(demo, '/oauth/introspect', { token: access_token })).json()
    const asked = () => fetch(`http://localhost:${demo.port + 3}/me`, { headers: { authorization: `Bearer ${access_token}` } })
    expect(await introspected()).toMatchObject({ active: true, client_id: demo.id, scope: 'enhancement' })
    expect((await asked()).status).toBe(200)
    expect((await post(demo, '/oauth/token', { grant_type: 'refresh_token', refresh_token })).status).toBe(200)
    expect((await post(demo, '/oauth/revoke', { token: refresh_token })).status).toBe(200)
    expect(await introspected()).toEqual({ active: false })
    expect((await asked()).status).toBe(401)
  })

  test('the folder and its files are for their owner alone', async () => {
    const { folder } = await started()
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const file of ['development-secret', 'grantor.sqlite', 'grantor.sqlite-wal'])
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  })

  test('killed and started again, the demo client is the same and what it was granted lives on', async () => {
    const first = await started()
    const { refresh_token } = await tokens(first)
    const end = first.running.ended()
    first.running.child.kill('SIGKILL')
    await end
    const again = await started({ folder: first.folder, port: first.port })
    expect([again.id, again.secret]).toEqual([first.id, first.secret])
    expect((await post(again, '/oauth/token', { grant_type: 'refresh_token', refresh_token })).status).toBe(200)
  })

  test('moved to other ports, the demo works there', async () => {
    const first = await started()
    await stopped(first)
    const moved = await started({ folder: first.folder })
    expect(moved.port).not.toBe(first.port)
    await tokens(moved)
  })

  test('a port in use stops the start with one line that names it and the way out, and the one that has it goes on', async () => {
    const first = await started()
    const second = launched(['start', '--ports', String(first.port - 2), '--data', join(newFolder(), 'data')])
    expect(await second.ended()).toMatchObject({ code: 1 })
    expect(second.err()).toMatch(new RegExp(`^grantor: port ${first.port} is in use .*demo builder app.*--ports \\d+\\n$`))
    expect(second.out()).toBe('')
    await tokens(first)
  })

  test('a second start on the same ports and folder changes nothing for the first', async () => {
    const first = await started()
    const second = launched(['start', '--ports', String(first.port), '--data', first.folder])
    expect((await second.ended()).code).toBe(1)
    await tokens(first)
  })

  test('without the development wallet nobody can sign in as a test account', async () => {
    const demo = await started({ env: { GRANTOR_DEV_WALLET: 'off' } })
    const answer = await fetch(`http://localhost:${demo.port + 1}/login/development-wallet`, { method: 'POST' })
    expect(answer.status).toBe(404)
  })

  test('addresses, store and secrets of the environment are left alone, and it says so; everything else counts', async () => {
    const env = {
      GRANTOR_AUTH_URL: 'https://auth.example.com',
      GRANTOR_SECRET: 'x'.repeat(40),
      GRANTOR_DATABASE_URL: 'postgres://db',
      GRANTOR_ACCESS_TOKEN_LIFETIME: '120',
    }
    const demo = await started({ env })
    expect(demo.running.out()).toMatch(/ignored .*GRANTOR_AUTH_URL, GRANTOR_DATABASE_URL, GRANTOR_SECRET\n/)
    expect(await tokens(demo)).toMatchObject({ expires_in: 120 })
  })

  test('a fault in the environment stops it with exit code 2', async () => {
    const one = launched(['start', '--data', join(newFolder(), 'data')], { GRANTOR_RATELIMIT: 'off' })
    expect(await one.ended()).toMatchObject({ code: 2 })
    expect(one.err()).toContain('did you mean GRANTOR_RATE_LIMIT?')
  })

  test('Ctrl-C ends it with 0', async () => {
    const demo = await started()
    const end = demo.running.ended()
    demo.running.child.kill('SIGINT')
    const { code, ms } = await end
    expect(code).toBe(0)
    expect(ms).toBeLessThan(10_000)
  })

  test('told to stop while an app has yet to hear of a sign-out, it tells the app first (OpenID Connect Back-Channel Logout §2.5)', async () => {
    const heard: string[] = []
    const receiver = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => heard.push(chunk.toString().split('=')[0] ?? ''))
      request.on('end', () => response.writeHead(heard.length === 1 ? 503 : 200).end())
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    try {
      const { port: at } = receiver.address() as AddressInfo
      const demo = await started()
      const change = ['clients', 'update', demo.id, '--backchannel-logout-uri', `http://127.0.0.1:${at}/`, '--data', demo.folder]
      expect((await run(change)).exit).toBe(0)
      const { session } = await tokens(demo)
      await untilNoticed(demo)
      await fetch(`http://localhost:${demo.port}/account/sign-out`, { method: 'POST', headers: { cookie: session } })
      await expect.poll(() => heard).toHaveLength(1)
      await stopped(demo)
      expect(heard, 'refused once, and told again at once instead of in two seconds').toEqual(['logout_token', 'logout_token'])
      expect(demo.running.out()).toContain('logout_notice_delivered')
    } finally {
      receiver.close()
    }
  })

  test('neither log nor folder holds a code, a token, a client secret or an address in plain', async () => {
    const demo = await started({ env: { GRANTOR_LOG_LEVEL: 'trace' } })
    const { access_token, refresh_token } = await tokens(demo)
    await stopped(demo)
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

  test("the operator's commands reach its store with --data", async () => {
    const demo = await started()
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

  test('--data names a folder that start has made; where none is, one line says how to make one', async () => {
    const folder = newFolder()
    expect(await run(['clients', 'list', '--data', folder])).toMatchObject({
      exit: 1,
      err: expect.stringContaining(`grantor start --data ${folder}`),
    })
    expect(existsSync(join(folder, 'grantor.sqlite'))).toBe(false)
  })

  test('a folder that lost its secret is not silently given another one', async () => {
    const demo = await started()
    await stopped(demo)
    rmSync(join(demo.folder, 'development-secret'))
    const one = launched(['start', '--ports', String(demo.port), '--data', demo.folder])
    expect(await one.ended()).toMatchObject({ code: 1 })
    expect(one.err()).toContain('remove')
  })
})
