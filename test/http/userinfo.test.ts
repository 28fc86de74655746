/** The userinfo endpoint (OpenID Connect Core §5.3), which speaks to bearers of tokens (RFC 6750). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPENID, openIdTokens, startOpenIdApp } from '../support/openid-app.ts'
import { send } from '../support/send.ts'
import { changeClient } from '../support/signed-app.ts'
import type { Grantor, TestClient } from '../support/start.ts'
import type { Walk } from '../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  ;({ grantor, client, walk } = await startOpenIdApp())
})
afterAll(() => grantor.close())

const tokensFor = (asked: Record<string, string>) => openIdTokens(walk, client, asked)

/** An access token presented at the userinfo endpoint. */
function userinfo(token: string, request: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
  return send(grantor.authUrl, { path: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` }, ...request })
}

describe('the userinfo endpoint (§5.3)', () => {
  test('tells sub, and with scope wallet the wallet: by GET, by POST, and with the token in a form (RFC 6750 §2.2)', async () => {
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

  test('without a token: 401 and the scheme, without any error (RFC 6750 §3.1); two tokens: 400', async () => {
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
    expect(query.status, 'in the query it is not read').toBe(401)
  })

  test('a token without openid: 403 insufficient_scope, naming the scope', async () => {
    const { access_token } = await tokensFor({})
    const answer = await userinfo(access_token)
    expect([answer.status, answer.json().error]).toEqual([403, 'insufficient_scope'])
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="grantor", error="insufficient_scope", .*scope="openid"$/)
  })

  test('a bad token, or one whose grant, client or time is over: 401 invalid_token, from that moment on', async () => {
    const refused = async (token: string) => {
      const answer = await userinfo(token)
      expect([answer.status, answer.json().error]).toEqual([401, 'invalid_token'])
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
    }
    await refused('nonsense')
    const expired = await tokensFor(OPENID)
    grantor.clock.advance(600)
    await refused(expired.access_token)
    const ended = await tokensFor(OPENID)
    await walk.revoke(client, ended.refresh_token)
    await refused(ended.access_token)
    const alone = await tokensFor(OPENID)
    await walk.revoke(client, alone.access_token)
    await refused(alone.access_token)
    const disabled = await tokensFor(OPENID)
    await changeClient(grantor, client, { disabledAt: 1 })
    await refused(disabled.access_token)
    await changeClient(grantor, client, { disabledAt: null })
    expect((await userinfo(disabled.access_token)).status).toBe(200)
  })

  test('scripts of public clients may read it, preflight and refusals included; nobody else’s (CORS)', async () => {
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
