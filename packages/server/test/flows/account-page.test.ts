import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser, newPage } from '../support/browser.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { appOnPage, connectApp, endOnPage, openAccount } from './account-visit.ts'

let browser: Browser
let grantor: Grantor
let page: Page
const wallet = testWallet(0)
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())
beforeEach(async () => {
  grantor = await startGrantor({ settings: { loginMayVouch: true } })
  page = await newPage(browser)
})
afterEach(async () => {
  await page.context().close()
  await grantor.close()
})

test('The account page opens with a signature over a text of its own, which allows no app anything (ERC-4361)', async () => {
  const signed = await openAccount(page, grantor, wallet)
  expect(signed).toHaveLength(1)
  expect(signed[0]).toContain('Sign in to see and end what apps may do for this address. This allows no app anything.')
  expect(signed[0]).toContain(`URI: ${grantor.loginUrl}/login`)
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Your connected apps')
  expect(await page.locator('.account').innerText()).toBe('0xf39F…2266')
  expect(await page.locator('#no-apps').innerText()).toContain('No app has access to anything.')
})

test('The login page says that the signature opens the account page and signs in to no app', async () => {
  await page.goto(`${grantor.authUrl}/account`)
  const head = await page.locator('.slip-head').innerText()
  expect(head).toContain('See your connected apps')
  expect(head).toContain(new URL(grantor.authUrl).host)
  expect(head).toContain('It allows no app anything.')
  expect(await page.getByRole('switch').count()).toBe(0)
})

test('Each connected app is shown with its permissions, their start and end, and the last renewal', async () => {
  const client = await grantor.createClient({ name: 'Aurora Notes' })
  const { walk, refreshToken } = await connectApp(grantor, client, wallet)
  grantor.clock.advance(2 * 86_400)
  await walk.refresh(client, refreshToken)
  grantor.clock.advance(300)
  await openAccount(page, grantor, wallet)
  const words = await appOnPage(page, 'Aurora Notes').innerText()
  expect(words).toContain('app.example.net')
  expect(words).toContain('Use the enhancement features for you')
  expect(await page.getByRole('columnheader').allInnerTexts()).toEqual(['It may', 'Since', 'Last renewed', 'Until'])
  const cells = await appOnPage(page, 'Aurora Notes').getByRole('cell').allInnerTexts()
  expect(cells.slice(1, 4)).toEqual([
    expect.stringMatching(/^\d+ \w+ \d{4}$/),
    '5 minutes ago',
    expect.stringMatching(/^\d+ \w+ \d{4}\s+in 27 days$/),
  ])
})

test('Ending one app ends its tokens at once, and the tokens of no other app (RFC 7662 §2.2, RFC 6749 §5.2)', async () => {
  const [client, other] = [await grantor.createClient({ name: 'Aurora Notes' }), await grantor.createClient({ name: 'Harbour' })]
  const ended = await connectApp(grantor, client, wallet)
  const untouched = await connectApp(grantor, other, wallet)
  const stranger = await connectApp(grantor, client, testWallet(1))
  await openAccount(page, grantor, wallet)
  await endOnPage(page, 'Aurora Notes')
  expect(await page.getByRole('status').innerText()).toContain('Was it a mistake? Open the app and sign in again.')
  expect(await page.locator('tbody', { has: page.getByRole('status') }).count(), 'the message is a row of the table').toBe(1)
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('done')
  expect(await appOnPage(page, 'Aurora Notes').count()).toBe(0)
  expect(await appOnPage(page, 'Harbour').count()).toBe(1)

  expect(await ended.isActive()).toBe(false)
  expect((await ended.walk.refresh(client, ended.refreshToken)).json().error).toBe('invalid_grant')
  expect(await untouched.isActive()).toBe(true)
  expect(await stranger.isActive()).toBe(true)
})

test('Sessions on other devices are listed, and one button ends each of them', async () => {
  await openAccount(page, grantor, wallet)
  const elsewhere = await newPage(browser)
  await openAccount(elsewhere, grantor, wallet)
  await page.reload()
  expect(await page.getByRole('heading', { name: /^Chrom(e|ium) on .*This browser$/ }).count()).toBe(1)
  expect(await page.getByRole('heading', { name: /^Chrom(e|ium) on / }).count()).toBe(2)
  await page.getByRole('button', { name: 'Sign out there' }).click()
  expect(await page.getByRole('status').innerText()).toContain('That browser is signed out.')
  expect(await page.getByRole('heading', { name: /^Chrom(e|ium) on / }).count()).toBe(1)
  await elsewhere.reload()
  expect(new URL(elsewhere.url()).origin).toBe(grantor.loginUrl)
  await elsewhere.context().close()
})

test('All other sessions end at once, and this session continues', async () => {
  const others = [await newPage(browser), await newPage(browser)]
  for (const other of others) await openAccount(other, grantor, wallet)
  await openAccount(page, grantor, wallet)
  expect(await page.getByRole('heading', { name: /^Chrom(e|ium) on / }).count()).toBe(3)
  await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
  expect(await page.getByRole('status').innerText()).toContain('signed out everywhere but here')
  expect(await page.locator('#end-others').count()).toBe(0)
  for (const other of others) {
    await other.reload()
    expect(new URL(other.url()).origin).toBe(grantor.loginUrl)
    await other.context().close()
  }
})

test('Signing out ends the session of this browser, and the page says that apps keep their permissions', async () => {
  await openAccount(page, grantor, wallet)
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  expect(await page.locator('.lead').innerText()).toContain('Apps keep the access you gave them')
  await page.goto(`${grantor.authUrl}/account`)
  expect(new URL(page.url()).origin).toBe(grantor.loginUrl)
})

test('A user whom the login server vouched for sees the apps, no receipts, and the reason', async () => {
  const client = await grantor.createClient({ name: 'Aurora Notes' })
  await connectApp(grantor, client, wallet)
  const walk = new Walk(grantor, wallet)
  const challenge = await walk.challenge(requestOf(client))
  const claim = { login_challenge: challenge, address: wallet.address, chain_id: 1 }
  const { redirect_to } = (await walk.loginApi('/login/accept', claim)).json()
  const { pathname, search } = new URL(String(redirect_to))
  await walk.complete(pathname + search)
  const cookies = [...walk.cookies].map(([name, value]) => ({ name, value, url: grantor.authUrl }))
  await page.context().addCookies(cookies)

  await page.goto(`${grantor.authUrl}/account`)
  expect(await appOnPage(page, 'Aurora Notes').count()).toBe(1)
  expect(await page.getByText('You were signed in without a signature of your wallet').count()).toBe(1)
  expect(await page.locator('a[href*="receipts"]').count()).toBe(0)
})

test('A hostile client name is shown as text on the account page and on its receipt', async () => {
  const name = '<img src=x onerror=document.title="pwned">'
  const client = await grantor.createClient({ name, consent: 'signed' })
  await connectApp(grantor, client, wallet)
  await openAccount(page, grantor, wallet)
  expect(await page.getByRole('heading', { level: 3 }).first().innerText()).toBe(name)
  await page.getByText('What you signed: one receipt').click()
  await page.getByRole('link', { name: 'View' }).click()
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(`You allowed ${name}`)
  expect(await page.title()).not.toBe('pwned')
  expect(await page.locator('img[src="x"]').count()).toBe(0)
})
