/** JWT Secured Authorization Response Mode (JARM): the response to an authorization request as one signed JWT. */
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openIdClient } from '../support/openid-app.ts'
import { pushed } from '../support/pushed.ts'
import { changeClient } from '../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { type Answer, CODE_VERIFIER, fieldOf, movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../support/walk.ts'

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

const asked = (more: Record<string, string> = {}) => requestOf(client, { response_mode: 'jwt', state: 'a state/ü', ...more })

/** The claims, checked as a client checks them that has never been here before. */
async function verified(response: string, algorithm = 'ES256', of = client): Promise<Record<string, unknown>> {
  const { payload, protectedHeader } = await jwtVerify(response, createRemoteJWKSet(new URL(`${grantor.authUrl}/oauth/jwks`)), {
    issuer: grantor.authUrl,
    audience: of.id,
    currentDate: new Date(grantor.clock.now() * 1000),
  })
  expect(protectedHeader.alg).toBe(algorithm)
  return payload
}

/** The one parameter of a redirect. */
function responseOf(location: string): string {
  expect([...new URL(location).searchParams.keys()]).toEqual(['response'])
  return parameterOf(location, 'response')
}

const usual = () => ({ iss: grantor.authUrl, aud: client.id, exp: grantor.clock.now() + 600, state: 'a state/ü' })

