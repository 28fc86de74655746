/** Nonces that the service hands out for DPoP proofs (RFC 9449 §8), where GRANTOR_DPOP_NONCE is on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { athOf, newDpopKey, proofOf } from '../support/dpop.ts'
import { codeFor, exchangeWith } from '../support/dpop-app.ts'
import { openIdClient } from '../support/openid-app.ts'
import { send } from '../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { CODE_VERIFIER, requestOf, Walk } from '../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk
const key = newDpopKey()

beforeAll(async () => {
  grantor = await startGrantor({ settings: { dpopNonce: true } })
  client = await openIdClient(grantor)
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const exchange = async (code: string, claims: Record<string, unknown>) => {
  const body = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirectUris[0] ?? '',
    code_verifier: CODE_VERIFIER,
  }
  return walk.token(client, body, { dpop: await proofOf(grantor, key, claims) })
}
const openid = () => codeFor(walk, client, { response_type: 'code', scope: 'openid' })

describe('a proof without a nonce of ours', () => {
  test('is answered use_dpop_nonce and one to use, and costs neither code nor proof; with it the same code works (§8)', async () => {
    const code = await openid()
    const refused = await exchange(code, {})
    expect([refused.status, refused.json().error]).toEqual([400, 'use_dpop_nonce'])
    const nonce = refused.headers['dpop-nonce'] as string
    expect(nonce).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/)
    const answer = await exchange(code, { nonce })
    expect(answer.status).toBe(200)
    expect(answer.headers['dpop-nonce'], '§8.2: with successes too, for the next proof').toBe(nonce)
  })

  test('made up, of another purpose, or in another spelling is none', async () => {
    const nonce = (await exchange('x', {})).headers['dpop-nonce'] as string
    for (const no of ['', 'x', `${nonce}x`, nonce.toUpperCase(), nonce.slice(0, -1), 7, null])
      expect((await exchange('x', { nonce: no })).json().error).toBe('use_dpop_nonce')
    expect((await exchange('x', { nonce })).json().error, 'and now the code is what is wrong').toBe('invalid_grant')
  })

  test('a bad proof hears that it is bad, not that it lacks a nonce', async () => {
    expect((await exchange('x', { htm: 'GET' })).json().error).toBe('invalid_dpop_proof')
  })
})

describe('a nonce', () => {
  test('is good for two to four minutes, whatever the clock of the app says, and then another is handed out', async () => {
    grantor.clock.at = Math.ceil(grantor.clock.at / 120) * 120
    const nonce = (await exchange('x', {})).headers['dpop-nonce'] as string
    grantor.clock.advance(239)
    const late = await exchange(await openid(), { nonce, iat: 1 })
    expect(late.status).toBe(200)
    expect(late.headers['dpop-nonce']).not.toBe(nonce)
    grantor.clock.advance(1)
    expect((await exchange(await openid(), { nonce })).json().error).toBe('use_dpop_nonce')
    grantor.clock.advance(-361)
    expect((await exchange('x', { nonce })).json().error, 'nor of a clock that was far ahead').toBe('use_dpop_nonce')
    grantor.clock.advance(361)
  })

  test('of a node whose clock is a little ahead is taken; a proof with it still works once', async () => {
    grantor.clock.at = Math.ceil(grantor.clock.at / 120) * 120
    const nonce = (await exchange('x', {})).headers['dpop-nonce'] as string
    grantor.clock.advance(-1)
    const claims = { nonce, jti: 'once' }
    expect((await exchange(await openid(), claims)).status).toBe(200)
    grantor.clock.advance(240)
    expect((await exchange(await openid(), claims)).json().error).toBe('invalid_dpop_proof')
  })

  test('a request without a proof gets none, and works as ever', async () => {
    const answer = await exchangeWith(walk, client, await openid(), null)
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('dpop-nonce')
  })
})

test('the userinfo endpoint asks for one as a protected resource does: 401 and a challenge (§9)', async () => {
  const nonce = (await exchange('x', {})).headers['dpop-nonce'] as string
  const { access_token: token } = (await exchange(await openid(), { nonce })).json() as Record<string, string>
  const ask = async (claims: Record<string, unknown>) => {
    const claimsOfCall = { htm: 'GET', htu: `${grantor.authUrl}/oauth/userinfo`, ath: athOf(token ?? ''), ...claims }
    const headers = { authorization: `DPoP ${token}`, dpop: await proofOf(grantor, key, claimsOfCall) }
    return send(grantor.authUrl, { path: '/oauth/userinfo', headers })
  }
  const refused = await ask({})
  expect([refused.status, refused.json().error]).toEqual([401, 'use_dpop_nonce'])
  expect(refused.headers['www-authenticate']).toMatch(
    /^DPoP realm="grantor", error="use_dpop_nonce", .*algs="ES256 PS256 EdDSA"$/,
  )
  expect((await ask({ nonce: refused.headers['dpop-nonce'] })).status).toBe(200)
})
