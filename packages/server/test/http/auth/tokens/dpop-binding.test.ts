/** Codes, refresh tokens and access tokens that are bound to a DPoP key (RFC 9449 §5, §6, §10). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { codeFor, exchangeWith, newDpopKey, proofOf, refreshWith, thumbprint } from '../../../support/dpop.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let walk: Walk
let confidential: TestClient
let publicClient: TestClient
let jkt: string
const key = newDpopKey()
const another = newDpopKey('EdDSA')

beforeAll(async () => {
  grantor = await startGrantor()
  confidential = await grantor.createClient()
  publicClient = await grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/cb'] })
  walk = new Walk(grantor)
  await walk.signIn(requestOf(confidential))
  jkt = await thumbprint(key)
})
afterAll(() => grantor.close())

const NO_PROOF = { status: 400, error: 'invalid_dpop_proof', description: 'This needs a DPoP proof.' }
const PROOF_REFUSED = { ...NO_PROOF, description: 'The DPoP proof is malformed, too old, used, or not for this request.' }
const grantOf = (accessToken: string) => grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)
const sweepSpentRows = () => grantor.store.cleaning.sweep('spent', { overFor: -1e6, limit: 1000, at: grantor.clock.now() })

/** Tokens of a public client, bound to the key. */
async function boundTokens() {
  return tokensOf(await exchangeWith(walk, publicClient, await codeFor(walk, publicClient), key))
}

describe('Codes that are bound by dpop_jkt (RFC 9449 §10)', () => {
  test('A code bound by dpop_jkt needs a proof of that key; a request with none or another is refused and leaves the code (RFC 9449 §10)', async () => {
    for (const client of [confidential, publicClient]) {
      const code = await codeFor(walk, client, { dpop_jkt: jkt })
      expectRefusal(await exchangeWith(walk, client, code, null), NO_PROOF)
      expectRefusal(await exchangeWith(walk, client, code, another), 'invalid_grant')
      // A client without the key cannot use up the code with a wrong verifier either.
      expectRefusal(await exchangeWith(walk, client, code, another, { code_verifier: `${CODE_VERIFIER}x` }), 'invalid_grant')
      const answer = await exchangeWith(walk, client, code, key)
      expect(answer.json()).toMatchObject({ token_type: 'DPoP' })
      expect(claimsOf(tokensOf(answer).access_token).cnf).toEqual({ jkt })
    }
  })

  test('A code that is issued after a login is bound to the dpop_jkt of the request (RFC 9449 §10)', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(confidential, { dpop_jkt: jkt }))
    expectRefusal(await browser.exchange(confidential, code), NO_PROOF)
  })

  test.each(['x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}=`, 'a'.repeat(43)])(
    'An authorization request with dpop_jkt=%s, which is no thumbprint, gets invalid_request (RFC 9449 §10)',
    async (no) => {
      const { location } = await walk.authorize(requestOf(confidential, { dpop_jkt: no }))
      expect(parameterOf(location, 'error')).toBe('invalid_request')
    },
  )

  test('A code without dpop_jkt gets tokens that are bound to the key of the exchange (RFC 9449 §5)', async () => {
    expect(claimsOf((await boundTokens()).access_token).cnf).toEqual({ jkt })
  })
})

describe('DPoP proofs at a code exchange (RFC 9449 §11.1)', () => {
  const redeem = (code: string, dpop: string) =>
    walk.token(
      publicClient,
      { grant_type: 'authorization_code', code, redirect_uri: 'https://spa.example.org/cb', code_verifier: CODE_VERIFIER },
      { dpop },
    )

  test('A replayed exchange with its proof leaves the grant valid; a new proof for the used code revokes it (RFC 9449 §11.1)', async () => {
    const [code, dpop] = [await codeFor(walk, publicClient), await proofOf(grantor, key)]
    const tokens = tokensOf(await redeem(code, dpop))
    expectRefusal(await redeem(code, dpop), PROOF_REFUSED)
    expect((await grantOf(tokens.access_token))?.endedAt).toBeNull()
    expectRefusal(await redeem(code, await proofOf(grantor, key)), 'invalid_grant')
    expect(await grantOf(tokens.access_token)).toMatchObject({ endReason: 'code_replayed' })
  })

  test('Of fifty simultaneous copies of one code exchange with its proof exactly one gets tokens, and they stay valid (RFC 9449 §11.1)', async () => {
    const [code, dpop] = [await codeFor(walk, publicClient), await proofOf(grantor, key)]
    const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(code, dpop)))
    const [winner, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, PROOF_REFUSED)
    expect((await grantOf(tokensOf(winner!).access_token))?.endedAt).toBeNull()
  })

  test('A refused code exchange uses up neither its DPoP proof nor its code', async () => {
    const [code, dpop] = [await codeFor(walk, publicClient), await proofOf(grantor, key)]
    await sweepSpentRows()
    expect((await redeem('grc.nonsense', dpop)).json().error).toBe('invalid_grant')
    const wrong = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: 'https://elsewhere.example/',
      code_verifier: CODE_VERIFIER,
    }
    expectRefusal(await walk.token(publicClient, wrong, { dpop }), 'invalid_grant')
    expect(await sweepSpentRows()).toBe(0)
    expect((await redeem(code, dpop)).status).toBe(200)
  })
})

