/** Anything at all is sent to every endpoint, and none of it is answered with a 5xx. One body of tests for every store. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anyRequestTo, type Endpoint, goodRequestTo } from '../support/any-request.ts'
import { type App, startApp } from '../support/app.ts'
import type { StartOptions } from '../support/start.ts'
import { basic, CODE_VERIFIER, fieldOf, LOGIN_SERVER, PKCE, requestOf } from '../support/walk.ts'

/** Requests that are answered well, over and over again, as long as the clock stands still. */
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
  post('/oauth/token?'), // the query of a POST is not read: here it tells the refresh from the exchange
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
  get('/assets/grantor.css'),
]

/** On whatever store `prepare` starts the service; `times` for each endpoint, the good request first. */
export function noInputMakesA5xx(prepare: () => Promise<StartOptions>, times: number): void {
  let app: App
  /** a good request's parameters, for each endpoint that has any */
  let good: Record<string, Record<string, string>>
  let genuine: string[]

  beforeAll(async () => {
    app = await startApp({ failureLimit: 1_000_000, trustedProxies: ['127.0.0.1'], ...(await prepare()) })
    good = await goodParametersOf(app)
    genuine = [
      ...Object.values(good).flatMap((parameters) => Object.values(parameters)),
      app.client.secret,
      `0x${'0'.repeat(40)}`,
    ]
  })
  afterAll(() => app?.close())

  test.each(ENDPOINTS)('$method $path, whatever its parameters and headers hold', async (endpoint) => {
    const parameters = endpoint.method === 'OPTIONS' ? {} : (good[endpoint.path] ?? {})
    const authorization = endpoint.path.startsWith('/login/') ? LOGIN_SERVER : basic(app.client.id, app.client.secret)
    const cookie = [...app.walk.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    let reached = endpoint.method === 'OPTIONS'
    // The first wrong verifier spends the one code there is: from then on the ledger's own refusal shows that it was reached.
    const spendsItsCode = endpoint.path === '/oauth/token' && endpoint.method === 'POST'
    await fc.assert(
      fc.asyncProperty(anyRequestTo({ ...endpoint, parameters }, genuine, { authorization, cookie }), async (request) => {
        const answer = await app.grantor.authServer.inject(request)
        reached ||= answer.statusCode < 400 || (spendsItsCode && answer.body.includes('"invalid_grant"'))
        expect(answer.statusCode).toBeLessThan(500)
      }),
      { numRuns: times, examples: [[goodRequestTo({ ...endpoint, parameters }, { authorization, cookie })]] },
    )
    // the good request and its neighbours got through to where the work is done
    expect(reached).toBe(true)
  })

  test.each(['/', '/oauth/', '/login/', '/.well-known/', '/assets/', '/health/'])('no path below %s', async (folder) => {
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

  test('and after all of them nothing was logged as an error, and everything works', async () => {
    expect(app.grantor.logLines.filter((line) => /"level":(50|60)/.test(line))).toEqual([])
    const { code } = await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })
}
