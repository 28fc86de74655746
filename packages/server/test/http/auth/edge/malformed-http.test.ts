/** Invalid HTTP requests get the same JSON errors as other refused requests, on every listener, with and without TLS. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMetricsServer } from '../../../../src/http/metrics-server.ts'
import { createMetrics } from '../../../../src/observability/metrics/metrics.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../../support/certificates.ts'
import { parseAnswer, rawExchange } from '../../../support/send.ts'
import { type Grantor, startGrantor } from '../../../support/start.ts'

let plain: Grantor
let secure: Grantor
const metrics = createMetricsServer(createMetrics())

beforeAll(async () => {
  plain = await startGrantor()
  secure = await startGrantor({ tls: { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY } })
  await new Promise<void>((resolve) => metrics.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  metrics.close()
  await Promise.all([plain.close(), secure.close()])
})

/** The listener, its origin, and a path that returns 200 without authentication. */
const LISTENERS: [string, () => string, string][] = [
  ['the auth service', () => plain.authUrl, '/health/live'],
  ['the login server', () => plain.loginUrl, '/health/live'],
  ['the auth service on TLS', () => secure.authUrl, '/health/live'],
  ['the login server on TLS', () => secure.loginUrl, '/health/live'],
  ['the metrics', () => `http://localhost:${(metrics.address() as { port: number }).port}`, '/metrics'],
]

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function expectRefused(received: string, status: number): void {
  const answer = parseAnswer(received)
  expect({ status: answer.status, error: answer.json().error }).toEqual({ status, error: 'invalid_request' })
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(answer.body)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
    'x-request-id': expect.stringMatching(UUID) as string,
  })
}

describe.each(LISTENERS)('HTTP errors of %s', (_, originOf, path) => {
  const exchange = (bytes: string): Promise<string> => rawExchange(originOf(), bytes)
  const get = (...lines: string[]): Promise<string> => exchange(head(`GET ${path} HTTP/1.1`, 'Connection: close', ...lines))

  test('A request without Host, with two Host fields, or with an invalid Host gets 400 (RFC 9112 §3.2)', async () => {
    const malformed = ['', 'a b', 'user@a', 'a/b', 'a:b', 'a:1:2', '[::1', '::1', 'a%zz', 'a\\b', 'ä']
    const requests = [[], ['Host: a', 'Host: b'], ['Host: a', 'host: a'], ...malformed.map((host) => [`Host: ${host}`])]
    for (const lines of requests) {
      const { status, headers } = parseAnswer(await get(...lines))
      expect({ lines, status }).toEqual({ lines, status: 400 })
      expect(headers).toMatchObject({ connection: 'close', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    }
  })

  test('Every valid spelling of Host is accepted, and an HTTP/1.0 request needs no Host', async () => {
    for (const host of ['localhost', 'LOCALHOST:', 'a_b.example:4000', '127.0.0.1', '[::1]:4000', 'x%20y', "a!$&'()*+,;=~"])
      expect({ host, status: parseAnswer(await get(`Host: ${host}`)).status }).toEqual({ host, status: 200 })
    expect(parseAnswer(await exchange(head(`GET ${path} HTTP/1.0`))).status).toBe(200)
  })

  test('CONNECT gets 405 with an empty Allow, and the connection is closed (RFC 9110 §10.2.1, §15.5.6)', async () => {
    const received = await exchange(head('CONNECT evil.example:443 HTTP/1.1', 'Host: evil.example:443'))
    expectRefused(received, 405)
    expect(parseAnswer(received).headers.allow).toBe('')
  })

  test('A request that the HTTP parser refuses gets a JSON error with no-store (RFC 9112 §2.2, RFC 6585 §5)', async () => {
    expectRefused(await exchange(head('BREW / HTTP/1.1', 'Host: a')), 400)
    expect(parseAnswer(await exchange(head(`GET ${path}`))).status).toBe(400)
    expectRefused(await exchange(head(`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Length: 1', 'Content-Length: 2')), 400)
    expectRefused(await exchange(head(`GET ${path} HTTP/1.1`, 'Host: a', `Cookie: ${'x'.repeat(17_000)}`)), 431)
    expectRefused(await exchange(head(`GET ${path}?${'x'.repeat(17_000)} HTTP/1.1`, 'Host: a')), 431)
  })

  test('An expectation that the server cannot meet gets 417 (RFC 9110 §10.1.1)', async () => {
    expectRefused(await get('Host: a', 'Expect: a miracle'), 417)
  })

  test('An offer to upgrade to another protocol is ignored, and the request is answered (RFC 9110 §7.8)', async () => {
    expect(parseAnswer(await get('Host: a', 'Connection: Upgrade', 'Upgrade: websocket')).status).toBe(200)
  })

  test('The requests before a malformed one are answered first, in their order (RFC 9112 §9.3.2)', async () => {
    const good = head(`GET ${path} HTTP/1.1`, 'Host: a')
    const received = await exchange(`${good}${good}${head('BREW / HTTP/1.1')}`)
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400'])
    expectRefused(received.slice(received.lastIndexOf('HTTP/1.1')), 400)
  })
})

const FORM = 'Content-Type: application/x-www-form-urlencoded'

test('A chunk extension that is too long gets 413', async () => {
  const request = head('POST /oauth/token HTTP/1.1', 'Host: a', FORM, 'Transfer-Encoding: chunked')
  expectRefused(await rawExchange(plain.authUrl, `${request}1;${'x'.repeat(17_000)}\r\na\r\n0\r\n\r\n`), 413)
})

test('A request that the HTTP parser refuses is in the log with the reason, and with the request id of the response', async () => {
  const received = await rawExchange(plain.authUrl, head('BREW / HTTP/1.1', 'Host: a'))
  const requestId = parseAnswer(received).headers['x-request-id']
  expect(plain.events.at(-1)).toEqual({ event: 'refused', reason: 'http_400', request_id: requestId, network: '127.0.0' })
  await rawExchange(plain.authUrl, head('GET /health/live HTTP/1.1', 'Connection: close'))
  expect(plain.events.at(-1)).toMatchObject({ event: 'refused', reason: 'host_malformed' })
  await rawExchange(plain.loginUrl, head('CONNECT a:1 HTTP/1.1', 'Host: a:1'))
  expect(JSON.parse(plain.logLines.at(-1) ?? '{}')).toMatchObject({ msg: 'refused', reason: 'http_405' })
})
