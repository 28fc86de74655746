/** The second choice of the panel for a phone: the login continues on the phone, and the first page goes no further. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor, openLogin } from './login-visit.ts'
import { readCode } from './read-qr-code.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let page: Page
let phone: Page
const wallet = testWallet(0)
beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor()
  client = await grantor.createClient({ name: 'Aurora Notes', consent: 'signed' })
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})
beforeEach(async () => {
  page = await newVisitor(browser)
  phone = await newVisitor(browser, { width: 320 })
})
afterEach(() => Promise.all([page.context().close(), phone.context().close()]))

const openSecondChoice = () => page.getByText('Continue on your phone instead', { exact: true }).click()
const togglePanel = () => page.getByRole('button', { name: 'Use a wallet on your phone' }).click()
const link = () => page.locator('#go-on-there-link').inputValue()

async function signOnPhone(): Promise<void> {
  await installWallet(phone, wallet)
  await phone.goto(await link())
  await phone.locator('.wallet').click()
  await phone.locator('#sign').click()
  await phone.locator('[data-notice="continue_on_app"]').waitFor()
}

test.each([
  { width: 1280, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const)('The QR code contains the link beside it, at $width px and $colorScheme', async (look) => {
  await page.context().close()
  page = await newVisitor(browser, look)
  await openLogin(page, grantor, client)
  await openSecondChoice()
  expect(await link()).toMatch(new RegExp(`^${grantor.authUrl}/login/resume\\?login_challenge=`))
  expect(await readCode(page, '#go-on-there')).toBe(await link())
})

test('A user who signs on the phone gets a session and no code there, and the first page says that the login continued there', async () => {
  const visited: string[] = []
  for (const each of [page, phone]) each.on('request', (request) => void visited.push(new URL(request.url()).origin))
  await openLogin(page, grantor, client)
  await signOnPhone()

  expect(await phone.locator('.next').innerText()).toContain('Go on to Aurora Notes on this device')
  expect(await phone.locator('#retry').getAttribute('href')).toBe('https://app.example.net')
  await page.getByRole('heading', { name: 'You signed on your other device' }).waitFor()
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1')
  expect(visited).not.toContain('https://app.example.net')

  // Only the phone has the session. A login on the phone never creates a session in the first browser.
  const cookies = async (of: Page) =>
    (await of.context().cookies()).map(({ name }) => name).filter((name) => /session/.test(name))
  expect(await cookies(phone)).toHaveLength(1)
  expect(await cookies(page)).toEqual([])
  await openLogin(page, grantor, client)
  const request = `${grantor.authUrl}/oauth/authorize?client_id=${client.id}&redirect_uri=https://app.example.net/callback`
  const answer = await phone.context().request.get(request, { maxRedirects: 0 })
  expect(answer.headers().location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=/)
})

test('The proof from the phone gives the first browser no session and no code', async () => {
  let proof = ''
  await installWallet(phone, wallet)
  await phone.route('**/login/complete**', (route) => {
    proof = route.request().url()
    return route.abort()
  })
  await openLogin(page, grantor, client)
  await phone.goto(await link())
  await phone.locator('.wallet').click()
  await phone.locator('#sign').click()
  await expect.poll(() => proof).toContain('login_verifier=')
  const own = new URL(page.url()).searchParams.get('login_challenge') ?? ''
  const mixed = new URL(proof)
  mixed.searchParams.set('login_challenge', own)
  for (const [url, status] of [
    [proof, 403],
    [mixed.href, 400],
  ] as const) {
    expect((await page.goto(url))?.status()).toBe(status)
    expect((await page.context().cookies()).filter(({ name }) => /session/.test(name))).toEqual([])
  }
})

test('The first browser cannot finish a login that the phone finished, with the panel open or closed', async () => {
  await installWallet(page, testWallet(1))
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  await signOnPhone()
  await page.locator('#sign').click()
  await page.getByRole('heading', { name: 'You signed on your other device' }).waitFor()
  const response = await page.reload()
  expect(response?.status()).toBe(409)
  await page.locator('[data-notice="continued_elsewhere"]').waitFor()
})

test('A login that continues on a phone cannot be continued on a third device, and cancelling there leaves the first page open', async () => {
  await openLogin(page, grantor, client)
  await phone.goto(await link())
  expect(await phone.locator('#phone').count()).toBe(0)
  expect(await phone.locator('.slip-head').innerText()).toContain('Sign in to Aurora Notes')
  await phone.getByRole('button', { name: 'Cancel and go back to Aurora Notes' }).click()
  await phone.locator('[data-notice="declined_elsewhere"]').waitFor()
  expect((await page.reload())?.status()).toBe(200)
})

test('With a wallet in the browser, the page polls only while the panel is open', async () => {
  await page.clock.install()
  await installWallet(page, wallet)
  let requests = 0
  page.on('request', (request) => void (request.url().includes('/login/status') && requests++))
  await openLogin(page, grantor, client)
  await page.clock.runFor(10_000)
  expect(requests).toBe(0)
  await togglePanel()
  await expect.poll(() => requests).toBe(1)
  await page.clock.runFor(3_100)
  await expect.poll(() => requests).toBe(2)
  await togglePanel()
  await page.clock.runFor(10_000)
  expect(requests).toBe(2)
})

test('A poll without a response changes nothing, and the page continues to poll', async () => {
  await page.route('**/login/status**', (route) => route.abort(), { times: 1 })
  await openLogin(page, grantor, client)
  await page.getByText('We cannot reach this site right now.').waitFor()
  await signOnPhone()
  await page.getByRole('heading', { name: 'You signed on your other device' }).waitFor()
})

test('One button copies the link', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await openLogin(page, grantor, client)
  await openSecondChoice()
  await page.locator('#go-on-there').getByRole('button', { name: 'Copy the link' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await link())
})

test('Without script the code and the link are shown too', async () => {
  await page.context().close()
  page = await newVisitor(browser, { javaScriptEnabled: false })
  await openLogin(page, grantor, client)
  await openSecondChoice()
  expect(await readCode(page, '#go-on-there')).toBe(await link())
  expect(await page.getByRole('button', { name: 'Copy the link' }).count()).toBe(0)
})

test('A login without an app cannot continue on a phone: its page has no panel for a phone', async () => {
  await page.goto(`${grantor.authUrl}/account`)
  await page.getByText('There is no wallet in this browser').waitFor()
  expect(await page.locator('#phone').count()).toBe(0)
  expect(await page.locator('#choose').innerText()).toContain('Start again from your account page in the browser inside your')
})
