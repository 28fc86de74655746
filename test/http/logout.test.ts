/** Signing out because an app says so (OpenID Connect RP-Initiated Logout §2). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openIdClient, openIdTokens } from '../support/openid-app.ts'
import { changeClient } from '../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { type Answer, encode, fieldOf, movingTo, noticeOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

const AFTERWARDS = 'https://app.example.net/bye?from=grantor'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await openIdClient(grantor, { postLogoutRedirectUris: [AFTERWARDS] })
})
beforeEach(async () => {
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const tokensOf = (of = client, by = walk) => openIdTokens(by, of)

const logout = (asked: Record<string, string>, by = walk): Promise<Answer> =>
  by.browse({ path: `/oauth/logout?${encode(asked)}` })

async function isSignedIn(by = walk): Promise<boolean> {
  return (await by.authorize(requestOf(client, { prompt: 'none' }))).location.includes('code=')
}

const press = (page: Answer, decision: string, by = walk, headers: Record<string, string> = {}): Promise<Answer> =>
  by.postForm('/oauth/logout/confirm', { question: fieldOf(page, 'question'), decision }, headers)

describe('RP-initiated logout', () => {
  test('with an ID token of this very session: signed out at once, back to the app with its state, byte for byte', async () => {
    const { id_token, access_token, refresh_token } = await tokensOf()
    const asked = `${encode({ id_token_hint: id_token, post_logout_redirect_uri: AFTERWARDS })}&state=%FF%26x`
    const answer = await walk.browse({ path: `/oauth/logout?${asked}` })
    expect([answer.status, answer.location]).toEqual([302, `${AFTERWARDS}&state=%FF%26x`])
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^grantor_session=; .*Max-Age=0/)
    expect(await isSignedIn()).toBe(false)
    expect((await walk.introspect(client, access_token)).json().active, 'what was allowed stays allowed').toBe(true)
    expect((await walk.refresh(client, refresh_token)).status).toBe(200)
  })

  test('an ID token whose time is over is as good; without an address to go to, a page says that it is done', async () => {
    const { id_token } = await tokensOf()
    grantor.clock.advance(3600)
    const page = await logout({ id_token_hint: id_token, client_id: client.id })
    expect([page.status, noticeOf(page)]).toEqual([200, 'signed_out'])
    expect(await isSignedIn()).toBe(false)
  })

  test('the session itself is ended, not only this browser’s cookie', async () => {
    const { id_token } = await tokensOf()
    const copied = new Walk(grantor)
    for (const [name, value] of walk.cookies) copied.cookies.set(name, value)
    await logout({ id_token_hint: id_token })
    expect(await isSignedIn(copied)).toBe(false)
  })

  test.each<[string, () => Promise<Record<string, string>>]>([
    ['no ID token', async () => ({ client_id: client.id, post_logout_redirect_uri: AFTERWARDS })],
    ['nothing at all', async () => ({})],
    ['a forged ID token', async () => ({ client_id: client.id, id_token_hint: `${(await tokensOf()).id_token}x` })],
    [
      'an ID token of an earlier session of the same wallet',
      async () => {
        const earlier = new Walk(grantor)
        await earlier.signIn(requestOf(client))
        return { id_token_hint: (await tokensOf(client, earlier)).id_token }
      },
    ],
    [
      'another wallet’s ID token',
      async () => {
        const other = new Walk(grantor, testWallet(1))
        await other.signIn(requestOf(client))
        return { id_token_hint: (await tokensOf(client, other)).id_token }
      },
    ],
  ])('with %s the person is asked, and stays signed in until they say yes', async (_, asked) => {
    const page = await logout(await asked())
    expect([page.status, page.location]).toEqual([200, ''])
    expect(await isSignedIn()).toBe(true)
    expect(noticeOf(await press(page, 'stay'))).toBe('still_signed_in')
    expect(noticeOf(await press(page, 'whatever'))).toBe('still_signed_in')
    expect(await isSignedIn()).toBe(true)
    expect((await press(page, 'sign_out')).status).toBe(200)
    expect(await isSignedIn()).toBe(false)
  })

  test('who said yes is brought to the app’s address, by a page (browsers hold `form-action` against redirects)', async () => {
    const page = await logout({ client_id: client.id, post_logout_redirect_uri: AFTERWARDS, state: 's t' })
    expect(movingTo(await press(page, 'sign_out'))).toBe(`${AFTERWARDS}&state=s%20t`)
  })

  test('nobody is brought to an address that was taken from the app while the person was being asked (§3)', async () => {
    const page = await logout({ client_id: client.id, post_logout_redirect_uri: AFTERWARDS, state: 's' })
    await changeClient(grantor, client, { postLogoutRedirectUris: ['https://app.example.net/elsewhere'] })
    const answer = await press(page, 'sign_out')
    await changeClient(grantor, client, {})
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'signed_out'])
    expect(answer.body).not.toContain(new URL(AFTERWARDS).pathname)
    expect(await isSignedIn()).toBe(false)
  })

  test('whoever sends an ID token that is not ours is brought nowhere, though the address is registered, session or not (§4)', async () => {
    const asked = {
      client_id: client.id,
      id_token_hint: `${(await tokensOf()).id_token}x`,
      post_logout_redirect_uri: AFTERWARDS,
    }
    const answer = await press(await logout(asked), 'sign_out')
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'signed_out'])
    expect(answer.body).not.toContain(new URL(AFTERWARDS).pathname)
    const without = await logout(asked, new Walk(grantor))
    expect([without.status, without.location, noticeOf(without)]).toEqual([200, '', 'signed_out'])
  })

  test('logout_hint and ui_locales need not be met, and are no fault (§2)', async () => {
    const { id_token } = await tokensOf()
    const wishes = { logout_hint: 'somebody', ui_locales: 'zz-unknown fr' }
    expect((await logout({ id_token_hint: id_token, post_logout_redirect_uri: AFTERWARDS, ...wishes })).location).toBe(AFTERWARDS)
  })

  test('the question is of this session: of no use in another one, after its time, or from another site', async () => {
    const page = await logout({ client_id: client.id })
    const other = new Walk(grantor, testWallet(1))
    await other.signIn(requestOf(client))
    expect((await press(page, 'sign_out', other)).status).toBe(410)
    expect((await press(page, 'sign_out', walk, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await walk.postForm('/oauth/logout/confirm', { question: 'gro.x.y', decision: 'sign_out' })).status).toBe(400)
    grantor.clock.advance(600)
    expect((await press(page, 'sign_out')).status).toBe(410)
    expect([await isSignedIn(), await isSignedIn(other)]).toEqual([true, true])
  })

  test('without any session there is nothing to ask: back to the registered address at once', async () => {
    const asked = { client_id: client.id, post_logout_redirect_uri: AFTERWARDS }
    expect((await logout(asked, new Walk(grantor))).location).toBe(AFTERWARDS)
    expect(noticeOf(await logout({}, new Walk(grantor)))).toBe('signed_out')
  })

  test.each<[string, () => Promise<Record<string, string>>, string]>([
    [
      'an address that is not registered',
      async () => ({ client_id: client.id, post_logout_redirect_uri: `${AFTERWARDS}x` }),
      'logout_address_unknown',
    ],
    [
      'an address that is registered for signing in only',
      async () => ({ client_id: client.id, post_logout_redirect_uri: client.redirectUris[0] ?? '' }),
      'logout_address_unknown',
    ],
    ['a client nobody knows', async () => ({ client_id: 'nobody' }), 'unknown_client'],
    [
      'an ID token of another client',
      async () => ({ client_id: client.id, id_token_hint: (await tokensOf(await openIdClient(grantor))).id_token }),
      'malformed_request',
    ],
  ])('%s: a page, no redirect, and the session stays (§2, §3)', async (_, asked, notice) => {
    const page = await logout(await asked())
    expect([page.status, page.location, noticeOf(page)]).toEqual([400, '', notice])
    expect(await isSignedIn()).toBe(true)
  })

  const forged = async () => `${(await tokensOf()).id_token}x`
  test.each<[string, () => Promise<Record<string, string>>, string, string]>([
    [
      'an ID token that this service did not make',
      async () => ({ id_token_hint: await forged(), post_logout_redirect_uri: AFTERWARDS }),
      'logout_hint_unknown',
      'id_token_hint_invalid',
    ],
    [
      'neither an ID token nor client_id',
      async () => ({ post_logout_redirect_uri: AFTERWARDS }),
      'logout_client_missing',
      'id_token_hint_and_client_id_missing',
    ],
    [
      'an address that the client has not registered',
      async () => ({ client_id: client.id, post_logout_redirect_uri: `${AFTERWARDS}x` }),
      'logout_address_unknown',
      'post_logout_redirect_uri_not_registered',
    ],
  ])('a logout request with %s names this cause on the page and in the audit log (§2, §3)', async (_, asked, notice, reason) => {
    const page = await logout(await asked())
    expect([page.status, page.location, noticeOf(page)]).toEqual([400, '', notice])
    expect(grantor.events.at(-1)).toMatchObject({ event: 'logout_refused', reason })
    expect(await isSignedIn()).toBe(true)
  })

  test('an ID token hint that is missing is no fault if client_id names the client; one that is invalid is recorded (§2, §4)', async () => {
    const asked = { client_id: client.id, post_logout_redirect_uri: AFTERWARDS }
    expect(movingTo(await press(await logout(asked), 'sign_out'))).toBe(AFTERWARDS)
    await walk.signIn(requestOf(client))
    const before = grantor.events.length
    await logout({ ...asked, id_token_hint: await forged() })
    expect(grantor.events.slice(before)).toContainEqual({ event: 'id_token_hint_unknown', client_id: client.id })
  })

  test('a parameter sent twice is refused; a form post is asked again as the same GET (§2)', async () => {
    expect((await walk.browse({ path: `/oauth/logout?client_id=${client.id}&client_id=${client.id}` })).status).toBe(400)
    const { id_token } = await tokensOf()
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://app.example.net' }
    const answer = await walk.browse({ method: 'POST', path: '/oauth/logout', headers, body: `id_token_hint=${id_token}` })
    expect(answer.status).toBe(303)
    await walk.browse({ path: answer.location })
    expect(await isSignedIn()).toBe(false)
  })
})
