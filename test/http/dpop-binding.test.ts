/** What a DPoP key binds: codes, refresh tokens, access tokens (RFC 9449 §5, §6, §10). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimsOf, tokensOf } from '../support/app.ts'
import { newDpopKey, proofOf, thumbprint } from '../support/dpop.ts'
import { codeFor, exchangeWith, refreshWith } from '../support/dpop-app.ts'
import { expectRefusal } from '../support/refusals.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { CODE_VERIFIER, parameterOf, requestOf, Walk } from '../support/walk.ts'

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
const USED = { ...NO_PROOF, description: 'The DPoP proof is malformed, too old, used, or not for this request.' }
const grantOf = (accessToken: string) => grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)
const spentRows = () => grantor.store.cleaning.sweep('spent', { overFor: -1e6, limit: 1000, at: grantor.clock.now() })

/** Tokens of a public client, bound to the key. */
async function boundTokens() {
  return tokensOf(await exchangeWith(walk, publicClient, await codeFor(walk, publicClient), key))
}

describe('a code that names a key (dpop_jkt, §10)', () => {
  test('is redeemed with a proof of that key alone; without, or with another, nothing changes', async () => {
    for (const client of [confidential, publicClient]) {
      const code = await codeFor(walk, client, { dpop_jkt: jkt })
      expectRefusal(await exchangeWith(walk, client, code, null), NO_PROOF)
      expectRefusal(await exchangeWith(walk, client, code, another), 'invalid_grant')
      // Whoever lacks the key cannot even spend it by a wrong verifier.
      expectRefusal(await exchangeWith(walk, client, code, another, { code_verifier: `${CODE_VERIFIER}x` }), 'invalid_grant')
      const answer = await exchangeWith(walk, client, code, key)
      expect(answer.json()).toMatchObject({ token_type: 'DPoP' })
      expect(claimsOf(tokensOf(answer).access_token).cnf).toEqual({ jkt })
    }
  })

  test('keeps the key through the login', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(confidential, { dpop_jkt: jkt }))
    expectRefusal(await browser.exchange(confidential, code), NO_PROOF)
  })

  test.each(['x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}=`, 'a'.repeat(43)])(
    '%s is no thumbprint: invalid_request',
    async (no) => {
      const { location } = await walk.authorize(requestOf(confidential, { dpop_jkt: no }))
      expect(parameterOf(location, 'error')).toBe('invalid_request')
    },
  )

  test('without one, the key that redeems the code is the one', async () => {
    expect(claimsOf((await boundTokens()).access_token).cnf).toEqual({ jkt })
  })
})

describe('one proof redeems one code (§11.1)', () => {
  const redeem = (code: string, dpop: string) =>
    walk.token(
      publicClient,
      { grant_type: 'authorization_code', code, redirect_uri: 'https://spa.example.org/cb', code_verifier: CODE_VERIFIER },
      { dpop },
    )

  test('a captured exchange, sent again, is refused and ends nothing; a new proof for the used code ends the grant (RFC 6749 §4.1.2)', async () => {
    const [code, dpop] = [await codeFor(walk, publicClient), await proofOf(grantor, key)]
    const tokens = tokensOf(await redeem(code, dpop))
    expectRefusal(await redeem(code, dpop), USED)
    expect((await grantOf(tokens.access_token))?.endedAt).toBeNull()
    expectRefusal(await redeem(code, await proofOf(grantor, key)), 'invalid_grant')
    expect(await grantOf(tokens.access_token)).toMatchObject({ endReason: 'code_replayed' })
  })

  test('of fifty simultaneous sendings of one exchange one gets tokens, and they stay good', async () => {
    const [code, dpop] = [await codeFor(walk, publicClient), await proofOf(grantor, key)]
    const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(code, dpop)))
    const [won, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, USED)
    expect((await grantOf(tokensOf(won!).access_token))?.endedAt).toBeNull()
  })

  test('a refused exchange leaves proof and code as they were', async () => {
    const [code, dpop] = [await codeFor(walk, publicClient), await proofOf(grantor, key)]
    await spentRows()
    expect((await redeem('grc.nonsense', dpop)).json().error).toBe('invalid_grant')
    const wrong = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: 'https://elsewhere.example/',
      code_verifier: CODE_VERIFIER,
    }
    expectRefusal(await walk.token(publicClient, wrong, { dpop }), 'invalid_grant')
    expect(await spentRows()).toBe(0)
    expect((await redeem(code, dpop)).status).toBe(200)
  })
})

