/** `oidc-client-ts`, an independent library, in a single-page app in a real browser, with the recipe of docs/guides/clients.md. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser, newPage } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { recipeFile, register } from './recipe.ts'

const HTML = `<!doctype html><html lang="en"><title>My app</title><p id="wallet"></p>
<button id="sign-in">Sign in</button><button id="renew">Renew</button><button id="sign-out">Sign out</button>
<script type="module" src="/app.js"></script></html>`

let grantor: Grantor
let browser: Browser
beforeAll(async () => {
  ;[grantor, browser] = await Promise.all([startGrantor(), launchBrowser()])
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})

/** Starts the app on a port of its own, with its script bundled. */
async function startApp(change: (recipe: string) => string): Promise<{ server: Server; appUrl: string }> {
  const [port] = await freePorts(1)
  const appUrl = `http://localhost:${port}`
  const { client_id } = await register(grantor, 'oidc-client-ts', { 'http://localhost:5173': appUrl })
  const settings = { issuer: grantor.authUrl, clientId: client_id }
  const bundle = await rolldown({ input: recipeFile('js', 'oidc-client-ts', 'mjs', change), platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm' })
  const script = output[0].code
  const server = createServer(({ url = '' }, reply) => {
    const [type, body] = url.startsWith('/app.js')
      ? ['text/javascript', script]
      : url.startsWith('/settings.json')
        ? ['application/json', JSON.stringify(settings)]
        : ['text/html', HTML]
    reply.setHeader('content-type', `${type}; charset=utf-8`).end(body)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { server, appUrl }
}

const waitForText = (page: Page, text: string) => page.locator('#wallet', { hasText: text }).waitFor()

/** The calls of the page's script to the service, such as `POST /oauth/token 200`. */
function callsOf(page: Page): string[] {
  const calls: string[] = []
  page.on('response', (answer) => {
    const { origin, pathname } = new URL(answer.url())
    const request = answer.request()
    if (origin === grantor.authUrl && request.resourceType() === 'fetch')
      calls.push(`${request.method()} ${pathname} ${answer.status()}`)
  })
  return calls
}

test.each([
  ['with tokens bound by DPoP', true, (recipe: string) => recipe],
  ['with bearer tokens and userinfo', false, (recipe: string) => recipe.replace(/^ {2}dpop: .*$/m, '  loadUserInfo: true,')],
])(
  'A single-page app with oidc-client-ts signs in, refreshes, renews silently without a token, revokes and signs out, %s',
  async (_, bound, change) => {
    const { server, appUrl } = await startApp(change)
    const page = await newPage(browser)
    const wallet = testWallet(0)
    await installWallet(page, wallet, { name: 'Foxglove' })
    const calls = callsOf(page)
    const tokenRequest = page.waitForRequest((request) => request.url().endsWith('/oauth/token') && request.method() === 'POST')
    const accountId = `eip155:1:${wallet.address}`

    await page.goto(appUrl)
    await waitForText(page, 'nobody')
    await page.click('#sign-in')
    await page.getByRole('button', { name: 'Foxglove' }).click()
    await page.getByRole('button', { name: 'Sign with Foxglove' }).click()
    await waitForText(page, accountId)
    expect('dpop' in (await tokenRequest).headers()).toBe(bound)
    expect(calls.splice(0)).toEqual([
      'GET /.well-known/openid-configuration 200',
      'GET /.well-known/openid-configuration 200',
      'POST /oauth/token 200',
      ...(bound ? [] : ['GET /oauth/userinfo 200']),
    ])

    // This tab has a refresh token, so the library refreshes.
    await page.click('#renew')
    await expect.poll(() => calls).toContain('POST /oauth/token 200')

    // Another tab has no refresh token, so the library sends a request with prompt=none in a frame.
    const tab = await page.context().newPage()
    await tab.goto(appUrl)
    await waitForText(tab, 'nobody')
    await tab.click('#renew')
    await waitForText(tab, accountId)
    await tab.close()

    await page.click('#sign-out')
    await page.waitForURL(`${appUrl}/`)
    await waitForText(page, 'nobody')
    expect(calls).toContain('POST /oauth/revoke 200')
    expect(grantor.events).toContainEqual(expect.objectContaining({ event: 'grant_ended', reason: 'revoked' }))

    // The session at the service has ended too, so the login page is shown.
    await page.click('#sign-in')
    await page.getByRole('button', { name: 'Foxglove' }).waitFor()
    await page.context().close()
    server.close()
  },
)
