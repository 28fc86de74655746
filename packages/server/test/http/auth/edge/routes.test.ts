/** Invalid paths, methods and URLs get 404, 405 with Allow (RFC 9110 §15.5.6) or 400, and never a 5xx. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect } from 'vitest'
import { test as base, FILE, signIn } from '../../../support/fixtures.ts'
import type { Grantor } from '../../../support/start.ts'
import { encode, LOGIN_SERVER, noticeOf, requestOf } from '../../../support/walk.ts'

const RECEIPT = '/account/receipts/00000000-0000-8000-a000-000000000000'
const GET_ONLY = ['/login/complete', '/login/challenge', '/login/resume', '/account', RECEIPT]
const POST_ONLY = [
  '/oauth/authorize/confirm',
  '/oauth/logout/confirm',
  '/oauth/introspect',
  '/login/message',
  '/login/accept',
  '/login/reject',
  '/account/apps/end',
  '/account/sessions/end',
  '/account/sessions/end-others',
  '/account/sign-out',
]
const GET_AND_POST = ['/account/end-everything', '/device', '/oauth/authorize', '/oauth/logout']
const POST_AND_PREFLIGHT = ['/oauth/token', '/oauth/revoke', '/oauth/par', '/oauth/device_authorization']
const GET_AND_HEAD = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/oauth/jwks',
  '/oauth/picture/0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '/health/live',
  '/health/ready',
]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'SEARCH', 'MKCOL']

const routes: [path: string, allowed: string[]][] = [
  ...GET_ONLY.map((path): [string, string[]] => [path, ['GET']]),
  ...POST_ONLY.map((path): [string, string[]] => [path, ['POST']]),
  ...GET_AND_POST.map((path): [string, string[]] => [path, ['GET', 'POST']]),
  ...POST_AND_PREFLIGHT.map((path): [string, string[]] => [path, ['OPTIONS', 'POST']]),
  ['/oauth/userinfo', ['GET', 'OPTIONS', 'POST']],
  ...GET_AND_HEAD.map((path): [string, string[]] => [path, ['GET', 'HEAD']]),
]

const test = base.extend('walk', FILE, signIn)

describe('Methods that a path does not support (RFC 9110 §15.5.6)', () => {
  test.for(routes)(
    'An unsupported method at %s gets 405, and Allow lists the supported methods (RFC 9110 §15.5.6)',
    async ([path, allowed], { client, walk }) => {
      for (const method of METHODS.filter((each) => !allowed.includes(each))) {
        const answer = await walk.browse({
          method,
          path: `${path}?${encode(requestOf(client))}`,
          headers: { authorization: LOGIN_SERVER },
        })
        expect([method, answer.status]).toEqual([method, 405])
        const listed = (answer.headers.allow ?? '').split(', ').toSorted()
        expect(listed).toEqual(allowed)
        expect(answer.headers['cache-control']).toBe('no-store')
        expect(answer.headers['x-content-type-options']).toBe('nosniff')
        expect(answer.headers).not.toHaveProperty('location')
        if (method === 'HEAD') expect(answer.body).toBe('')
        else expect(answer.json()).toMatchObject({ error: 'invalid_request' })
      }
    },
  )

  test.for(routes)(
    'An unsupported method at %s gets 405, whatever the type and the size of its body (RFC 9110 §15.5.6)',
    async ([path, allowed], { walk }) => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'].filter((each) => !allowed.includes(each))) {
        for (const [type, body] of [
          ['application/json', '{"a":'],
          ['application/x-www-form-urlencoded', 'a=%'],
          ['text/plain', 'x'],
          ['', 'x'],
          ['application/x-www-form-urlencoded', 'x'.repeat(20_000)],
        ] as const) {
          const answer = await walk.browse({ method, path, headers: { 'content-type': type, connection: 'close' }, body })
          expect([method, type, answer.status]).toEqual([method, type, 405])
          expect(answer.headers.allow).toContain(allowed.at(-1))
        }
      }
    },
  )

  test('A CORS preflight from an unknown origin gets 405 with Allow, and no Access-Control-Allow-Origin', async ({ walk }) => {
    for (const path of POST_AND_PREFLIGHT) {
      const answer = await walk.browse({
        method: 'OPTIONS',
        path,
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
      })
      expect(answer.status).toBe(405)
      expect(answer.headers.allow).toContain('POST')
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    }
  })
})

describe('The method HEAD', () => {
  test.for(GET_AND_HEAD)('HEAD at %s returns the status and the content type of GET, without a body', async (path, { walk }) => {
    const get = await walk.browse({ path })
    const head = await walk.browse({ method: 'HEAD', path })
    expect(head.status).toBe(200)
    expect(head.body).toBe('')
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  })

  test('An authorization request with HEAD, as link previews send it, gets 405 and no code', async ({ client, walk }) => {
    const answer = await walk.browse({ method: 'HEAD', path: `/oauth/authorize?${encode(requestOf(client))}` })
    expect(answer.status).toBe(405)
    expect(answer.headers).not.toHaveProperty('location')
  })
})

describe('Unknown paths', () => {
  test.for([
    '/',
    '/oauth',
    '/oauth/',
    '/oauth/authorize/',
    '/oauth//authorize',
    '//oauth/authorize',
    '/OAUTH/authorize',
    '/oauth/Authorize',
    '/oauth/authorize;x=1',
    '/oauth/authorize%2f',
    '/oauth%2fauthorize',
    '/oauth/authorize/../token',
    '/oauth/./authorize',
    '/oauth/authorize.json',
    '/login',
    '/login/',
    '/login/complete/',
    '/login/resume/',
    '/account/',
    '/account/apps',
    '/account/receipts',
    '/account/sessions',
    '/account/apps/end/',
    '/assets',
    '/assets/',
    '/assets/..%2f..%2fpackage.json',
    '/assets/../../package.json',
    '/.env',
    '/favicon.txt',
    '/%00',
    '/%',
    '/a%',
    '/%zz',
    '/%ff',
    '/%E0%A4%A',
    '/__proto__',
    '/constructor',
    `/${'a'.repeat(90)}`,
  ])('The unknown path %s gets 404, or 400 if it cannot be decoded', async (path, { client, walk }) => {
    for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS', 'PROPFIND']) {
      const answer = await walk.browse({ method, path: `${path}?${encode(requestOf(client))}` })
      expect([400, 404]).toContain(answer.status)
      if (!path.includes('%')) expect(answer.status).toBe(404)
      expect(answer.headers).not.toHaveProperty('location')
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
    }
  })

  test('An unknown path gets a page, and one below /oauth gets JSON', async ({ walk }) => {
    const page = await walk.browse({ path: '/nothing' })
    expect(noticeOf(page)).toBe('not_found')
    const json = await walk.browse({ path: '/oauth/nothing' })
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(json.json()).toEqual({ error: 'invalid_request', error_description: expect.any(String) as string })
  })

  test('Requests for unknown paths write nothing', async ({ grantor, walk }) => {
    const before = await grantor.rows()
    await Promise.all(Array.from({ length: 50 }, (_, i) => walk.browse({ path: `/x${i}`, method: 'POST', body: 'x' })))
    expect(await grantor.rows()).toEqual(before)
  })
})

describe('Malformed HTTP requests', () => {
  async function raw(grantor: Grantor, bytes: string): Promise<string> {
    const socket = connect(Number(new URL(grantor.authUrl).port), '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.end(Buffer.from(bytes, 'latin1'))
    await once(socket, 'close')
    return text.split('\r\n')[0] ?? ''
  }

  test.for<[string, string, string]>([
    ['an unknown method', 'BREW /oauth/authorize HTTP/1.1\r\nHost: x\r\n\r\n', '400'],
    ['no version', 'GET /oauth/authorize\r\n\r\n', '400'],
    ['no Host', 'GET /oauth/authorize HTTP/1.1\r\n\r\n', '400'],
    ['bytes above ASCII', 'GET /oauth/authorize?state=\xfc HTTP/1.1\r\nHost: x\r\n\r\n', '400'],
    ['a URL of 20,000 characters', `GET /oauth/authorize?state=${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, '431'],
    [
      'two fields Content-Length',
      'POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
      '400',
    ],
    [
      'Content-Length and Transfer-Encoding (request smuggling)',
      'POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      '400',
    ],
    ['a header with a line break', 'GET /oauth/authorize HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', '400'],
    ['an asterisk as its target', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', '404'],
    ['an authority as its target', 'CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n', '405'],
  ])('A request with %s gets an HTTP error, and the service still responds', async ([, bytes, status], { grantor, walk }) => {
    const line = await raw(grantor, bytes)
    expect(line.split(' ')[1] ?? 'nothing').toBe(status)
    expect((await walk.browse({ path: '/health/live' })).status).toBe(200)
  })

  test('A URL in absolute form is accepted, and its host has no effect (RFC 9112 §3.2.2)', async ({ grantor, client }) => {
    const line = await raw(
      grantor,
      `GET http://evil.example/oauth/authorize?${encode(requestOf(client))} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    )
    expect(line).toMatch(/^HTTP\/1\.1 302 /)
  })
})
