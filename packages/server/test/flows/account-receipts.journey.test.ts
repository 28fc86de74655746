import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { run } from '../app/run.ts'
import { launchBrowser, newPage } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { endOnPage, openAccount } from './account-visit.ts'
import { backAtApp, newVisitor, openLogin } from './login-visit.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let page: Page
let signed: string[]
const wallet = testWallet(0)
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())
beforeEach(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement', 'profile'], consent: 'signed' })
  page = await newVisitor(browser)
  const installation = await installWallet(page, wallet)
  signed = installation.signed
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  await page.getByRole('switch', { name: 'See your profile' }).uncheck()
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await backAtApp(page)
  await page.goto(`${grantor.authUrl}/account`)
})
afterEach(async () => {
  await page.context().close()
  await grantor.close()
})

const openReceipt = async () => {
  await page.getByText('What you signed: one receipt').click()
  await page.getByRole('link', { name: 'View' }).click()
  await page.locator('#message').waitFor()
}

test('A receipt shows the exact text that the wallet signed, and its signature', async () => {
  await openReceipt()
  expect(await page.locator('#message').textContent()).toBe(signed[0])
  expect(await page.locator('#signature').textContent()).toBe(wallet.sign(signed[0] ?? ''))
  const head = await page.locator('.slip-head').innerText()
  expect(head).toContain('You allowed Aurora Notes')
  expect(head).toContain('Use the enhancement features for you')
  expect(head).not.toContain('profile')
  expect(head).toContain('In force')
})

test('A downloaded receipt has four members, and grantor verify-receipt accepts it without the service', async () => {
  await openReceipt()
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#download').click()])
  const file = await download.path()
  expect(download.suggestedFilename()).toMatch(/^grantor-receipt-[0-9a-f-]{36}\.json$/)
  expect(await page.locator('.fold').textContent()).toContain(`grantor verify-receipt ${download.suggestedFilename()}`)
  const receipt: unknown = JSON.parse(await readFile(file, 'utf8'))
  const message = signed[0] ?? ''
  expect(receipt).toEqual({ message, signature: wallet.sign(message), address: wallet.address, chain_id: 1 })

  await grantor.authServer.close()
  const { exit, out } = await run(['verify-receipt', file], {}, grantor.clock.now())
  expect(exit).toBe(0)
  expect(out).toContain('This receipt holds.')
  expect(out).toContain('Aurora Notes')
  expect(out).toContain('enhancement')
  expect(out).not.toContain('profile')
})

test('Ending an app withdraws its receipts, so that the next sign-in needs a new signature', async () => {
  await page.getByText('What you signed: one receipt').click()
  const receipt = (await page.getByRole('link', { name: 'View' }).getAttribute('href')) ?? ''
  await endOnPage(page, 'Aurora Notes')
  await page.getByRole('status').waitFor()
  await page.goto(`${grantor.authUrl}${receipt}`)
  expect(await page.locator('.facts').innerText()).toContain('Withdrawn: it allows nothing any more')
  // The session is still valid, but the consent is withdrawn.
  await openLogin(page, grantor, client)
})

test('An expired receipt says that it has expired', async () => {
  await page.getByText('What you signed: one receipt').click()
  const receipt = (await page.getByRole('link', { name: 'View' }).getAttribute('href')) ?? ''
  grantor.clock.advance(grantor.deps.settings.lifetimes.grant)
  await page.goto(`${grantor.authUrl}/account`)
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.waitForURL(`${grantor.authUrl}/account`)
  await page.goto(`${grantor.authUrl}${receipt}`)
  expect(await page.locator('.facts').innerText()).toMatch(/Over since \d+ \w+ \d{4}/)
})

test('The receipt of another wallet is answered like a receipt that does not exist', async () => {
  await page.getByText('What you signed: one receipt').click()
  const receipt = (await page.getByRole('link', { name: 'View' }).getAttribute('href')) ?? ''
  const other = await newPage(browser)
  await openAccount(other, grantor, testWallet(1))
  for (const path of [receipt, `${receipt}.json`, '/account/receipts/none']) {
    const response = await other.goto(`${grantor.authUrl}${path}`)
    expect(response?.status()).toBe(404)
    expect(await other.getByRole('heading', { level: 1 }).innerText()).toBe('There is no such receipt')
  }
  await other.context().close()
})
