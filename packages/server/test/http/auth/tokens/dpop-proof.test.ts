/** The checks of a DPoP proof (RFC 9449 §4.3), in the order of the RFC, at the token endpoint. */
import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimsOf } from '../../../support/app.ts'
import { oldRsaKeys, type TestKey } from '../../../support/client-key.ts'
import { newDpopKey, proofOf, thumbprint } from '../../../support/dpop.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import { type Grantor, startBeside, startGrantor, type TestClient } from '../../../support/start.ts'
import { basic, Walk } from '../../../support/walk.ts'

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

const requestToken = (dpop: string | string[], more: Record<string, string> = {}): Promise<Answer> =>
  walk.call('/oauth/token', client, { grant_type: 'client_credentials', ...more }, { dpop } as Record<string, string>)
const proof = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, by: TestKey = key) =>
  proofOf(grantor, by, claims, header)

/** Expects the same response for every invalid proof, and the reason in the audit log. */
async function expectRefused(dpop: string | string[], reason: string): Promise<void> {
  expectRefusal(await requestToken(dpop), BAD_PROOF)
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason, client_id: client.id })
}

describe('Valid DPoP proofs (RFC 9449 §5, §6.1)', () => {
  test.each(['ES256', 'PS256', 'EdDSA'] as const)(
    'A proof signed with %s gets a token with token_type DPoP and the thumbprint of the key in cnf (RFC 9449 §5, §6.1)',
    async (alg) => {
      const own = newDpopKey(alg)
      const answer = (await requestToken(await proof({}, {}, own))).json() as Record<string, string>
      expect(answer.token_type).toBe('DPoP')
      expect(claimsOf(answer.access_token ?? '').cnf).toEqual({ jkt: await thumbprint(own) })
    },
  )

  test('A token request without a DPoP proof gets a bearer token without cnf', async () => {
    const answer = (await walk.token(client, { grant_type: 'client_credentials' })).json() as Record<string, string>
    expect(answer.token_type).toBe('Bearer')
    expect(claimsOf(answer.access_token ?? '')).not.toHaveProperty('cnf')
  })

  test('The htu of a DPoP proof may have another spelling of the address, and a query (RFC 9449 §4.3)', async () => {
    const { port } = new URL(grantor.authUrl)
    for (const htu of [`HTTP://LOCALHOST:${port}/oauth/./token`, `${grantor.authUrl}/oauth/%74oken?a=b#c`])
      expect((await requestToken(await proof({ htu }))).status).toBe(200)
  })

  test('A DPoP proof is accepted with an iat 60 seconds back or 10 seconds ahead, and with unknown claims and key members', async () => {
    for (const iat of [grantor.clock.now() - 60, grantor.clock.now() + 10])
      expect((await requestToken(await proof({ iat }))).status).toBe(200)
    expect(
      (await requestToken(await proof({ x: 1 }, { kid: 'k', jwk: { ...key.jwk, alg: 'ES256', use: 'sig', kid: 'other' } })))
        .status,
    ).toBe(200)
  })
})

test('Exactly the algorithms in dpop_signing_alg_values_supported and in the challenge’s algs are accepted (RFC 9449 §5.1, §7.1)', async () => {
  const metadata = (await send(grantor.authUrl, { path: '/.well-known/oauth-authorization-server' })).json()
  const algorithms = metadata.dpop_signing_alg_values_supported as TestKey['alg'][]
  for (const alg of algorithms) expect((await requestToken(await proof({}, {}, newDpopKey(alg)))).status).toBe(200)
  const challenge = (await send(grantor.authUrl, { path: '/oauth/userinfo' })).headers['www-authenticate']
  expect(challenge).toContain(`algs="${algorithms.join(' ')}"`)
  const rsa = newDpopKey('PS256')
  for (const alg of ['RS256', 'PS384', 'RS512'] as const)
    expectRefusal(await requestToken(await proof({}, {}, { ...rsa, alg } as never)), BAD_PROOF)
})

