import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import { headersOf } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import type { TestClient } from '../../../support/start.ts'
import { requestOf } from '../../../support/walk.ts'

const SPA = 'https://spa.example.org'
const FORM = 'application/x-www-form-urlencoded'

let app: App
let publicClient: TestClient

beforeAll(async () => {
  app = await startApp()
  publicClient = await app.grantor.createClient({
    type: 'public',
    redirectUris: [`${SPA}/callback`, 'https://SPA-2.example.org:8443/a', 'http://localhost:5173/cb'],
  })
  await app.grantor.createClient({
    type: 'native',
    redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/callback', 'https://native.example.org/cb'],
  })
})
afterAll(() => app.close())

const ask = (method: string, path: string, headers: Record<string, string>, body?: string): Promise<Answer> =>
  send(app.grantor.authUrl, { method, path, headers, ...(body === undefined ? {} : { body }) })

const preflight = (path: string, origin: string): Promise<Answer> =>
  ask('OPTIONS', path, { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' })

const corsOf = (answer: Answer): string[] => Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))

/** The endpoints that a script of a public client calls. */
const CORS_ENDPOINTS = ['/oauth/token', '/oauth/revoke', '/oauth/par']

describe('Cross-origin requests of public clients', () => {
  test.each(CORS_ENDPOINTS)(
    'A preflight request to %s from the origin of a public client allows POST and three headers, without credentials',
    async (path) => {
      for (const origin of [SPA, 'https://spa-2.example.org:8443', 'http://localhost:5173']) {
        const answer = await preflight(path, origin)
        expect({ status: answer.status, body: answer.body, vary: answer.headers.vary }).toEqual({
          status: 204,
          body: '',
          vary: 'Origin',
        })
        expect(headersOf(answer)).toMatchObject({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': 'authorization, content-type, dpop',
          'access-control-max-age': '600',
        })
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
      }
    },
  )

  test.each(CORS_ENDPOINTS)(
    'Every response of %s, also a refusal, is readable from the origin of a public client',
    async (path) => {
      const requests: [number, Record<string, string>, string][] = [
        [
          path === '/oauth/revoke' ? 200 : 400,
          { 'content-type': FORM },
          `client_id=${publicClient.id}&token=x&grant_type=refresh_token&refresh_token=x`,
        ],
        [401, { 'content-type': FORM }, 'client_id=unknown'],
        [400, { 'content-type': FORM }, 'client_id=a&client_id=b'],
        [415, { 'content-type': 'application/json' }, '{}'],
        [413, { 'content-type': FORM }, 'x'.repeat(17_000)],
      ]
      for (const [status, headers, body] of requests) {
        const answer = await ask('POST', path, { ...headers, origin: SPA }, body)
        expect({
          status: answer.status,
          origin: answer.headers['access-control-allow-origin'],
          vary: answer.headers.vary,
        }).toEqual({
          status,
          origin: SPA,
          vary: 'Origin',
        })
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
      }
    },
  )

  test.each([
    'https://evil.example.org',
    'http://spa.example.org',
    'https://spa.example.org:443',
    'https://spa.example.org.evil.example.org',
    'https://sub.spa.example.org',
    'https://SPA.example.org',
    `${SPA}/`,
    'https://app.example.net', // a confidential client's
    'https://native.example.org', // a native client's
    'http://127.0.0.1',
    'com.example.app://',
    'null',
    '*',
    '',
    `${SPA}, https://evil.example.org`,
  ])(
    'The origin %j, which is not one of a public client, gets no CORS headers from the token, revocation and PAR endpoints',
    async (origin) => {
      for (const path of CORS_ENDPOINTS) {
        const refused = await preflight(path, origin)
        expect({ status: refused.status, cors: corsOf(refused) }).toEqual({ status: 405, cors: [] })
        const answer = await ask('POST', path, { 'content-type': FORM, origin }, `client_id=${publicClient.id}&token=x`)
        expect(corsOf(answer)).toEqual([])
        expect(answer.headers.vary).toBe('Origin')
      }
    },
  )

  test('A preflight request from an unknown origin is 405 with Allow and a JSON body that must not be cached', async () => {
    const answer = await preflight('/oauth/token', 'https://evil.example.org')
    expect(headersOf(answer)).toEqual({
      allow: 'POST',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    expect(answer.json().error).toBe('invalid_request')
  })

  test('The origin of a public client gets no CORS headers after the client was disabled', async () => {
    const origin = 'https://brief.example.org'
    const brief = await app.grantor.createClient({ type: 'public', redirectUris: [`${origin}/cb`] })
    expect((await preflight('/oauth/token', origin)).status).toBe(204)
    await app.grantor.store.clients.replaceClient({ ...brief, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    expect((await preflight('/oauth/token', origin)).status).toBe(405)
  })
})

describe('Cross-origin requests for metadata and keys', () => {
  test.each(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration', '/oauth/jwks'])(
    'Every origin may read %s, without credentials',
    async (path) => {
      for (const headers of [{}, { origin: 'https://evil.example.org' }, { origin: 'null' }]) {
        const answer = await ask('GET', path, headers)
        expect(answer.status).toBe(200)
        expect(answer.headers['access-control-allow-origin']).toBe('*')
        expect(corsOf(answer)).toEqual(['access-control-allow-origin', 'access-control-expose-headers'])
      }
    },
  )
})

describe('Endpoints without cross-origin access', () => {
  test.each([
    ['GET', '/oauth/authorize'],
    ['POST', '/oauth/authorize/confirm'],
    ['POST', '/oauth/introspect'],
    ['GET', '/login/complete'],
    ['GET', '/login/challenge'],
    ['POST', '/login/message'],
    ['POST', '/login/accept'],
    ['POST', '/login/reject'],
    ['GET', '/health/live'],
    ['GET', '/health/ready'],
    ['GET', '/nothing'],
    ['GET', '/oauth/nothing'],
  ])('A response to %s %s has no CORS headers, not even for the origin of a public client', async (method, path) => {
    for (const origin of [SPA, app.grantor.authUrl, app.grantor.loginUrl, 'https://evil.example.org', 'null']) {
      for (const answer of [await ask(method, path, { origin }), await preflight(path, origin)]) {
        expect({ path, origin, cors: corsOf(answer) }).toEqual({ path, origin, cors: [] })
      }
    }
  })

  test('A redirect of the authorization endpoint with a code has no CORS headers', async () => {
    const answer = await app.walk.browse({
      path: `/oauth/authorize?${new URLSearchParams(requestOf(app.client) as Record<string, string>)}`,
      headers: { origin: SPA },
    })
    expect({ status: answer.status, cors: corsOf(answer) }).toEqual({ status: 302, cors: [] })
  })
})
