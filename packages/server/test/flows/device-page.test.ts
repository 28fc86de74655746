/** A person signs in on a device, in a real browser: from the code on the device to its tokens. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { developmentWallet } from '../http/login/start-login-server.ts'
import { tokensOf } from '../support/app.ts'
import { launchBrowser, newPage } from '../support/browser.ts'
import { authorizedDevice, createDeviceClient, type DeviceAuthorization, poll } from '../support/device.ts'
import { expectRefusal } from '../support/refusals.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor } from './login-visit.ts'

let browser: Browser
let grantor: Grantor
let client: TestClient
let device: DeviceAuthorization
let walk: Walk
let page: Page
const wallet = testWallet(0)

beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor({ developmentWallet })
  client = await createDeviceClient(grantor)
  walk = new Walk(grantor)
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})
beforeEach(async () => {
  device = await authorizedDevice(walk, client, { scope: 'enhancement profile' })
  page = await newVisitor(browser)
})
afterEach(() => page.context().close())

const done = () => page.getByRole('heading', { name: 'Your device is signed in' }).waitFor()

test('A person types the code, compares the request, signs once, and the device has its tokens', async () => {
  const { signed } = await installWallet(page, wallet, { name: 'Foxglove' })
  await page.goto(device.verification_uri)
  await page.getByLabel('Code').fill(device.user_code.toLowerCase().replace('-', ' '))
  await page.getByRole('button', { name: 'Continue' }).click()
  expect(await page.locator('#user-code').textContent()).toBe(device.user_code)
  await page.getByRole('button', { name: 'The codes match' }).click()
  await page.locator('.wallet').click()
  expect(await page.locator('.user-code').textContent()).toBe(device.user_code)
  await page.locator('#sign').waitFor()
  const text = await page.locator('#message').textContent()
  await page.locator('#sign').click()
  await done()
  expect(signed).toEqual([text])
  expect(text).toContain(`the device that shows the code ${device.user_code}.`)
  expect(tokensOf(await poll(walk, client, device)).scope).toBe('enhancement profile')
})

test('On a phone the link of the QR code leads to the request: one tap, then the wallet', async () => {
  await page.context().close()
  page = await newPage(browser, { width: 360, height: 740, isPhone: true })
  const { signed } = await installWallet(page, wallet)
  await page.goto(device.verification_uri_complete)
  await page.getByRole('button', { name: 'The codes match' }).tap()
  await page.locator('.wallet').tap()
  await page.locator('#sign').tap()
  await done()
  expect(signed).toHaveLength(1)
  expect((await poll(walk, client, device)).status).toBe(200)
})

test('A wrong code shows the form again and says what to do', async () => {
  await page.goto(device.verification_uri)
  await page.getByLabel('Code').fill('BBBB-BBBB')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').getByText('This code is wrong or has run out of time.').waitFor()
  expect(await page.getByLabel('Code').evaluate((each) => each.matches('[aria-invalid="true"]:focus'))).toBe(true)
})

test('A person who did not start a device stops the request, and the device gets access_denied', async () => {
  await page.goto(device.verification_uri_complete)
  await page.getByText('Somebody sent you this code or this link?').waitFor()
  await page.getByRole('button', { name: 'Give no access', exact: true }).click()
  await page.getByRole('heading', { name: 'The device gets no access' }).waitFor()
  expectRefusal(await poll(walk, client, device), 'access_denied')
})

test('A person declines on the login page, and the device gets access_denied', async () => {
  await page.goto(device.verification_uri_complete)
  await page.getByRole('button', { name: 'The codes match' }).click()
  await page.getByRole('button', { name: 'Cancel and give no access' }).click()
  await page.getByRole('heading', { name: 'The device gets no access' }).waitFor()
  expectRefusal(await poll(walk, client, device), 'access_denied')
})

test('Without script the forms of the development login finish the request', async () => {
  await page.context().close()
  page = await newVisitor(browser, { javaScriptEnabled: false })
  await page.goto(device.verification_uri_complete)
  await page.locator('#allow').click()
  await page.locator('#development > summary').click()
  await page.locator('#address').fill(wallet.address)
  await page.locator('#sign-in').click()
  await page.locator('#approve').click()
  await done()
  expect((await poll(walk, client, device)).status).toBe(200)
})
