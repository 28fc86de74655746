import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testWallet } from '../support/wallet.ts'
import { OPEN_CHALLENGE } from './auth-stand-in.ts'
import { type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
const open = { login_challenge: OPEN_CHALLENGE, address: testWallet(0).address, chain_id: 1 }
beforeAll(async () => {
  login = await startLoginServer()
})
afterAll(() => login.close())

const POSTS = ['/login', '/login/message', '/login/deny']

test.each(POSTS)('a body over 16 KiB is refused with 413 before it is read: %s', async (path) => {
  const json = await login.postJson(path, { ...open, address: 'a'.repeat(16_400) })
  expect(json.status).toBe(413)
  expect(await json.json()).toMatchObject({ error: 'too_large' })
  expect((await login.postForm(path, { login_challenge: 'a'.repeat(16_400) })).status).toBe(413)
})

test('a signature over 8 kB is refused with 413 and goes nowhere (decided for contract wallets)', async () => {
  const signature = `0x${'ab'.repeat(4_096)}`
  expect((await login.postJson('/login', { ...open, signature })).status).toBe(413)
  expect(login.auth.asked).toHaveLength(0)
})

test.each(['text/plain', 'multipart/form-data; boundary=x', 'application/xml'])(
  'a body of another type is 415: %s',
  async (type) => {
    for (const path of POSTS) {
      const response = await fetch(`${login.url}${path}`, { method: 'POST', headers: { 'content-type': type }, body: 'a=b' })
      expect(response.status).toBe(415)
    }
  },
)

test('a post without any body is 415', async () => {
  for (const path of POSTS) expect((await fetch(`${login.url}${path}`, { method: 'POST' })).status).toBe(415)
})

test.each([
  ['/login', 'GET, POST, HEAD'],
  ['/login/message', 'POST'],
  ['/login/deny', 'POST'],
  ['/health/live', 'GET, HEAD'],
  ['/assets/grantor.css', 'GET, HEAD'],
])('another method is 405 and Allow names the right ones: %s (RFC 9110 §15.5.6)', async (path, allow) => {
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const response = await fetch(`${login.url}${path}`, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
  }
})

test.each([
  ['not JSON', 'login_challenge=a'],
  ['cut off', '{"login_challenge":"a"'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a challenge that is a number', '{"login_challenge":1}'],
  ['a chain that is text', `{"login_challenge":"a","chain_id":"1"}`],
  ['a chain that is no whole number', `{"login_challenge":"a","chain_id":1.5}`],
  ['a chain below one', `{"login_challenge":"a","chain_id":0}`],
  ['an address that is a list', '{"login_challenge":"a","address":["0x"]}'],
  ['a challenge that is missing', '{"address":"0x"}'],
])('JSON that is %s is 400, in JSON', async (_name, body) => {
  const response = await fetch(`${login.url}/login/message`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: 'invalid_request' })
})

test('bytes that are not UTF-8 are 400, in JSON and in a form', async () => {
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

test.each([
  'login_challenge=a&login_challenge=a',
  'login_challenge=a&chain_id=0x1',
  'login_challenge=a&address=1&address=2',
  'a=b',
])('a form with a field twice, or malformed, or without its challenge is 400: %s', async (fields) => {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await fetch(`${login.url}/login/message`, { method: 'POST', headers: type, body: fields })).status).toBe(400)
})

test('a request line that cannot be decoded is 400, never a defect', async () => {
  expect(await statusOf('GET /login%zz HTTP/1.1')).toBe(400)
  expect(await statusOf('GET /%ff%fe HTTP/1.1')).toBeLessThan(500)
})

/** `fetch` would tidy the address. */
async function statusOf(requestLine: string): Promise<number> {
  const { hostname, port } = new URL(login.url)
  const socket = connect(Number(port), hostname)
  socket.write(`${requestLine}\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return Number(answer.split(' ')[1])
}
