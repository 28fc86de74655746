import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser, newPage } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { connectApp, openAccount } from './account-visit.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let other: TestClient
let page: Page
const wallet = testWallet(0)
beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor()
  client = await grantor.createClient({ name: 'Aurora Notes', consent: 'signed' })
  other = await grantor.createClient({ name: 'Harbour' })
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})
beforeEach(async () => {
  page = await newPage(browser)
})
afterEach(() => page.context().close())

const startSigning = () => page.getByRole('button', { name: 'Go on to sign' }).click()

test('One signature without a session ends every app and every session of the wallet, and of no other wallet', async () => {
  const apps = [await connectApp(grantor, client, wallet), await connectApp(grantor, other, wallet)]
  const stranger = await connectApp(grantor, client, testWallet(1))
  const signedIn = await newPage(browser)
  await openAccount(signedIn, grantor, wallet)

  const { signed, asked } = await installWallet(page, wallet)
  await page.goto(`${grantor.authUrl}/account/end-everything`)
  expect(await page.locator('.slip').innerText()).toContain('You need not be signed in. Your wallet’s signature is enough.')
  await startSigning()
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  const shown = await page.locator('#message').textContent()
  await page.locator('#sign').click()
  await page.getByRole('heading', { name: 'Everything is ended' }).waitFor()

  expect(signed).toEqual([shown])
  expect(shown).toContain('End everything: every app loses all access that this address gave it')
  expect(asked.filter((method) => method === 'personal_sign')).toHaveLength(1)
  for (const app of apps) expect(await app.isActive()).toBe(false)
  expect(await stranger.isActive()).toBe(true)
  await signedIn.reload()
  expect(new URL(signedIn.url()).origin).toBe(grantor.loginUrl)
  await signedIn.context().close()
  // The signature that ended everything did not start a session.
  await page.goto(`${grantor.authUrl}/account`)
  expect(new URL(page.url()).origin).toBe(grantor.loginUrl)
})

test('The page that requests the signature says that it ends everything, so that it is not mistaken for a sign-in', async () => {
  await page.goto(`${grantor.authUrl}/account/end-everything`)
  await startSigning()
  await page.waitForURL(`${grantor.loginUrl}/login**`)
  const head = await page.locator('.slip-head').innerText()
  expect(head).toContain('End everything')
  expect(head).toContain('every app loses all access that your wallet gave it')
  expect(await page.locator('#cancel').innerText()).toBe('Cancel and end nothing')
})

test('A cancelled request to end everything ends nothing', async () => {
  const app = await connectApp(grantor, client, wallet)
  await page.goto(`${grantor.authUrl}/account/end-everything`)
  await startSigning()
  await page.locator('#cancel').click()
  await page.waitForURL(`${grantor.authUrl}/**`)
  expect(await app.isActive()).toBe(true)
})

test('Everything can be ended without script, with a signature from another program', async () => {
  await page.context().close()
  page = await newPage(browser, { javaScriptEnabled: false })
  const app = await connectApp(grantor, client, wallet)
  await page.goto(`${grantor.authUrl}/account/end-everything`)
  await startSigning()
  await page.locator('#no-script-address').fill(wallet.address)
  await page.locator('#no-script-show').click()
  await page.locator('#signature').fill(wallet.sign(await page.locator('textarea#message').inputValue()))
  await page.locator('#sign-in').click()
  await page.getByRole('heading', { name: 'Everything is ended' }).waitFor()
  expect(await app.isActive()).toBe(false)
})

test('A signed-in user sees which wallet is meant, and reaches the page from the account page', async () => {
  await openAccount(page, grantor, wallet)
  await page.locator('#end-everything').click()
  expect(await page.locator('.signer').innerText()).toContain('0xf39F…2266')
  await page.getByRole('link', { name: 'Back to your connected apps' }).click()
  await page.waitForURL(`${grantor.authUrl}/account`)
})
