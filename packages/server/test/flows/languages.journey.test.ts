/** The pages in every language, in a browser: their width on the narrowest phone, and the texts that scripts insert. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { accountPage } from '../../src/pages/account/account-page.ts'
import { endEverythingPage } from '../../src/pages/account/end-everything-page.ts'
import { receiptPage } from '../../src/pages/account/receipt-page.ts'
import { signOutPage } from '../../src/pages/account/sign-out-page.ts'
import { crossDevicePage, deviceCodePage, deviceRequestPage } from '../../src/pages/device/device-page.ts'
import { html } from '../../src/pages/html.ts'
import { type Language, languages, type Reader } from '../../src/pages/languages.ts'
import { layout } from '../../src/pages/layout.ts'
import { confirmPage } from '../../src/pages/login/confirm-page.ts'
import { loginPage } from '../../src/pages/login/login-page.ts'
import { signByHandPage } from '../../src/pages/login/sign-by-hand-page.ts'
import { movingOnPage } from '../../src/pages/moving-on-page.ts'
import { type NoticeKind, noticeContent } from '../../src/pages/notice-page.ts'
import { notices } from '../../src/pages/notices.ts'
import { show } from '../looks/looks.ts'
import { accountView, CONSENT_TEXT, loginRequest, NOW, receiptView } from '../pages/samples.ts'
import { test as base } from '../support/fixtures.ts'
import { installWallet, testWallet, type WalletPolicy } from '../support/wallet.ts'
import { openLogin, visitor, wordsIn } from './login-visit.ts'

const test = base.extend('client', ({ grantor }) => grantor.createClient({ name: 'Foxglove' })).extend('page', visitor)

const app = { clientName: 'Aurora Notes', clientHost: 'app.example.net' }
const purposes = ['app', 'device', 'cross_device', 'account', 'end_everything'] as const

/** One page of each kind. All notices are on one page. */
function pagesOf(reader: Reader): [name: string, page: string][] {
  const { scopes } = loginRequest()
  const step = { loginChallenge: 'c', request: loginRequest(), now: NOW }
  const asking = { action: '/', sealed: 's', userCode: 'WDJB-MJHT', ...app, scopes, resources: [], program: 'aurora-cli' }
  const place = { otherNetwork: '203.0.113' }
  const account = { walletShort: '0xf39F…2266', walletName: 'aurora.eth' }
  const byHand = { ...step, address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', chainId: 1, message: CONSENT_TEXT }
  const problem = { kind: 'could_not_check', signature: '0x', retryAfter: 5 } as const
  const noticePages = (Object.keys(notices) as NoticeKind[]).map((kind) =>
    noticeContent({ kind, ...app, retryUrl: '/', requestId: '4f1c', reason: 'code_limit' }, reader),
  )
  return [
    ...purposes.map((purpose): [string, string] => [
      `login ${purpose}`,
      loginPage({ ...step, request: { ...step.request, purpose }, refusedAddress: '0x' }, reader),
    ]),
    ['text to sign by hand', signByHandPage({ ...byHand, problem }, reader)],
    ['account', accountPage(accountView(), reader)],
    ['account without a signature', accountPage({ ...accountView(), signedIn: 'vouched' }, reader)],
    ['receipt', receiptPage(receiptView(), reader)],
    ['end everything', endEverythingPage({ action: '/', account: null }, reader)],
    ['sign out', signOutPage({ action: '/', question: 'q', ...app, ...account }, reader)],
    ['device code', deviceCodePage({ action: '/', wrongCode: 'WDJB' }, reader)],
    ['device', deviceRequestPage({ ...asking, ...place }, reader)],
    ['cross-device', crossDevicePage({ ...asking, ...place }, reader)],
    ['confirm', confirmPage({ action: '/', confirmation: 'c', ...app, scopes, ...account }, reader)],
    [
      'moving on',
      movingOnPage({ to: 'https://app.example.net/', ...app, outcome: 'denied' }, reader).replace(
        /<meta http-equiv="refresh"[^>]*>/,
        '',
      ),
    ],
    ['notices', layout({ reader, hasChooser: true, title: 'All', slip: html`${noticePages}` })],
  ]
}

/** Shows what is folded or hidden: the longest form of the page. */
async function openAll(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const fold of document.querySelectorAll('details')) fold.open = true
    for (const part of document.querySelectorAll<HTMLElement>('[hidden]')) part.hidden = false
  })
}

/** The elements that are wider than the page or cut off, by their texts. */
const tooWide = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const width = document.documentElement.clientWidth
    const isCut = (element: Element) => {
      const { left, right } = element.getBoundingClientRect()
      return left < -1 || right > width + 1
    }
    const texts = Array.from(document.querySelectorAll('main *, footer *')).filter(
      (element) => !element.classList.contains('visually-hidden') && element.checkVisibility() && isCut(element),
    )
    return texts.map((element) => `${element.tagName}: ${element.textContent?.slice(0, 60)}`)
  })

