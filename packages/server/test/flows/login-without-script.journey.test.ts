import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { developmentWallet } from '../http/login/start-login-server.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { testWallet } from '../support/wallet.ts'
import { backAtApp, newVisitor, openLogin } from './login-visit.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let page: Page
const wallet = testWallet(0)
beforeAll(async () => {
  browser = await launchBrowser()
  const anybody = { ...developmentWallet, takesAnyAddress: true }
  grantor = await startGrantor({ developmentWallet: anybody, settings: { loginMayVouch: true } })
  client = await grantor.createClient({ name: 'Aurora Notes' })
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})
beforeEach(async () => {
  page = await newVisitor(browser, { javaScriptEnabled: false })
  await openLogin(page, grantor, client)
})
afterEach(() => page.context().close())

async function showText(address: string): Promise<string> {
  await page.locator('#no-script-address').fill(address)
  await page.locator('#no-script-show').click()
  return page.locator('textarea#message').inputValue()
}

test('A signature that another program made and the user pastes signs in without any script', async () => {
  const text = await showText(wallet.address)
  expect(text).toContain(wallet.address)
  await page.locator('#signature').fill(` ${wallet.sign(text)}\n`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const answer = await backAtApp(page)
  expect(answer.get('code')).toBeTruthy()
  expect(answer.get('state')).toBe('a state/1')
})

test('A signature by another account shows the same text again with the reason, and the right signature then signs in', async () => {
  const text = await showText(wallet.address)
  await page.locator('#signature').fill(testWallet(1).sign(text))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('This signature was not made with 0xf39F…2266 over this text.').waitFor()
  const again = await page.locator('textarea#message').inputValue()
  expect(again).toBe(text)
  await page.locator('#signature').fill(wallet.sign(again))
  await page.getByRole('button', { name: 'Sign in' }).click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('Half of a signature is described as incomplete, not as wrong', async () => {
  const text = await showText(wallet.address)
  await page.locator('#signature').fill(wallet.sign(text).slice(0, 80))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('This is not a complete signature.').waitFor()
})

test('An address with a typing error stays in its field, with an explanation', async () => {
  await page.locator('#no-script-address').fill(wallet.address.replace('f39F', 'f39f'))
  await page.locator('#no-script-show').click()
  const words = await page.locator('#no-script-address-problem').innerText()
  expect(words).toContain('We cannot read this as a wallet address. Copy it again')
  expect(await page.locator('#no-script-address').inputValue()).toBe(wallet.address.replace('f39F', 'f39f'))
  expect(await page.locator('#no-script-address').getAttribute('aria-invalid')).toBe('true')
})

test('Cancelling works from the page with the text, too', async () => {
  await showText(wallet.address)
  await page.locator('#cancel').click()
  expect((await backAtApp(page)).get('error')).toBe('access_denied')
})

test('The development login is folded, and is two plain forms with stable ids: #address and #sign-in, then #approve', async () => {
  for (const address of [testWallet(2).address, '0x90F79bf6EB2c4f870365E785982E1f101E93b906', '']) {
    await page.locator('#development > summary').click()
    await page.locator('#address').fill(address)
    await page.locator('#sign-in').click()
    await page.locator('#approve').click()
    expect((await backAtApp(page)).has('code')).toBe(true)
    await openLogin(page, grantor, client, { prompt: 'login' })
  }
})

test('The development login can be declined with #deny, and the app receives the refusal', async () => {
  await page.locator('#development > summary').click()
  await page.locator('#address').fill('0x90F79bf6EB2c4f870365E785982E1f101E93b906')
  await page.locator('#sign-in').click()
  await page.locator('#deny').click()
  expect((await backAtApp(page)).get('error')).toBe('access_denied')
})
