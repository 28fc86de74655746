/** Signing in to the console, and what ends a session. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { expect } from 'vitest'
import { CONSOLE_CLIENT_ID } from '../../../src/domain/operators/console-client.ts'
import { removeOperator, setOperator } from '../../../src/domain/operators/operators.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../support/certificates.ts'
import { test as base } from '../../support/fixtures.ts'
import { send } from '../../support/send.ts'
import { startGrantor } from '../../support/start.ts'
import { testWallet } from '../../support/wallet.ts'
import { ConsoleBrowser } from './console-browser.ts'
import { addOperator, OTHER, OWNER } from './visit.ts'

const test = base.extend('options', { admin: true }).extend('owner', async ({ grantor }) => {
  await addOperator(grantor, OWNER, 'owner')
  return new ConsoleBrowser(grantor, OWNER)
})

const SESSION = 'grantor_console_session'

test('An operator signs in with a code flow with PKCE and state, and no token reaches the browser', async ({
  grantor,
  owner,
}) => {
  const begun = await owner.get('/console/sign-in?to=/console/keys')
  const request = new URL(begun.location)
  expect(request.origin).toBe(grantor.authUrl)
  expect(Object.fromEntries(request.searchParams)).toMatchObject({
    client_id: CONSOLE_CLIENT_ID,
    redirect_uri: `${grantor.adminUrl}/console/callback`,
    code_challenge_method: 'S256',
    prompt: 'login',
    resource: `${grantor.adminUrl}/`,
  })
  const answer = await owner.signIn('/console/keys')
  expect([answer.status, answer.location]).toEqual([303, `${grantor.adminUrl}/console/keys`])
  const [, cookie = ''] = answer.headers['set-cookie'] ?? []
  expect(cookie).toMatch(/^grantor_console_session=grs\.[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=28800$/)
  expect(answer.body).toBe('')
  expect((await owner.get('/console/keys')).status).toBe(200)
})

test('A callback with a state of as many characters but more bytes is refused, as any other state is', async ({ owner }) => {
  const begun = await owner.get('/console/sign-in')
  const state = new URL(begun.location).searchParams.get('state') ?? ''
  const answer = await owner.get(`/console/callback?code=x&state=${encodeURIComponent('é'.repeat(state.length))}`)
  expect(answer.status).toBe(400)
})

test('A callback that is repeated, or that another browser opens, signs no one in', async ({ grantor, owner }) => {
  const callback = await owner.callback()
  const stranger = new ConsoleBrowser(grantor, OTHER)
  const stolen = await stranger.get(callback)
  expect([stolen.status, stranger.cookies.get(SESSION)]).toEqual([400, undefined])
  const signIn = owner.cookies.get('grantor_console_sign_in') ?? ''
  expect((await owner.get(callback)).status).toBe(303)
  expect((await owner.get(callback)).status).toBe(400)
  // The attacker has the cookie of the sign-in too: the code is used, so the grant ends.
  const thief = new ConsoleBrowser(grantor, OTHER)
  thief.cookies.set('grantor_console_sign_in', signIn)
  expect((await thief.get(callback)).status).toBe(400)
  expect(thief.cookies.get(SESSION)).toBeUndefined()
  expect((await owner.get('/console')).status).toBe(401)
})

test('A callback with another state, without iss, or after 15 minutes is refused', async ({ grantor, owner }) => {
  const callback = await owner.callback()
  for (const changed of [callback.replace(/state=[^&]*/, `state=${'A'.repeat(43)}`), callback.replace(/state=[^&]*/, '')])
    expect((await owner.get(changed)).status).toBe(400)
  grantor.clock.advance(901)
  expect((await owner.get(callback)).status).toBe(400)
  const again = await owner.callback()
  expect((await owner.get(again.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example'))).body).toContain('was cancelled')
  expect(owner.cookies.get(SESSION)).toBeUndefined()
})

test('A session that the browser had before a sign-in ends, and a planted cookie gives nothing (session fixation)', async ({
  grantor,
  owner,
}) => {
  owner.cookies.set(SESSION, 'planted')
  expect((await owner.get('/console')).status).toBe(401)
  await owner.signIn()
  const first = owner.cookies.get(SESSION)
  expect(first).not.toBe('planted')
  await owner.signIn()
  expect(owner.cookies.get(SESSION)).not.toBe(first)
  // The session before ends with the new sign-in.
  const thief = new ConsoleBrowser(grantor, OWNER)
  thief.cookies.set(SESSION, first ?? '')
  expect((await thief.get('/console')).status).toBe(401)
})

test('After the sign-in the browser opens only pages of the console (no open redirect)', async ({ grantor, owner }) => {
  for (const to of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/consoles',
    '/console@evil.example',
    '/console/\nx',
    'console',
  ])
    expect((await owner.signIn(to)).location).toBe(`${grantor.adminUrl}/console`)
  expect((await owner.signIn('/console/audit?event=refused')).location).toBe(`${grantor.adminUrl}/console/audit?event=refused`)
})