describe('Refresh tokens of public clients (RFC 9449 §5)', () => {
  test('A bound refresh token is refused without a proof or with another key, and stays valid for its own key (RFC 9449 §5)', async () => {
    const { refresh_token } = await boundTokens()
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, another), 'invalid_grant')
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, null), NO_PROOF)
    const next = tokensOf(await refreshWith(walk, publicClient, refresh_token, key))
    expect(next.token_type).toBe('DPoP')
    expect(claimsOf(next.access_token).cnf).toEqual({ jkt })
    expect(await grantOf(next.access_token)).toMatchObject({ generation: 1, endedAt: null, dpopJkt: jkt })
  })

  test('A used bound refresh token revokes its grant if its own key presents it, and not if another key does (RFC 9700 §4.14.2)', async () => {
    const tokens = await boundTokens()
    const next = tokensOf(await refreshWith(walk, publicClient, tokens.refresh_token, key))
    await refreshWith(walk, publicClient, next.refresh_token, key)
    expectRefusal(await refreshWith(walk, publicClient, tokens.refresh_token, another), 'invalid_grant')
    expect((await grantOf(tokens.access_token))?.endedAt).toBeNull()
    expectRefusal(await refreshWith(walk, publicClient, tokens.refresh_token, key), 'invalid_grant')
    expect(await grantOf(tokens.access_token)).toMatchObject({ endReason: 'refresh_replayed' })
  })

  test('A bound refresh token can be repeated with a new proof for 60 seconds, and returns the same successor', async () => {
    const { refresh_token } = await boundTokens()
    const next = tokensOf(await refreshWith(walk, publicClient, refresh_token, key))
    grantor.clock.advance(59)
    expect(tokensOf(await refreshWith(walk, publicClient, refresh_token, key)).refresh_token).toBe(next.refresh_token)
    grantor.clock.advance(1)
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, key), 'invalid_grant')
  })

  test('An unbound refresh token can be repeated for 10 seconds only, also by a request with a DPoP proof', async () => {
    const { refresh_token } = tokensOf(await exchangeWith(walk, publicClient, await codeFor(walk, publicClient), null))
    const next = tokensOf(await refreshWith(walk, publicClient, refresh_token, key))
    expect(claimsOf(next.access_token).cnf).toEqual({ jkt })
    expect((await grantOf(next.access_token))?.dpopJkt).toBeNull()
    grantor.clock.advance(10)
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, key), 'invalid_grant')
  })

  test('A replayed refresh with its proof is refused, and neither rotates the token nor ends the grant (RFC 9449 §11.1)', async () => {
    const tokens = await boundTokens()
    const dpop = await proofOf(grantor, key)
    const send = (refresh_token: string) => walk.token(publicClient, { grant_type: 'refresh_token', refresh_token }, { dpop })
    const next = tokensOf(await send(tokens.refresh_token))
    expectRefusal(await send(tokens.refresh_token), PROOF_REFUSED)
    expectRefusal(await send(next.refresh_token), PROOF_REFUSED)
    expect(await grantOf(next.access_token)).toMatchObject({ generation: 1, endedAt: null })
    await refreshWith(walk, publicClient, next.refresh_token, key)
    expectRefusal(await send(tokens.refresh_token), PROOF_REFUSED)
    expect(await grantOf(next.access_token)).toMatchObject({ generation: 2, endedAt: null })
  })

  test('A captured refresh with its used proof does not end the grant if a resource that was not granted is added (RFC 9449 §11.1)', async () => {
    const tokens = await boundTokens()
    const dpop = await proofOf(grantor, key)
    const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    const next = tokensOf(await walk.token(publicClient, body, { dpop }))
    const last = tokensOf(await refreshWith(walk, publicClient, next.refresh_token, key))
    const other = { resource: 'https://other.example/' }
    expectRefusal(await walk.token(publicClient, { ...body, ...other }, { dpop }), PROOF_REFUSED)
    expect(await grantOf(last.access_token)).toMatchObject({ generation: 2, endedAt: null })
  })

  test('Of fifty simultaneous copies of one refresh with its proof exactly one succeeds, and the token rotates once (RFC 9449 §11.1)', async () => {
    const tokens = await boundTokens()
    const dpop = await proofOf(grantor, key)
    const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    const answers = await Promise.all(Array.from({ length: 50 }, () => walk.token(publicClient, body, { dpop })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, PROOF_REFUSED)
    expect(await grantOf(tokens.access_token)).toMatchObject({ generation: 1, endedAt: null })
  })

  test('A refused refresh does not use up its DPoP proof', async () => {
    const tokens = await boundTokens()
    const other = await boundTokens()
    await walk.revoke(publicClient, other.refresh_token)
    const [dpop, theirs] = [await proofOf(grantor, key), await proofOf(grantor, another)]
    await sweepSpentRows()
    const refused = [
      await walk.refresh(publicClient, tokens.refresh_token),
      await walk.token(publicClient, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, { dpop: theirs }),
      await walk.token(publicClient, { grant_type: 'refresh_token', refresh_token: other.refresh_token }, { dpop }),
      await walk.token(confidential, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, { dpop }),
      await walk.token(
        publicClient,
        { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, scope: 'more' },
        { dpop },
      ),
      await walk.token(publicClient, { grant_type: 'refresh_token', refresh_token: `${tokens.refresh_token}x` }, { dpop }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400])
    expect(await sweepSpentRows()).toBe(0)
    const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    expect((await walk.token(publicClient, body, { dpop })).status).toBe(200)
  })
})

