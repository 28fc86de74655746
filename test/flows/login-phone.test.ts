import type { Browser, Page } from 'playwright-core'
import { decodeQR } from 'qr/decode.js'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor, openLogin } from './login-visit.ts'

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

const openPanel = () => page.getByText('Use a wallet on your phone', { exact: true }).click()
const link = () => page.locator('#phone-link').inputValue()

/** Decodes the QR code of the page. The decoder fails on some codes at some sizes, so it gets up to three pictures. */
async function readCode(from: Page): Promise<string> {
  const failures: unknown[] = []
  for (const size of [6, 8, 5]) {
    try {
      return await readPicture(from, size)
    } catch (error) {
      failures.push(error)
    }
  }
  throw new AggregateError(failures, 'no picture of the code could be read')
}

/** `size`: pixels for each module. Only whole pixels, because the decoder needs sharper pictures than a camera. */
async function readPicture(from: Page, size: number): Promise<string> {
  await from.locator('.qr').evaluate((image: HTMLImageElement, pixels) => {
    image.style.width = image.style.maxWidth = `${image.naturalWidth * pixels}px`
    image.style.translate = ''
    // Move the code to whole pixels of the screen.
    const { x, y } = image.getBoundingClientRect()
    image.style.translate = `${-(x % 1)}px ${-(y % 1)}px`
  }, size)
  const picture = (await from.locator('.qr').screenshot()).toString('base64')
  // Decoded in another page, because the policy of the login page does not allow this picture.
  const blank = await from.context().newPage()
  const { width, height, pixels } = await blank.evaluate(async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
    const { width, height } = image
    const context = new OffscreenCanvas(width, height).getContext('2d') as OffscreenCanvasRenderingContext2D
    context.drawImage(image, 0, 0)
    const bytes = Array.from(context.getImageData(0, 0, width, height).data)
    return { width, height, pixels: bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('') }
  }, picture)
  await blank.close()
  return decodeQR({ width, height, data: Uint8Array.from(Buffer.from(pixels, 'hex')) })
}

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
  await openPanel()
  expect(await link()).toMatch(new RegExp(`^${grantor.authUrl}/login/resume\\?login_challenge=`))
  expect(await readCode(page)).toBe(await link())
})

test('A user who signs on the phone gets a session and no code there, and the first page says that the login continued there', async () => {
  const visited: string[] = []
  for (const each of [page, phone]) each.on('request', (request) => void visited.push(new URL(request.url()).origin))
  await openLogin(page, grantor, client)
  await openPanel()
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

test('The page polls only while the panel is open', async () => {
  await page.clock.install()
  let requests = 0
  page.on('request', (request) => void (request.url().includes('/login/status') && requests++))
  await openLogin(page, grantor, client)
  await page.clock.runFor(10_000)
  expect(requests).toBe(0)
  await openPanel()
  await page.clock.runFor(3_100)
  await expect.poll(() => requests).toBe(1)
  await openPanel()
  await page.clock.runFor(10_000)
  expect(requests).toBe(1)
})

test('A poll without a response changes nothing, and the page continues to poll', async () => {
  await openLogin(page, grantor, client)
  await page.route('**/login/status**', (route) => route.abort(), { times: 1 })
  await openPanel()
  await page.waitForRequest('**/login/status**')
  await signOnPhone()
  await page.getByRole('heading', { name: 'You signed on your other device' }).waitFor()
})

test('One button copies the link', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await openLogin(page, grantor, client)
  await openPanel()
  await page.getByRole('button', { name: 'Copy the link' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await link())
})

test('Without script the code and the link are shown too', async () => {
  await page.context().close()
  page = await newVisitor(browser, { javaScriptEnabled: false })
  await openLogin(page, grantor, client)
  await openPanel()
  expect(await readCode(page)).toBe(await link())
  expect(await page.locator('#copy').isVisible()).toBe(false)
})

test('A login without an app cannot continue on a phone: its page has no such panel', async () => {
  await page.goto(`${grantor.authUrl}/account`)
  await page.getByText('There is no wallet in this browser').waitFor()
  expect(await page.locator('#phone').count()).toBe(0)
  expect(await page.locator('#no-wallet').innerText()).toContain('Start again from your account page in the browser inside your')
})
