import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { isDoneWithin } from '../../support/attempts.ts'
import { freePorts } from '../../support/free-ports.ts'
import { testWallet } from '../../support/wallet.ts'
import { OPEN_CHALLENGE, refusal } from './auth-stand-in.ts'
import { type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
const open = { login_challenge: OPEN_CHALLENGE, address: testWallet(0).address, chain_id: 1 }
const signed = { ...open, signature: testWallet(0).sign('anything') }
beforeAll(async () => {
  login = await startLoginServer()
})
afterAll(() => login.close())
afterEach(() => login.auth.answers.clear())

async function expectUnavailable(response: Response): Promise<void> {
  expect(response.status).toBe(503)
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' })
}

test('If the auth service cannot be reached, the login server responds 503 with Retry-After, and the page offers to try again', async () => {
  const [port] = await freePorts(1)
  const alone = await startLoginServer({ authUrl: `http://127.0.0.1:${port}` })
  await expectUnavailable(await alone.postJson('/login/message', open))
  await expectUnavailable(await alone.postJson('/login', signed))
  const page = await fetch(`${alone.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  expect(page.status).toBe(503)
  expect(page.headers.get('retry-after')).toBe('5')
  expect(await page.text()).toContain(`href="/login?login_challenge=${OPEN_CHALLENGE}">Try again`)
  expect(alone.log.join()).toContain('auth_service_unreachable')
  await alone.close()
})

test('If the auth service does not respond within five seconds, the login server responds 503', async () => {
  login.auth.answers.set('/login/accept', 'silence')
  const answer = login.postJson('/login', signed)
  expect(await isDoneWithin(7_000, answer)).toBe(true)
  await expectUnavailable(await answer)
})

test.each([
  ['a page of a proxy', { status: 502, body: '<html>Bad gateway</html>' }],
  ['a success that is not JSON', { status: 200, body: 'welcome' }],
  ['an empty success', { status: 200, body: {} }],
  ['a success with a redirect_to that is a number', { status: 200, body: { status: 'success', redirect_to: 7 } }],
  ['a redirect', { status: 302, body: {}, headers: { location: 'https://evil.example/' } }],
  ['an error without a code', { status: 401, body: {} }],
  ['no content', { status: 204, body: '' }],
])(
  'If the auth service returns %s, the login server responds 503, and neither signs in nor reports a wrong signature',
  async (_name, reply) => {
    login.auth.answers.set('/login/accept', reply)
    await expectUnavailable(await login.postJson('/login', signed))
  },
)

test('If the auth service refuses the login secret, the person gets 503, and the log names GRANTOR_LOGIN_SECRET', async () => {
  login.auth.answers.set('/login/accept', refusal(401, 'invalid_client'))
  await expectUnavailable(await login.postJson('/login', signed))
  expect(login.log.join()).toContain('GRANTOR_LOGIN_SECRET')
})

test('An internal error of the auth service gets a 500 page with the number of the request', async () => {
  login.auth.answers.set('/login/challenge', refusal(500, 'server_error'))
  const response = await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  expect(response.status).toBe(500)
  expect(await response.text()).toMatch(/<code class="number">[0-9a-f-]{36}<\/code>/)
})
