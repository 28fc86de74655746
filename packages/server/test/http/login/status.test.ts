import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { OPEN_CHALLENGE, refusal } from './auth-stand-in.ts'
import { type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
beforeAll(async () => {
  login = await startLoginServer()
})
afterAll(() => login.close())
afterEach(() => login.auth.answers.clear())

const getStatus = (query = `login_challenge=${OPEN_CHALLENGE}`) =>
  fetch(`${login.url}/login/status?${query}`, { headers: { accept: 'application/json' } })

test.each([
  ['open', null],
  ['already_used', refusal(409, 'already_used')],
  ['continued_elsewhere', refusal(409, 'continued_elsewhere')],
  ['signed_on_other_device', refusal(409, 'signed_on_other_device')],
  ['expired', refusal(410, 'expired')],
] as const)('The status of a login is returned as one word and nothing else: %s', async (status, answer) => {
  if (answer) login.auth.answers.set('/login/challenge', answer)
  const response = await getStatus()
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.json()).toEqual({ status })
})

test('The status of an invalid, missing or repeated challenge is 400, and 503 if the auth service is unavailable', async () => {
  expect((await getStatus('login_challenge=forged')).status).toBe(400)
  expect((await getStatus('')).status).toBe(400)
  expect((await getStatus('login_challenge=a&login_challenge=b')).status).toBe(400)
  login.auth.answers.set('/login/challenge', refusal(503, 'temporarily_unavailable', { 'retry-after': '5' }))
  expect((await getStatus()).status).toBe(503)
})

test('The status endpoint supports only GET and HEAD, which change nothing (RFC 9110 §15.5.6)', async () => {
  const response = await login.postForm('/login/status', { login_challenge: OPEN_CHALLENGE })
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('GET, HEAD')
})

test('A login that was signed on another device gets a 409 page, and the error continued_elsewhere for a script', async () => {
  login.auth.answers.set('/login/challenge', refusal(409, 'continued_elsewhere'))
  const page = await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  expect(page.status).toBe(409)
  expect(await page.text()).toContain('You signed on your other device')
  login.auth.answers.set('/login/accept', refusal(409, 'continued_elsewhere'))
  const open = { login_challenge: OPEN_CHALLENGE, address: `0x${'1'.repeat(40)}`, chain_id: 1, signature: '0x00' }
  expect(await (await login.postJson('/login', open)).json()).toMatchObject({ error: 'continued_elsewhere' })
})
