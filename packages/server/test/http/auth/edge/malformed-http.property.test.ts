import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { App } from '../../../support/app.ts'
import { test as base } from '../../../support/fixtures.ts'
import { runs } from '../../../support/runs.ts'
import { parseAnswer, rawExchange } from '../../../support/send.ts'
import { basic } from '../../../support/walk.ts'

const test = base.extend('options', { failureLimit: 1_000_000 })

const CONCURRENT_SOCKETS = 50
/** A socket is closed when it has been silent for this time, because some of the requests are incomplete. */
const QUIET_MS = 150

/** A request that is complete and valid HTTP. */
function goodRequest(app: App, path: string): string {
  const body = 'token=x&grant_type=refresh_token&refresh_token=x'
  return [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(app.grantor.authUrl).host}`,
    `Authorization: ${basic(app.client.id, app.client.secret)}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}

/** Sends the requests. The service may close a connection without a response, but must not respond with a 5xx. */
async function expectNo5xx(app: App, requests: (string | Uint8Array)[]): Promise<void> {
  for (let from = 0; from < requests.length; from += CONCURRENT_SOCKETS) {
    const batch = requests.slice(from, from + CONCURRENT_SOCKETS)
    const received = await Promise.all(batch.map((bytes) => rawExchange(app.grantor.authUrl, bytes, QUIET_MS)))
    for (const [at, answer] of received.entries()) {
      expect({ request: batch[at], failed: /^HTTP\/1\.[01] 5\d\d /m.test(answer) }).toEqual({ request: batch[at], failed: false })
    }
  }
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const anyBytes = fc.uint8Array({ maxLength: 60 }).map(latin1)
const sampled = <Value>(arbitrary: fc.Arbitrary<Value>, count = runs): Value[] => fc.sample(arbitrary, { numRuns: count })

describe('Malformed bytes on a socket', () => {
  test('A valid request in which bytes were replaced, removed or inserted never causes a 5xx', async ({ app }) => {
    const changes = fc.record({
      path: fc.constantFrom('/oauth/token', '/oauth/introspect', '/oauth/revoke', '/login/accept', '/oauth/authorize/confirm'),
      at: fc.nat(1000),
      length: fc.nat(20),
      bytes: anyBytes,
    })
    await expectNo5xx(
      app,
      sampled(changes).map(({ path, at, length, bytes }) => {
        const good = goodRequest(app, path)
        const cut = at % good.length
        return good.slice(0, cut) + bytes + good.slice(cut + length)
      }),
    )
  })

  test('Random bytes that are no HTTP request never cause a 5xx', async ({ app }) => {
    await expectNo5xx(app, sampled(fc.uint8Array({ minLength: 1, maxLength: 300 }), Math.ceil(runs / 2)))
  })

  test('Random bytes in the path, the query and the headers of a request never cause a 5xx', async ({ app }) => {
    const noBreak = anyBytes.map((text) => text.replace(/[\r\n]/g, ''))
    const parts = fc.record({
      path: noBreak.map((text) => text.replaceAll(' ', '')),
      name: noBreak,
      value: noBreak,
      method: fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS'),
    })
    const folders = fc.constantFrom(
      '/',
      '/oauth/authorize?',
      '/oauth/token?',
      '/login/complete?login_challenge=',
      '/oauth/jwks',
      '//',
      '',
      '*',
    )
    await expectNo5xx(
      app,
      sampled(fc.tuple(folders, parts)).map(([folder, { path, name, value, method }]) =>
        [
          `${method} ${folder}${path} HTTP/1.1`,
          'Host: x',
          'Connection: close',
          `Cookie: ${value}`,
          `X-${name}: ${value}`,
          '',
          '',
        ].join('\r\n'),
      ),
    )
  })

  test.for([
    'GET / HTTP/9.9\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n', // no Host
    'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'GET /% HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /%ff%fe HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http://evil.example.org/oauth/authorize HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /oauth/authorize?client_id=\xff HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET \\ HTTP/1.1\r\nHost: a\r\n\r\n',
    'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
    'FOO / HTTP/1.1\r\nHost: a\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\nContent-Length: 0\r\n\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx',
    `GET /oauth/authorize?state=${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(3000)}\r\n`,
  ])('A malformed request, as a proxy, a scanner or an attacker sends it, never causes a 5xx: %j', async (request, { app }) => {
    await expectNo5xx(app, [request])
  })

  test('A request whose body is incomplete when the connection closes never causes a 5xx', async ({ app }) => {
    await expectNo5xx(
      app,
      Array.from({ length: 20 }, () => goodRequest(app, '/oauth/token').slice(0, -10)),
    )
  })

  test('Requests in one packet are answered in their order (RFC 9112 §9.3.2)', async ({ app }) => {
    const two = goodRequest(app, '/oauth/introspect') + goodRequest(app, '/oauth/token')
    const received = await rawExchange(app.grantor.authUrl, two, 500)
    const [first = '', second = ''] = received.split(/(?=HTTP\/1\.1 )/)
    expect([parseAnswer(first).body, parseAnswer(second).status]).toEqual(['{"active":false}', 400])
  })

  test('After all malformed requests nothing is logged as an error, and a client still gets tokens', async ({ app }) => {
    expect(app.grantor.logLines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([])
    expect((await app.freshTokens()).token_type).toBe('Bearer')
  })
})
