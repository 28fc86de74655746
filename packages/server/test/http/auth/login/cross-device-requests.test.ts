/** A cross-device login under what an app or an operator requires: a wallet, an age of the login, no page, a client that may still request. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { App } from '../../../support/app.ts'
import { compareOn, type Offer, offerOf, openUrl, signOn } from '../../../support/cross-device.ts'
import { changeClient, outcomeOf, startSignedApp } from '../../../support/signed-app.ts'
import { type Answer, movingTo, noticeOf, parameterOf, redirectPath, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
let desktop: Walk
let phone: Walk

beforeEach(async () => {
  app = await startSignedApp()
  await changeClient(app.grantor, app.client, Object.assign(app.client, { scopes: ['enhancement', 'openid', 'profile'] }))
  desktop = new Walk(app.grantor)
  phone = new Walk(app.grantor, testWallet(1))
})
afterEach(() => app.close())

const OPENID = { response_type: 'code', scope: 'openid', state: 'of-the-desktop' }
const seen = (answer: Answer) => [answer.status, noticeOf(answer)]
const errorOf = (answer: Answer) => [answer.status, answer.json().error]
const begin = async (more: Record<string, string> = {}): Promise<Offer & { challenge: string }> => {
  const challenge = await desktop.challenge(requestOf(app.client, { ...OPENID, ...more }))
  return { challenge, ...(await offerOf(desktop, challenge)) }
}
/** The claims of the ID token for the code on the page that leads to the app. */
const claimsOf = async (page: Answer) => {
  const { id_token: idToken } = (await desktop.exchange(app.client, parameterOf(movingTo(page), 'code'))).json()
  return JSON.parse(Buffer.from(String(idToken).split('.')[1] ?? '', 'base64url').toString('utf8'))
}

test('prompt=none shows no code for another device, and gets login_required until the browser has a session', async () => {
  const silent = requestOf(app.client, { ...OPENID, prompt: 'none' })
  expect(outcomeOf(await desktop.authorize(silent))).toBe('login_required')
  const offer = await begin()
  await signOn(phone, offer.url)
  expect(outcomeOf(await desktop.authorize(silent)), 'signed, but not continued').toBe('login_required')
  await openUrl(desktop, offer.continue_url)
  expect(outcomeOf(await desktop.authorize(silent))).toBe('code')
  expect(outcomeOf(await phone.authorize(silent))).toBe('login_required')
})

test('auth_time is the time at which the other device signed, not the time at which the browser continued (OpenID Connect Core §2)', async () => {
  const offer = await begin({ max_age: '300' })
  app.grantor.clock.advance(30)
  const signedAt = app.grantor.clock.now()
  await signOn(phone, offer.url)
  app.grantor.clock.advance(400)
  const claims = await claimsOf(await openUrl(desktop, offer.continue_url))
  expect(claims.auth_time).toBe(signedAt)
  expect(outcomeOf(await desktop.authorize(requestOf(app.client, { ...OPENID, max_age: '300' })))).toBe('login')
})

test('With id_token_hint, another wallet on the other device gives the app login_required, its state and no code', async () => {
  const offer = await begin()
  await signOn(phone, offer.url)
  const page = await openUrl(desktop, offer.continue_url)
  const { id_token: idToken } = (await desktop.exchange(app.client, parameterOf(movingTo(page), 'code'))).json()
  for (const [wallet, expected] of [
    [2, ['login_required', 'of-the-desktop', false]],
    [1, ['', 'of-the-desktop', true]],
  ] as const) {
    const hinted = await begin({ prompt: 'login', id_token_hint: String(idToken) })
    const other = new Walk(app.grantor, testWallet(wallet))
    expect((await other.describe(await compareOn(other, hinted.url))).json().login_hint).toBe(testWallet(1).address)
    await signOn(other, hinted.url)
    const to = movingTo(await openUrl(desktop, hinted.continue_url))
    expect([parameterOf(to, 'error'), parameterOf(to, 'state'), parameterOf(to, 'code') !== '']).toEqual(expected)
  }
})

test('With login_hint, the other device shows the wallet that the app expects, and any wallet may sign', async () => {
  const offer = await begin({ login_hint: testWallet(2).address })
  expect((await phone.describe(await compareOn(phone, offer.url))).json().login_hint).toBe(testWallet(2).address)
  await signOn(phone, offer.url)
  expect(parameterOf(movingTo(await openUrl(desktop, offer.continue_url)), 'code')).not.toBe('')
})

