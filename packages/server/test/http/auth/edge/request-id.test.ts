/** Every response has a request id, which the log repeats in the request line and in each audit line. */
import { describe, expect } from 'vitest'
import { createLogger } from '../../../../src/observability/log/logger.ts'
import { capturedLog } from '../../../observability/log/captured-log.ts'
import { test as base } from '../../../support/fixtures.ts'
import { type Answer, parseAnswer, rawExchange, send } from '../../../support/send.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const log = capturedLog()

const test = base.extend('options', {
  logger: createLogger({ level: 'info', destination: log.destination }),
  limits: { failures: 1000 },
})

const idOf = (answer: Answer): string => String(answer.headers['x-request-id'])
const linesOf = (id: string) => log.lines().filter((line) => line.reqId === id || line.request_id === id)
const eventsOf = (id: string) => linesOf(id).flatMap(({ event }) => (event === undefined ? [] : [String(event)]))

describe('The request id of a response', () => {
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  test.for<[string, number, Parameters<typeof send>[1]]>([
    ['metadata', 200, { path: '/.well-known/oauth-authorization-server' }],
    ['a page', 200, { path: '/account/end-everything' }],
    ['a redirect', 302, { path: '/account' }],
    ['an error page', 400, { path: '/oauth/authorize' }],
    ['a JSON error', 401, { method: 'POST', path: '/oauth/token', headers: FORM, body: 'grant_type=x' }],
    [
      'a body of another type',
      415,
      { method: 'POST', path: '/oauth/token', headers: { 'content-type': 'text/plain' }, body: 'x' },
    ],
    ['a wrong method', 405, { method: 'DELETE', path: '/oauth/token' }],
    ['an unknown path', 404, { path: '/nowhere' }],
    ['a refused preflight', 405, { method: 'OPTIONS', path: '/oauth/token', headers: { origin: 'https://x.example' } }],
    ['a header that is too long', 431, { path: '/account', headers: { accept: 'x'.repeat(1001) } }],
  ])(
    'Every response has a request id of its own, which its line in the log repeats: %s (%i)',
    async ([, status, request], { app }) => {
      const [one, other] = [await send(app.grantor.authUrl, request), await send(app.grantor.authUrl, request)]
      expect(one.status).toBe(status)
      expect(idOf(one)).toMatch(UUID)
      expect(idOf(other)).not.toBe(idOf(one))
      await expect.poll(() => linesOf(idOf(one)).filter(({ msg }) => msg === 'request')).toHaveLength(1)
    },
  )

  test('The response to a path that cannot be decoded has a request id', async ({ app }) => {
    expect(idOf(await send(app.grantor.authUrl, { path: '/login/%zz' }))).toMatch(UUID)
  })

  test('The pages and errors of the login server have a request id', async ({ app }) => {
    for (const path of ['/login', '/nowhere', '/health/live', '/login/%zz'])
      expect(idOf(await send(app.grantor.loginUrl, { path }))).toMatch(UUID)
  })
})

test('The audit line of a refused request has the request id of the response', async ({ app }) => {
  const answer = await app.walk.token(app.client, {
    grant_type: 'authorization_code',
    code: 'x',
    redirect_uri: 'https://x.example',
  })
  expect(linesOf(idOf(answer)).find(({ log: kind }) => kind === 'audit')).toMatchObject({
    event: 'refused',
    reason: 'code_unknown',
    request_id: idOf(answer),
  })
})

test('Simultaneous requests each have their own request id in their audit lines', async ({ app }) => {
  const [redirectUri = ''] = app.client.redirectUris
  const codes = await Promise.all(Array.from({ length: 10 }, () => app.freshCode()))
  const answers = await Promise.all(
    codes.map((code) => app.walk.token(app.client, { grant_type: 'authorization_code', code, redirect_uri: redirectUri })),
  )
  for (const answer of answers) {
    expect(answer.status).toBe(200)
    expect(eventsOf(idOf(answer))).toEqual(['code_redeemed'])
  }
})

test('The audit lines of an error page and of an ended grant have the request id of the response', async ({ app }) => {
  const refused = await app.walk.authorize({ client_id: 'x' })
  expect(eventsOf(idOf(refused))).toEqual(['authorize_refused'])
  const code = await app.freshCode()
  const [redirect_uri = ''] = app.client.redirectUris
  const exchange = { grant_type: 'authorization_code', code, redirect_uri }
  await app.walk.token(app.client, exchange)
  expect(eventsOf(idOf(await app.walk.token(app.client, exchange)))).toEqual(['grant_ended', 'refused'])
})

test("A client's own X-Request-Id appears neither in the response nor in the log", async ({ app }) => {
  const answer = await send(app.grantor.authUrl, {
    path: '/oauth/authorize',
    headers: { 'x-request-id': 'chosen-by-the-caller', 'request-id': 'chosen-by-the-caller' },
  })
  expect(idOf(answer)).toMatch(UUID)
  const raw = await rawExchange(app.grantor.authUrl, 'BREW / HTTP/1.1\r\nHost: a\r\nX-Request-Id: chosen-by-the-caller\r\n\r\n')
  expect(idOf(parseAnswer(raw))).toMatch(UUID)
  expect(log.text()).not.toContain('chosen-by-the-caller')
})

test('Scripts of other origins may read X-Request-Id and Retry-After of each response that they may read (Fetch §3.3.5)', async ({
  app,
}) => {
  const origin = 'https://spa.example.org'
  await app.grantor.createClient({ type: 'public', redirectUris: [`${origin}/callback`] })
  const exposed = async (path: string, method = 'GET') =>
    String((await send(app.grantor.authUrl, { path, method, headers: { origin } })).headers['access-control-expose-headers'])
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration', '/oauth/jwks'])
    expect(await exposed(path)).toBe('x-request-id, retry-after')
  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/par', '/oauth/userinfo'])
    expect(await exposed(path, 'POST')).toBe('www-authenticate, dpop-nonce, x-request-id, retry-after')
})

test('Each audit line of a login has a request id of its own', async ({ app }) => {
  const walk = new Walk(app.grantor)
  await walk.signIn(requestOf(app.client))
  const ids = log
    .lines()
    .flatMap((line) => (['wallet_proved', 'session_started'].includes(String(line.event)) ? [line.request_id] : []))
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(UUID)
})