describe('a refresh token of a public client is bound to the key (§5)', () => {
  test('another key, or none, is refused, and the token goes on working for its own', async () => {
    const { refresh_token } = await boundTokens()
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, another), 'invalid_grant')
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, null), NO_PROOF)
    const next = tokensOf(await refreshWith(walk, publicClient, refresh_token, key))
    expect(next.token_type).toBe('DPoP')
    expect(claimsOf(next.access_token).cnf).toEqual({ jkt })
    expect(await grantOf(next.access_token)).toMatchObject({ generation: 1, endedAt: null, dpopJkt: jkt })
  })

  test('a used one in the hands of somebody else ends nothing; in its owner’s it ends the grant, as ever (RFC 9700 §4.14.2)', async () => {
    const tokens = await boundTokens()
    const next = tokensOf(await refreshWith(walk, publicClient, tokens.refresh_token, key))
    await refreshWith(walk, publicClient, next.refresh_token, key)
    expectRefusal(await refreshWith(walk, publicClient, tokens.refresh_token, another), 'invalid_grant')
    expect((await grantOf(tokens.access_token))?.endedAt).toBeNull()
    expectRefusal(await refreshWith(walk, publicClient, tokens.refresh_token, key), 'invalid_grant')
    expect(await grantOf(tokens.access_token)).toMatchObject({ endReason: 'refresh_replayed' })
  })

  test('a lost answer is asked for again with a new proof for 60 seconds, and the same successor comes', async () => {
    const { refresh_token } = await boundTokens()
    const next = tokensOf(await refreshWith(walk, publicClient, refresh_token, key))
    grantor.clock.advance(59)
    expect(tokensOf(await refreshWith(walk, publicClient, refresh_token, key)).refresh_token).toBe(next.refresh_token)
    grantor.clock.advance(1)
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, key), 'invalid_grant')
  })

  test('one that is not bound keeps its 10 seconds, whoever brings a proof', async () => {
    const { refresh_token } = tokensOf(await exchangeWith(walk, publicClient, await codeFor(walk, publicClient), null))
    const next = tokensOf(await refreshWith(walk, publicClient, refresh_token, key))
    expect(claimsOf(next.access_token).cnf).toEqual({ jkt })
    expect((await grantOf(next.access_token))?.dpopJkt).toBeNull()
    grantor.clock.advance(10)
    expectRefusal(await refreshWith(walk, publicClient, refresh_token, key), 'invalid_grant')
  })

  test('one proof refreshes once: a captured request moves and ends nothing, an old one included', async () => {
    const tokens = await boundTokens()
    const dpop = await proofOf(grantor, key)
    const send = (refresh_token: string) => walk.token(publicClient, { grant_type: 'refresh_token', refresh_token }, { dpop })
    const next = tokensOf(await send(tokens.refresh_token))
    expectRefusal(await send(tokens.refresh_token), USED)
    expectRefusal(await send(next.refresh_token), USED)
    expect(await grantOf(next.access_token)).toMatchObject({ generation: 1, endedAt: null })
    await refreshWith(walk, publicClient, next.refresh_token, key)
    expectRefusal(await send(tokens.refresh_token), USED)
    expect(await grantOf(next.access_token)).toMatchObject({ generation: 2, endedAt: null })
  })

  test('of fifty simultaneous sendings of one refresh one is answered, and the token moves once', async () => {
    const tokens = await boundTokens()
    const dpop = await proofOf(grantor, key)
    const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    const answers = await Promise.all(Array.from({ length: 50 }, () => walk.token(publicClient, body, { dpop })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, USED)
    expect(await grantOf(tokens.access_token)).toMatchObject({ generation: 1, endedAt: null })
  })

  test('a refused refresh leaves its proof unused: wider scope, ended grant, another client’s, another key’s', async () => {
    const tokens = await boundTokens()
    const other = await boundTokens()
    await walk.revoke(publicClient, other.refresh_token)
    const [dpop, theirs] = [await proofOf(grantor, key), await proofOf(grantor, another)]
    await spentRows()
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
    expect(await spentRows()).toBe(0)
    const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    expect((await walk.token(publicClient, body, { dpop })).status).toBe(200)
  })
})

