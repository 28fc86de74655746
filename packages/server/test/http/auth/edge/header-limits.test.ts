/** The limits on the length of header fields. */
import { expect } from 'vitest'
import type { App } from '../../../support/app.ts'
import { test } from '../../../support/fixtures.ts'
import { parseAnswer, rawExchange, send } from '../../../support/send.ts'
import { basic } from '../../../support/walk.ts'

const post = (app: App, headers: Record<string, string>) =>
  send(app.grantor.authUrl, {
    method: 'POST',
    path: '/oauth/introspect',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: 'token=x',
  })

test.for<[name: string, length: number]>([
  ['accept', 1_000],
  ['authorization', 12_000],
  ['content-type', 200],
  ['dpop', 12_000],
  ['origin', 500],
])('The header field %s may have %i characters, and a longer one is 431 (RFC 6585 §5)', async ([name, length], { app }) => {
  expect((await post(app, { [name]: 'x'.repeat(length) })).status).not.toBe(431)
  const refused = await post(app, { [name]: 'x'.repeat(length + 1) })
  expect({ status: refused.status, body: refused.json() }).toEqual({
    status: 431,
    body: { error: 'invalid_request', error_description: 'A header field is too long.' },
  })
})

test('An introspection request without client authentication is 401 with any Accept field (RFC 7662 §2.1)', async ({ app }) => {
  for (const accept of [`x/jwt${' '.repeat(900)}x`, 'application/token-introspection+jwt'])
    expect((await post(app, { accept })).status).toBe(401)
  const authorization = basic(app.client.id, app.client.secret)
  expect((await post(app, { accept: `x/jwt${' '.repeat(900)}x`, authorization })).body).toBe('{"active":false}')
})

test('The session cookie is found after 150 other cookies, and ignored after 2,000 separators', async ({ app }) => {
  const page = (cookie: string) => send(app.grantor.authUrl, { path: '/account', headers: { cookie } })
  const own = [...app.walk.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  expect((await page(`${'a=b; '.repeat(150)}${own}`)).status).toBe(200)
  expect((await page(`${';'.repeat(2000)}${own}`)).status).toBe(302)
})

test('A request with more than 16 KiB of header fields is 431 (RFC 6585 §5)', async ({ app }) => {
  const request = `GET /health/live HTTP/1.1\r\nHost: localhost\r\nCookie: ${'x'.repeat(16 * 1024)}\r\n\r\n`
  expect(parseAnswer(await rawExchange(app.grantor.authUrl, request)).status).toBe(431)
})