test.for(Object.values(languages))(
  'No page in $name is wider than a phone of 320 px',
  async (language: Language, { grantor, page }) => {
    await page.setViewportSize({ width: 320, height: 800 })
    for (const [name, markup] of pagesOf({ ...language, url: '/account' })) {
      await show(page, grantor.authUrl, markup)
      await openAll(page)
      expect([name, await tooWide(page)]).toEqual([name, []])
      expect([name, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([name, 320])
    }
  },
)

/** Arabic has no Latin letters, so a text that a script brings itself would show. */
const latinIn = (text: string): string[] => text.replaceAll(/Foxglove|Ethereum|0x[\w…]+/g, '').match(/[a-z]{2,}/gi) ?? []

const WALLETS: WalletPolicy[] = ['reject', 'pending', 'malleated', 'garbage', 'locked', 'disconnected']

test.for(WALLETS)(
  'What the page says about a wallet is in its language, with the name isolated: %s',
  async (policy, { grantor, client, page }) => {
    await installWallet(page, testWallet(0), { name: 'Foxglove', policy })
    await openLogin(page, grantor, client, { ui_locales: 'ar' })
    await page.locator('.wallet').click()
    if (policy !== 'locked' && policy !== 'disconnected') await page.locator('#sign').click()
    expect(latinIn(await wordsIn(page, 'problem'))).toEqual([])
    expect(await page.locator('#problem bdi').count()).toBeGreaterThan(0)
  },
)

test.for([403, 410, 429, 500, 503, null])(
  'What the page says about a failed request is in its language: %s',
  async (status, { grantor, client, page }) => {
    await installWallet(page, testWallet(0), { name: 'Foxglove' })
    await openLogin(page, grantor, client, { ui_locales: 'ar' })
    const body = JSON.stringify({ error: 'x' })
    await page.route('**/login/message', (route) => (status === null ? route.abort() : route.fulfill({ status, body })))
    await page.locator('.wallet').click()
    const said = status === 410 ? await page.locator('[data-notice="expired"] h1').innerText() : await wordsIn(page, 'problem')
    expect(said).toMatch(/[\u0600-\u06ff]/)
    expect(latinIn(said)).toEqual([])
  },
)

test('The text to sign stays English and is read from left to right, with its translation beside it', async ({
  grantor,
  client,
  page,
}) => {
  const { signed } = await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, grantor, client, { ui_locales: 'ar' })
  await page.locator('.wallet').click()
  await page.locator('#translated p').first().waitFor()
  const message = page.locator('#message')
  const shown = await message.textContent()
  expect(await message.getAttribute('lang')).toBe('en')
  expect(await message.evaluate((element) => getComputedStyle(element).direction)).toBe('ltr')
  const [first, second] = await page.locator('#translated p').allTextContents()
  expect(first).toContain(new URL(grantor.loginUrl).host)
  expect(second).toContain('Foxglove')
  expect(await page.evaluate(() => document.documentElement.dir)).toBe('rtl')
  await page.locator('#sign').click()
  await page.waitForURL('https://app.example.net/**')
  expect(signed).toEqual([shown])
})

test('In a language that is written from right to left, the address of an account stands on the right, with a name and without', async ({
  grantor,
  page,
}) => {
  for (const walletName of ['aurora.eth', null]) {
    await show(page, grantor.authUrl, accountPage({ ...accountView(), walletName }, languages.ar))
    const { text, row } = await page
      .locator('.account')
      .first()
      .evaluate((address) => {
        const range = document.createRange()
        range.selectNodeContents(address)
        const right = (box: Range | Element | null) => Math.round(box?.getBoundingClientRect().right ?? 0)
        return { text: right(range), row: right(address.closest('.row')) }
      })
    expect(text).toBe(row)
  }
})

test('A link on a page of another site does not select the language of the page for a device, and the chooser of the page does', async ({
  grantor,
  page,
}) => {
  const link = `<!doctype html><a href="${grantor.authUrl}/device?lang=ko&ui_locales=ko">here</a>`
  await page.route('https://attacker.example/', (route) => route.fulfill({ contentType: 'text/html', body: link }))
  await page.goto('https://attacker.example/')
  await page.getByRole('link', { name: 'here' }).click()
  await page.getByRole('heading', { name: 'Enter the code of your device' }).waitFor()
  const chosen = async () => (await page.context().cookies()).filter(({ name }) => name.endsWith('grantor_language'))
  expect(await chosen()).toEqual([])
  await page.getByText('Language', { exact: true }).click()
  await page.getByRole('button', { name: '한국어' }).click()
  await page.locator('html[lang="ko"]').waitFor()
  expect(await chosen()).toMatchObject([{ value: 'ko' }])
  await page.goto('https://attacker.example/')
  await page.getByRole('link', { name: 'here' }).click()
  await page.locator('html[lang="ko"]').waitFor()
})

test('The chooser changes the language of the login, works without script, and keeps the login', async ({
  grantor,
  client,
  page,
}) => {
  await openLogin(page, grantor, client, { ui_locales: 'de' })
  const challenge = new URL(page.url()).searchParams.get('login_challenge')
  await page.getByText('Sprache').click()
  await page.getByRole('button', { name: 'Türkçe' }).click()
  await page.getByRole('heading', { name: 'Foxglove için giriş yapın' }).waitFor()
  expect(new URL(page.url()).searchParams.get('login_challenge')).toBe(challenge)
  await openLogin(page, grantor, client, { ui_locales: 'de' })
  expect(await page.locator('html').getAttribute('lang')).toBe('tr')
})
