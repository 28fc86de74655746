import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../support/app.ts'
import { expectRefusal } from '../support/refusals.ts'
import { allRows } from '../support/rows.ts'
import { encode, fieldOf, requestOf } from '../support/walk.ts'

let app: App
/** everything the service ever made, by what it is for */
let made: Record<string, string>
/** each of them under the prefix of every other */
let disguised: [string, string][]

beforeAll(async () => {
  app = await startApp()
  const { walk, client, grantor } = app
  const tokens = await app.freshTokens()
  const challenge = await walk.challenge(requestOf(client, { prompt: 'login' }))
  const confirmation = fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')
  made = {
    'an access token': tokens.access_token,
    'a refresh token': tokens.refresh_token,
    'a code': await app.freshCode(),
    'a login challenge': challenge,
    'a login verifier': new URL(await walk.prove(challenge), grantor.authUrl).searchParams.get('login_verifier') ?? '',
    'a confirmation': confirmation,
    'a session id': walk.cookies.get('grantor_session') ?? '',
    'a browser key': walk.cookies.get('grantor_browser') ?? '',
  }
  const prefixes = Object.values(made).flatMap((text) => /^gr[a-z]\.[0-9a-f]{10}\./.exec(text)?.[0] ?? [])
  disguised = Object.entries(made).flatMap(([what, text]) =>
    prefixes
      .filter((prefix) => text.startsWith('gr') && !text.startsWith(prefix.slice(0, 4)))
      .map((prefix): [string, string] => [`${what} behind ${prefix.slice(0, 4)}`, prefix + text.split('.')[2]]),
  )
})
afterAll(() => app.close())

const allBut = (what: string): [string, string][] => [...Object.entries(made).filter(([each]) => each !== what), ...disguised]

describe('nothing made for one purpose opens as another', () => {
  test('eight kinds of texts, and those that are sealed under each other’s prefix', () => {
    expect(Object.values(made).every((text) => text.length >= 40)).toBe(true)
    expect(disguised.length).toBeGreaterThanOrEqual(15)
  })

  test('as a code, nothing but a code', async () => {
    for (const [, text] of allBut('a code')) expectRefusal(await app.walk.exchange(app.client, text), 'invalid_grant')
  })

  test('as a refresh token, nothing but a refresh token', async () => {
    for (const [, text] of allBut('a refresh token')) expectRefusal(await app.walk.refresh(app.client, text), 'invalid_grant')
  })

  test('as an access token, nothing but an access token', async () => {
    for (const [, text] of allBut('an access token')) {
      expect((await app.walk.introspect(app.client, text)).body).toBe('{"active":false}')
    }
  })

  test('as a login challenge or verifier, nothing but those', async () => {
    const { walk } = app
    for (const [, text] of allBut('a login challenge')) {
      const claim = { login_challenge: text, address: walk.wallet.address, chain_id: 1 }
      expect((await walk.loginApi('/login/message', claim)).status).toBe(400)
      expect((await walk.loginApi('/login/accept', { ...claim, signature: walk.wallet.sign('x') })).status).toBe(400)
      expect((await walk.loginApi('/login/reject', claim)).status).toBe(400)
      const verifier = made['a login verifier'] ?? ''
      expect((await walk.complete(`/login/complete?${encode({ login_challenge: text, login_verifier: verifier })}`)).status).toBe(
        400,
      )
    }
    for (const [, text] of allBut('a login verifier')) {
      const challenge = made['a login challenge'] ?? ''
      expect(
        (await walk.complete(`/login/complete?${encode({ login_challenge: challenge, login_verifier: text })}`)).status,
      ).toBe(400)
    }
  })

  test('as a confirmation, nothing but a confirmation', async () => {
    for (const [, text] of allBut('a confirmation')) {
      expect((await app.walk.postForm('/oauth/authorize/confirm', { confirmation: text, decision: 'allow' })).status).toBe(400)
    }
  })

  test('as a session, nothing but a session id', async () => {
    const { cookies } = app.walk
    const session = cookies.get('grantor_session') ?? ''
    for (const [, text] of allBut('a session id')) {
      cookies.set('grantor_session', text)
      expect((await app.walk.authorize(requestOf(app.client))).location).toContain('/login?login_challenge=')
    }
    cookies.set('grantor_session', session)
    await app.freshCode()
  })

  test('and none of these attempts wrote anything', async () => {
    const before = allRows(app.grantor.databasePath)
    for (const [, text] of [...Object.entries(made), ...disguised]) {
      await app.walk.exchange(app.client, text === made['a code'] ? 'x' : text)
      await app.walk.revoke(app.client, text === made['a refresh token'] || text === made['an access token'] ? 'x' : text)
    }
    expect(allRows(app.grantor.databasePath)).toEqual(before)
  })
})
