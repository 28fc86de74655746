/** When a session is enough, when a login is asked for, and what `prompt` changes (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { endSessions } from '../../src/domain/consent/end-grants.ts'
import { allRows } from '../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { fieldOf, parameterOf, requestOf, Walk } from '../support/walk.ts'

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

function leadsToLogin(answer: { status: number; location: string }): void {
  expect(answer.status).toBe(302)
  expect(answer.location).toMatch(LOGIN)
  expect(answer.location.startsWith(`${grantor.loginUrl}/`)).toBe(true)
}

describe('the session rule', () => {
  test('no session: 302 to the login page, whose link carries the challenge and nothing of the request', async () => {
    const answer = await new Walk(grantor).authorize(requestOf(client, { state: 'my-state' }))
    leadsToLogin(answer)
    expect(answer.body).toBe('')
    expect(answer.headers['cache-control']).toBe('no-store')
    for (const part of [client.id, 'callback', 'my-state']) expect(answer.location).not.toContain(part)
  })

  test('a valid session: 302 with a code at once', async () => {
    const answer = await walk.authorize(requestOf(client))
    expect(answer.status).toBe(302)
    expect(parameterOf(answer.location, 'code')).toMatch(/^grc\./)
    expect(answer.headers).not.toHaveProperty('set-cookie')
  })

  test('a session is for every client of the platform whose rule is the session', async () => {
    const other = await grantor.createClient({ name: 'Other', redirectUris: ['https://other.example.net/cb'] })
    const { location } = await walk.authorize(requestOf(other))
    expect((await walk.exchange(other, parameterOf(location, 'code'))).status).toBe(200)
  })

  test('a code tells the wallet of the session', async () => {
    const { location } = await walk.authorize(requestOf(client))
    const tokens = (await walk.exchange(client, parameterOf(location, 'code'))).json()
    expect((await walk.introspect(client, tokens.access_token as string)).json().sub).toBe(walk.wallet.address)
  })

  test.each([
    ['a value of the right form that nobody was given', 'x'.repeat(43)],
    ['an empty value', ''],
    ['a shorter value', 'x'.repeat(42)],
    ['a value with other characters', `${'x'.repeat(42)}"`],
    ['SQL', "' OR 1=1 --"],
  ])('%s as session cookie is no session', async (_, value) => {
    const browser = new Walk(grantor)
    browser.cookies.set('grantor_session', value)
    leadsToLogin(await browser.authorize(requestOf(client)))
  })

  test('what the store knows of a session (its hash) does not open it', async () => {
    const [session] = allRows(grantor.databasePath).sessions as { hash: string }[]
    const browser = new Walk(grantor)
    browser.cookies.set('grantor_session', session?.hash ?? '')
    leadsToLogin(await browser.authorize(requestOf(client)))
  })

  test('an ended session is none', async () => {
    await endSessions(grantor.deps, walk.wallet.address as `0x${string}`, () => true)
    leadsToLogin(await walk.authorize(requestOf(client)))
  })
})

describe('prompt', () => {
  test.each(['login', 'select_account', 'login consent', 'consent login', 'select_account login'])(
    '%s asks for a login although there is a session',
    async (prompt) => {
      leadsToLogin(await walk.authorize(requestOf(client, { prompt })))
    },
  )

  test('the login that was asked for satisfies the prompt: it ends with a code, in a new session', async () => {
    const before = walk.cookies.get('grantor_session')
    const { code } = await walk.signIn(requestOf(client, { prompt: 'login' }))
    expect((await walk.exchange(client, code)).status).toBe(200)
    expect(walk.cookies.get('grantor_session')).not.toBe(before)
  })

  test('and only once: the same request again asks again', async () => {
    await walk.signIn(requestOf(client, { prompt: 'login' }))
    leadsToLogin(await walk.authorize(requestOf(client, { prompt: 'login' })))
  })

  test('none with a session is answered without any page', async () => {
    const { status, location } = await walk.authorize(requestOf(client, { prompt: 'none' }))
    expect(status).toBe(302)
    expect(parameterOf(location, 'code')).not.toBe('')
  })

  test('none without a session is login_required, at the app', async () => {
    const browser = new Walk(grantor)
    const answer = await browser.authorize(requestOf(client, { prompt: 'none', state: 's' }))
    expect(answer.status).toBe(302)
    expect(answer.location).toBe(
      `${client.redirectUris[0]}?error=login_required&error_description=The%20user%20must%20sign%20in.&state=s`,
    )
    expect(browser.cookies.size).toBe(0)
  })

  test('none where a page would be needed is consent_required', async () => {
    const native = await grantor.createClient({ type: 'native', redirectUris: ['http://127.0.0.1/cb'] })
    const pkce = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
    const { location } = await walk.authorize(requestOf(native, { ...pkce, prompt: 'none' }))
    expect(parameterOf(location, 'error')).toBe('consent_required')
  })

  test('consent shows the confirmation page to whoever has a session', async () => {
    const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
    expect(page.status).toBe(200)
    expect(fieldOf(page, 'confirmation')).toMatch(/^grf\./)
  })

  test('consent without a session begins with the login, whose text says what is allowed: no second question', async () => {
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
  ])('%j is invalid_request, at the app', async (prompt) => {
    for (const browser of [walk, new Walk(grantor)]) {
      const { status, location } = await browser.authorize(requestOf(client, { prompt }))
      expect(status).toBe(302)
      expect(location.startsWith(`${client.redirectUris[0]}?error=invalid_request&`)).toBe(true)
    }
  })
})

describe('a client that was disabled or changed while a login was under way gets nothing', () => {
  test.each(['disabled', 'without this redirect URI', 'deleted'])('%s', async (how) => {
    const moving = await grantor.createClient()
    const browser = new Walk(grantor)
    const path = await browser.prove(await browser.challenge(requestOf(moving)))
    const { store, clock } = grantor
    if (how === 'disabled') await store.clients.replaceClient({ ...moving, disabledAt: clock.now() })
    else if (how === 'deleted') await store.clients.deleteClient(moving.id)
    else await store.clients.replaceClient({ ...moving, redirectUris: ['https://elsewhere.example.net/'] })
    await grantor.noticeChanges()

    const before = allRows(grantor.databasePath)
    const answer = await browser.complete(path)
    expect(answer.status).toBe(403)
    expect(answer.body).not.toContain('http-equiv="refresh"')
    expect(browser.cookies.has('grantor_session')).toBe(false)
    expect(allRows(grantor.databasePath)).toEqual(before)
  })
})
