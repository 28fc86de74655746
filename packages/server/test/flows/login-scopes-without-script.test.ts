import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { developmentWallet } from '../http/login/start-login-server.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { backAtApp, newVisitor, openLogin } from './login-visit.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let page: Page
const wallet = testWallet(0)
beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor({ developmentWallet })
  client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement', 'profile'], consent: 'signed' })
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})
beforeEach(async () => {
  page = await newVisitor(browser, { javaScriptEnabled: false })
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
})
afterEach(() => page.context().close())

async function showText(): Promise<void> {
  await page.locator('#no-script-address').fill(wallet.address)
  await page.locator('#no-script-show').click()
}

async function sign(by = wallet): Promise<void> {
  await page.locator('#signature').fill(by.sign(await page.locator('textarea#message').inputValue()))
  await page.locator('#sign-in').click()
}

async function scopeAtApp(): Promise<unknown> {
  const code = (await backAtApp(page)).get('code') ?? ''
  return (await new Walk(grantor).exchange(client, code)).json().scope
}

test('Without script a scope can be declined: the text and the token have the other scopes', async () => {
  await page.getByRole('switch', { name: 'See your profile' }).uncheck()
  await showText()
  expect(await page.locator('textarea#message').inputValue()).toContain(`'oauth': 'enhancement' for`)
  expect(await page.locator('.permissions').innerText()).not.toContain('profile')
  await sign()
  expect(await scopeAtApp()).toBe('enhancement')
})

test('A choice of scopes is kept after a wrong signature', async () => {
  await page.getByRole('switch', { name: 'Use the enhancement features for you' }).uncheck()
  await showText()
  await sign(testWallet(1))
  await page.locator('#signature-problem').waitFor()
  await sign()
  expect(await scopeAtApp()).toBe('profile')
})

test('If every scope is declined, no text is composed: the page says that one must stay, and keeps the address', async () => {
  for (const scope of await page.getByRole('switch').all()) await scope.uncheck()
  await showText()
  expect(await page.locator('#scopes-problem').innerText()).toContain('At least one must stay on.')
  expect(await page.locator('#no-script-address').inputValue()).toBe(wallet.address)
  await page.getByRole('switch', { name: 'See your profile' }).check()
  await page.locator('#no-script-show').click()
  await sign()
  expect(await scopeAtApp()).toBe('profile')
})

test('A choice of scopes is kept after a typing error in the address', async () => {
  await page.getByRole('switch', { name: 'See your profile' }).uncheck()
  await page.locator('#no-script-address').fill('0x12')
  await page.locator('#no-script-show').click()
  await page.locator('#no-script-address-problem').waitFor()
  expect(await page.getByRole('switch', { name: 'See your profile' }).isChecked()).toBe(false)
  expect(await page.getByRole('switch', { name: 'Use the enhancement features for you' }).isChecked()).toBe(true)
})

test('The button of a development account says that it allows everything, because the switches do not affect it', async () => {
  expect(await page.locator('#development').textContent()).toContain('this button allows all that is asked for above')
  await page.locator('#development > summary').click()
  await page.locator('#sign-in').click()
  await page.locator('#approve').click()
  expect(await scopeAtApp()).toBe('enhancement profile')
})
