import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../support/send.ts'
import { send } from '../support/send.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import type { Demo } from './start-demo.ts'
import { startDemo } from './start-demo.ts'

let demo: Demo
beforeAll(async () => {
  demo = await startDemo()
})
afterAll(() => demo.close())

/** A wallet's tokens for the demo app, by way of the whole flow. */
async function tokensFor(parameters: Record<string, string> = {}, index: 0 | 1 | 2 = 0) {
  const walk = new Walk(demo.grantor, testWallet(index))
  const { code } = await walk.signIn(requestOf(demo.client, parameters))
  const { access_token: accessToken, refresh_token: refreshToken } = (await walk.exchange(demo.client, code)).json()
  return { walk, accessToken: String(accessToken), refreshToken: String(refreshToken) }
}

const askMe = (token: string, headers: Record<string, string> = {}): Promise<Answer> =>
  send(demo.apiUrl, { path: '/me', headers: { authorization: `Bearer ${token}`, ...headers } })

function expectInvalidToken(answer: Answer): void {
  expect(answer.status).toBe(401)
  expect(answer.json().error).toBe('invalid_token')
  expect(answer.headers['www-authenticate']).toMatch(
    /^Bearer realm="[^"]+", error="invalid_token", error_description="[^"]+", scope="enhancement"$/,
  )
}

test('the API answers with the wallet it was called for, the app, and what the app may do', async () => {
  const { accessToken } = await tokensFor({}, 1)
  const answer = await askMe(accessToken)
  expect(answer.status).toBe(200)
  expect(answer.json()).toEqual({ wallet: testWallet(1).address, client_id: demo.client.id, scope: 'enhancement' })
  expect(answer.headers['cache-control']).toBe('no-store')
})

test('a call without a token is told to bring one, and which scope it needs (RFC 6750 §3, §3.1)', async () => {
  const answer = await send(demo.apiUrl, { path: '/me' })
  expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, `Bearer realm="${demo.apiUrl}", scope="enhancement"`])
  expect(answer.json()).not.toHaveProperty('error')
})

describe('an access token stops at once, before its exp, when', () => {
  test('it is revoked (RFC 7009 §2.1)', async () => {
    const { walk, accessToken } = await tokensFor()
    expect((await askMe(accessToken)).status).toBe(200)
    await walk.revoke(demo.client, accessToken)
    expectInvalidToken(await askMe(accessToken))
  })

  test('the refresh token of its grant is revoked', async () => {
    const { walk, accessToken, refreshToken } = await tokensFor()
    const refreshed = String((await walk.refresh(demo.client, refreshToken)).json().access_token)
    expect((await askMe(refreshed)).status).toBe(200)
    await walk.revoke(demo.client, refreshToken)
    expectInvalidToken(await askMe(accessToken))
    expectInvalidToken(await askMe(refreshed))
  })

  test('its code is presented a second time (RFC 6749 §4.1.2)', async () => {
    const walk = new Walk(demo.grantor)
    const { code } = await walk.signIn(requestOf(demo.client))
    const accessToken = String((await walk.exchange(demo.client, code)).json().access_token)
    expect((await askMe(accessToken)).status).toBe(200)
    await walk.exchange(demo.client, code)
    expectInvalidToken(await askMe(accessToken))
  })
})

test('a token stops at its exp', async () => {
  const { accessToken } = await tokensFor()
  demo.grantor.clock.advance(599)
  expect((await askMe(accessToken)).status).toBe(200)
  demo.grantor.clock.advance(1)
  expectInvalidToken(await askMe(accessToken))
})

test('a token without the scope is told which one is needed (RFC 6750 §3.1)', async () => {
  const { accessToken } = await tokensFor({ scope: 'profile' })
  const answer = await askMe(accessToken)
  expect([answer.status, answer.json().error]).toEqual([403, 'insufficient_scope'])
  expect(answer.headers['www-authenticate']).toContain('scope="enhancement"')
})

test('a refresh token or a changed token is no access token', async () => {
  const { accessToken, refreshToken } = await tokensFor()
  expectInvalidToken(await askMe(refreshToken))
  expectInvalidToken(await askMe(`${accessToken.slice(0, -6)}AAAAAA`))
})

test('a token in the query is not taken, and beside the header it is refused (RFC 6750 §2)', async () => {
  const { accessToken } = await tokensFor()
  expect((await send(demo.apiUrl, { path: `/me?access_token=${accessToken}` })).status).toBe(401)
  const path = `/me?access_token=${accessToken}`
  expect((await send(demo.apiUrl, { path, headers: { authorization: `Bearer ${accessToken}` } })).status).toBe(400)
})

test('while the authorization service is down nobody is let in and no token is called bad: 503', async () => {
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

test('a person who opens the API in a browser reads what it is', async () => {
  const answer = await send(demo.apiUrl, { path: '/' })
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(answer.body).toContain('Demo resource API')
  expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
})