test('A pushed request is signed on another device too, and gives one code, also if the challenge contains only its id (RFC 9126)', async () => {
  const short = { ...OPENID, state: 's' }
  const long = { ...OPENID, state: 's'.repeat(4000) }
  for (const parameters of [short, long]) {
    const { request_uri } = (await desktop.call('/oauth/par', app.client, requestOf(app.client, parameters))).json()
    const request = { client_id: app.client.id, request_uri: String(request_uri) }
    const offer = await offerOf(desktop, await desktop.challenge(request))
    expect(seen(await signOn(phone, offer.url))).toEqual([200, 'signed_for_browser'])
    const to = movingTo(await openUrl(desktop, offer.continue_url))
    expect([parameterOf(to, 'code') !== '', parameterOf(to, 'state')]).toEqual([true, parameters.state])
    expect((await desktop.authorize(request)).status).toBe(400)
    desktop = new Walk(app.grantor)
  }
})

test('A client that was disabled meanwhile is refused at the comparison, at the signature, after the signature and at the end', async () => {
  const offer = await begin()
  const there = await compareOn(phone, offer.url)
  const unsent = await phone.proof(there)
  const second = new Walk(app.grantor, testWallet(2))
  const proven = await second.prove(await compareOn(second, offer.url))
  await changeClient(app.grantor, app.client, { disabledAt: 1 })
  expect(seen(await openUrl(phone, offer.url))).toEqual([403, 'unknown_client'])
  expect(errorOf(await phone.loginApi('/login/accept', unsent))).toEqual([403, 'client_not_allowed'])
  expect(seen(await second.complete(proven))).toEqual([403, 'unknown_client'])
  await changeClient(app.grantor, app.client, { disabledAt: null })
  await phone.complete(redirectPath(await phone.loginApi('/login/accept', unsent)))
  await changeClient(app.grantor, app.client, { disabledAt: 1 })
  expect(seen(await openUrl(desktop, offer.continue_url))).toEqual([403, 'unknown_client'])
  expect(desktop.cookies.has('grantor_session')).toBe(false)
})

test('If cross-device logins are switched off after the signature, the browser that began gets no session and can sign itself', async () => {
  const offer = await begin()
  await signOn(phone, offer.url)
  app.grantor.deps.settings.crossDevice = false
  expect(seen(await openUrl(desktop, offer.continue_url))).toEqual([403, 'cross_device_off'])
  expect(desktop.cookies.has('grantor_session')).toBe(false)
  const page = await desktop.complete(await desktop.prove(offer.challenge, testWallet(2)))
  expect(parameterOf(movingTo(page), 'code')).not.toBe('')
})

test('While cross-device logins are off, a new challenge names no place, and a code stays refused after they are switched on again', async () => {
  app.grantor.deps.settings.crossDevice = false
  const challenge = await desktop.challenge(requestOf(app.client, OPENID))
  app.grantor.deps.settings.crossDevice = true
  expect((await desktop.describe(challenge)).json()).not.toHaveProperty('cross_device')
  const url = `${app.grantor.authUrl}/login/cross-device?login_challenge=${challenge}`
  expect(seen(await openUrl(phone, url))).toEqual([400, 'broken_link'])
})

test('The last page of the other device can be loaded again, also after the verifier has expired, and no second proof is stored', async () => {
  const offer = await begin()
  const path = await phone.prove(await compareOn(phone, offer.url))
  expect(seen(await phone.complete(path))).toEqual([200, 'signed_for_browser'])
  const before = await app.grantor.rows()
  expect(seen(await phone.complete(path))).toEqual([200, 'signed_for_browser'])
  app.grantor.clock.advance(61)
  expect(seen(await phone.complete(path))).toEqual([200, 'signed_for_browser'])
  await openUrl(desktop, offer.continue_url)
  expect(seen(await phone.complete(path))).toEqual([200, 'signed_for_browser'])
  const after = await app.grantor.rows()
  expect([after.pushed_requests, after.receipts]).toEqual([before.pushed_requests, before.receipts])
  expect(phone.cookies.has('grantor_session')).toBe(false)
})
