/** The login page on a phone, in its browser and in the browser of a wallet app. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { OPEN_CHALLENGE } from '../http/login/auth-stand-in.ts'
import { type LoginServer, startLoginServer } from '../http/login/start-login-server.ts'
import { newPage } from '../support/browser.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'

const RESUME_URL = 'https://auth.example.com/login/resume?login_challenge=c'

const test = base
  .extend(
    'login',
    FILE,
    started(startLoginServer, (login) => login.close()),
  )
  .extend('page', async ({ browser }, { onCleanup }) => {
    const page = await newPage(browser, { width: 390, height: 844, isPhone: true })
    onCleanup(() => page.context().close())
    return page
  })

const open = (login: LoginServer, page: Page) => page.goto(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)

test('A phone without a wallet in its browser shows the wallet apps: plain links that open the sign-in in the app', async ({
  login,
  page,
}) => {
  const requested: string[] = []
  page.on('request', (request) => void requested.push(new URL(request.url()).origin))
  await open(login, page)
  const links = page.locator('a.wallet-app')
  await links.first().waitFor()
  const shown = await links.evaluateAll((all) => all.map((each) => [each.textContent, each.getAttribute('href')]))
  expect(shown.map(([name]) => name)).toEqual(['MetaMask', 'Base (Coinbase Wallet)', 'Trust Wallet', 'Phantom', 'OKX Wallet'])
  for (const [, href] of shown) expect(decodeURIComponent(decodeURIComponent(href ?? ''))).toContain(RESUME_URL.slice(8))
  for (const rel of await links.evaluateAll((all) => all.map(({ rel }: any) => rel))) expect(rel).toBe('noopener noreferrer')
  await page.getByText('Another wallet? Copy the link').waitFor()
  expect(await page.locator('.qr').first().isVisible()).toBe(false)
  // No request goes to another origin before a tap.
  expect(new Set(requested)).toEqual(new Set([new URL(login.url).origin]))
})

test('A desktop without a wallet shows the QR code at once, and no wallet apps', async ({ browser, login }) => {
  const desktop = await (await browser.newContext()).newPage()
  await desktop.goto(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  expect(await desktop.locator('#phone .qr').first().isVisible()).toBe(true)
  expect(await desktop.locator('.on-phone:visible').count()).toBe(0)
  await desktop.context().close()
})

/** Whether each frame of the page showed the QR code, and the parts of the page that moved by themselves (Layout Instability). */
async function watchFrames(page: Page): Promise<() => Promise<{ code: boolean[]; moved: string[] }>> {
  await page.addInitScript(() => {
    const seen = { code: [] as boolean[], moved: [] as string[] }
    Object.assign(window, { seen })
    const note = (entry: any) => entry.sources.map(({ node }: any) => seen.moved.push(node?.outerHTML?.slice(0, 100) ?? 'text'))
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: 'layout-shift', buffered: true })
    const look = () => {
      const code = document.querySelector<HTMLElement>('#phone .qr')
      if (code) seen.code.push(code.offsetParent !== null)
      requestAnimationFrame(look)
    }
    look()
  })
  return () => page.evaluate(() => Reflect.get(window, 'seen'))
}

test.for(['none', 'eip6963', 'legacy'] as const)(
  'No frame of the page shows first the QR code and then the wallets, or the reverse, and nothing moves: %s',
  async (announce, { browser, login }) => {
    const desktop = await newPage(browser)
    const frames = await watchFrames(desktop)
    if (announce !== 'none') await installWallet(desktop, testWallet(0), { announce })
    await open(login, desktop)
    await desktop
      .locator(announce === 'none' ? '#phone .qr' : '.wallet')
      .first()
      .waitFor()
    await desktop.waitForTimeout(600)
    const { code, moved } = await frames()
    expect(new Set(code)).toEqual(new Set([announce === 'none']))
    expect(moved).toEqual([])
    await desktop.context().close()
  },
)

test.for([250, 450, 700])('Nothing moves while the page arrives in parts of %i bytes', async (size, { browser, login }) => {
  const inParts = async (request: IncomingMessage, response: ServerResponse) => {
    const answer = await fetch(`${login.url}${request.url}`)
    const page = Buffer.from(await answer.arrayBuffer())
    for (const name of ['content-type', 'content-security-policy']) response.setHeader(name, answer.headers.get(name) ?? '')
    // The line at the foot is centered, so it moves while its own words arrive.
    const foot = page.includes('<footer') ? page.indexOf('<footer') : page.length
    for (let at = 0; at < foot; at += size) {
      response.write(page.subarray(at, Math.min(at + size, foot)))
      await setTimeout(20)
    }
    response.end(page.subarray(foot))
  }
  const slow = createServer((request, response) => void inParts(request, response))
  await new Promise<void>((listening) => slow.listen(0, '127.0.0.1', listening))
  const desktop = await newPage(browser)
  const frames = await watchFrames(desktop)
  await desktop.goto(`http://127.0.0.1:${(slow.address() as AddressInfo).port}/login?login_challenge=${OPEN_CHALLENGE}`)
  await desktop.locator('#phone .qr').waitFor()
  await desktop.waitForTimeout(600)
  expect((await frames()).moved).toEqual([])
  await desktop.context().close()
  slow.close()
})

test.for(['legacy', 'eip6963'] as const)(
  'In the browser of a wallet app the page works as elsewhere: %s',
  async (announce, { login, page }) => {
    const { signed } = await installWallet(page, testWallet(0), { announce })
    await page.route('**/login/complete**', (route) => route.fulfill({ body: 'on the way' }))
    await open(login, page)
    await page.locator('.wallet').tap()
    await page.locator('#sign').waitFor()
    const shown = await page.locator('#message').textContent()
    await page.locator('#sign').tap()
    await page.waitForURL('**/login/complete**')
    expect(signed).toEqual([shown])
  },
)

test('A wallet that arrives after the page announces itself with its event (window.ethereum)', async ({ login, page }) => {
  await open(login, page)
  await page.locator('.wallet-app').first().waitFor()
  await page.evaluate(() => {
    Object.assign(window, { ethereum: { request: async () => [] } })
    window.dispatchEvent(new Event('ethereum#initialized'))
  })
  await page.getByRole('button', { name: 'Wallet in this browser' }).waitFor()
  expect(await page.locator('#no-wallet').isVisible()).toBe(false)
  // The user may be on the way to a wallet app
  expect(await page.locator('.wallet-app').first().isVisible()).toBe(true)
})
