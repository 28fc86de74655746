/** Token exchange (RFC 8693) with tokens that are bound to a DPoP key (RFC 9449). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { newDpopKey, proofOf, thumbprint } from '../../../support/dpop.ts'
import { API, type ExchangeApp, FILES, MCP, startExchangeApp } from '../../../support/exchange-app.ts'
import { expectJson, expectRefusal } from '../../../support/refusals.ts'
import { requestOf } from '../../../support/walk.ts'

let app: ExchangeApp
const appKey = newDpopKey()
const serverKey = newDpopKey('EdDSA')

beforeAll(async () => {
  app = await startExchangeApp()
})
afterAll(() => app.close())

const NO_PROOF = { status: 400, error: 'invalid_dpop_proof', description: 'This needs a DPoP proof.' }

/** A token of the app that is bound to the app's key. */
async function boundToken(): Promise<string> {
  const code = await app.freshCode({ resource: MCP })
  const form = { grant_type: 'authorization_code', code, redirect_uri: requestOf(app.client).redirect_uri ?? '' }
  const answer = await app.walk.token(app.client, form, { dpop: await proofOf(app.grantor, appKey) })
  expect(answer.json()).toMatchObject({ token_type: 'DPoP' })
  return tokensOf(answer).access_token
}

const exchangeWith = async (token: string, key: typeof appKey, more = {}, client = app.mcp) =>
  app.exchange(token, more, { client, headers: { dpop: await proofOf(app.grantor, key) } })

test('A token exchange with a proof returns a token that is bound to the key of the exchanging client (RFC 9449 §5)', async () => {
  for (const subject of [await app.subjectToken(), await boundToken()]) {
    const answer = await exchangeWith(subject, serverKey)
    expect(expectJson(answer)).toMatchObject({ token_type: 'DPoP' })
    const { access_token } = tokensOf(answer)
    const jkt = await thumbprint(serverKey)
    expect(claimsOf(access_token).cnf).toEqual({ jkt })
    expect(expectJson(await app.walk.introspect(app.api, access_token))).toMatchObject({
      token_type: 'DPoP',
      cnf: { jkt },
      act: { sub: app.mcp.id },
    })
  }
})

test('A bound token is never exchanged for a bearer token: without a proof of the exchanging client it is invalid_dpop_proof', async () => {
  const subject = await boundToken()
  expectRefusal(await app.exchange(subject), NO_PROOF)
  const bound = tokensOf(await exchangeWith(await app.subjectToken(), serverKey)).access_token
  expectRefusal(await app.exchange(bound, { resource: FILES }, { client: app.api }), NO_PROOF)
  expect((await exchangeWith(bound, appKey, { resource: FILES }, app.api)).status).toBe(200)
})

test('A client with dpop_bound_access_tokens needs a proof for a token exchange (RFC 9449 §5.2)', async () => {
  const client = await app.grantor.createClient({
    redirectUris: [],
    resourceServer: MCP,
    exchangeResources: [API],
    dpopBound: true,
  })
  const subject = await app.subjectToken()
  expectRefusal(await app.exchange(subject, {}, { client }), NO_PROOF)
  expect((await exchangeWith(subject, serverKey, {}, client)).json()).toMatchObject({ token_type: 'DPoP' })
})

test('A proof of a token exchange works once, and the proof of a refused exchange stays unused (RFC 9449 §11.1)', async () => {
  const subject = await app.subjectToken()
  const headers = { dpop: await proofOf(app.grantor, serverKey) }
  expectRefusal(await app.exchange(subject, { resource: FILES }, { headers }), 'invalid_target')
  expectRefusal(await app.exchange(subject, { scope: 'openid' }, { headers }), 'invalid_scope')
  await app.walk.revoke(app.client, subject)
  expect((await app.exchange(subject, {}, { headers })).json()).toMatchObject({ error: 'invalid_request' })
  expect((await app.exchange(await app.subjectToken(), {}, { headers })).status).toBe(200)
  expectRefusal(await app.exchange(await app.subjectToken(), {}, { headers }), 'invalid_dpop_proof')
})
