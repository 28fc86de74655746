import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { OPEN_CHALLENGE, refusal } from './auth-stand-in.ts'
import { type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
beforeAll(async () => {
  login = await startLoginServer()
})
afterAll(() => login.close())
afterEach(() => login.auth.answers.clear())

const ask = (query = `login_challenge=${OPEN_CHALLENGE}`) =>
  fetch(`${login.url}/login/status?${query}`, { headers: { accept: 'application/json' } })

test.each([
  ['open', null],
  ['already_used', refusal(409, 'already_used')],
  ['continued_elsewhere', refusal(409, 'continued_elsewhere')],
  ['expired', refusal(410, 'expired')],
] as const)('how a sign-in stands is told in one word and nothing else: %s', async (status, answer) => {
  if (answer) login.auth.answers.set('/login/challenge', answer)
  const response = await ask()
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.json()).toEqual({ status })
})

test('a challenge that is none, missing or doubled is refused, and an auth service that is away is 503: never "open"', async () => {
  expect((await ask('login_challenge=forged')).status).toBe(400)
  expect((await ask('')).status).toBe(400)
  expect((await ask('login_challenge=a&login_challenge=b')).status).toBe(400)
  login.auth.answers.set('/login/challenge', refusal(503, 'temporarily_unavailable', { 'retry-after': '5' }))
  expect((await ask()).status).toBe(503)
})

test('asking changes nothing: only GET is answered (RFC 9110 §15.5.6)', async () => {
  const response = await login.postForm('/login/status', { login_challenge: OPEN_CHALLENGE })
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('GET, HEAD')
})

test('a sign-in that went on elsewhere is a page in plain words, and a code for the script', async () => {
  login.auth.answers.set('/login/challenge', refusal(409, 'continued_elsewhere'))
  const page = await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  expect(page.status).toBe(409)
  expect(await page.text()).toContain('You signed on your other device')
  login.auth.answers.set('/login/accept', refusal(409, 'continued_elsewhere'))
  const open = { login_challenge: OPEN_CHALLENGE, address: `0x${'1'.repeat(40)}`, chain_id: 1, signature: '0x00' }
  expect(await (await login.postJson('/login', open)).json()).toMatchObject({ error: 'continued_elsewhere' })
})
