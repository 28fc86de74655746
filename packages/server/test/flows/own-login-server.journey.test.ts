/** The example login server for platforms, against the real auth service. */

import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createOwnLoginServer } from '../../../../examples/own-login-server/index.ts'
import { launchBrowser, seriousAxeViolations } from '../support/browser.ts'
import { type Answer, send } from '../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { movingTo, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { backAtApp, newVisitor, openLogin } from './login-visit.ts'

const wallet = testWallet(0)

/** Sends a POST request as the script of the page does. */
function post(loginUrl: string, path: string, fields: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const own = { 'content-type': 'application/json', origin: loginUrl, ...headers }
  return send(loginUrl, { method: 'POST', path, headers: own, body: JSON.stringify(fields) })
}

const pathOf = (answer: Answer): string => (answer.json().redirect_to as string).replace(/^https?:\/\/[^/]+/, '')

describe('A login server that passes on signatures', () => {
  let browser: Browser
  let grantor: Grantor
  let client: TestClient
  let page: Page
  beforeAll(async () => {
    browser = await launchBrowser()
    // Vouching is enabled, but this login server does not use it.
    grantor = await startGrantor({ loginServer: createOwnLoginServer, settings: { loginMayVouch: true } })
    client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement', 'profile'] })
  })
  afterAll(async () => {
    await browser.close()
    await grantor.close()
  })
  beforeEach(async () => {
    page = await newVisitor(browser)
  })
  afterEach(() => page.context().close())

  test.each(['eip6963', 'late', 'legacy'] as const)(
    'A login server of a platform signs a user in with the wallet of the browser: %s',
    async (announce) => {
      const { signed } = await installWallet(page, wallet, { announce, name: 'Foxglove' })
      await openLogin(page, grantor, client)
      const text = await page.locator('main').innerText()
      for (const word of ['Sign in to Aurora Notes', 'app.example.net', 'Use the enhancement features for you']) {
        expect(text).toContain(word)
      }
      await page.getByRole('button', { name: announce === 'legacy' ? 'wallet in this browser' : 'Foxglove' }).click()
      const answer = await backAtApp(page)
      expect(answer.get('state')).toBe('a state/1')
      expect(signed).toHaveLength(1)
      expect(signed[0]).toContain('Aurora Notes')

      const walk = new Walk(grantor)
      const tokens = await walk.exchange(client, answer.get('code') ?? '')
      expect((await walk.introspect(client, tokens.json().access_token as string)).json().sub).toBe(wallet.address)
    },
  )

  test('The page of the platform shows the exact text that the wallet signs, and stays usable when the wallet refuses', async () => {
    const installed = await installWallet(page, wallet, { policy: 'reject' })
    await openLogin(page, grantor, client)
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    await page.getByText('You refused in your wallet').waitFor()
    expect(installed.signed).toEqual([await page.locator('#message').textContent()])
    expect(await seriousAxeViolations(page)).toEqual([])

    installed.policy = 'another_account'
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    await page.getByText('The signature does not prove this address.').waitFor()
    installed.policy = 'sign'
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    expect((await backAtApp(page)).has('code')).toBe(true)
  })

  test("Cancelling on the platform's page returns to the app with access_denied and the state (RFC 6749 §4.1.2.1)", async () => {
    await openLogin(page, grantor, client)
    await page.getByRole('button', { name: 'Cancel' }).click()
    const answer = await backAtApp(page)
    expect([answer.get('error'), answer.get('state'), answer.has('code')]).toEqual(['access_denied', 'a state/1', false])
  })

  test("A scope that the user declines on the platform's page is missing in the text and in the token", async () => {
    const app = await grantor.createClient({
      consent: 'signed',
      scopes: ['enhancement', 'profile'],
      defaultScopes: ['enhancement', 'profile'],
    })
    const { signed } = await installWallet(page, wallet)
    await openLogin(page, grantor, app)
    for (const name of ['Use the enhancement features for you', 'See your profile']) await page.getByLabel(name).uncheck()
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    await page.getByText('At least one permission must stay on.').waitFor()
    expect(signed).toEqual([])

    await page.getByLabel('See your profile').check()
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    const code = (await backAtApp(page)).get('code') ?? ''
    expect(signed[0]).not.toContain('enhancement')
    expect((await new Walk(grantor).exchange(app, code)).json().scope).toBe('profile')
  })

  test("The account page can be opened through the platform's login server", async () => {
    const { signed } = await installWallet(page, wallet)
    await page.goto(`${grantor.authUrl}/account`)
    await page.getByRole('heading', { name: 'See your connected apps' }).waitFor()
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    await page.waitForURL(`${grantor.authUrl}/account`)
    expect(signed[0]).toContain('This allows no app anything.')
  })

  test('The name of an app is shown as text, and nothing in it runs', async () => {
    const name = '<script>document.title="pwned"</script>"\'><img src=x onerror=alert(1)>'
    await openLogin(page, grantor, await grantor.createClient({ name }))
    expect(await page.locator('h1').textContent()).toBe(`Sign in to ${name}`)
    expect(await page.title()).toBe(`Sign in to ${name}`)
  })

  test("The platform's login server signs in over HTTP in the steps of the contract", async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    const claim = { login_challenge: challenge, address: wallet.address, chain_id: 1 }
    const { message } = (await post(grantor.loginUrl, '/login/message', claim)).json() as { message: string }
    const accepted = await post(grantor.loginUrl, '/login', { ...claim, signature: wallet.sign(message) })
    expect(accepted.json()).toEqual({ status: 'success', redirect_to: expect.any(String) as string })
    const moved = movingTo(await walk.complete(pathOf(accepted)))
    expect(parameterOf(moved, 'code')).not.toBe('')
    // once only
    const again = await post(grantor.loginUrl, '/login', { ...claim, signature: wallet.sign(message) })
    expect([again.status, again.json().error]).toEqual([409, 'already_used'])
    const reload = await send(grantor.loginUrl, { path: `/login?login_challenge=${challenge}` })
    expect([reload.status, reload.headers['content-type']]).toEqual([409, 'text/html; charset=utf-8'])
  })

  test.each([{}, { signature: '' }, { signature: null }, { signature: 0 }, { signature: [] }])(
    'A visitor cannot get a vouched login by leaving out the signature: %o',
    async (more) => {
      const challenge = await new Walk(grantor).challenge(requestOf(client))
      const claim = { login_challenge: challenge, address: wallet.address, chain_id: 1, ...more }
      const answer = await post(grantor.loginUrl, '/login', claim)
      expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
      expect((await post(grantor.loginUrl, '/login/vouch', claim)).status).toBe(404)
    },
  )

  test.each([{ origin: 'https://evil.example' }, { origin: 'null' }, { origin: '' }])(
    'A request from another site has no effect: %o',
    async (headers) => {
      const challenge = await new Walk(grantor).challenge(requestOf(client))
      for (const path of ['/login/message', '/login', '/login/cancel']) {
        const answer = await post(grantor.loginUrl, path, { login_challenge: challenge }, headers)
        expect([answer.status, answer.json().error]).toEqual([403, 'foreign_origin'])
      }
    },
  )

  test('Every page forbids frames, scripts of other sites, and caching', async () => {
    const challenge = await new Walk(grantor).challenge(requestOf(client))
    for (const path of [`/login?login_challenge=${challenge}`, '/login', '/login?login_challenge=x', '/none', '/sign-in.js']) {
      const { headers } = await send(grantor.loginUrl, { path })
      expect(headers['content-security-policy']).toMatch(/^default-src 'none';.*frame-ancestors 'none'$/)
      expect(headers['content-security-policy']).not.toContain('unsafe')
      expect(headers['cross-origin-opener-policy']).toBe('same-origin-allow-popups')
      expect(headers['referrer-policy']).toBe('same-origin')
      expect(headers['cache-control']).toBe('no-store')
      expect(headers['x-content-type-options']).toBe('nosniff')
    }
  })
})

