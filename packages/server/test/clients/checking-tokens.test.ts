/** The API in Go of examples/api-go, and the gateway of docs/guides/checking-tokens.md, with a running service. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startTestGrantor, type TestGrantor } from '@grantor/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { basic } from '../support/walk.ts'
import { recipeOf, writeRecipe } from './recipe.ts'

const isRun = Boolean(process.env.TEST_CLIENTS)
const hasGo = spawnSync('go', ['version']).status === 0
const API = 'https://api.example.com/notes'
const API_GO = join(import.meta.dirname, '../../../../examples/api-go')
const RESOURCE = new URL('../../../resource/src/index.ts', import.meta.url).href
const NGINX = '/usr/sbin/nginx'
const folder = mkdtempSync(join(tmpdir(), 'grantor-checking-'))
// If root starts nginx, its workers run as another user.
chmodSync(folder, 0o755)

let grantor: TestGrantor
const programs: ChildProcess[] = []

beforeAll(async () => {
  if (!isRun && !hasGo) return
  grantor = await startTestGrantor({
    clients: [
      { name: 'My app', redirect_uris: ['http://localhost:3000/callback'], scopes: ['notes.read'], resources: [API] },
      { name: 'My API', resource_server: API },
    ],
    resources: [{ resource: API, name: 'Notes', scopes: [{ name: 'notes.read', description: 'read your notes' }] }],
  })
})
afterEach(async () => {
  for (const program of programs.splice(0)) await stop(program)
  grantor?.faults.clear()
})
afterAll(async () => {
  await grantor?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function environment(): Record<string, string> {
  const { clientId, clientSecret } = grantor.client('My API')
  return { ISSUER: grantor.issuer, RESOURCE: API, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret ?? '' }
}

function start(command: string, args: string[], env: Record<string, string> = {}): void {
  programs.push(spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'] }))
}

async function stop(program: ChildProcess | undefined): Promise<void> {
  if (!program || program.exitCode !== null || program.signalCode !== null) return
  const exit = once(program, 'exit')
  program.kill()
  await exit
}

async function callApi(url: string, token?: string): Promise<Response | null> {
  const headers: Record<string, string> = { 'X-Wallet': 'forged' }
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  return fetch(`${url}/me`, { headers }).catch(() => null)
}

/** Each introspection fails from now on, so that only the feed can accept a token. */
function failIntrospection(): void {
  grantor.faults.failNext('introspect', 503, 900)
}

async function revoke(token: string): Promise<void> {
  const { clientId, clientSecret } = grantor.client('My app')
  const headers = { authorization: basic(clientId, clientSecret ?? '') }
  const body = new URLSearchParams({ token })
  expect((await fetch(`${grantor.issuer}/oauth/revoke`, { method: 'POST', headers, body })).status).toBe(200)
}

/** Accepts a token with the feed alone, and refuses the token after its refresh token was revoked. */
async function expectFeed(url: string): Promise<void> {
  const { access_token: token, refresh_token: refreshToken } = await grantor.tokenFor({ client: 'My app', scope: 'notes.read' })
  const { access_token: other } = await grantor.tokenFor({ client: 'My app', scope: 'notes.read' })
  await expect.poll(async () => (await callApi(url, token))?.status).toBe(200)
  failIntrospection()
  await expect.poll(async () => (await callApi(url, token))?.status).toBe(200)
  expect(await (await callApi(url, token))?.json()).toEqual({ wallet: grantor.wallets[0]?.address })
  await revoke(refreshToken ?? '')
  await expect.poll(async () => (await callApi(url, token))?.status).toBe(401)
  expect((await callApi(url, token))?.headers.get('www-authenticate')).toContain('error="invalid_token"')
  expect((await callApi(url, other))?.status).toBe(200)
  expect((await callApi(url))?.status).toBe(401)
  expect((await callApi(url, `${other.slice(0, -4)}AAAA`))?.status).toBe(401)
}

test('The API in Go accepts tokens with the feed alone, and refuses a token whose refresh token was revoked', {
  timeout: 300_000,
}, async ({ skip }) => {
  if (!hasGo) return skip('Go is not installed')
  const program = join(folder, 'api-go')
  await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: API_GO })
  const [port = 0] = await freePorts(1)
  start(program, [], { ...environment(), LISTEN: `127.0.0.1:${port}` })
  await expectFeed(`http://127.0.0.1:${port}`)
})

test.runIf(isRun)(
  'nginx with the program of the guide accepts tokens with the feed alone, and refuses a token whose refresh token was revoked',
  async (context) => {
    if (!existsSync(NGINX)) return context.skip('nginx is not installed: apt install nginx')
    const [gateway = 0, sidecar = 0, absent = 0] = await freePorts(3)
    const api = createServer((request, response) => response.end(JSON.stringify({ wallet: request.headers['x-wallet'] })))
    await once(api.listen(0, '127.0.0.1'), 'listening')
    const { port } = api.address() as { port: number }
    const serve = (sidecarPort: number, name: string) => startNginx(name, { 8080: gateway, 4010: sidecarPort, 3000: port })
    try {
      // The page's `@grantor/resource` is this checkout's.
      const program = recipeOf('js', 'sidecar', 'checking-tokens').replace('@grantor/resource', RESOURCE)
      start(process.execPath, [writeRecipe('sidecar.mjs', program)], { ...environment(), PORT: String(sidecar) })
      serve(sidecar, 'nginx')
      await expectFeed(`http://127.0.0.1:${gateway}`)
    } finally {
      api.close()
      api.closeAllConnections()
    }
    await stop(programs.at(-1))
    serve(absent, 'nginx-alone')
    await expect.poll(async () => (await callApi(`http://127.0.0.1:${gateway}`, 'token'))?.status).toBe(503)
  },
)

/** Starts nginx with the block of the guide. `ports` maps the ports of the guide to those of the test. */
function startNginx(name: string, ports: Record<string, number>): void {
  const home = join(folder, name)
  mkdirSync(home)
  const block = recipeOf('nginx', 'sidecar', 'checking-tokens').replaceAll(
    /127\.0\.0\.1:(\d+)/g,
    (_, port: string) => `127.0.0.1:${ports[port]}`,
  )
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${home}/${kind};`)
  const file = join(home, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off;\npid ${home}/pid;\nerror_log stderr crit;\nevents {}\nhttp {\naccess_log off;\n${paths.join('\n')}\n${block}}\n`,
  )
  start(NGINX, ['-p', home, '-c', file])
}
