/** Bound tokens at the userinfo endpoint, which is a protected resource (RFC 9449 §7). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokensOf } from '../../../support/app.ts'
import { athOf, codeFor, exchangeWith, newDpopKey, proofOf } from '../../../support/dpop.ts'
import { openIdClient } from '../../../support/openid-app.ts'
import { type Answer, send } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk
let bound: string
let bearer: string
const key = newDpopKey()
const ALGS = 'algs="ES256 PS256 EdDSA"'

beforeAll(async () => {
  grantor = await startGrantor()
  client = await openIdClient(grantor)
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  const tokenFor = async (by: typeof key | null, scope = 'openid') =>
    tokensOf(await exchangeWith(walk, client, await codeFor(walk, client, { response_type: 'code', scope }), by)).access_token
  bound = await tokenFor(key)
  bearer = await tokenFor(null)
})
afterAll(() => grantor.close())

const proof = (claims: Record<string, unknown> = {}, by = key) =>
  proofOf(grantor, by, { htm: 'GET', htu: `${grantor.authUrl}/oauth/userinfo`, ath: athOf(bound), ...claims })
const ask = (headers: Record<string, string | string[]>, method = 'GET'): Promise<Answer> =>
  send(grantor.authUrl, { method, path: '/oauth/userinfo', headers })

test('The userinfo endpoint accepts a bound token with the scheme DPoP and a proof of its key, by GET and POST (RFC 9449 §7.1)', async () => {
  for (const scheme of ['DPoP', 'dpop'])
    expect((await ask({ authorization: `${scheme} ${bound}`, dpop: await proof() })).json()).toEqual({ sub: walk.wallet.address })
  expect((await ask({ authorization: `DPoP ${bound}`, dpop: await proof({ htm: 'POST' }) }, 'POST')).status).toBe(200)
})

test('A bound token sent as a bearer token is 401 invalid_token with a DPoP challenge, even with a proof (RFC 9449 §7.2)', async () => {
  for (const headers of [{}, { dpop: await proof() }]) {
    const answer = await ask({ authorization: `Bearer ${bound}`, ...headers })
    expect([answer.status, answer.json().error]).toEqual([401, 'invalid_token'])
    expect(answer.headers['www-authenticate']).toMatch(
      new RegExp(`^Bearer realm="grantor", error="invalid_token", .*, DPoP ${ALGS}$`),
    )
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded', dpop: await proof({ htm: 'POST' }) }
  const inBody = { method: 'POST', path: '/oauth/userinfo', headers: form, body: `access_token=${bound}` }
  expect((await send(grantor.authUrl, inBody)).status).toBe(401)
})

test('A bearer token sent with the scheme DPoP and a proof is 401 invalid_token (RFC 9449 §7.1)', async () => {
  const answer = await ask({ authorization: `DPoP ${bearer}`, dpop: await proof({ ath: athOf(bearer) }) })
  expect([answer.status, answer.json().error]).toEqual([401, 'invalid_token'])
  expect((await ask({ authorization: `Bearer ${bearer}` })).status).toBe(200)
})

describe('Invalid DPoP proofs at the userinfo endpoint (RFC 9449 §7.1)', () => {
  async function expectRefused(dpop: string | string[], error: string): Promise<void> {
    const answer = await ask({ authorization: `DPoP ${bound}`, ...(dpop === '' ? {} : { dpop }) })
    expect([answer.status, answer.json().error]).toEqual([401, error])
    expect(answer.headers['www-authenticate']).toMatch(new RegExp(`^DPoP realm="grantor", error="${error}", .*, ${ALGS}$`))
  }

  test('A missing, repeated, expired or mismatched DPoP proof at the userinfo endpoint is 401 invalid_dpop_proof (RFC 9449 §7.1)', async () => {
    await expectRefused('', 'invalid_dpop_proof')
    await expectRefused([await proof(), await proof()], 'invalid_dpop_proof')
    const claims = [
      { ath: athOf(bearer) },
      { ath: undefined },
      { htm: 'POST' },
      { htu: `${grantor.authUrl}/oauth/token` },
      { iat: 1 },
    ]
    for (const wrong of claims) await expectRefused(await proof(wrong), 'invalid_dpop_proof')
  })

  test('A bound token with a DPoP proof of another key is 401 invalid_token (RFC 9449 §7.1)', async () => {
    await expectRefused(await proof({}, newDpopKey()), 'invalid_token')
  })

  test('A DPoP proof that is used a second time at the userinfo endpoint is 401 invalid_dpop_proof (RFC 9449 §11.1)', async () => {
    const once = await proof({ jti: randomUUID() })
    expect((await ask({ authorization: `DPoP ${bound}`, dpop: once })).status).toBe(200)
    await expectRefused(once, 'invalid_dpop_proof')
  })
})

test('A userinfo request with a revoked token or without the scope openid does not use up its DPoP proof', async () => {
  const [ended, less] = await Promise.all(
    ['openid', 'enhancement'].map(async (scope) =>
      tokensOf(await exchangeWith(walk, client, await codeFor(walk, client, { response_type: 'code', scope }), key)),
    ),
  )
  await walk.revoke(client, ended!.refresh_token)
  const sweepSpentRows = () => grantor.store.cleaning.sweep('spent', { overFor: -1e6, limit: 1000, at: grantor.clock.now() })
  await sweepSpentRows()
  for (const [token, status] of [
    [ended!.access_token, 401],
    [less!.access_token, 403],
  ] as const)
    expect((await ask({ authorization: `DPoP ${token}`, dpop: await proof({ ath: athOf(token) }) })).status).toBe(status)
  expect(await sweepSpentRows()).toBe(0)
})

test('Scripts of public clients may send DPoP proofs and read nonces and challenges across origins', async () => {
  await grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/cb'] })
  for (const path of ['/oauth/token', '/oauth/userinfo', '/oauth/par']) {
    const { headers } = await send(grantor.authUrl, { method: 'OPTIONS', path, headers: { origin: 'https://spa.example.org' } })
    expect(headers['access-control-allow-headers']).toBe('authorization, content-type, dpop')
    expect(headers['access-control-expose-headers']).toBe('www-authenticate, dpop-nonce, x-request-id, retry-after')
  }
})