describe('a refresh token of a confidential client is bound by its authentication (§5)', () => {
  test('its access tokens are bound to whatever key is proved, or to none', async () => {
    const tokens = tokensOf(await exchangeWith(walk, confidential, await codeFor(walk, confidential), key))
    const second = tokensOf(await refreshWith(walk, confidential, tokens.refresh_token, another))
    expect(claimsOf(second.access_token).cnf).toEqual({ jkt: await thumbprint(another) })
    const third = tokensOf(await refreshWith(walk, confidential, second.refresh_token, null))
    expect(third.token_type).toBe('Bearer')
    expect(claimsOf(third.access_token)).not.toHaveProperty('cnf')
  })

  test('unless it is registered for bound tokens only (§5.2)', async () => {
    const bound = await grantor.createClient({ dpopBound: true })
    const tokens = tokensOf(await exchangeWith(walk, bound, await codeFor(walk, bound), key))
    expectRefusal(await exchangeWith(walk, bound, await codeFor(walk, bound), null), NO_PROOF)
    expectRefusal(await refreshWith(walk, bound, tokens.refresh_token, null), NO_PROOF)
    expect((await refreshWith(walk, bound, tokens.refresh_token, another)).status).toBe(200)
  })
})

describe('introspection of a bound token (§6.2)', () => {
  test('says token_type DPoP and cnf beside the nine members; of any other the nine alone', async () => {
    const { access_token } = tokensOf(await exchangeWith(walk, confidential, await codeFor(walk, confidential), key))
    const answer = (await walk.introspect(confidential, access_token)).json()
    expect(answer).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt } })
    expect(Object.keys(answer)).toHaveLength(10)
    const plain = tokensOf(await exchangeWith(walk, confidential, await codeFor(walk, confidential), null))
    expect(Object.keys((await walk.introspect(confidential, plain.access_token)).json())).toHaveLength(9)
  })
})

describe('a proof beside a pushed request binds the code like dpop_jkt (§10.1)', () => {
  const push = (dpop: string, more: Record<string, string> = {}) => {
    const body = { redirect_uri: confidential.redirectUris[0] ?? '', response_type: 'code', ...more }
    return walk.call('/oauth/par', confidential, body, { dpop })
  }
  const pushProof = (claims = {}) => proofOf(grantor, key, { htu: `${grantor.authUrl}/oauth/par`, ...claims })

  test('to its key alone', async () => {
    for (const more of [{}, { dpop_jkt: jkt }]) {
      const { request_uri } = (await push(await pushProof(), more)).json() as Record<string, string>
      const { location } = await walk.authorize({ client_id: confidential.id, request_uri: request_uri ?? '' })
      const code = parameterOf(location, 'code')
      expectRefusal(await walk.exchange(confidential, code), NO_PROOF)
      const body = { grant_type: 'authorization_code', code, redirect_uri: confidential.redirectUris[0] ?? '' }
      expect((await walk.token(confidential, body, { dpop: await proofOf(grantor, key) })).status).toBe(200)
    }
  })

  test('a dpop_jkt of another key, a bad proof or a used one is refused; a refused push leaves its proof unused', async () => {
    const dpop = await pushProof({ jti: randomUUID() })
    expectRefusal(await push(dpop, { dpop_jkt: await thumbprint(another) }), USED)
    expectRefusal(await push(await proofOf(grantor, key)), USED)
    expect((await push(dpop)).status).toBe(201)
    expectRefusal(await push(dpop), USED)
  })
})
