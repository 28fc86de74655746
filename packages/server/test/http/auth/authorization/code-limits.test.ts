/** The limits on codes: of one wallet, and of one network. Each code can become a row that is kept for a day after its end. */
import { afterEach, expect, test } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import type { StartOptions } from '../../../support/start.ts'
import { type Answer, CODE_VERIFIER, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const LIMIT = 3

let app: App
const start = async (limits: StartOptions['limits'] = { codes: LIMIT }) =>
  (app = await startApp({ limits, trustedProxies: ['127.0.0.1'] }))
afterEach(() => app.close())

async function useUp(walk = app.walk): Promise<void> {
  for (let time = 0; time < LIMIT; time++) expect(codeIn(await walk.authorize(requestOf(app.client)))).not.toBe('')
}
const codeIn = ({ location }: Answer): string => (location.startsWith('http') ? parameterOf(location, 'code') : '')

function expectLimited(answer: Answer, retryAfter: number): void {
  expect(answer.status).toBe(429)
  expect(noticeOf(answer)).toBe('too_many_codes')
  expect(answer.headers['retry-after']).toBe(String(retryAfter))
  expect(answer.headers).not.toHaveProperty('location')
}

test('Past the limit of codes a minute, an authorization request gets a 429 page with Retry-After and no redirect (RFC 6585 §4)', async () => {
  await start()
  await useUp()
  expectLimited(await app.walk.authorize(requestOf(app.client)), 60)
  expect(app.grantor.events.at(-1)).toMatchObject({ event: 'authorize_refused', reason: 'code_limit' })
  app.grantor.clock.advance(59)
  expectLimited(await app.walk.authorize(requestOf(app.client)), 1)
  app.grantor.clock.advance(1)
  await useUp()
})

test('Past the limit, a request with prompt=none is answered at the redirect URI with temporarily_unavailable (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6)', async () => {
  await start()
  await useUp()
  const { status, location } = await app.walk.authorize(requestOf(app.client, { prompt: 'none', state: 'kept' }))
  expect(status).toBe(302)
  expect(location.startsWith(app.client.redirectUris[0] ?? '')).toBe(true)
  expect(parameterOf(location, 'error')).toBe('temporarily_unavailable')
  expect(parameterOf(location, 'state')).toBe('kept')
  expect(codeIn({ location } as Answer)).toBe('')
})

test('All sessions of a wallet share the limit of codes, and other wallets are not affected; a new sign-in still gets a code', async () => {
  await start()
  const second = new Walk(app.grantor)
  await second.signIn(requestOf(app.client))
  await useUp()
  expectLimited(await second.authorize(requestOf(app.client)), 60)
  const stranger = new Walk(app.grantor, testWallet(1))
  await stranger.signIn(requestOf(app.client))
  await useUp(stranger)
  const third = new Walk(app.grantor)
  expect((await third.signIn(requestOf(app.client))).code).not.toBe('')
})

test('Codes of the confirmation page count towards the limit, and past the limit the page can be sent again a minute later', async () => {
  await start()
  const page = await app.walk.authorize(requestOf(app.client, { prompt: 'consent' }))
  await useUp()
  expectLimited(await app.walk.confirm(page, 'allow'), 60)
  app.grantor.clock.advance(60)
  expect((await app.walk.confirm(page, 'allow')).status).toBe(200)
})

test('A refusal for too many codes does not spend a pushed request (RFC 9126 §4)', async () => {
  await start()
  const parameters = { redirect_uri: app.client.redirectUris[0] ?? '', response_type: 'code', ...PKCE }
  await useUp()
  app.grantor.clock.advance(30)
  const pushed = (await app.walk.call('/oauth/par', app.client, parameters)).json() as { request_uri: string }
  const request = { client_id: app.client.id, request_uri: pushed.request_uri }
  expectLimited(await app.walk.authorize(request), 30)
  app.grantor.clock.advance(30)
  const code = codeIn(await app.walk.authorize(request))
  expect((await app.walk.exchange(app.client, code, { code_verifier: CODE_VERIFIER })).status).toBe(200)
})

test('The codes of all wallets of one network share a second limit', async () => {
  await start({ network_codes: LIMIT })
  const [here, elsewhere] = [{ 'x-forwarded-for': '198.51.100.1' }, { 'x-forwarded-for': '198.51.100.2' }]
  const path = `/oauth/authorize?client_id=${app.client.id}&redirect_uri=${encodeURIComponent(app.client.redirectUris[0] ?? '')}`
  for (const number of [0, 1, 2] as const) {
    const walk = new Walk(app.grantor, testWallet(number))
    await walk.signIn(requestOf(app.client))
    expect(codeIn(await walk.browse({ path, headers: here }))).not.toBe('')
  }
  expectLimited(await app.walk.browse({ path, headers: here }), 60)
  expect(codeIn(await app.walk.browse({ path, headers: elsewhere }))).not.toBe('')
})
