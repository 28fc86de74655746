import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPEN_CHALLENGE } from './auth-stand-in.ts'
import { developmentWallet, type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
beforeAll(async () => {
  login = await startLoginServer({ developmentWallet })
})
afterAll(() => login.close())

const POSTS = ['/login', '/login/message', '/login/deny', '/login/development-wallet']

test.each(POSTS)(
  'A POST from another origin, or with a null or empty origin, is refused and not sent to the auth service: %s',
  async (path) => {
    const { port } = new URL(login.url)
    const foreign = [
      'https://evil.example',
      'null',
      `${login.url}.evil.example`,
      `https://127.0.0.1:${port}`,
      `http://localhost:${port}`,
      login.auth.url,
      '',
    ]
    for (const origin of foreign) {
      const response = await login.postForm(path, { login_challenge: OPEN_CHALLENGE }, { origin })
      expect(response.status).toBe(403)
      expect(await response.text()).toContain('We stopped a request from another site')
      const json = await login.postJson(path, { login_challenge: OPEN_CHALLENGE }, { origin })
      expect(json.status).toBe(403)
      expect(await json.json()).toMatchObject({ error: 'foreign_origin' })
    }
    expect(login.auth.asked).toHaveLength(0)
  },
)

test('A POST from the login page itself is accepted, and so is one without an Origin header, as tools send it', async () => {
  for (const headers of [{ origin: login.url }, {}] as Record<string, string>[]) {
    expect((await login.postForm('/login/deny', { login_challenge: OPEN_CHALLENGE }, headers)).status).toBe(200)
  }
})

test('A response to another origin has no CORS headers, so scripts there cannot read the response', async () => {
  const response = await login.postJson('/login/message', { login_challenge: OPEN_CHALLENGE }, { origin: 'https://evil.example' })
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
})
