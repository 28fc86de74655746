import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOKEN_EXCHANGE } from '../../../../src/protocol/oauth/grant-types.ts'
import { type App, startApp } from '../../../support/app.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { encode, fieldOf, requestOf } from '../../../support/walk.ts'

let app: App
/** one text of each kind that the service issues */
let texts: Record<string, string>
/** each sealed text with the prefix of each other kind */
let wrongPrefixes: [string, string][]

beforeAll(async () => {
  app = await startApp()
  const { walk, client, grantor } = app
  const tokens = await app.freshTokens()
  const challenge = await walk.challenge(requestOf(client, { prompt: 'login' }))
  const confirmation = fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')
  texts = {
    'an access token': tokens.access_token,
    'a refresh token': tokens.refresh_token,
    'a code': await app.freshCode(),
    'a login challenge': challenge,
    'a login verifier': new URL(await walk.prove(challenge), grantor.authUrl).searchParams.get('login_verifier') ?? '',
    'a confirmation': confirmation,
    'a session id': walk.cookies.get('grantor_session') ?? '',
    'a browser key': walk.cookies.get('grantor_browser') ?? '',
  }
  const prefixes = Object.values(texts).flatMap((text) => /^gr[a-z]\.[0-9a-f]{10}\./.exec(text)?.[0] ?? [])
  wrongPrefixes = Object.entries(texts).flatMap(([what, text]) =>
    prefixes
      .filter((prefix) => text.startsWith('gr') && !text.startsWith(prefix.slice(0, 4)))
      .map((prefix): [string, string] => [`${what} behind ${prefix.slice(0, 4)}`, prefix + text.split('.')[2]]),
  )
})
afterAll(() => app.close())

const allBut = (what: string): [string, string][] => [
  ...Object.entries(texts).filter(([each]) => each !== what),
  ...wrongPrefixes,
]

describe('Texts that were issued for another purpose', () => {
  test('The test data have a text of each of eight kinds, and sealed texts with the prefix of another kind', () => {
    expect(Object.values(texts).every((text) => text.length >= 40)).toBe(true)
    expect(wrongPrefixes.length).toBeGreaterThanOrEqual(15)
  })

  test('Only a code is accepted as a code', async () => {
    for (const [, text] of allBut('a code')) expectRefusal(await app.walk.exchange(app.client, text), 'invalid_grant')
  })

  test('Only a refresh token is accepted as a refresh token', async () => {
    for (const [, text] of allBut('a refresh token')) expectRefusal(await app.walk.refresh(app.client, text), 'invalid_grant')
  })

  test('Only an access token is accepted as a subject_token (RFC 8693 §2.2.2)', async () => {
    const api = 'https://api.example.com/'
    const server = await app.grantor.createClient({ resourceServer: app.grantor.authUrl, exchangeResources: [api] })
    const exchange = (subject_token: string) => {
      const subject = { subject_token, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' }
      return app.walk.token(server, { grant_type: TOKEN_EXCHANGE, resource: api, ...subject })
    }
    expect((await exchange(texts['an access token'] ?? '')).status).toBe(200)
    for (const [, text] of allBut('an access token')) expect((await exchange(text)).json().error).toBe('invalid_request')
  })

  test('Only an access token is active at introspection', async () => {
    for (const [, text] of allBut('an access token')) {
      expect((await app.walk.introspect(app.client, text)).body).toBe('{"active":false}')
    }
  })

  test('Only a login challenge is accepted as a login challenge, and only a login verifier as a login verifier', async () => {
    const { walk } = app
    for (const [, text] of allBut('a login challenge')) {
      const claim = { login_challenge: text, address: walk.wallet.address, chain_id: 1 }
      expect((await walk.loginApi('/login/message', claim)).status).toBe(400)
      expect((await walk.loginApi('/login/accept', { ...claim, signature: walk.wallet.sign('x') })).status).toBe(400)
      expect((await walk.loginApi('/login/reject', claim)).status).toBe(400)
      const verifier = texts['a login verifier'] ?? ''
      expect((await walk.complete(`/login/complete?${encode({ login_challenge: text, login_verifier: verifier })}`)).status).toBe(
        400,
      )
    }
    for (const [, text] of allBut('a login verifier')) {
      const challenge = texts['a login challenge'] ?? ''
      expect(
        (await walk.complete(`/login/complete?${encode({ login_challenge: challenge, login_verifier: text })}`)).status,
      ).toBe(400)
    }
  })

  test('Only a confirmation is accepted as a confirmation', async () => {
    for (const [, text] of allBut('a confirmation')) {
      expect((await app.walk.postForm('/oauth/authorize/confirm', { confirmation: text, decision: 'allow' })).status).toBe(400)
    }
  })

  test('Only a session id is accepted as a session id', async () => {
    const { cookies } = app.walk
    const session = cookies.get('grantor_session') ?? ''
    for (const [, text] of allBut('a session id')) {
      cookies.set('grantor_session', text)
      expect((await app.walk.authorize(requestOf(app.client))).location).toContain('/login?login_challenge=')
    }
    cookies.set('grantor_session', session)
    await app.freshCode()
  })

  test('Redeeming or revoking a text of another kind writes nothing', async () => {
    const before = await app.grantor.rows()
    for (const [, text] of [...Object.entries(texts), ...wrongPrefixes]) {
      await app.walk.exchange(app.client, text === texts['a code'] ? 'x' : text)
      await app.walk.revoke(app.client, text === texts['a refresh token'] || text === texts['an access token'] ? 'x' : text)
    }
    expect(await app.grantor.rows()).toEqual(before)
  })
})
