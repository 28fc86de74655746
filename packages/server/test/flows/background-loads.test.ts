/** Background loads of Chromium for an app of the same site get no code. Frames and page visits get one. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser, newPage } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { encode, requestOf } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { openAccount } from './account-visit.ts'

let browser: Browser
/** Another port of the same host is the same site, so the browser sends its cookies. */
let app: Server
let appUrl: string
let appPage = ''
let grantor: Grantor
let client: TestClient
let page: Page
beforeAll(async () => {
  browser = await launchBrowser()
  app = createServer((request, answer) => {
    answer
      .setHeader('content-type', 'text/html')
      .end(request.url === '/' ? `<!doctype html><title>App</title>${appPage}` : 'arrived')
  })
  app.listen(0, 'localhost')
  await once(app, 'listening')
  appUrl = `http://localhost:${(app.address() as AddressInfo).port}`
})
afterAll(async () => {
  await browser.close()
  app.close()
})
beforeEach(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ redirectUris: [`${appUrl}/callback`] })
  page = await newPage(browser)
  await openAccount(page, grantor, testWallet(0))
  grantor.events.length = 0
})
afterEach(async () => {
  await page.context().close()
  await grantor.close()
})

const authorizeUrl = (more: Record<string, string> = {}): string =>
  `${grantor.authUrl}/oauth/authorize?${encode(requestOf(client, more))}`
const reasons = (): (string | undefined)[] => grantor.events.map(({ event, reason }) => reason ?? event)

/** Opens a page of the app. */
async function openApp(body: string): Promise<void> {
  appPage = body
  await page.goto(`${appUrl}/`)
}

test('An image whose address is an authorization request gets no code', async () => {
  await openApp(`<img src="${authorizeUrl().replaceAll('&', '&amp;')}">`)
  await expect.poll(reasons).toEqual(['subresource_load'])
})

test('A script that fetches an authorization request gets no code', async () => {
  await openApp('')
  await page.evaluate((url) => fetch(url, { mode: 'no-cors', credentials: 'include' }), authorizeUrl())
  await expect.poll(reasons).toEqual(['subresource_load'])
})

test('A prefetched link gets no code, and the visit that follows gets it', async () => {
  await openApp(`<link rel="prefetch" href="${authorizeUrl().replaceAll('&', '&amp;')}"><a href="${authorizeUrl()}">Sign in</a>`)
  await expect.poll(reasons).toEqual(['prefetch'])
  await page.getByText('Sign in').click()
  await page.waitForURL(`${appUrl}/callback?code=*`)
  expect(reasons()).toEqual(['prefetch', 'code_issued'])
})

test('A hidden frame with prompt=none renews silently (OpenID Connect Core §3.1.2.1)', async () => {
  await openApp(`<iframe hidden src="${authorizeUrl({ prompt: 'none' }).replaceAll('&', '&amp;')}"></iframe>`)
  await expect.poll(() => page.frames().some((frame) => frame.url().startsWith(`${appUrl}/callback?code=`))).toBe(true)
  expect(reasons()).toEqual(['code_issued'])
})
