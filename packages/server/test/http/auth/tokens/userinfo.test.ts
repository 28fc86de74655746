/** The userinfo endpoint (OpenID Connect Core §5.3), which clients call with an access token (RFC 6750). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPENID, openIdTokens, startOpenIdApp } from '../../../support/openid-app.ts'
import { send } from '../../../support/send.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { type Grantor, LIFETIMES, type TestClient } from '../../../support/start.ts'
import type { Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  ;({ grantor, client, walk } = await startOpenIdApp())
})
afterAll(() => grantor.close())

const tokensFor = (parameters: Record<string, string>) => openIdTokens(walk, client, parameters)

/** Calls the userinfo endpoint with an access token. */
function userinfo(token: string, request: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
  return send(grantor.authUrl, { path: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` }, ...request })
}

describe('The userinfo endpoint (OpenID Connect Core §5.3)', () => {
  test('The userinfo endpoint returns sub, and the wallet with scope wallet, by GET, by POST, and for a token in a form (RFC 6750 §2.2)', async () => {
    const { access_token } = await tokensFor(OPENID)
    const address = walk.wallet.address
    const claims = { sub: address, wallet_address: address, chain_id: 1, account_id: `eip155:1:${address}` }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const answer of [
      await userinfo(access_token),
      await userinfo(access_token, { method: 'POST' }),
      await userinfo('', { method: 'POST', headers: form, body: `access_token=${access_token}` }),
    ]) {
      expect([answer.status, answer.json()]).toEqual([200, claims])
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    }
    const { access_token: less } = await tokensFor({ ...OPENID, scope: 'openid' })
    expect((await userinfo(less)).json()).toEqual({ sub: address })
  })

  test('Userinfo without a token gets 401 with a challenge and no error, and two tokens get 400 (RFC 6750 §3.1)', async () => {
    for (const headers of [{}, { authorization: 'Basic eDp5' }]) {
      const none = await send(grantor.authUrl, { path: '/oauth/userinfo', headers })
      expect([none.status, none.headers['www-authenticate'], none.body]).toEqual([
        401,
        'Bearer realm="grantor", DPoP algs="ES256 PS256 EdDSA"',
        '',
      ])
    }
    const { access_token } = await tokensFor(OPENID)
    const both = await userinfo(access_token, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: `access_token=${access_token}`,
    })
    expect([both.status, both.json().error]).toEqual([400, 'invalid_request'])
    const query = await send(grantor.authUrl, { path: `/oauth/userinfo?access_token=${access_token}` })
    expect(query.status, 'a token in the query is ignored').toBe(401)
  })

  test('Userinfo with a token without openid gets 403 insufficient_scope with the scope', async () => {
    const { access_token } = await tokensFor({})
    const answer = await userinfo(access_token)
    expect([answer.status, answer.json().error]).toEqual([403, 'insufficient_scope'])
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="grantor", error="insufficient_scope", .*scope="openid"$/)
  })

  test('Userinfo with a malformed, expired or revoked token, or with one of a disabled client, gets 401 invalid_token', async () => {
    const expectInvalid = async (token: string) => {
      const answer = await userinfo(token)
      expect([answer.status, answer.json().error]).toEqual([401, 'invalid_token'])
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
    }
    await expectInvalid('nonsense')
    const expired = await tokensFor(OPENID)
    grantor.clock.advance(LIFETIMES.accessToken)
    await expectInvalid(expired.access_token)
    const ended = await tokensFor(OPENID)
    await walk.revoke(client, ended.refresh_token)
    await expectInvalid(ended.access_token)
    const alone = await tokensFor(OPENID)
    await walk.revoke(client, alone.access_token)
    await expectInvalid(alone.access_token)
    const disabled = await tokensFor(OPENID)
    await changeClient(grantor, client, { disabledAt: 1 })
    await expectInvalid(disabled.access_token)
    await changeClient(grantor, client, { disabledAt: null })
    expect((await userinfo(disabled.access_token)).status).toBe(200)
  })

  test('Only scripts at origins of public clients may read userinfo, its preflight and its errors (CORS)', async () => {
    const spa = await grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/cb'], scopes: ['openid'] })
    expect(spa.id).not.toBe('')
    const origin = 'https://spa.example.org'
    const preflight = await send(grantor.authUrl, {
      method: 'OPTIONS',
      path: '/oauth/userinfo',
      headers: { origin, 'access-control-request-method': 'GET' },
    })
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST',
    })
    const refused = await userinfo('nonsense', { headers: { origin, authorization: 'Bearer nonsense' } })
    expect(refused.headers['access-control-allow-origin']).toBe(origin)
    expect(refused.headers['access-control-expose-headers']).toBe('www-authenticate, dpop-nonce, x-request-id, retry-after')
    const foreign = await userinfo('nonsense', { headers: { origin: 'https://evil.example', authorization: 'Bearer x' } })
    expect(foreign.headers).not.toHaveProperty('access-control-allow-origin')
  })
})