describe('Refresh tokens of confidential clients (RFC 9449 §5)', () => {
  test('The access tokens of a confidential client are bound to the key of each refresh, or to none (RFC 9449 §5)', async () => {
    const tokens = tokensOf(await exchangeWith(walk, confidential, await codeFor(walk, confidential), key))
    const second = tokensOf(await refreshWith(walk, confidential, tokens.refresh_token, another))
    expect(claimsOf(second.access_token).cnf).toEqual({ jkt: await thumbprint(another) })
    const third = tokensOf(await refreshWith(walk, confidential, second.refresh_token, null))
    expect(third.token_type).toBe('Bearer')
    expect(claimsOf(third.access_token)).not.toHaveProperty('cnf')
  })

  test('A client registered for bound access tokens is refused without a DPoP proof (RFC 9449 §5.2)', async () => {
    const bound = await grantor.createClient({ dpopBound: true })
    const tokens = tokensOf(await exchangeWith(walk, bound, await codeFor(walk, bound), key))
    expectRefusal(await exchangeWith(walk, bound, await codeFor(walk, bound), null), NO_PROOF)
    expectRefusal(await refreshWith(walk, bound, tokens.refresh_token, null), NO_PROOF)
    expect((await refreshWith(walk, bound, tokens.refresh_token, another)).status).toBe(200)
  })
})

describe('Introspection of bound tokens (RFC 9449 §6.2)', () => {
  test('Introspection of a bound token has token_type DPoP and, besides the nine members of any token, cnf (RFC 9449 §6.2)', async () => {
    const { access_token } = tokensOf(await exchangeWith(walk, confidential, await codeFor(walk, confidential), key))
    const answer = (await walk.introspect(confidential, access_token)).json()
    expect(answer).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt } })
    expect(Object.keys(answer)).toHaveLength(10)
    const plain = tokensOf(await exchangeWith(walk, confidential, await codeFor(walk, confidential), null))
    expect(Object.keys((await walk.introspect(confidential, plain.access_token)).json())).toHaveLength(9)
  })
})

describe('DPoP proofs with pushed requests (RFC 9449 §10.1)', () => {
  const push = (dpop: string, more: Record<string, string> = {}) => {
    const body = { redirect_uri: confidential.redirectUris[0] ?? '', response_type: 'code', ...more }
    return walk.call('/oauth/par', confidential, body, { dpop })
  }
  const pushProof = (claims = {}) => proofOf(grantor, key, { htu: `${grantor.authUrl}/oauth/par`, ...claims })

  test('A DPoP proof with a pushed request binds the code to its key (RFC 9449 §10.1)', async () => {
    for (const more of [{}, { dpop_jkt: jkt }]) {
      const { request_uri } = (await push(await pushProof(), more)).json() as Record<string, string>
      const { location } = await walk.authorize({ client_id: confidential.id, request_uri: request_uri ?? '' })
      const code = parameterOf(location, 'code')
      expectRefusal(await walk.exchange(confidential, code), NO_PROOF)
      const body = { grant_type: 'authorization_code', code, redirect_uri: confidential.redirectUris[0] ?? '' }
      expect((await walk.token(confidential, body, { dpop: await proofOf(grantor, key) })).status).toBe(200)
    }
  })

  test('A pushed request is refused with a wrong or used DPoP proof or another key’s dpop_jkt, and then leaves its proof unused', async () => {
    const dpop = await pushProof({ jti: randomUUID() })
    expectRefusal(await push(dpop, { dpop_jkt: await thumbprint(another) }), PROOF_REFUSED)
    expectRefusal(await push(await proofOf(grantor, key)), PROOF_REFUSED)
    expect((await push(dpop)).status).toBe(201)
    expectRefusal(await push(dpop), PROOF_REFUSED)
  })
})