test('A wallet that is not an operator gets no session, and its grant ends', async ({ grantor, owner }) => {
  await owner.signIn()
  const stranger = new ConsoleBrowser(grantor, testWallet(2))
  const answer = await stranger.signIn()
  expect(answer.status).toBe(403)
  expect(answer.body).toContain('not an operator')
  expect(stranger.cookies.get(SESSION)).toBeUndefined()
  const all = await grantor.store.grants.listGrants({ wallet: testWallet(2).address as `0x${string}`, limit: 5 })
  const grants = all.filter(({ clientId }) => clientId === CONSOLE_CLIENT_ID)
  expect(grants.map(({ endedAt }) => endedAt !== null)).toEqual([true])
})

test('The cookie of an operator who was removed opens nothing, and a changed role holds from the next request on', async ({
  grantor,
  owner,
}) => {
  await owner.signIn()
  await addOperator(grantor, OTHER, 'operator')
  const other = new ConsoleBrowser(grantor, OTHER)
  await other.signIn()
  expect((await other.get('/console/clients')).body).toContain('Register a client')
  await setOperator(grantor.store, { id: OTHER.address, role: 'auditor', at: grantor.clock.now() })
  expect((await other.get('/console/clients')).body).not.toContain('Register a client')
  await removeOperator(grantor.store, OTHER.address)
  const answer = await other.get('/console/clients')
  expect(answer.status).toBe(403)
  expect(answer.body).not.toContain('Client id')
})

test('The session ends after an hour without use, and after eight hours in any case', async ({ grantor, owner }) => {
  await owner.signIn()
  grantor.clock.advance(3599)
  expect((await owner.get('/console')).status).toBe(200)
  grantor.clock.advance(3601)
  expect((await owner.get('/console')).status).toBe(401)
  await owner.signIn()
  for (let hours = 0; hours < 15; hours++) {
    expect((await owner.get('/console')).status).toBe(200)
    grantor.clock.advance(1900)
  }
  grantor.clock.advance(300)
  expect((await owner.get('/console')).status).toBe(401)
})

test('Signing out ends the grant, so a copy of the cookie opens nothing', async ({ grantor, owner }) => {
  await owner.signIn()
  const copy = owner.cookies.get(SESSION) ?? ''
  const page = await owner.get('/console')
  const [, token = ''] = /action="\/console\/sign-out"[^]*?name="form_token" value="([^"]+)"/.exec(page.body) ?? []
  expect((await owner.postOnly('/console/sign-out', { form_token: token })).status).toBe(303)
  expect(owner.cookies.get(SESSION)).toBe('')
  const thief = new ConsoleBrowser(grantor, OWNER)
  thief.cookies.set(SESSION, copy)
  expect((await thief.get('/console')).status).toBe(401)
})

test('The client of the console cannot be used over HTTP: it has no secret, and no operator can change it', async ({
  grantor,
  owner,
}) => {
  const callback = await owner.callback()
  const code = new URLSearchParams(callback.split('?')[1]).get('code') ?? ''
  for (const authentication of [{ client_id: CONSOLE_CLIENT_ID }, { client_id: CONSOLE_CLIENT_ID, client_secret: '' }]) {
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: `${grantor.adminUrl}/console/callback`,
      ...authentication,
    })
    const answer = await send(grantor.authUrl, {
      method: 'POST',
      path: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: body.toString(),
    })
    expect([answer.status, answer.json().error]).toEqual([401, 'invalid_client'])
  }
  await owner.get(callback)
  expect((await owner.get(`/console/clients/${CONSOLE_CLIENT_ID}`)).status).toBe(404)
})

test('The console is on the admin listener only, and without the admin API the client does not exist', async ({
  grantor,
  owner,
}) => {
  await owner.signIn()
  for (const path of ['/console', '/console/sign-in', '/console/clients'])
    expect((await send(grantor.authUrl, { path, headers: { cookie: `${SESSION}=${owner.cookies.get(SESSION)}` } })).status).toBe(
      404,
    )
})

test('With https the cookies have the prefix __Host- and the attribute Secure', async () => {
  const grantor = await startGrantor({ admin: true, tls: { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY } })
  try {
    const { hostname, port } = new URL(grantor.adminUrl)
    const answer = httpsRequest({ host: hostname, port, path: '/console/sign-in', ca: TEST_CERTIFICATE }).end()
    const [response] = (await once(answer, 'response')) as [IncomingMessage]
    response.resume()
    expect(response.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-grantor_console_sign_in=grh\.[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=900; Secure$/,
      ),
    ])
  } finally {
    await grantor.close()
  }
})
