/** What a DPoP proof must be (RFC 9449 §4.3), point by point, at the token endpoint. */
import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimsOf } from '../support/app.ts'
import { oldRsaKeys, type TestKey } from '../support/client-key.ts'
import { newDpopKey, proofOf, thumbprint } from '../support/dpop.ts'
import { expectRefusal } from '../support/refusals.ts'
import { type Answer, send } from '../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { basic, Walk } from '../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk
const key = newDpopKey()

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'] })
  walk = new Walk(grantor)
})
afterAll(() => grantor.close())

const BAD_PROOF = {
  status: 400,
  error: 'invalid_dpop_proof',
  description: 'The DPoP proof is malformed, too old, used, or not for this request.',
}

const ask = (dpop: string | string[], more: Record<string, string> = {}): Promise<Answer> =>
  walk.call('/oauth/token', client, { grant_type: 'client_credentials', ...more }, { dpop } as Record<string, string>)
const proof = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, by: TestKey = key) =>
  proofOf(grantor, by, claims, header)

/** Refused as every bad proof is; the audit log knows why. */
async function expectRefused(dpop: string | string[], reason: string): Promise<void> {
  expectRefusal(await ask(dpop), BAD_PROOF)
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason, client_id: client.id })
}

describe('a good proof gives a token that is bound to its key (RFC 9449 §5, §6.1)', () => {
  test.each(['ES256', 'PS256', 'EdDSA'] as const)('%s: token_type DPoP and the thumbprint in cnf', async (alg) => {
    const own = newDpopKey(alg)
    const answer = (await ask(await proof({}, {}, own))).json() as Record<string, string>
    expect(answer.token_type).toBe('DPoP')
    expect(claimsOf(answer.access_token ?? '').cnf).toEqual({ jkt: await thumbprint(own) })
  })

  test('without a proof everything is as it was: a bearer token, and no cnf', async () => {
    const answer = (await walk.token(client, { grant_type: 'client_credentials' })).json() as Record<string, string>
    expect(answer.token_type).toBe('Bearer')
    expect(claimsOf(answer.access_token ?? '')).not.toHaveProperty('cnf')
  })

  test('the address may be spelled another way, with a query too (§4.3)', async () => {
    const { port } = new URL(grantor.authUrl)
    for (const htu of [`HTTP://LOCALHOST:${port}/oauth/./token`, `${grantor.authUrl}/oauth/%74oken?a=b#c`])
      expect((await ask(await proof({ htu }))).status).toBe(200)
  })

  test('its clock may be 60 seconds behind and 10 ahead; members we do not know, a kid, and a used alg name in its jwk change nothing', async () => {
    for (const iat of [grantor.clock.now() - 60, grantor.clock.now() + 10])
      expect((await ask(await proof({ iat }))).status).toBe(200)
    expect(
      (await ask(await proof({ x: 1 }, { kid: 'k', jwk: { ...key.jwk, alg: 'ES256', use: 'sig', kid: 'other' } }))).status,
    ).toBe(200)
  })
})

test('dpop_signing_alg_values_supported: each is taken, and no other, in the metadata as in the challenge (RFC 9449 §5.1, §7.1)', async () => {
  const metadata = (await send(grantor.authUrl, { path: '/.well-known/oauth-authorization-server' })).json()
  const algorithms = metadata.dpop_signing_alg_values_supported as TestKey['alg'][]
  for (const alg of algorithms) expect((await ask(await proof({}, {}, newDpopKey(alg)))).status).toBe(200)
  const challenge = (await send(grantor.authUrl, { path: '/oauth/userinfo' })).headers['www-authenticate']
  expect(challenge).toContain(`algs="${algorithms.join(' ')}"`)
  const rsa = newDpopKey('PS256')
  for (const alg of ['RS256', 'PS384', 'RS512'] as const)
    expectRefusal(await ask(await proof({}, {}, { ...rsa, alg } as never)), BAD_PROOF)
})

