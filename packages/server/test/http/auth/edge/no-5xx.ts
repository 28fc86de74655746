/** Sends arbitrary requests to every endpoint, none of which may get a 5xx. The same tests run on every store. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOKEN_EXCHANGE } from '../../../../src/protocol/oauth/grant-types.ts'
import { type App, startApp } from '../../../support/app.ts'
import { API, changeClient } from '../../../support/signed-app.ts'
import type { StartOptions } from '../../../support/start.ts'
import { basic, CODE_VERIFIER, fieldOf, LOGIN_SERVER, PKCE, requestOf } from '../../../support/walk.ts'
import { anyRequestTo, type Endpoint, goodRequestTo } from './any-request.ts'

/** The parameters of valid requests, which can be repeated as long as the clock does not advance. */
async function goodParametersOf(app: App): Promise<Record<string, Record<string, string>>> {
  const { client, walk, grantor } = app
  const { access_token, refresh_token } = await app.freshTokens()
  const redirect_uri = client.redirectUris[0] ?? ''
  const authorize = {
    client_id: client.id,
    redirect_uri,
    response_type: 'code',
    scope: 'enhancement',
    state: 'x',
    resource: grantor.authUrl,
  }
  const confirmation = fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')
  const login_challenge = await walk.challenge(requestOf(client, { prompt: 'login' }))
  const claim = { login_challenge, address: walk.wallet.address }
  const { message } = (await walk.loginApi('/login/message', { ...claim, chain_id: 1 })).json()
  const denied = new URL(await walk.reject(login_challenge), grantor.authUrl).searchParams
  const code = await app.freshCode(PKCE)
  return {
    '/oauth/authorize': { ...authorize, ...PKCE, prompt: 'none' },
    '/oauth/authorize/confirm': { confirmation, decision: 'allow' },
    '/oauth/token': {
      grant_type: 'authorization_code',
      code,
      redirect_uri,
      code_verifier: CODE_VERIFIER,
      client_id: client.id,
      client_secret: '',
    },
    '/oauth/token?': { grant_type: 'refresh_token', refresh_token, scope: 'enhancement', resource: grantor.authUrl },
    '/oauth/token?exchange': {
      grant_type: TOKEN_EXCHANGE,
      subject_token: access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      audience: API,
      resource: API,
      scope: 'enhancement',
      actor_token: '',
      actor_token_type: '',
    },
    '/oauth/introspect': { token: access_token, token_type_hint: 'access_token', client_id: client.id },
    '/oauth/revoke': { token: await app.freshCode(), token_type_hint: 'refresh_token', client_id: client.id },
    '/oauth/par': { ...authorize, ...PKCE, prompt: 'none' },
    '/oauth/logout': { client_id: client.id, state: 'x', id_token_hint: '', post_logout_redirect_uri: '' },
    '/login/complete': { login_challenge, login_verifier: denied.get('login_verifier') ?? '' },
    '/login/challenge': { login_challenge },
    '/login/message': { ...claim, scope: 'enhancement', client_ip: '203.0.113.9' },
    '/login/accept': { ...claim, signature: walk.wallet.sign(message as string), client_ip: '203.0.113.9' },
    '/login/reject': { login_challenge, client_ip: '203.0.113.9' },
  }
}

const get = (path: string): Endpoint => ({ method: 'GET', path, parameters: {} })
const post = (path: string): Endpoint => ({ method: 'POST', path, parameters: {} })

/** Every endpoint of the auth service. */
const ENDPOINTS: Endpoint[] = [
  get('/oauth/authorize'),
  post('/oauth/authorize'),
  post('/oauth/authorize/confirm'),
  post('/oauth/token'),
  // The service ignores the query of a POST. It separates the grant types.
  post('/oauth/token?'),
  post('/oauth/token?exchange'),
  post('/oauth/introspect'),
  post('/oauth/revoke'),
  post('/oauth/par'),
  get('/oauth/logout'),
  post('/oauth/logout'),
  { method: 'OPTIONS', path: '/oauth/token', parameters: {} },
  { method: 'OPTIONS', path: '/oauth/revoke', parameters: {} },
  get('/oauth/jwks'),
  get('/.well-known/oauth-authorization-server'),
  get('/login/complete'),
  get('/login/challenge'),
  { ...post('/login/message'), json: true },
  { ...post('/login/accept'), json: true },
  { ...post('/login/reject'), json: true },
  get('/health/live'),
  { method: 'HEAD', path: '/health/ready', parameters: {} },
]

/** Declares the tests. `prepare` selects the store. Each endpoint gets `times` requests, beginning with the valid one. */
export function testArbitraryInput(prepare: () => Promise<StartOptions>, times: number): void {
  let app: App
  /** The parameters of a valid request, for each endpoint that has parameters. */
  let good: Record<string, Record<string, string>>
  let genuine: string[]

  beforeAll(async () => {
    app = await startApp({ failureLimit: 1_000_000, trustedProxies: ['127.0.0.1'], ...(await prepare()) })
    const exchanging = { resourceServer: app.grantor.authUrl, exchangeResources: [API] }
    await changeClient(app.grantor, app.client, { ...exchanging, grantTypes: [...app.client.grantTypes, TOKEN_EXCHANGE] })
    good = await goodParametersOf(app)
    genuine = [
      ...Object.values(good).flatMap((parameters) => Object.values(parameters)),
      app.client.secret,
      `0x${'0'.repeat(40)}`,
    ]
  })
  afterAll(() => app?.close())

  test.each(ENDPOINTS)('$method $path never returns a 5xx, whatever the parameters and headers', async (endpoint) => {
    const parameters = endpoint.method === 'OPTIONS' ? {} : (good[endpoint.path] ?? {})
    const authorization = endpoint.path.startsWith('/login/') ? LOGIN_SERVER : basic(app.client.id, app.client.secret)
    const cookie = [...app.walk.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    let reached = endpoint.method === 'OPTIONS'
    // The first wrong verifier uses the only code up. From then on `invalid_grant` shows that a request passed the input checks.
    const spendsItsCode = endpoint.path === '/oauth/token' && endpoint.method === 'POST'
    await fc.assert(
      fc.asyncProperty(anyRequestTo({ ...endpoint, parameters }, genuine, { authorization, cookie }), async (request) => {
        const answer = await app.grantor.authServer.inject(request)
        reached ||= answer.statusCode < 400 || (spendsItsCode && answer.body.includes('"invalid_grant"'))
        expect(answer.statusCode).toBeLessThan(500)
      }),
      { numRuns: times, examples: [[goodRequestTo({ ...endpoint, parameters }, { authorization, cookie })]] },
    )
    // The valid request, or a similar one, passed the input checks.
    expect(reached).toBe(true)
  })

  test.each(['/', '/oauth/', '/login/', '/.well-known/', '/health/'])('No path below %s returns a 5xx', async (folder) => {
    const bytes = fc
      .uint8Array({ maxLength: 20 })
      .map((each) => [...each].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
        fc.webPath(),
        bytes,
        async (method, path, escaped) => {
          const answer = await app.grantor.authServer.inject({
            method: method as 'GET',
            url: `${folder}${path.slice(1)}${escaped}`,
          })
          expect(answer.statusCode).toBeLessThan(500)
        },
      ),
      { numRuns: Math.ceil(times / 3) },
    )
  })

  test('After arbitrary input nothing is logged as an error, and a login still gets tokens', async () => {
    expect(app.grantor.logLines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([])
    const { code } = await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })
}