describe('Invalid DPoP proofs (RFC 9449 §4.3, §5)', () => {
  test('A request with more than one DPoP proof, in two header fields or in one, is refused (RFC 9449 §4.3 point 1)', async () => {
    await expectRefused([await proof(), await proof()], 'proof_repeated')
    await expectRefused(`${await proof()}, ${await proof()}`, 'proof_malformed')
    const same = await proof()
    await expectRefused([same, same], 'proof_repeated')
  })

  test.each(['', 'x', 'a.b.c', 'a.b', `${'x'.repeat(9000)}.x.x`])(
    'A DPoP header that is no JWT is refused: %.9s (RFC 9449 §4.3 point 2)',
    async (text) => {
      await expectRefused(text, 'proof_malformed')
    },
  )

  test.each(['jti', 'htm', 'htu', 'iat'])(
    'A DPoP proof without the claim %s is refused (RFC 9449 §4.3 point 3)',
    async (claim) => {
      expectRefusal(await requestToken(await proof({ [claim]: undefined })), BAD_PROOF)
    },
  )

  test.each([undefined, 'jwt', 'at+jwt', 'dpop'])(
    'A DPoP proof with the typ %s is refused (RFC 9449 §4.3 point 4)',
    async (typ) => {
      await expectRefused(await proof({}, { typ }), 'proof_type_wrong')
    },
  )

  test('A DPoP proof that is unsigned or signed with a symmetric key is refused (RFC 9449 §4.3 point 5)', async () => {
    const [head, body] = (await proof()).split('.')
    const header = JSON.parse(Buffer.from(head ?? '', 'base64url').toString()) as object
    const unsigned = Buffer.from(JSON.stringify({ ...header, alg: 'none' })).toString('base64url')
    expectRefusal(await requestToken(`${unsigned}.${body}.`), BAD_PROOF)
    await expectRefused(`${unsigned}.${body}.AAAA`, 'proof_signature_wrong')
    const secret = Buffer.from('a secret that is not secret')
    for (const jwk of [{ kty: 'oct', k: secret.toString('base64url') }, key.jwk]) {
      const input = `${Buffer.from(JSON.stringify({ ...header, alg: 'HS256', jwk })).toString('base64url')}.${body}`
      const mac = createHmac('sha256', 'kty' in jwk && jwk.kty === 'oct' ? secret : JSON.stringify(key.jwk)).update(input)
      expectRefusal(await requestToken(`${input}.${mac.digest('base64url')}`), BAD_PROOF)
    }
  })

  test('A DPoP proof with a missing, private or unsuitable key is refused (RFC 9449 §4.3 points 5 and 7)', async () => {
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

  test('A DPoP proof signed with another key than the one in its header is refused (RFC 9449 §4.3 point 6)', async () => {
    await expectRefused(await proof({}, { jwk: newDpopKey().jwk }), 'proof_signature_wrong')
    const [head, , tail] = (await proof()).split('.')
    await expectRefused(`${head}.${(await proof()).split('.')[1]}.${tail}`, 'proof_signature_wrong')
  })

  test.each(['GET', 'post', 'PUT', 1])('A DPoP proof for the method %s is refused (RFC 9449 §4.3 point 8)', async (htm) => {
    await expectRefused(await proof({ htm }), 'proof_method_wrong')
  })

  test('A DPoP proof for another host, path or scheme, even for the request’s Host header, is refused (RFC 9449 §4.3 point 9)', async () => {
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

  test('A DPoP proof with an iat 61 seconds back, 11 seconds ahead or of another type is refused (RFC 9449 §4.3 point 11)', async () => {
    const at = grantor.clock.now()
    await expectRefused(await proof({ iat: at - 61 }), 'proof_expired')
    await expectRefused(await proof({ iat: at + 11 }), 'proof_of_the_future')
    for (const iat of [String(at), null, {}]) await expectRefused(await proof({ iat }), 'proof_iat_missing')
  })

  test.each(['', 'j'.repeat(257), 7, null])(
    'A DPoP proof whose jti is empty, no text or longer than 256 characters is refused: %.9s',
    async (jti) => {
      await expectRefused(await proof({ jti }), 'proof_jti_missing')
    },
  )

  test('A DPoP proof with a critical header parameter is refused (RFC 7515 §4.1.11)', async () => {
    const text = await proof()
    const [head, body, tail] = text.split('.')
    const header = { ...(JSON.parse(Buffer.from(head ?? '', 'base64url').toString()) as object), crit: ['x'], x: 1 }
    await expectRefused(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.${body}.${tail}`, 'proof_malformed')
  })
})

describe('The single use of a DPoP proof (RFC 9449 §11.1)', () => {
  test('A jti that the same key uses a second time is refused, also with another spelling of htu (RFC 9449 §11.1)', async () => {
    const jti = randomUUID()
    expect((await requestToken(await proof({ jti }))).status).toBe(200)
    await expectRefused(await proof({ jti }), 'proof_replayed')
    await expectRefused(await proof({ jti, htu: `${grantor.authUrl}/oauth/token?again` }), 'proof_replayed')
    expect((await requestToken(await proof({ jti }, {}, newDpopKey()))).status, 'another key may use the same jti').toBe(200)
  })

  test('A token request that is refused for its credentials, grant type, scope or resource does not use up its DPoP proof', async () => {
    const text = await proof()
    const stranger = walk.token({ id: client.id, secret: 'wrong' }, { grant_type: 'client_credentials' }, { dpop: text })
    expect((await stranger).status).toBe(401)
    for (const more of [{ grant_type: 'password' }, { scope: 'everything' }, { resource: 'https://elsewhere.example/' }])
      expect((await requestToken(text, more)).status).toBe(400)
    expect((await requestToken(text)).status).toBe(200)
    await expectRefused(text, 'proof_replayed')
  })

  test('Of fifty simultaneous uses of one DPoP proof on two nodes exactly one succeeds (RFC 9449 §11.1)', async () => {
    const node = await startBeside(grantor)
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

  test('A used DPoP proof stays recorded until one hour after the proof would have expired', async () => {
    const text = await proof({ iat: grantor.clock.now() + 10 })
    await requestToken(text)
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

describe('Clients registered for bound access tokens (RFC 9449 §5.2)', () => {
  test('A client registered for bound access tokens gets a token with a DPoP proof, and an error without one (RFC 9449 §5.2)', async () => {
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
