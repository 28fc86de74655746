/** When a session suffices, when a login is required, and the effect of `prompt` (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { endSessions } from '../../../../src/domain/consent/end-grants.ts'
import { LEAST, unpack } from '../../../../src/store/packed.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { fieldOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
})
beforeEach(async () => {
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const LOGIN = /^http:\/\/localhost:\d+\/login\?login_challenge=grl\.[0-9a-f]{10}\.[A-Za-z0-9_-]+$/

function expectLoginRedirect(answer: { status: number; location: string }): void {
  expect(answer.status).toBe(302)
  expect(answer.location).toMatch(LOGIN)
  expect(answer.location.startsWith(`${grantor.loginUrl}/`)).toBe(true)
}

describe('Authorization requests under the consent rule session', () => {
  test('Without a session, an authorization request redirects to the login page; the address contains only a sealed challenge', async () => {
    const answer = await new Walk(grantor).authorize(requestOf(client, { state: 'my-state' }))
    expectLoginRedirect(answer)
    expect(answer.body).toBe('')
    expect(answer.headers['cache-control']).toBe('no-store')
    for (const part of [client.id, 'callback', 'my-state']) expect(answer.location).not.toContain(part)
  })

  test('With a valid session, an authorization request gets a code without a page', async () => {
    const answer = await walk.authorize(requestOf(client))
    expect(answer.status).toBe(302)
    expect(parameterOf(answer.location, 'code')).toMatch(/^grc\./)
    expect(answer.headers).not.toHaveProperty('set-cookie')
  })

  test('One session suffices for every client whose consent rule is session', async () => {
    const other = await grantor.createClient({ name: 'Other', redirectUris: ['https://other.example.net/cb'] })
    const { location } = await walk.authorize(requestOf(other))
    expect((await walk.exchange(other, parameterOf(location, 'code'))).status).toBe(200)
  })

  test('The tokens of a code are for the wallet of the session', async () => {
    const { location } = await walk.authorize(requestOf(client))
    const tokens = (await walk.exchange(client, parameterOf(location, 'code'))).json()
    expect((await walk.introspect(client, tokens.access_token as string)).json().sub).toBe(walk.wallet.address)
  })

  test.each([
    ['a value of the right form that was never issued', 'x'.repeat(43)],
    ['an empty value', ''],
    ['a shorter value', 'x'.repeat(42)],
    ['a value with other characters', `${'x'.repeat(42)}"`],
    ['SQL', "' OR 1=1 --"],
  ])('A session cookie with %s counts as no session', async (_, value) => {
    const browser = new Walk(grantor)
    browser.cookies.set('grantor_session', value)
    expectLoginRedirect(await browser.authorize(requestOf(client)))
  })

  test('The hash of a session, as the store keeps it, is not accepted as a session cookie', async () => {
    const [session] = (await grantor.rows()).sessions as { hash: Uint8Array }[]
    const browser = new Walk(grantor)
    browser.cookies.set('grantor_session', unpack(session?.hash ?? LEAST))
    expect(browser.cookies.get('grantor_session')).toMatch(/^[\w-]{43}$/)
    expectLoginRedirect(await browser.authorize(requestOf(client)))
  })

  test('A session that was ended gets no code', async () => {
    await endSessions(grantor.deps, walk.wallet.address as `0x${string}`, () => true)
    expectLoginRedirect(await walk.authorize(requestOf(client)))
  })
})

describe('The parameter prompt (OpenID Connect Core §3.1.2.1)', () => {
  test.each(['login', 'select_account', 'login consent', 'consent login', 'select_account login'])(
    'An authorization request with prompt="%s" requires a login even with a session (OpenID Connect Core §3.1.2.1)',
    async (prompt) => {
      expectLoginRedirect(await walk.authorize(requestOf(client, { prompt })))
    },
  )

  test('After the login that prompt=login required, the request gets a code in a new session', async () => {
    const before = walk.cookies.get('grantor_session')
    const { code } = await walk.signIn(requestOf(client, { prompt: 'login' }))
    expect((await walk.exchange(client, code)).status).toBe(200)
    expect(walk.cookies.get('grantor_session')).not.toBe(before)
  })

  test('A request with prompt=login that is repeated after its login requires another login', async () => {
    await walk.signIn(requestOf(client, { prompt: 'login' }))
    expectLoginRedirect(await walk.authorize(requestOf(client, { prompt: 'login' })))
  })

  test('A request with prompt=none and a session gets a code without a page (OpenID Connect Core §3.1.2.1)', async () => {
    const { status, location } = await walk.authorize(requestOf(client, { prompt: 'none' }))
    expect(status).toBe(302)
    expect(parameterOf(location, 'code')).not.toBe('')
  })

  test('A request with prompt=none and no session gets login_required at the redirect URI (OpenID Connect Core §3.1.2.6)', async () => {
    const browser = new Walk(grantor)
    const answer = await browser.authorize(requestOf(client, { prompt: 'none', state: 's' }))
    expect(answer.status).toBe(302)
    expect(answer.location).toBe(
      `${client.redirectUris[0]}?error=login_required&error_description=The%20user%20must%20sign%20in.&state=s&iss=${encodeURIComponent(grantor.authUrl)}`,
    )
    expect(browser.cookies.size).toBe(0)
  })

  test('A request with prompt=none gets consent_required if the user would have to consent (OpenID Connect Core §3.1.2.6)', async () => {
    const native = await grantor.createClient({ type: 'native', redirectUris: ['http://127.0.0.1/cb'] })
    const pkce = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
    const { location } = await walk.authorize(requestOf(native, { ...pkce, prompt: 'none' }))
    expect(parameterOf(location, 'error')).toBe('consent_required')
  })

  test('A request with prompt=consent and a session shows the confirmation page (OpenID Connect Core §3.1.2.1)', async () => {
    const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
    expect(page.status).toBe(200)
    expect(fieldOf(page, 'confirmation')).toMatch(/^grf\./)
  })

  test('A request with prompt=consent and no session gets its code after the login, without a confirmation page', async () => {
    const browser = new Walk(grantor)
    const { code } = await browser.signIn(requestOf(client, { prompt: 'consent' }))
    expect((await browser.exchange(client, code)).status).toBe(200)
  })

  test.each([
    'none login',
    'login none',
    'none none',
    'none consent',
    'create',
    'Login',
    'NONE',
    'login,consent',
    'login  consent',
    ' login',
    'login ',
    'login\t',
    'lögin',
  ])('A request with prompt=%j gets invalid_request at the redirect URI (OpenID Connect Core §3.1.2.1)', async (prompt) => {
    for (const browser of [walk, new Walk(grantor)]) {
      const { status, location } = await browser.authorize(requestOf(client, { prompt }))
      expect(status).toBe(302)
      expect(location.startsWith(`${client.redirectUris[0]}?error=invalid_request&`)).toBe(true)
    }
  })
})

describe('Clients that change during a login', () => {
  test.each(['disabled', 'without this redirect URI', 'deleted'])(
    'A client that is %s when a login for it completes gets no code, and no session is started',
    async (how) => {
      const moving = await grantor.createClient()
      const browser = new Walk(grantor)
      const path = await browser.prove(await browser.challenge(requestOf(moving)))
      const { store, clock } = grantor
      if (how === 'disabled') await store.clients.replaceClient({ ...moving, disabledAt: clock.now() })
      else if (how === 'deleted') await store.clients.deleteClient(moving.id)
      else await store.clients.replaceClient({ ...moving, redirectUris: ['https://elsewhere.example.net/'] })
      await grantor.noticeChanges()

      const before = await grantor.rows()
      const answer = await browser.complete(path)
      expect(answer.status).toBe(403)
      expect(answer.body).not.toContain('http-equiv="refresh"')
      expect(browser.cookies.has('grantor_session')).toBe(false)
      expect(await grantor.rows()).toEqual(before)
    },
  )
})
