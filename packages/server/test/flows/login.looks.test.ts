import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ENGLISH } from '../../src/pages/languages.ts'
import { confirmPage } from '../../src/pages/login/confirm-page.ts'
import { movingOnPage } from '../../src/pages/moving-on-page.ts'
import { type NoticeKind, noticePage } from '../../src/pages/notice-page.ts'
import { notices } from '../../src/pages/notices.ts'
import { developmentWallet } from '../login-server/start-login-server.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor, openLogin, wordsIn } from './login-visit.ts'
import { expectGoodLooks, LOOKS, show, TWO_LOOKS } from './looks.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let page: Page
const wallet = testWallet(0)
beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor({ developmentWallet })
  client = await grantor.createClient({ name: 'Aurora Notes' })
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})
beforeEach(async () => {
  page = await newVisitor(browser)
})
afterEach(() => page.context().close())

const icon = (colour: string): string =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><rect width="96" height="96" rx="20" fill="${colour}"/><circle cx="48" cy="48" r="21" fill="none" stroke="#fff" stroke-width="10"/></svg>`)}`

test('The choice of a wallet is accessible at 320 px and on a desktop, light and dark (WCAG 2.2 AA)', async () => {
  await installWallet(page, wallet, { name: 'Foxglove', icon: icon('#e2761b') })
  await installWallet(page, testWallet(1), { name: 'Harbour Wallet', icon: icon('#3b5bdb') })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').nth(1).waitFor()
  await expectGoodLooks(page, 'choose-wallet')
})

test('The page for a browser without a wallet is accessible', async () => {
  await openLogin(page, grantor, client)
  await page.locator('#no-wallet').waitFor()
  await page.locator('#by-hand summary').click()
  await expectGoodLooks(page, 'no-wallet', TWO_LOOKS)
})

