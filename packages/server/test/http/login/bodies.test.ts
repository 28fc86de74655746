import { connect } from 'node:net'
import { expect } from 'vitest'
import { test as base, FILE, started } from '../../support/fixtures.ts'
import { testWallet } from '../../support/wallet.ts'
import { OPEN_CHALLENGE } from './auth-stand-in.ts'
import { type LoginServer, startLoginServer } from './start-login-server.ts'

const open = { login_challenge: OPEN_CHALLENGE, address: testWallet(0).address, chain_id: 1 }
const test = base.extend(
  'login',
  FILE,
  started(startLoginServer, (login) => login.close()),
)

const POSTS = ['/login', '/login/message', '/login/deny']

test.for(POSTS)('A body of more than 16 KiB gets 413: %s', async (path, { login }) => {
  const json = await login.postJson(path, { ...open, address: 'a'.repeat(16_400) })
  expect(json.status).toBe(413)
  expect(await json.json()).toMatchObject({ error: 'too_large' })
  expect((await login.postForm(path, { login_challenge: 'a'.repeat(16_400) })).status).toBe(413)
})

test('A signature of more than 8 kB gets 413 and is not sent to the auth service', async ({ login }) => {
  const signature = `0x${'ab'.repeat(4_096)}`
  expect((await login.postJson('/login', { ...open, signature })).status).toBe(413)
  expect(login.auth.asked).toHaveLength(0)
})

test.for(['text/plain', 'multipart/form-data; boundary=x', 'application/xml'])(
  'A body of another content type gets 415: %s',
  async (type, { login }) => {
    for (const path of POSTS) {
      const response = await fetch(`${login.url}${path}`, { method: 'POST', headers: { 'content-type': type }, body: 'a=b' })
      expect(response.status).toBe(415)
    }
  },
)

test('A POST without a body gets 415', async ({ login }) => {
  for (const path of POSTS) expect((await fetch(`${login.url}${path}`, { method: 'POST' })).status).toBe(415)
})

test.for<[path: string, allow: string]>([
  ['/login', 'GET, POST, HEAD'],
  ['/login/message', 'POST'],
  ['/login/deny', 'POST'],
  ['/health/live', 'GET, HEAD'],
])(
  'An unsupported method gets 405, and Allow lists the supported ones: %s (RFC 9110 §15.5.6)',
  async ([path, allow], { login }) => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await fetch(`${login.url}${path}`, { method })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe(allow)
    }
  },
)

test.for<[string, string]>([
  ['not JSON', 'login_challenge=a'],
  ['truncated', '{"login_challenge":"a"'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a challenge that is a number', '{"login_challenge":1}'],
  ['a chain that is a string', `{"login_challenge":"a","chain_id":"1"}`],
  ['a chain that is not an integer', `{"login_challenge":"a","chain_id":1.5}`],
  ['a chain below one', `{"login_challenge":"a","chain_id":0}`],
  ['an address that is a list', '{"login_challenge":"a","address":["0x"]}'],
  ['a missing challenge', '{"address":"0x"}'],
])('An invalid JSON body gets 400 with a JSON error: %s', async ([, body], { login }) => {
  const response = await fetch(`${login.url}/login/message`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: 'invalid_request' })
})

test('A body that is not UTF-8 gets 400, in JSON and in a form', async ({ login }) => {
  const body = Buffer.from('{"login_challenge":"\xff"}', 'latin1')
  const json = await fetch(`${login.url}/login/message`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  expect(json.status).toBe(400)
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const form = await fetch(`${login.url}/login/message`, { method: 'POST', headers: type, body: 'login_challenge=%FF' })
  expect(form.status).toBe(400)
})

test.for([
  'login_challenge=a&login_challenge=a',
  'login_challenge=a&chain_id=0x1',
  'login_challenge=a&address=1&address=2',
  'a=b',
])('A form with a repeated or malformed field, or without its challenge, gets 400: %s', async (fields, { login }) => {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await fetch(`${login.url}/login/message`, { method: 'POST', headers: type, body: fields })).status).toBe(400)
})

test('A URL that cannot be decoded gets 400, and never a 5xx', async ({ login }) => {
  expect(await statusOf(login, 'GET /login%zz HTTP/1.1')).toBe(400)
  expect(await statusOf(login, 'GET /%ff%fe HTTP/1.1')).toBeLessThan(500)
})

/** The status of a raw request, because `fetch` would normalise the URL. */
async function statusOf(login: LoginServer, requestLine: string): Promise<number> {
  const { hostname, port } = new URL(login.url)
  const socket = connect(Number(port), hostname)
  socket.write(`${requestLine}\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return Number(answer.split(' ')[1])
}
