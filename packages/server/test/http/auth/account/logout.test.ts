/** Logout at the request of an app (OpenID Connect RP-Initiated Logout §2). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, encode, fieldOf, movingTo, noticeOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

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

const logout = (parameters: Record<string, string>, by = walk): Promise<Answer> =>
  by.browse({ path: `/oauth/logout?${encode(parameters)}` })

async function isSignedIn(by = walk): Promise<boolean> {
  return (await by.authorize(requestOf(client, { prompt: 'none' }))).location.includes('code=')
}

const press = (page: Answer, decision: string, by = walk, headers: Record<string, string> = {}): Promise<Answer> =>
  by.postForm('/oauth/logout/confirm', { question: fieldOf(page, 'question'), decision }, headers)

describe('RP-Initiated Logout (OpenID Connect RP-Initiated Logout §2)', () => {
  test('A logout request with an ID token of the session ends the session and redirects with the unchanged state (RP-Initiated Logout §2)', async () => {
    const { id_token, access_token, refresh_token } = await tokensOf()
    const parameters = `${encode({ id_token_hint: id_token, post_logout_redirect_uri: AFTERWARDS })}&state=%FF%26x`
    const answer = await walk.browse({ path: `/oauth/logout?${parameters}` })
    expect([answer.status, answer.location]).toEqual([302, `${AFTERWARDS}&state=%FF%26x`])
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^grantor_session=; .*Max-Age=0/)
    expect(await isSignedIn()).toBe(false)
    expect((await walk.introspect(client, access_token)).json().active, 'the grant stays valid').toBe(true)
    expect((await walk.refresh(client, refresh_token)).status).toBe(200)
  })

  test('A logout request with an expired ID token ends the session, and without a redirect URI shows a page (RP-Initiated Logout §2)', async () => {
    const { id_token } = await tokensOf()
    grantor.clock.advance(3600)
    const page = await logout({ id_token_hint: id_token, client_id: client.id })
    expect([page.status, noticeOf(page)]).toEqual([200, 'signed_out'])
    expect(await isSignedIn()).toBe(false)
  })

  test('A logout ends the session in the store, so a copied session cookie is refused', async () => {
    const { id_token } = await tokensOf()
    const copied = walk.copy()
    await logout({ id_token_hint: id_token })
    expect(await isSignedIn(copied)).toBe(false)
  })

  test.each<[string, () => Promise<Record<string, string>>]>([
    ['no ID token', async () => ({ client_id: client.id, post_logout_redirect_uri: AFTERWARDS })],
    ['no parameters', async () => ({})],
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
  ])(
    'A logout request with %s asks the user, and the session stays until the user agrees (RP-Initiated Logout §2)',
    async (_, parameters) => {
      const page = await logout(await parameters())
      expect([page.status, page.location]).toEqual([200, ''])
      expect(await isSignedIn()).toBe(true)
      expect(noticeOf(await press(page, 'stay'))).toBe('still_signed_in')
      expect(noticeOf(await press(page, 'whatever'))).toBe('still_signed_in')
      expect(await isSignedIn()).toBe(true)
      expect((await press(page, 'sign_out')).status).toBe(200)
      expect(await isSignedIn()).toBe(false)
    },
  )

  test('After the user agrees to a logout, a page forwards to the app’s address with state (RP-Initiated Logout §3)', async () => {
    const page = await logout({ client_id: client.id, post_logout_redirect_uri: AFTERWARDS, state: 's t' })
    expect(movingTo(await press(page, 'sign_out'))).toBe(`${AFTERWARDS}&state=s%20t`)
  })

  test('A logout does not forward to an address that was removed from the client before the user agreed (RP-Initiated Logout §3)', async () => {
    const page = await logout({ client_id: client.id, post_logout_redirect_uri: AFTERWARDS, state: 's' })
    await changeClient(grantor, client, { postLogoutRedirectUris: ['https://app.example.net/elsewhere'] })
    const answer = await press(page, 'sign_out')
    await changeClient(grantor, client, {})
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'signed_out'])
    expect(answer.body).not.toContain(new URL(AFTERWARDS).pathname)
    expect(await isSignedIn()).toBe(false)
  })

  test('A logout request with a forged ID token does not forward to a registered address, with or without session (RP-Initiated Logout §4)', async () => {
    const parameters = {
      client_id: client.id,
      id_token_hint: `${(await tokensOf()).id_token}x`,
      post_logout_redirect_uri: AFTERWARDS,
    }
    const answer = await press(await logout(parameters), 'sign_out')
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'signed_out'])
    expect(answer.body).not.toContain(new URL(AFTERWARDS).pathname)
    const without = await logout(parameters, new Walk(grantor))
    expect([without.status, without.location, noticeOf(without)]).toEqual([200, '', 'signed_out'])
  })

  test('A logout request may contain logout_hint and ui_locales, which are ignored (RP-Initiated Logout §2)', async () => {
    const { id_token } = await tokensOf()
    const hints = { logout_hint: 'alice', ui_locales: 'zz-unknown fr' }
    expect((await logout({ id_token_hint: id_token, post_logout_redirect_uri: AFTERWARDS, ...hints })).location).toBe(AFTERWARDS)
  })

  test('The logout form is refused in another session, after ten minutes, from another origin and with a forged question', async () => {
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

  test('A logout request without a session redirects to the registered address without asking the user', async () => {
    const parameters = { client_id: client.id, post_logout_redirect_uri: AFTERWARDS }
    expect((await logout(parameters, new Walk(grantor))).location).toBe(AFTERWARDS)
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
    ['an unknown client', async () => ({ client_id: 'nobody' }), 'unknown_client'],
    [
      'an ID token of another client',
      async () => ({ client_id: client.id, id_token_hint: (await tokensOf(await openIdClient(grantor))).id_token }),
      'malformed_request',
    ],
  ])(
    'A logout request with %s is 400 without a redirect, and the session stays (RP-Initiated Logout §2, §3)',
    async (_, parameters, notice) => {
      const page = await logout(await parameters())
      expect([page.status, page.location, noticeOf(page)]).toEqual([400, '', notice])
      expect(await isSignedIn()).toBe(true)
    },
  )

  const forgeIdToken = async () => `${(await tokensOf()).id_token}x`
  test.each<[string, () => Promise<Record<string, string>>, string, string]>([
    [
      'an ID token that this service did not make',
      async () => ({ id_token_hint: await forgeIdToken(), post_logout_redirect_uri: AFTERWARDS }),
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
  ])(
    'A logout request with %s has its cause on the page and in the audit log (RP-Initiated Logout §2, §3)',
    async (_, parameters, notice, reason) => {
      const page = await logout(await parameters())
      expect([page.status, page.location, noticeOf(page)]).toEqual([400, '', notice])
      expect(grantor.events.at(-1)).toMatchObject({ event: 'logout_refused', reason })
      expect(await isSignedIn()).toBe(true)
    },
  )

  test('A logout request with client_id needs no id_token_hint, and an invalid one is logged (RP-Initiated Logout §2, §4)', async () => {
    const parameters = { client_id: client.id, post_logout_redirect_uri: AFTERWARDS }
    expect(movingTo(await press(await logout(parameters), 'sign_out'))).toBe(AFTERWARDS)
    await walk.signIn(requestOf(client))
    const before = grantor.events.length
    await logout({ ...parameters, id_token_hint: await forgeIdToken() })
    expect(grantor.events.slice(before)).toContainEqual({ event: 'id_token_hint_unknown', client_id: client.id })
  })

  test('A logout request with a repeated parameter is 400, and a form post redirects to the same request by GET (RP-Initiated Logout §2)', async () => {
    expect((await walk.browse({ path: `/oauth/logout?client_id=${client.id}&client_id=${client.id}` })).status).toBe(400)
    const { id_token } = await tokensOf()
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://app.example.net' }
    const answer = await walk.browse({ method: 'POST', path: '/oauth/logout', headers, body: `id_token_hint=${id_token}` })
    expect(answer.status).toBe(303)
    await walk.browse({ path: answer.location })
    expect(await isSignedIn()).toBe(false)
  })
})
