import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { developmentWallet } from '../http/login/start-login-server.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { backAtApp, newVisitor, openLogin, wordsIn } from './login-visit.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let page: Page
const wallet = testWallet(0)
const BOTH = { scope: 'enhancement profile' }
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
  page = await newVisitor(browser)
})
afterEach(() => page.context().close())

/** Redeems the code that the app got, and returns the scope of the tokens. */
async function scopeAtApp(): Promise<unknown> {
  const code = (await backAtApp(page)).get('code') ?? ''
  const answer = await new Walk(grantor).exchange(client, code)
  return answer.json().scope
}

const enhancement = () => page.getByRole('switch', { name: 'Use the enhancement features for you' })
const profile = () => page.getByRole('switch', { name: 'See your profile' })

test('A declined scope is neither in the signed text nor in the token (ERC-5573, RFC 6749 §3.3)', async () => {
  const { signed } = await installWallet(page, wallet)
  await openLogin(page, grantor, client, BOTH)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  expect(await page.locator('#message').textContent()).toContain(`'enhancement+profile' for`)

  await profile().uncheck()
  await page.getByText('You changed what you allow, so here is a new text.').waitFor()
  const shown = await page.locator('#message').textContent()
  expect(shown).toContain(`'oauth': 'enhancement' for`)
  expect(shown).not.toContain('profile')
  await page.locator('#sign').click()
  expect(await scopeAtApp()).toBe('enhancement')
  // The wallet signed exactly the text that the page showed.
  expect(signed).toEqual([shown])
})

test('A scope can be declined before a wallet is chosen, and allowed again', async () => {
  await installWallet(page, wallet)
  await openLogin(page, grantor, client, BOTH)
  await enhancement().uncheck()
  await page.locator('.wallet').click()
  await page.getByText(`'oauth': 'profile' for`).waitFor()
  await enhancement().check()
  await page.getByText(`'oauth': 'enhancement+profile' for`).waitFor()
  await page.locator('#sign').click()
  expect(await scopeAtApp()).toBe('enhancement profile')
})

test('The last scope cannot be declined, and the page says how to allow nothing', async () => {
  await openLogin(page, grantor, client, BOTH)
  await profile().uncheck()
  await enhancement().click()
  expect(await wordsIn(page, 'problem')).toBe('At least one must stay on. To allow nothing at all, cancel.')
  expect(await enhancement().isChecked()).toBe(true)
})

test('A switch that is moved while the text is loaded leads to another text: the page shows what is chosen', async () => {
  await installWallet(page, wallet)
  await openLogin(page, grantor, client, BOTH)
  let [markRequested, release] = [() => {}, () => {}]
  const requested = new Promise<void>((resolve) => (markRequested = resolve))
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/login/message', async (route) => {
    markRequested()
    await released
    await route.continue()
  })
  await page.locator('.wallet').click()
  await requested
  await profile().uncheck()
  release()
  await page.locator('#sign').waitFor()
  expect(await page.locator('#message').textContent()).not.toContain('profile')
  await page.locator('#sign').click()
  expect(await scopeAtApp()).toBe('enhancement')
})

test('A switch that is moved while the wallet is open leads to a new text, and a signature over the old text is not sent', async () => {
  const installation = await installWallet(page, wallet, { policy: 'hang' })
  await openLogin(page, grantor, client, BOTH)
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await wordsIn(page, 'progress')
  await profile().uncheck()
  await page.getByText('You changed what you allow').waitFor()
  installation.policy = 'sign'
  await page.locator('#sign').click()
  expect(await scopeAtApp()).toBe('enhancement')
})

test('The choice applies to a signature from another program, and its page lists the remaining scopes', async () => {
  await openLogin(page, grantor, client, BOTH)
  await profile().uncheck()
  await page.getByText('Sign in without a wallet in this browser').click()
  await page.locator('#by-hand-address').fill(wallet.address)
  await page.locator('#by-hand-show').click()
  const text = await page.locator('textarea#message').inputValue()
  expect(text).not.toContain('profile')
  expect(await page.locator('.permissions').innerText()).not.toContain('profile')
  await page.locator('#signature').fill(wallet.sign(text))
  await page.locator('#sign-in').click()
  expect(await scopeAtApp()).toBe('enhancement')
})

test('The choice applies to a development account', async () => {
  await openLogin(page, grantor, client, BOTH)
  await enhancement().uncheck()
  await page.locator('#development > summary').click()
  await page.locator('#sign-in').click()
  await page.locator('#approve').click()
  expect(await scopeAtApp()).toBe('profile')
})

test('An app with consent by session, and an app with one scope, offer no switches', async () => {
  const trusted = await grantor.createClient({ name: 'Harbour', scopes: ['enhancement', 'profile'] })
  await openLogin(page, grantor, trusted, BOTH)
  expect(await page.locator('.permissions li').count()).toBe(2)
  expect(await page.getByRole('switch').count()).toBe(0)
  await openLogin(page, grantor, client, { scope: 'profile' })
  expect(await page.locator('.permissions').innerText()).toContain('See your profile')
  expect(await page.getByRole('switch').count()).toBe(0)
})

test('The page shows the end of the consent, and the resources if there are several (RFC 8707)', async () => {
  const resources = ['https://api.example.com/', 'https://files.example.com/v1']
  const wide = await grantor.createClient({ name: 'Harbour', resources, consent: 'signed' })
  await openLogin(page, grantor, wide, { resource: resources })
  const head = await page.locator('.slip-head').innerText()
  for (const resource of resources) expect(head).toContain(resource)
  const until = (await page.locator('.slip-head time').first().getAttribute('datetime')) ?? ''
  expect(Date.parse(until) / 1000).toBe(grantor.clock.now() + grantor.deps.settings.lifetimes.grant)
  await openLogin(page, grantor, wide, { resource: resources[0] ?? '' })
  expect(await page.locator('.slip-head').innerText()).not.toContain('https://api.example.com/')
})
