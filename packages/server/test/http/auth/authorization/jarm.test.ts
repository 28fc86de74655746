/** JWT Secured Authorization Response Mode (JARM): the response to an authorization request as one signed JWT. */
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openIdClient } from '../../../support/openid-app.ts'
import { pushed } from '../../../support/pushed.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import {
  type Answer,
  CODE_VERIFIER,
  fieldOf,
  movingTo,
  noticeOf,
  PKCE,
  parameterOf,
  requestOf,
  Walk,
} from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await openIdClient(grantor)
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const jwtModeRequest = (more: Record<string, string> = {}) =>
  requestOf(client, { response_mode: 'jwt', state: 'a state/ü', ...more })

/** The claims of a response, verified with the published keys. */
async function verifyResponse(response: string, algorithm = 'ES256', of = client): Promise<Record<string, unknown>> {
  const { payload, protectedHeader } = await jwtVerify(response, createRemoteJWKSet(new URL(`${grantor.authUrl}/oauth/jwks`)), {
    issuer: grantor.authUrl,
    audience: of.id,
    currentDate: new Date(grantor.clock.now() * 1000),
  })
  expect(protectedHeader.alg).toBe(algorithm)
  return payload
}

/** The value of `response`, which must be the only parameter of the redirect. */
function responseOf(location: string): string {
  expect([...new URL(location).searchParams.keys()]).toEqual(['response'])
  return parameterOf(location, 'response')
}

const expectedClaims = () => ({ iss: grantor.authUrl, aud: client.id, exp: grantor.clock.now() + 600, state: 'a state/ü' })