describe('anything else is 400 invalid_dpop_proof (RFC 9449 §4.3, §5)', () => {
  test('point 1: more than one DPoP field, as two fields or in one', async () => {
    await expectRefused([await proof(), await proof()], 'proof_repeated')
    await expectRefused(`${await proof()}, ${await proof()}`, 'proof_malformed')
    const same = await proof()
    await expectRefused([same, same], 'proof_repeated')
  })

  test.each(['', 'x', 'a.b.c', 'a.b', `${'x'.repeat(9000)}.x.x`])('point 2: no JWT: %.9s', async (text) => {
    await expectRefused(text, 'proof_malformed')
  })

  test.each(['jti', 'htm', 'htu', 'iat'])('point 3: without %s', async (claim) => {
    expectRefusal(await ask(await proof({ [claim]: undefined })), BAD_PROOF)
  })

  test.each([undefined, 'jwt', 'at+jwt', 'dpop'])('point 4: of the type %s', async (typ) => {
    await expectRefused(await proof({}, { typ }), 'proof_type_wrong')
  })

  test('point 5: not signed, or signed with a secret', async () => {
    const [head, body] = (await proof()).split('.')
    const header = JSON.parse(Buffer.from(head ?? '', 'base64url').toString()) as object
    const unsigned = Buffer.from(JSON.stringify({ ...header, alg: 'none' })).toString('base64url')
    expectRefusal(await ask(`${unsigned}.${body}.`), BAD_PROOF)
    await expectRefused(`${unsigned}.${body}.AAAA`, 'proof_signature_wrong')
    const secret = Buffer.from('a secret that everybody may know')
    for (const jwk of [{ kty: 'oct', k: secret.toString('base64url') }, key.jwk]) {
      const input = `${Buffer.from(JSON.stringify({ ...header, alg: 'HS256', jwk })).toString('base64url')}.${body}`
      const mac = createHmac('sha256', 'kty' in jwk && jwk.kty === 'oct' ? secret : JSON.stringify(key.jwk)).update(input)
      expectRefusal(await ask(`${input}.${mac.digest('base64url')}`), BAD_PROOF)
    }
  })

  test('points 5 and 7: a key that is missing, private, of another curve, not for signatures, or of RSA and too short, too long or with a small exponent', async () => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
    const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' })
    const unusable: unknown[] = [
      undefined,
      null,
      'x',
      [],
      {},
      key.privateKey.export({ format: 'jwk' }),
      short,
      p384,
      { ...key.jwk, use: 'enc' },
    ]
    for (const { jwk } of Object.values(oldRsaKeys())) unusable.push(jwk)
    for (const jwk of unusable) await expectRefused(await proof({}, { jwk }), 'proof_key_unusable')
  })

  test('point 6: signed by another key than the one it shows', async () => {
    await expectRefused(await proof({}, { jwk: newDpopKey().jwk }), 'proof_signature_wrong')
    const [head, , tail] = (await proof()).split('.')
    await expectRefused(`${head}.${(await proof()).split('.')[1]}.${tail}`, 'proof_signature_wrong')
  })

  test.each(['GET', 'post', 'PUT', 1])('point 8: for the method %s', async (htm) => {
    await expectRefused(await proof({ htm }), 'proof_method_wrong')
  })

  test('point 9: for another address: another host, path or scheme, or the name that the request itself says', async () => {
    const { authUrl, loginUrl } = grantor
    const others = [
      `${authUrl}/oauth/par`,
      `${authUrl}/oauth/token/`,
      `${loginUrl}/oauth/token`,
      authUrl.replace('http', 'https'),
    ]
    for (const htu of [...others, 'https://evil.example/oauth/token', '/oauth/token', '', 7])
      await expectRefused(await proof({ htu }), 'proof_address_wrong')
    const headers = { dpop: await proof({ htu: 'http://evil.example/oauth/token' }), host: 'evil.example' }
    expectRefusal(await walk.token(client, { grant_type: 'client_credentials' }, headers), BAD_PROOF)
  })

  test('point 11: made more than 60 seconds ago, more than 10 ahead, or at no time at all', async () => {
    const at = grantor.clock.now()
    await expectRefused(await proof({ iat: at - 61 }), 'proof_expired')
    await expectRefused(await proof({ iat: at + 11 }), 'proof_of_the_future')
    for (const iat of [String(at), null, {}]) await expectRefused(await proof({ iat }), 'proof_iat_missing')
  })

  test.each(['', 'j'.repeat(257), 7, null])('a jti that is none, or too long to be kept: %.9s', async (jti) => {
    await expectRefused(await proof({ jti }), 'proof_jti_missing')
  })

  test('an extension that must be understood, which none is (RFC 7515 §4.1.11)', async () => {
    const text = await proof()
    const [head, body, tail] = text.split('.')
    const header = { ...(JSON.parse(Buffer.from(head ?? '', 'base64url').toString()) as object), crit: ['x'], x: 1 }
    await expectRefused(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.${body}.${tail}`, 'proof_malformed')
  })
})

describe('a proof works once (RFC 9449 §11.1)', () => {
  test('a second time it is refused, also by a spelling of its address that is another', async () => {
    const jti = randomUUID()
    expect((await ask(await proof({ jti }))).status).toBe(200)
    await expectRefused(await proof({ jti }), 'proof_replayed')
    await expectRefused(await proof({ jti, htu: `${grantor.authUrl}/oauth/token?again` }), 'proof_replayed')
    expect((await ask(await proof({ jti }, {}, newDpopKey()))).status, 'the same jti of another key is another').toBe(200)
  })

  test('what is refused for anything else leaves it unused: credentials, grant type, scope, resource', async () => {
    const text = await proof()
    const stranger = walk.token({ id: client.id, secret: 'wrong' }, { grant_type: 'client_credentials' }, { dpop: text })
    expect((await stranger).status).toBe(401)
    for (const more of [{ grant_type: 'password' }, { scope: 'everything' }, { resource: 'https://elsewhere.example/' }])
      expect((await ask(text, more)).status).toBe(400)
    expect((await ask(text)).status).toBe(200)
    await expectRefused(text, 'proof_replayed')
  })

  test('of fifty uses at once on two nodes exactly one succeeds', async () => {
    const { databasePath, clock, authUrl, loginUrl } = grantor
    const node = await startGrantor({ databasePath, clock, settings: { authUrl, loginUrl, defaultResource: authUrl } })
    const second = new Walk(node)
    const text = await proof()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 ? walk : second).token(client, { grant_type: 'client_credentials' }, { dpop: text }),
      ),
    )
    await node.close()
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, BAD_PROOF)
  })

  test('it is remembered for as long as it would be taken, and an hour more, as a hash', async () => {
    const text = await proof({ iat: grantor.clock.now() + 10 })
    await ask(text)
    grantor.clock.advance(70)
    await grantor.store.cleaning.sweep('spent', { overFor: 3600, limit: 1000, at: grantor.clock.now() })
    await expectRefused(text, 'proof_replayed')
    grantor.clock.advance(1)
    await expectRefused(text, 'proof_expired')
    const sweep = (at: number) => grantor.store.cleaning.sweep('spent', { overFor: 3600, limit: 1000, at })
    await sweep(grantor.clock.now() + 3599)
    expect(await sweep(grantor.clock.now() + 3600)).toBeGreaterThan(0)
  })
})

describe('a client that is registered for bound tokens (RFC 9449 §5.2)', () => {
  test('gets none without a proof, with any grant type; with one it does', async () => {
    const registration = { redirectUris: [], grantTypes: ['client_credentials' as const], dpopBound: true }
    const bound = await grantor.createClient(registration)
    const body = { grant_type: 'client_credentials' }
    expectRefusal(await walk.token(bound, body), { ...BAD_PROOF, description: 'This needs a DPoP proof.' })
    const answer = await walk.call('/oauth/token', bound, body, {
      dpop: await proof(),
      authorization: basic(bound.id, bound.secret),
    })
    expect(answer.json()).toMatchObject({ token_type: 'DPoP' })
  })
})
