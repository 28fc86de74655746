/** Server nonces for DPoP proofs (RFC 9449 §8), if GRANTOR_DPOP_NONCE is on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { athOf, codeFor, exchangeWith, newDpopKey, proofOf } from '../../../support/dpop.ts'
import { openIdClient } from '../../../support/openid-app.ts'
import { send } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, requestOf, Walk } from '../../../support/walk.ts'

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

describe('DPoP proofs without a server nonce (RFC 9449 §8)', () => {
  test('A DPoP proof without a nonce gets use_dpop_nonce and a nonce, with which the same code is accepted (RFC 9449 §8)', async () => {
    const code = await openid()
    const refused = await exchange(code, {})
    expect([refused.status, refused.json().error]).toEqual([400, 'use_dpop_nonce'])
    const nonce = refused.headers['dpop-nonce'] as string
    expect(nonce).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/)
    const answer = await exchange(code, { nonce })
    expect(answer.status).toBe(200)
    expect(answer.headers['dpop-nonce'], 'a successful response has the nonce of the next proof (RFC 9449 §8.2)').toBe(nonce)
  })

  test('A DPoP proof with a made-up or altered nonce gets use_dpop_nonce (RFC 9449 §8)', async () => {
    const nonce = (await exchange('x', {})).headers['dpop-nonce'] as string
    for (const no of ['', 'x', `${nonce}x`, nonce.toUpperCase(), nonce.slice(0, -1), 7, null])
      expect((await exchange('x', { nonce: no })).json().error).toBe('use_dpop_nonce')
    expect((await exchange('x', { nonce })).json().error, 'with the right nonce only the code is wrong').toBe('invalid_grant')
  })

  test('An invalid DPoP proof without a nonce gets invalid_dpop_proof rather than use_dpop_nonce', async () => {
    expect((await exchange('x', { htm: 'GET' })).json().error).toBe('invalid_dpop_proof')
  })
})

describe('The lifetime of a DPoP nonce', () => {
  test('A DPoP nonce is accepted for 239 seconds, even with a wrong iat in the proof, and replaced by a new one after that', async () => {
    grantor.clock.at = Math.ceil(grantor.clock.at / 120) * 120
    const nonce = (await exchange('x', {})).headers['dpop-nonce'] as string
    grantor.clock.advance(239)
    const late = await exchange(await openid(), { nonce, iat: 1 })
    expect(late.status).toBe(200)
    expect(late.headers['dpop-nonce']).not.toBe(nonce)
    grantor.clock.advance(1)
    expect((await exchange(await openid(), { nonce })).json().error).toBe('use_dpop_nonce')
    grantor.clock.advance(-361)
    expect((await exchange('x', { nonce })).json().error, 'a nonce of a clock that was far ahead is refused').toBe(
      'use_dpop_nonce',
    )
    grantor.clock.advance(361)
  })

  test('A DPoP nonce of a node whose clock is one second ahead is accepted, and a proof with the nonce still works only once', async () => {
    grantor.clock.at = Math.ceil(grantor.clock.at / 120) * 120
    const nonce = (await exchange('x', {})).headers['dpop-nonce'] as string
    grantor.clock.advance(-1)
    const claims = { nonce, jti: 'once' }
    expect((await exchange(await openid(), claims)).status).toBe(200)
    grantor.clock.advance(240)
    expect((await exchange(await openid(), claims)).json().error).toBe('invalid_dpop_proof')
  })

  test('A token request without a DPoP proof succeeds and gets no nonce', async () => {
    const answer = await exchangeWith(walk, client, await openid(), null)
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('dpop-nonce')
  })
})

test('The userinfo endpoint responds to a proof without a nonce with 401, use_dpop_nonce and a nonce (RFC 9449 §9)', async () => {
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
