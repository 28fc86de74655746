import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp, tokensOf } from '../../../support/app.ts'
import { expectRefusal, headersOf, invalidRequest } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import { basic, encode } from '../../../support/walk.ts'

let app: App

beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())

const ENDPOINTS = ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/par']
const FORM = 'application/x-www-form-urlencoded'
const WRONG_TYPE = {
  status: 415,
  error: 'invalid_request',
  description: 'The body must be application/x-www-form-urlencoded in UTF-8.',
}
const TOO_LARGE = { status: 413, error: 'invalid_request', description: 'The body is larger than 16 KiB.' }

/** Posts with the client’s credentials and this content type; null means no content type. */
function post(
  path: string,
  contentType: string | null,
  body: string | Uint8Array,
  more: Record<string, string> = {},
): Promise<Answer> {
  const type: Record<string, string> = contentType === null ? {} : { 'content-type': contentType }
  const authorization = basic(app.client.id, app.client.secret)
  return send(app.grantor.authUrl, { method: 'POST', path, headers: { authorization, ...type, ...more }, body })
}

describe('The content type of a request body (RFC 6749 appendix B)', () => {
  test.each([FORM, `${FORM};charset=utf-8`, `${FORM}; charset=UTF-8`, `${FORM} ; charset="utf-8"`, FORM.toUpperCase()])(
    'A body of the content type %s is accepted (RFC 6749 appendix B)',
    async (contentType) => {
      expect((await post('/oauth/introspect', contentType, 'token=x')).status).toBe(200)
    },
  )

  test.each([
    null,
    '',
    ' ',
    'application/json',
    'multipart/form-data; boundary=x',
    'text/plain',
    'application/x-www-form-urlencoded-not',
    `${FORM}; charset=iso-8859-1`,
    `${FORM}; charset=utf-16`,
    `text/plain, ${FORM}`,
    `${FORM}, application/json`,
    'x',
    '*/*',
    '\xff',
  ])('A POST with the content type %j is 415 at each endpoint, with and without a body', async (contentType) => {
    for (const path of ENDPOINTS) {
      expectRefusal(await post(path, contentType, 'token=x&grant_type=refresh_token'), WRONG_TYPE)
      if (contentType !== null) expectRefusal(await post(path, contentType, ''), WRONG_TYPE)
    }
  })

  test('A POST without body and content type is 415 at each endpoint', async () => {
    for (const path of ENDPOINTS) expectRefusal(await post(path, null, ''), WRONG_TYPE)
  })

  test('An introspection request with an empty form is 400, since the parameter token is missing', async () => {
    expectRefusal(await post('/oauth/introspect', FORM, ''), invalidRequest('token is required.'))
    expectRefusal(await post('/oauth/introspect', FORM, '&&&'), invalidRequest('token is required.'))
  })
})

describe('The size of a request body', () => {
  const bodyOf = (length: number): string => `token=${'x'.repeat(length - 'token='.length)}`

  test('A body of 16 KiB is accepted', async () => {
    expect((await post('/oauth/introspect', FORM, bodyOf(16 * 1024))).body).toBe('{"active":false}')
  })

  test.each([16 * 1024 + 1, 100_000, 1_000_000])('A body of %i bytes is 413 at each endpoint', async (length) => {
    for (const path of ENDPOINTS) {
      const answer = await post(path, FORM, bodyOf(length)).catch((error: NodeJS.ErrnoException) => error)
      // the connection may be closed while the client still sends; otherwise the client gets this response
      if (answer instanceof Error) expect(answer.code).toMatch(/EPIPE|ECONNRESET/)
      else expectRefusal(answer, TOO_LARGE)
    }
  })

  test('A body without Content-Length is 413 if it exceeds 16 KiB', async () => {
    const chunked = { 'transfer-encoding': 'chunked' }
    expectRefusal(await post('/oauth/introspect', FORM, bodyOf(16 * 1024 + 1), chunked), TOO_LARGE)
    expect((await post('/oauth/introspect', FORM, bodyOf(16 * 1024), chunked)).status).toBe(200)
  })
})

