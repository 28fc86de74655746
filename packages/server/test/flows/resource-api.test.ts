import { describe, expect } from 'vitest'
import { test as base, FILE, started } from '../support/fixtures.ts'
import type { Answer } from '../support/send.ts'
import { send } from '../support/send.ts'
import { LIFETIMES } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import type { Demo } from './start-demo.ts'
import { startDemo } from './start-demo.ts'

const test = base.extend(
  'demo',
  FILE,
  started(startDemo, (demo) => demo.close()),
)

/** Signs a wallet in to the demo app, and returns its tokens. */
async function tokensFor(demo: Demo, parameters: Record<string, string> = {}, index: 0 | 1 | 2 = 0) {
  const walk = new Walk(demo.grantor, testWallet(index))
  const { code } = await walk.signIn(requestOf(demo.client, parameters))
  const { access_token: accessToken, refresh_token: refreshToken } = (await walk.exchange(demo.client, code)).json()
  return { walk, accessToken: String(accessToken), refreshToken: String(refreshToken) }
}

const getMe = (demo: Demo, token: string, headers: Record<string, string> = {}): Promise<Answer> =>
  send(demo.apiUrl, { path: '/me', headers: { authorization: `Bearer ${token}`, ...headers } })

function expectInvalidToken(answer: Answer): void {
  expect(answer.status).toBe(401)
  expect(answer.json().error).toBe('invalid_token')
  expect(answer.headers['www-authenticate']).toMatch(
    /^Bearer realm="[^"]+", error="invalid_token", error_description="[^"]+", scope="enhancement"$/,
  )
}

test('The API returns the wallet of the call, the app, and what the app may do', async ({ demo }) => {
  const { accessToken } = await tokensFor(demo, {}, 1)
  const answer = await getMe(demo, accessToken)
  expect(answer.status).toBe(200)
  expect(answer.json()).toEqual({ wallet: testWallet(1).address, client_id: demo.client.id, scope: 'enhancement' })
  expect(answer.headers['cache-control']).toBe('no-store')
})

test('A call without a token gets a challenge that names the scope (RFC 6750 §3, §3.1)', async ({ demo }) => {
  const answer = await send(demo.apiUrl, { path: '/me' })
  expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, `Bearer realm="${demo.apiUrl}", scope="enhancement"`])
  expect(answer.json()).not.toHaveProperty('error')
})

describe('An access token stops working at once, before its exp', () => {
  test('An access token stops working at once when it is revoked (RFC 7009 §2.1)', async ({ demo }) => {
    const { walk, accessToken } = await tokensFor(demo)
    expect((await getMe(demo, accessToken)).status).toBe(200)
    await walk.revoke(demo.client, accessToken)
    expectInvalidToken(await getMe(demo, accessToken))
  })

  test('An access token stops working at once when the refresh token of its grant is revoked', async ({ demo }) => {
    const { walk, accessToken, refreshToken } = await tokensFor(demo)
    const refreshed = String((await walk.refresh(demo.client, refreshToken)).json().access_token)
    expect((await getMe(demo, refreshed)).status).toBe(200)
    await walk.revoke(demo.client, refreshToken)
    expectInvalidToken(await getMe(demo, accessToken))
    expectInvalidToken(await getMe(demo, refreshed))
  })

  test('An access token stops working at once when its code is presented a second time (RFC 6749 §4.1.2)', async ({ demo }) => {
    const walk = new Walk(demo.grantor)
    const { code } = await walk.signIn(requestOf(demo.client))
    const accessToken = String((await walk.exchange(demo.client, code)).json().access_token)
    expect((await getMe(demo, accessToken)).status).toBe(200)
    await walk.exchange(demo.client, code)
    expectInvalidToken(await getMe(demo, accessToken))
  })
})

test('A token stops working at its exp', async ({ demo }) => {
  const { accessToken } = await tokensFor(demo)
  demo.grantor.clock.advance(LIFETIMES.accessToken - 1)
  expect((await getMe(demo, accessToken)).status).toBe(200)
  demo.grantor.clock.advance(1)
  expectInvalidToken(await getMe(demo, accessToken))
})

test('A token without the scope gets a challenge that names the scope (RFC 6750 §3.1)', async ({ demo }) => {
  const { accessToken } = await tokensFor(demo, { scope: 'profile' })
  const answer = await getMe(demo, accessToken)
  expect([answer.status, answer.json().error]).toEqual([403, 'insufficient_scope'])
  expect(answer.headers['www-authenticate']).toContain('scope="enhancement"')
})

test('A refresh token or a changed token is not an access token', async ({ demo }) => {
  const { accessToken, refreshToken } = await tokensFor(demo)
  expectInvalidToken(await getMe(demo, refreshToken))
  expectInvalidToken(await getMe(demo, `${accessToken.slice(0, -6)}AAAAAA`))
})

test('A token in the query is ignored, and beside the header it is refused (RFC 6750 §2)', async ({ demo }) => {
  const { accessToken } = await tokensFor(demo)
  expect((await send(demo.apiUrl, { path: `/me?access_token=${accessToken}` })).status).toBe(401)
  const path = `/me?access_token=${accessToken}`
  expect((await send(demo.apiUrl, { path, headers: { authorization: `Bearer ${accessToken}` } })).status).toBe(400)
})

test('While the authorization service is down every call is 503, and no token is called invalid', async () => {
  const other = await startDemo()
  const walk = new Walk(other.grantor)
  const { code } = await walk.signIn(requestOf(other.client))
  const accessToken = String((await walk.exchange(other.client, code)).json().access_token)
  const ask = () => send(other.apiUrl, { path: '/me', headers: { authorization: `Bearer ${accessToken}` } })
  expect((await ask()).status).toBe(200)
  await other.grantor.close()
  const answer = await ask()
  expect([answer.status, answer.json().error, answer.headers['retry-after']]).toEqual([503, 'temporarily_unavailable', '5'])
  expect(answer.headers['www-authenticate']).toBeUndefined()
  await other.close()
})

test('A user who opens the API in a browser reads what it is', async ({ demo }) => {
  const answer = await send(demo.apiUrl, { path: '/' })
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(answer.body).toContain('Demo resource API')
  expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
})
