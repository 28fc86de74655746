/** The operator's look in a browser: what it changes, and what no look can change. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PLATFORM_LOGO, readLogo } from '../../src/config/look/logo.ts'
import { crossDevicePage } from '../../src/pages/device/device-page.ts'
import { ENGLISH } from '../../src/pages/languages.ts'
import { signByHandPage } from '../../src/pages/login/sign-by-hand-page.ts'
import { defineLook, type LookValues } from '../../src/pages/look.ts'
import { noticePage } from '../../src/pages/notice-page.ts'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { CONSENT_TEXT, loginRequest, NOW } from '../pages/samples.ts'
import { launchBrowser } from '../support/browser.ts'
import { pngLogo } from '../support/pictures.ts'
import { startGrantor } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor, openLogin } from './login-visit.ts'

let browser: Browser
let page: Page
beforeAll(async () => {
  browser = await launchBrowser()
  page = await newVisitor(browser)
})
afterAll(() => browser.close())

const ACCENTS = ['#0b2a6f', '#7a1a1a', '#6d5800', '#000000']

function logo(width: number, height: number) {
  const read = readLogo(pngLogo({ width, height }), PLATFORM_LOGO)
  if ('fault' in read) throw new Error(read.fault)
  return read.logo
}

/** The text to sign, hosts, letters and codes, warnings: what a person compares or must see. */
const FIXED = [
  '.paper',
  '.host',
  '.host *',
  '.user-code',
  '.user-code *',
  '.message.problem',
  '.field-problem',
  '.promise',
  '.notice > .symbol-stop',
]

/** Pages that together have all of these elements. */
function pagesWith(look: ReturnType<typeof defineLook>): string[] {
  const reader = { ...ENGLISH, look }
  const place = { clientName: 'Aurora Notes', clientHost: 'app.example.net' }
  const step = {
    loginChallenge: 'c',
    request: { ...loginRequest(), userCode: 'BCDF-GHJK' },
    now: NOW,
    address: testWallet(0).address,
    chainId: 1,
  }
  const problem = { kind: 'could_not_check', signature: '0x', retryAfter: 5 } as const
  const asking = {
    action: '/',
    sealed: 's',
    userCode: 'BCDF-GHJK',
    scopes: [],
    resources: [],
    otherNetwork: 'x',
    program: 'y',
  }
  return [
    signByHandPage({ ...step, message: CONSENT_TEXT, problem }, reader),
    crossDevicePage({ ...place, ...asking }, reader),
    noticePage({ kind: 'foreign_origin' }, reader),
  ]
}

/** Every computed property of every fixed element of these pages, in one scheme. */
async function fixedStyles(values: LookValues, colorScheme: 'light' | 'dark') {
  const look = defineLook(values)
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  const styles: Record<string, string>[] = []
  for (const body of pagesWith(look)) {
    await page.unroute('https://login.example.net/')
    await page.route('https://login.example.net/', (route) => route.fulfill({ headers: pageHeaders({ look }), body }))
    await page.goto('https://login.example.net/')
    styles.push(
      ...(await page.evaluate(
        (selectors) =>
          Array.from(document.querySelectorAll(selectors.join(',')), (element) => {
            const style = getComputedStyle(element)
            // Custom properties are inputs. Only what they result in is seen.
            return Object.fromEntries(
              Array.from(style, (name) => [name, style.getPropertyValue(name)]).filter(([name = '']) => !name.startsWith('--')),
            )
          }),
        FIXED,
      )),
    )
  }
  return styles
}

test.each(['light', 'dark'] as const)(
  'The text to sign, hosts, letters and warnings have the same computed style under every accent colour, name and logo: %s',
  async (scheme) => {
    const plain = await fixedStyles({}, scheme)
    expect(plain.length).toBeGreaterThan(8)
    // The picture at the top has another height, so places on the page are not compared.
    for (const accentColor of ACCENTS) expect(await fixedStyles({ accentColor, name: 'Grantor' }, scheme)).toEqual(plain)
  },
)

test.each(FIXED)('The pages whose style is compared under every accent colour have this element: %s', async (selector) => {
  const look = defineLook({})
  const found: number[] = []
  for (const body of pagesWith(look)) {
    await page.setContent(body)
    found.push(await page.locator(selector).count())
  }
  expect(Math.max(...found)).toBeGreaterThan(0)
})

test('Buttons and links of the real login page have the accent colour, and the policy of the page blocks nothing', async () => {
  const grantor = await startGrantor({ look: { name: 'Aurora Pay', accentColor: '#0b2a6f', logo: logo(64, 64) } })
  const client = await grantor.createClient({ name: 'Aurora Notes' })
  const visitor = await newVisitor(browser)
  const blocked: string[] = []
  visitor.on('console', (line) => line.type() === 'error' && blocked.push(line.text()))
  await installWallet(visitor, testWallet(0))
  await openLogin(visitor, grantor, client)
  await visitor.locator('.wallet').first().waitFor()
  expect(
    await visitor
      .locator('.tile')
      .first()
      .evaluate((tile) => getComputedStyle(tile).color),
  ).toBe('rgb(8, 32, 83)')
  await expect.poll(() => visitor.locator('.masthead img').evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(64)
  expect(blocked).toEqual([])
  await visitor.context().close()
  await grantor.close()
})

test('The login page can be used before the logo has arrived, and nothing moves when it does', async () => {
  const grantor = await startGrantor({ look: { logo: logo(300, 60) } })
  const client = await grantor.createClient({ name: 'Aurora Notes' })
  const visitor = await newVisitor(browser)
  const arrival = Promise.withResolvers<void>()
  await visitor.route('**/logos/*', async (route) => {
    await arrival.promise
    await route.continue()
  })
  await installWallet(visitor, testWallet(0))
  const query = new URLSearchParams({ client_id: client.id, redirect_uri: 'https://app.example.net/callback' })
  await visitor.goto(`${grantor.authUrl}/oauth/authorize?${query}`, { waitUntil: 'commit' })
  await visitor.locator('.wallet').first().click()
  await visitor.locator('#sign').waitFor()
  const before = await visitor.locator('#message').boundingBox()
  arrival.resolve()
  await expect.poll(() => visitor.locator('.masthead img').evaluate((image: HTMLImageElement) => image.complete)).toBe(true)
  expect(await visitor.locator('#message').boundingBox()).toEqual(before)
  await visitor.context().close()
  await grantor.close()
})