describe('A login server that vouches', () => {
  const loginServer = (at: { authUrl: string; loginUrl: string; loginSecret: string }) =>
    createOwnLoginServer({
      ...at,
      // This cookie represents the session of the platform.
      authenticatedWallet: async ({ headers }) => (headers.cookie?.includes('platform=alice') ? wallet.address : undefined),
    })
  const alice = { cookie: 'platform=alice' }

  test("A vouched login uses the wallet of the platform's own session, and never the wallet that the request names", async () => {
    const grantor = await startGrantor({ loginServer, settings: { loginMayVouch: true } })
    const client = await grantor.createClient()
    const walk = new Walk(grantor)
    const claim = { login_challenge: await walk.challenge(requestOf(client)), chain_id: 1, address: testWallet(1).address }

    const stranger = await post(grantor.loginUrl, '/login/vouch', claim)
    expect([stranger.status, stranger.json().error]).toEqual([401, 'not_signed_in'])
    expect((await post(grantor.loginUrl, '/login/vouch', claim, { ...alice, origin: 'https://evil.example' })).status).toBe(403)

    const code = parameterOf(
      movingTo(await walk.complete(pathOf(await post(grantor.loginUrl, '/login/vouch', claim, alice)))),
      'code',
    )
    const tokens = await walk.exchange(client, code)
    expect((await walk.introspect(client, tokens.json().access_token as string)).json().sub).toBe(wallet.address)
    await grantor.close()
  })

  test('One click is sufficient, except for an app that needs a signed consent: then the wallet signs', async () => {
    const [browser, grantor] = await Promise.all([
      launchBrowser(),
      startGrantor({ loginServer, settings: { loginMayVouch: true } }),
    ])
    const page = await newVisitor(browser)
    const { signed } = await installWallet(page, wallet)
    await page.context().addCookies([{ name: 'platform', value: 'alice', url: grantor.loginUrl }])
    const vouch = page.getByRole('button', { name: 'Continue as 0xf39F…2266' })

    await openLogin(page, grantor, await grantor.createClient())
    await vouch.click()
    expect((await backAtApp(page)).has('code')).toBe(true)
    expect(signed).toEqual([])

    await openLogin(page, grantor, await grantor.createClient({ consent: 'signed' }))
    await vouch.click()
    await page.getByText("Only the wallet's own signature will do here.").waitFor()
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    expect((await backAtApp(page)).has('code')).toBe(true)
    expect(signed).toHaveLength(1)
    await browser.close()
    await grantor.close()
  })

  test('A vouched login is refused unless the operator switched vouching on', async () => {
    const grantor = await startGrantor({ loginServer })
    const challenge = await new Walk(grantor).challenge(requestOf(await grantor.createClient()))
    const answer = await post(grantor.loginUrl, '/login/vouch', { login_challenge: challenge, chain_id: 1 }, alice)
    expect([answer.status, answer.json().error]).toEqual([403, 'vouching_off'])
    await grantor.close()
  })
})
