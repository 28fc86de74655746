/** Failures of the example login server, and which fields it forwards to the auth service. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createOwnLoginServer } from '../../../../examples/own-login-server/index.ts'
import { writeRecipe } from '../clients/recipe.ts'
import { type AuthStandIn, OPEN_CHALLENGE, refusal, startAuthStandIn } from '../http/login/auth-stand-in.ts'
import { freePorts } from '../support/free-ports.ts'
import { blockWith } from '../support/page-blocks.ts'
import { type Answer, send } from '../support/send.ts'
import { testWallet } from '../support/wallet.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const SECRET = 'a+secret/with=signs-between-the-servers'
const CLAIM = { login_challenge: OPEN_CHALLENGE, address: testWallet(0).address, chain_id: 1 }
let auth: AuthStandIn
let server: FastifyInstance
let loginUrl: string

beforeAll(async () => {
  const [port = 0] = await freePorts(1)
  loginUrl = `http://localhost:${port}`
  auth = await startAuthStandIn(`localhost:${port}`, () => 1_800_000_000)
  Object.assign(auth.challenge, { purpose: 'app', may_choose_scopes: false, resources: [], until: 0, resume_url: null })
  server = createOwnLoginServer({ authUrl: auth.url, loginUrl, loginSecret: SECRET })
  await server.listen({ host: '127.0.0.1', port })
})
afterAll(() => Promise.all([server.close(), auth.close()]))
beforeEach(() => {
  auth.answers.clear()
  auth.asked.length = 0
})

const open = (): Promise<Answer> => send(loginUrl, { path: `/login?login_challenge=${OPEN_CHALLENGE}` })
function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const own = { 'content-type': 'application/json', origin: loginUrl, ...headers }
  return send(loginUrl, { method: 'POST', path, headers: own, body: typeof body === 'string' ? body : JSON.stringify(body) })
}

test('Only the fields of the contract reach the auth service, with the address of the caller', async () => {
  const forged = { ...CLAIM, signature: '0x00', client_ip: '198.51.100.1', vouched: true, __proto__x: 1 }
  const forwarded = { 'x-forwarded-for': '198.51.100.1' }
  await post('/login/message', forged, forwarded)
  await post('/login', forged, forwarded)
  await post('/login/cancel', forged, forwarded)
  expect(auth.asked.map(({ path, body }) => [path, body])).toEqual([
    ['/login/message', { ...CLAIM, client_ip: '127.0.0.1' }],
    ['/login/accept', { ...CLAIM, signature: '0x00', client_ip: '127.0.0.1' }],
    ['/login/reject', { ...CLAIM, client_ip: '127.0.0.1' }],
  ])
})

test('The secret is sent to the auth service, form-urlencoded (RFC 6749 §2.3.1), and is in no response', async () => {
  const answers = [await open(), await post('/login', CLAIM), await post('/login/cancel', CLAIM)]
  const [, credentials = ''] = auth.asked[0]?.authorization?.split(' ') ?? []
  expect(Buffer.from(credentials, 'base64').toString()).toBe('login-server:a%2Bsecret%2Fwith%3Dsigns-between-the-servers')
  for (const { body, headers } of answers) expect(body + JSON.stringify(headers)).not.toContain('a+secret')
})

test.each([
  [401, 'not_proven', {}],
  [403, 'chain_not_allowed', {}],
  [409, 'continued_elsewhere', {}],
  [410, 'expired', {}],
  [429, 'temporarily_unavailable', { 'retry-after': '60' }],
  [503, 'temporarily_unavailable', { 'retry-after': '7' }],
])('A refusal is passed on unchanged: %i %s', async (status, error, headers: Record<string, string>) => {
  for (const path of ['/login/challenge', '/login/accept']) auth.answers.set(path, refusal(status, error, headers))
  const answer = await post('/login', { ...CLAIM, signature: '0x00' })
  expect([answer.status, answer.json()]).toEqual([status, { error, error_description: `Refused: ${error}.` }])
  expect(answer.headers['retry-after']).toBe(headers['retry-after'])
  const page = await open()
  expect([page.status, page.headers['retry-after']]).toEqual([status, headers['retry-after']])
  expect(page.body).toContain(`Refused: ${error}.`)
})

test.each([
  ['refuses its secret', refusal(401, 'invalid_client')],
  ['is another server', { status: 404, body: '<h1>Not found</h1>' }],
  ['returns malformed JSON', { status: 500, body: 'null' }],
  ['redirects', { status: 302, body: '', headers: { location: 'https://evil.example/' } }],
])('The response is 503, never a login and never "wrong signature", if the auth service %s', async (_, reply) => {
  for (const path of ['/login/challenge', '/login/accept']) auth.answers.set(path, reply)
  for (const answer of [await open(), await post('/login', { ...CLAIM, signature: '0x00' })]) {
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBe('5')
    expect(answer.body).toContain('Sign-in does not answer right now.')
    expect(answer.body).not.toContain('evil')
  }
})

test('Only JSON of limited size is read, and a defect reveals nothing', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await post('/login', 'login_challenge=x', form)).status).toBe(415)
  expect((await post('/login', '{}', { 'content-type': 'text/plain' })).status).toBe(415)
  expect((await post('/login', { ...CLAIM, signature: '0'.repeat(20_000) })).status).toBe(413)
  for (const body of ['', '{', 'null', '[]', '7', '{"__proto__":{}}']) expect((await post('/login', body)).status).toBe(400)
  expect((await send(loginUrl, { path: '/login?login_challenge=a&login_challenge=b' })).status).toBe(400)
  expect(auth.asked).toEqual([])
})

test('The commands in docs/guides/own-login-server.md work when pasted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-own-login-'))
  const [authPort = 0, loginPort = 0] = await freePorts(2)
  const [, script = ''] = /```sh\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/guides/own-login-server.md'), 'utf8')) ?? []
  const pasted = script.replaceAll(/400([01])/g, (_, digit: string) => String(digit === '0' ? authPort : loginPort))
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: folder }
  // A separate process group, so that the servers that the shell leaves running can be ended with it.
  const shell = spawn('bash', ['-c', `set -e\n${pasted}\nwait`], { cwd: ROOT, env, detached: true })
  try {
    const link = await linkIn(shell.stdout)
    const { location, headers } = await retryUntilListening(() => send(link.origin, { path: link.pathname + link.search }))
    expect(location).toContain(`http://localhost:${loginPort}/login?login_challenge=`)
    expect(headers['set-cookie']).toBeDefined()
    const login = new URL(location)
    const page = await retryUntilListening(() => send(login.origin, { path: login.pathname + login.search }))
    expect(page.body).toContain('<h1>Sign in to Try it</h1>')
  } finally {
    process.kill(-(shell.pid ?? 0), 'SIGTERM')
    await once(shell, 'close')
    rmSync(folder, { recursive: true, force: true })
  }
})

test('The example of docs/guides/own-login-server.md vouches for the wallet of the platform’s session', async () => {
  const text = blockWith('guides/own-login-server.md', 'authenticatedWallet:').replace('https://auth.example.com', auth.url)
  const { address } = testWallet(0)
  const example = pathToFileURL(join(ROOT, 'examples/own-login-server/index.ts')).href
  const path = writeRecipe(
    'vouching.mjs',
    `import { createOwnLoginServer } from '${example}'
const platformSession = async () => ({ wallet: '${address}' })
export const server = ${text}`,
  )
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  const { server: platform } = (await import(pathToFileURL(path).href)) as { server: FastifyInstance }
  try {
    await platform.inject({
      method: 'POST',
      url: '/login/vouch',
      headers: { 'content-type': 'application/json', origin: 'https://login.example.com' },
      payload: JSON.stringify({ login_challenge: OPEN_CHALLENGE, chain_id: 1 }),
    })
    expect(auth.asked.at(-1)).toMatchObject({ path: '/login/accept', body: { address } })
    expect(auth.asked.at(-1)?.body).not.toHaveProperty('signature')
  } finally {
    await platform.close()
  }
})

async function linkIn(output: NodeJS.ReadableStream): Promise<URL> {
  let text = ''
  for await (const chunk of output) {
    text += String(chunk)
    const [link] = /http:\/\/localhost:\d+\/oauth\/authorize\?\S+/.exec(text) ?? []
    if (link) return new URL(link)
  }
  throw new Error(`no link was printed: ${text}`)
}

/** Repeats `run` until the server that was just started listens. */
async function retryUntilListening<Result>(run: () => Promise<Result>, times = 500): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (times === 0) throw error
    await pause(100)
    return retryUntilListening(run, times - 1)
  }
}