describe('The response mode query.jwt (JARM §2.3.1)', () => {
  test.each(['jwt', 'query.jwt'])(
    'A response with response_mode=%s is a JWT with a valid code, iss, aud, exp and state (JARM §2.1, §2.3.4)',
    async (response_mode) => {
      const { status, location } = await walk.authorize(jwtModeRequest({ response_mode, response_type: 'code', ...PKCE }))
      expect(status).toBe(302)
      expect(location.startsWith('https://app.example.net/callback?response=')).toBe(true)
      const claims = await verifyResponse(responseOf(location))
      expect(claims).toEqual({ ...expectedClaims(), code: expect.any(String) })
      const tokens = await walk.exchange(client, claims.code as string, { code_verifier: CODE_VERIFIER })
      expect(tokens.status).toBe(200)
    },
  )

  test('A JWT response contains iss, with and without response_type in the request, and the redirect has no other iss (RFC 9207 §2.4)', async () => {
    for (const more of [{}, { response_type: 'code' }]) {
      const { location } = await walk.authorize(jwtModeRequest(more))
      expect(location).not.toContain('iss=')
      expect((await verifyResponse(responseOf(location))).iss).toBe(grantor.authUrl)
    }
  })

  test.each([
    ['the scope', { scope: 'unknown' }, 'invalid_scope'],
    ['the response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
  ])('With response_mode=jwt an error for %s is a signed JWT (JARM §2.1)', async (_, more, error) => {
    const { location } = await new Walk(grantor).authorize(jwtModeRequest(more))
    expect(await verifyResponse(responseOf(location))).toEqual({
      ...expectedClaims(),
      error,
      error_description: expect.any(String),
    })
  })

  test('With response_mode=jwt the response after a login or a declined login is a JWT', async () => {
    const browser = new Walk(grantor)
    const declined = await browser.complete(await browser.reject(await browser.challenge(jwtModeRequest())))
    expect(await verifyResponse(responseOf(movingTo(declined)))).toMatchObject({ error: 'access_denied', state: 'a state/ü' })
    const { to } = await browser.signIn(jwtModeRequest())
    expect(await verifyResponse(responseOf(to))).toEqual({ ...expectedClaims(), code: expect.any(String) })
  })

  test('With response_mode=jwt the response after a confirmation is a JWT, for both decisions', async () => {
    for (const decision of ['allow', 'deny'] as const) {
      const page = await walk.authorize(jwtModeRequest({ prompt: 'consent' }))
      const claims = await verifyResponse(responseOf(movingTo(await walk.confirm(page, decision))))
      expect(Object.keys(claims)).toContain(decision === 'allow' ? 'code' : 'error')
    }
  })

  test('With response_mode=jwt the response to a pushed request is a JWT, even if the request is too long for a login challenge', async () => {
    const direct = await walk.authorize(await pushed(walk, client, { response_mode: 'jwt' }))
    expect(await verifyResponse(responseOf(direct.location))).toHaveProperty('code')
    const long = await pushed(walk, client, { response_mode: 'jwt', state: 's'.repeat(4000) })
    const { to } = await new Walk(grantor).signIn(long)
    expect(await verifyResponse(responseOf(to))).toHaveProperty('state', 's'.repeat(4000))
  })

  test('With response_mode=jwt the error for a login with another wallet than the id_token_hint’s is a JWT', async () => {
    const { location } = await walk.authorize(requestOf(client, { response_type: 'code', scope: 'openid' }))
    const { id_token } = (await walk.exchange(client, parameterOf(location, 'code'))).json() as { id_token: string }
    const browser = new Walk(grantor)
    const { testWallet } = await import('../../../support/wallet.ts')
    const challenge = await browser.challenge(jwtModeRequest({ id_token_hint: id_token }))
    const page = await browser.complete(await browser.prove(challenge, testWallet(1)))
    expect(await verifyResponse(responseOf(movingTo(page)))).toMatchObject({ error: 'login_required' })
  })
})

test.each(['ES256', 'RS256', 'EdDSA'] as const)(
  'A response is signed with the algorithm that the client is registered for: %s (JARM §3)',
  async (authorizationAlgorithm) => {
    const own = await grantor.createClient({ authorizationAlgorithm })
    const { location } = await walk.authorize(requestOf(own, { response_mode: 'jwt' }))
    expect(await verifyResponse(responseOf(location), authorizationAlgorithm, own)).toHaveProperty('code')
  },
)

test('With response_mode=form_post.jwt the JWT is the only field of the form (JARM §2.3.3)', async () => {
  const page = await walk.authorize(jwtModeRequest({ response_mode: 'form_post.jwt' }))
  expect(page.body.match(/<input type="hidden"/g)).toHaveLength(1)
  expect(await verifyResponse(fieldOf(page, 'response'))).toEqual({ ...expectedClaims(), code: expect.any(String) })
})

describe('Refused response modes', () => {
  const errorIn = ({ location }: Answer) => [parameterOf(location, 'error'), parameterOf(location, 'error_description')]

  test.each(['fragment', 'fragment.jwt', 'web_message', 'JWT', 'query.jwt form_post'])(
    'A request with the unsupported response_mode=%s gets invalid_request in the query',
    async (response_mode) => {
      expect(errorIn(await walk.authorize(requestOf(client, { response_mode })))).toEqual([
        'invalid_request',
        'response_mode must be query, form_post, jwt, query.jwt or form_post.jwt.',
      ])
    },
  )

  test('A request that repeats response_mode is 400 with an error page (RFC 6749 §3.1)', async () => {
    const page = await walk.authorize(requestOf(client, { response_mode: ['jwt', 'jwt'] }))
    expect([page.status, noticeOf(page)]).toEqual([400, 'malformed_request'])
  })

  test('With response_mode=jwt a state with control characters or invalid UTF-8 gets invalid_request, since a JWT would change it', async () => {
    const query = `client_id=${client.id}&redirect_uri=${encodeURIComponent(client.redirectUris[0] ?? '')}`
    for (const state of ['%FF', 'a%0Ab', '%00']) {
      const { location } = await walk.authorize(`${query}&response_mode=jwt&state=${state}`)
      const claims = await verifyResponse(responseOf(location))
      expect(claims).toMatchObject({ error: 'invalid_request' })
      expect(claims).not.toHaveProperty('state')
      expect((await walk.authorize(`${query}&state=${state}`)).location).toContain(`&state=${state}`)
    }
  })
})

test('A JWT response is not accepted as an ID token in id_token_hint', async () => {
  const response = responseOf((await walk.authorize(jwtModeRequest())).location)
  const withHint = await walk.authorize(requestOf(client, { id_token_hint: response, prompt: 'none' }))
  expect(parameterOf(withHint.location, 'error')).toBe('login_required')
  const logout = await walk.browse({ path: `/oauth/logout?id_token_hint=${response}` })
  expect(logout.status).toBe(200)
})

test('A JWT response is signed with the new algorithm as soon as the client’s registration changes', async () => {
  const own = await grantor.createClient()
  await changeClient(grantor, own, { authorizationAlgorithm: 'EdDSA' })
  const { location } = await walk.authorize(requestOf(own, { response_mode: 'jwt' }))
  expect(await verifyResponse(responseOf(location), 'EdDSA', own)).toHaveProperty('code')
})