test('The text to sign, and a refusal below it, are accessible', async () => {
  await installWallet(page, wallet, { name: 'Foxglove', accounts: [wallet, testWallet(1)], policy: 'reject' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  await expectGoodLooks(page, 'review-text')
  await page.locator('#sign').click()
  await wordsIn(page, 'problem')
  await expectGoodLooks(page)
})

test('The notice that an open page has expired is accessible', async () => {
  await page.clock.install()
  await openLogin(page, grantor, client)
  await page.clock.fastForward(11 * 60_000)
  await page.locator('[data-notice="expired"]').waitFor()
  await expectGoodLooks(page)
})

test('The page without script is accessible, with its errors', async () => {
  await page.context().close()
  page = await newVisitor(browser, { javaScriptEnabled: false })
  await openLogin(page, grantor, client)
  await expectGoodLooks(page)
  await page.locator('#no-script-address').fill('0x12')
  await page.locator('#no-script-show').click()
  await expectGoodLooks(page)
  await page.locator('#no-script-address').fill(wallet.address)
  await page.locator('#no-script-show').click()
  await expectGoodLooks(page, 'sign-by-hand', TWO_LOOKS)
  await page.locator('#signature').fill(testWallet(1).sign('another text'))
  await page.locator('#sign-in').click()
  await page.locator('#signature-problem').waitFor()
  await expectGoodLooks(page)
})

test('The development login is accessible, with its errors', async () => {
  await openLogin(page, grantor, client)
  await page.locator('#address').fill('0x12')
  await page.locator('#sign-in').click()
  await page.locator('#address-problem').waitFor()
  await expectGoodLooks(page, 'development-refused', TWO_LOOKS)
  await page.locator('#address').fill(wallet.address)
  await page.locator('#sign-in').click()
  await page.locator('#approve').waitFor()
  await expectGoodLooks(page, 'development-approve')
})

test.each(Object.keys(notices) as NoticeKind[])('Every notice is accessible: %s', async (kind) => {
  const retryUrl = kind === 'unavailable' ? '/login?login_challenge=C' : undefined
  const requestId = kind === 'defect' ? '4f6f5c1e-2f64-4a5c-9e0f-6a0f2b1c7d11' : undefined
  await show(
    page,
    grantor.loginUrl,
    noticePage({ kind, clientName: 'Aurora Notes', clientHost: 'app.example.net', retryUrl, requestId }, ENGLISH),
  )
  await expectGoodLooks(page, kind === 'expired' ? 'notice' : undefined, TWO_LOOKS)
})

test('The reason and the request id of a request that cannot be used are the last line of the page, and readable in every look', async () => {
  const requestId = '4f6f5c1e-2f64-4a5c-9e0f-6a0f2b1c7d11'
  await show(
    page,
    grantor.authUrl,
    noticePage({ kind: 'unknown_client', reason: 'client_unknown_or_disabled', requestId }, ENGLISH),
  )
  await expectGoodLooks(page, 'request-refused')
  for (const { width } of LOOKS) {
    await page.setViewportSize({ width, height: 800 })
    const line = page.locator('.slip-body > :last-child')
    await line.scrollIntoViewIfNeeded()
    expect(await line.innerText()).toBe(`Reason: client_unknown_or_disabled · Number of this request: ${requestId}`)
    const box = await line.boundingBox()
    expect(box && box.x >= 0 && box.x + box.width <= width).toBe(true)
  }
})

test('The page that moves on is accessible for every outcome', async () => {
  // 204: an app that answers nothing to show, so that the page stays
  await page.route('https://silent.example.net/**', (route) => route.fulfill({ status: 204 }))
  for (const outcome of ['signed_in', 'denied', 'allowed', 'failed'] as const) {
    const to = 'https://silent.example.net/callback?code=x'
    await show(
      page,
      grantor.loginUrl,
      movingOnPage({ to, clientName: 'Aurora Notes', clientHost: 'app.example.net', outcome }, ENGLISH),
    )
    await expectGoodLooks(page, undefined, TWO_LOOKS)
  }
})

test('The pages about an app on the device are accessible', async () => {
  const app = { clientName: 'Aurora Notes', clientHost: '', clientScheme: 'com.example.aurora.notes.for.the.whole.family' }
  const scopes = [{ name: 'enhancement', description: 'Use the enhancement features for you' }]
  await show(
    page,
    grantor.loginUrl,
    confirmPage({ action: '/', confirmation: 'sealed', ...app, scopes, walletShort: '0xf39F…2266' }, ENGLISH),
  )
  await expectGoodLooks(page, 'device-app')
})

test('The one button for a native app is accessible', async () => {
  const scopes = [{ name: 'enhancement', description: 'Use the enhancement features for you' }]
  const app = { clientName: 'Aurora Notes', clientHost: 'localhost', scopes, walletShort: '0xf39F…2266' }
  await show(page, grantor.loginUrl, confirmPage({ action: '/oauth/confirm', confirmation: 'sealed', ...app }, ENGLISH))
  await expectGoodLooks(page, 'confirm', TWO_LOOKS)
})

test('Every focused element shows the focus', async () => {
  await installWallet(page, wallet, { name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').waitFor()
  const reached: string[] = []
  for (let step = 0; step < 12; step++) {
    await page.keyboard.press('Tab')
    const focus = await page.evaluate(() => {
      const element = document.activeElement ?? document.body
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      return `${element.id || element.className || element.tagName}: ${outlineStyle} ${outlineWidth}`
    })
    if (focus.startsWith('BODY')) break
    reached.push(focus)
  }
  // The last one opens the choice of languages.
  const places = ['wallet', 'SUMMARY', 'SUMMARY', 'address', 'sign-in', 'cancel', 'SUMMARY']
  expect(reached).toEqual(places.map((place) => `${place}: solid 3px`))
})

test('A user who prefers less motion sees no motion', async () => {
  const transitionDuration = async (): Promise<string> =>
    page.evaluate(() => getComputedStyle(document.querySelector('#sign-in') as Element).transitionDuration)
  await openLogin(page, grantor, client)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  expect(await transitionDuration()).toBe('0s')
})