describe('a response in mode query.jwt is one JWT in the query (§2.3.1)', () => {
  test.each(['jwt', 'query.jwt'])(
    'response_mode=%s: a code with iss, aud, exp and state, and it can be redeemed (§2.1, §2.3.4)',
    async (response_mode) => {
      const { status, location } = await walk.authorize(asked({ response_mode, response_type: 'code', ...PKCE }))
      expect(status).toBe(302)
      expect(location.startsWith('https://app.example.net/callback?response=')).toBe(true)
      const claims = await verified(responseOf(location))
      expect(claims).toEqual({ ...usual(), code: expect.any(String) })
      const tokens = await walk.exchange(client, claims.code as string, { code_verifier: CODE_VERIFIER })
      expect(tokens.status).toBe(200)
    },
  )

  test('iss is in the JWT whether or not the request names response_type, and nowhere else (RFC 9207 §2.4)', async () => {
    for (const more of [{}, { response_type: 'code' }]) {
      const { location } = await walk.authorize(asked(more))
      expect(location).not.toContain('iss=')
      expect((await verified(responseOf(location))).iss).toBe(grantor.authUrl)
    }
  })

  test.each([
    ['a scope', { scope: 'unknown' }, 'invalid_scope'],
    ['a response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
  ])('an error about %s is signed too', async (_, more, error) => {
    const { location } = await new Walk(grantor).authorize(asked(more))
    expect(await verified(responseOf(location))).toEqual({ ...usual(), error, error_description: expect.any(String) })
  })

  test('the mode outlives the login: the code, and a refusal by the person', async () => {
    const browser = new Walk(grantor)
    const declined = await browser.complete(await browser.reject(await browser.challenge(asked())))
    expect(await verified(responseOf(movingTo(declined)))).toMatchObject({ error: 'access_denied', state: 'a state/ü' })
    const { to } = await browser.signIn(asked())
    expect(await verified(responseOf(to))).toEqual({ ...usual(), code: expect.any(String) })
  })

  test('the mode outlives the confirmation, either way', async () => {
    for (const decision of ['allow', 'deny'] as const) {
      const page = await walk.authorize(asked({ prompt: 'consent' }))
      const claims = await verified(responseOf(movingTo(await walk.confirm(page, decision))))
      expect(Object.keys(claims)).toContain(decision === 'allow' ? 'code' : 'error')
    }
  })

  test('the mode outlives a pushed request, also one that is too long for the challenge', async () => {
    const direct = await walk.authorize(await pushed(walk, client, { response_mode: 'jwt' }))
    expect(await verified(responseOf(direct.location))).toHaveProperty('code')
    const long = await pushed(walk, client, { response_mode: 'jwt', state: 's'.repeat(4000) })
    const { to } = await new Walk(grantor).signIn(long)
    expect(await verified(responseOf(to))).toHaveProperty('state', 's'.repeat(4000))
  })

  test('another wallet than the ID token names: the error is signed', async () => {
    const { location } = await walk.authorize(requestOf(client, { response_type: 'code', scope: 'openid' }))
    const { id_token } = (await walk.exchange(client, parameterOf(location, 'code'))).json() as { id_token: string }
    const browser = new Walk(grantor)
    const { testWallet } = await import('../support/wallet.ts')
    const challenge = await browser.challenge(asked({ id_token_hint: id_token }))
    const page = await browser.complete(await browser.prove(challenge, testWallet(1)))
    expect(await verified(responseOf(movingTo(page)))).toMatchObject({ error: 'login_required' })
  })
})

test.each(['ES256', 'RS256', 'EdDSA'] as const)(
  'a response is signed in the algorithm that the client is registered for: %s (§3)',
  async (authorizationAlgorithm) => {
    const own = await grantor.createClient({ authorizationAlgorithm })
    const { location } = await walk.authorize(requestOf(own, { response_mode: 'jwt' }))
    expect(await verified(responseOf(location), authorizationAlgorithm, own)).toHaveProperty('code')
  },
)

test('form_post.jwt: the JWT is the one field of a form (§2.3.3)', async () => {
  const page = await walk.authorize(asked({ response_mode: 'form_post.jwt' }))
  expect(page.body.match(/<input type="hidden"/g)).toHaveLength(1)
  expect(await verified(fieldOf(page, 'response'))).toEqual({ ...usual(), code: expect.any(String) })
})

describe('what cannot be had is refused in a mode that can', () => {
  const errorIn = ({ location }: Answer) => [parameterOf(location, 'error'), parameterOf(location, 'error_description')]

  test.each(['fragment', 'fragment.jwt', 'web_message', 'JWT', 'query.jwt form_post'])(
    'response_mode=%s',
    async (response_mode) => {
      expect(errorIn(await walk.authorize(requestOf(client, { response_mode })))).toEqual([
        'invalid_request',
        'response_mode must be query, form_post, jwt, query.jwt or form_post.jwt.',
      ])
    },
  )

  test('a response mode sent twice is a page', async () => {
    const page = await walk.authorize(requestOf(client, { response_mode: ['jwt', 'jwt'] }))
    expect([page.status, noticeOf(page)]).toEqual([400, 'malformed_request'])
  })

  test('a state that is no UTF-8, or has control characters, is refused: JSON and forms would change it', async () => {
    const query = `client_id=${client.id}&redirect_uri=${encodeURIComponent(client.redirectUris[0] ?? '')}`
    for (const state of ['%FF', 'a%0Ab', '%00']) {
      const { location } = await walk.authorize(`${query}&response_mode=jwt&state=${state}`)
      const claims = await verified(responseOf(location))
      expect(claims).toMatchObject({ error: 'invalid_request' })
      expect(claims).not.toHaveProperty('state')
      expect((await walk.authorize(`${query}&state=${state}`)).location).toContain(`&state=${state}`)
    }
  })
})

test('a response passes for no ID token: as a hint it names nobody', async () => {
  const response = responseOf((await walk.authorize(asked())).location)
  const hinted = await walk.authorize(requestOf(client, { id_token_hint: response, prompt: 'none' }))
  expect(parameterOf(hinted.location, 'error')).toBe('login_required')
  const out = await walk.browse({ path: `/oauth/logout?id_token_hint=${response}` })
  expect(out.status).toBe(200)
})

test('a change of the registered algorithm counts at once', async () => {
  const own = await grantor.createClient()
  await changeClient(grantor, own, { authorizationAlgorithm: 'EdDSA' })
  const { location } = await walk.authorize(requestOf(own, { response_mode: 'jwt' }))
  expect(await verified(responseOf(location), 'EdDSA', own)).toHaveProperty('code')
})