describe('Methods and paths (RFC 9110 §15.5.6)', () => {
  const METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY', 'MKCOL']

  test.each(METHODS)(
    'The method %s is 405 with Allow at each endpoint that takes a POST, with any header and body (RFC 9110 §15.5.6)',
    async (method) => {
      const authorization = basic(app.client.id, app.client.secret)
      for (const path of ENDPOINTS) {
        for (const headers of [{}, { authorization }, { 'content-type': FORM }, { 'content-type': 'application/json' }]) {
          const body = ['GET', 'HEAD', 'TRACE'].includes(method)
            ? {}
            : { headers: { ...headers, 'content-length': '1' }, body: '{' }
          const answer = await send(app.grantor.authUrl, { method, path: `${path}?token=x`, headers, ...body })
          expect({ path, status: answer.status }).toEqual({ path, status: 405 })
          expect(headersOf(answer)).toEqual({
            allow: expect.stringMatching(/\bPOST\b/) as string,
            'content-type': 'application/json; charset=utf-8',
            'cache-control': 'no-store',
            pragma: 'no-cache',
            'x-content-type-options': 'nosniff',
          })
          if (method !== 'HEAD') expect(answer.json().error).toBe('invalid_request')
        }
      }
    },
  )

  test.each([
    '/.well-known/openid-configuration',
    '/oauth/jwks',
    '/.well-known/oauth-authorization-server',
    '/health/live',
    '/health/ready',
  ])('A POST to %s is 405 with Allow: GET (RFC 9110 §15.5.6)', async (path) => {
    for (const contentType of [FORM, 'application/json', null]) {
      const answer = await post(path, contentType, 'a=b')
      expect({ status: answer.status, allow: answer.headers.allow }).toEqual({
        status: 405,
        allow: expect.stringContaining('GET') as string,
      })
    }
  })

  test('An unknown path is 404 and a wrong method 405, for a body of any content type and size', async () => {
    for (const contentType of [FORM, 'application/json', 'x', null]) {
      for (const body of ['', '{', 'x'.repeat(17_000)]) {
        for (const path of ['/oauth/nothing', '/oauth/token/', '/oauth/tokens', '/OAUTH/TOKEN', '/.well-known/x', '/x']) {
          expect({ path, status: (await post(path, contentType, body)).status }).toEqual({ path, status: 404 })
        }
        expect((await post('/oauth/jwks', contentType, body)).status).toBe(405)
      }
    }
  })
})

describe('The query of a POST', () => {
  test('Parameters in the query of a POST are ignored, and do not count as repeated', async () => {
    const tokens = await app.freshTokens()
    const query = encode({
      token: tokens.access_token,
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      scope: 'admin',
    })
    expectRefusal(await post(`/oauth/introspect?${query}`, FORM, ''), invalidRequest('token is required.'))
    expectRefusal(await post(`/oauth/revoke?${query}`, FORM, ''), invalidRequest('token is required.'))
    expectRefusal(await post(`/oauth/token?${query}`, FORM, ''), invalidRequest('grant_type is required.'))
    const refreshed = await post(`/oauth/token?${query}`, FORM, `grant_type=refresh_token&refresh_token=${tokens.refresh_token}`)
    expect(tokensOf(refreshed).scope).toBe('enhancement')
  })
})

describe('Repeated and unknown parameters (RFC 6749 §3.2)', () => {
  const names = {
    '/oauth/token': [
      'client_id',
      'client_secret',
      'grant_type',
      'code',
      'redirect_uri',
      'code_verifier',
      'refresh_token',
      'scope',
    ],
    '/oauth/introspect': ['client_id', 'client_secret', 'token', 'token_type_hint'],
    '/oauth/revoke': ['client_id', 'client_secret', 'token', 'token_type_hint'],
    '/oauth/par': ['client_id', 'client_secret'],
  }
  const cases = Object.entries(names).flatMap(([path, each]) => each.map((name) => [path, name] as const))

  test.each(cases)(
    'A POST to %s that repeats the parameter %s, in any spelling and with any value, is invalid_request (RFC 6749 §3.2)',
    async (path, name) => {
      const escaped = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`
      for (const pair of [
        `${name}=a&${name}=a`,
        `${name}=a&${name}=b`,
        `${name}=a&${name}=`,
        `${name}&${name}`,
        `${name}=a&${escaped}=b`,
      ]) {
        expectRefusal(await post(path, FORM, pair), invalidRequest(`${name} was sent more than once.`))
      }
    },
  )

  test.each(cases)(
    'A POST to %s whose parameter %s is not UTF-8 is invalid_request (RFC 6749 appendix B)',
    async (path, name) => {
      for (const value of ['%FF', '%C0%80', '%ED%A0%80', '%E2%82', 'ok%80']) {
        expectRefusal(await post(path, FORM, `${name}=${value}`), invalidRequest(`${name} is not UTF-8.`))
      }
      expectRefusal(await post(path, FORM, Buffer.from(`${name}=\xff`, 'latin1')), invalidRequest(`${name} is not UTF-8.`))
    },
  )

  test('Unknown parameters of an introspection request are ignored, even if repeated or not UTF-8', async () => {
    const strange = 'a=1&a=2&%FF=%FF&__proto__=x&constructor=y&toString=z&=&==&%=%'
    expect((await post('/oauth/introspect', FORM, `${strange}&token=x`)).body).toBe('{"active":false}')
  })
})

describe('Empty parameters (RFC 6749 §3.2)', () => {
  test('Empty optional parameters of a code exchange and of a refresh count as absent (RFC 6749 §3.2)', async () => {
    const code = await app.freshCode()
    const empty = 'client_id=&client_secret=&code_verifier=&refresh_token=&scope=&resource='
    const exchanged = await post(
      '/oauth/token',
      FORM,
      `grant_type=authorization_code&code=${code}&redirect_uri=https://app.example.net/callback&${empty}`,
    )
    expect(exchanged.status).toBe(200)
    const { refresh_token } = tokensOf(exchanged)
    const rest = 'client_id=&client_secret=&code_verifier=&code=&redirect_uri=&scope=&resource='
    expect((await post('/oauth/token', FORM, `grant_type=refresh_token&refresh_token=${refresh_token}&${rest}`)).status).toBe(200)
  })
})
