import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, test } from 'vitest'
import { deviceCodePage, deviceRequestPage } from '../../src/pages/device/device-page.ts'
import { ENGLISH } from '../../src/pages/languages.ts'
import { loginPage } from '../../src/pages/login/login-page.ts'
import { noticePage } from '../../src/pages/notice-page.ts'
import { loginRequest, NOW } from '../pages/samples.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { newVisitor } from './login-visit.ts'
import { expectGoodLooks, show, TWO_LOOKS } from './looks.ts'

let browser: Browser
let grantor: Grantor
let page: Page
const { scopes } = loginRequest()
const REQUEST = {
  action: '/device',
  sealed: 'grq.0000000000.x',
  userCode: 'WDJB-MJHT',
  clientName: 'Aurora Notes CLI',
  clientHost: '',
  scopes,
  resources: ['https://api.example.com/'],
  otherNetwork: '203.0.113',
  program: 'aurora-cli',
}

beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor()
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})
beforeEach(async () => {
  page = await newVisitor(browser)
})
afterEach(() => page.context().close())

test('The form for the code of a device is accessible, also after a wrong code', async () => {
  await show(page, grantor.authUrl, deviceCodePage({ action: '/device' }, ENGLISH))
  await expectGoodLooks(page, 'device-code', TWO_LOOKS)
  await show(page, grantor.authUrl, deviceCodePage({ action: '/device', wrongCode: 'WDJB-MJHX' }, ENGLISH))
  await expectGoodLooks(page, 'device-code-wrong')
})

test('The request of a device is accessible', async () => {
  await show(page, grantor.authUrl, deviceRequestPage(REQUEST, ENGLISH))
  await expectGoodLooks(page, 'device-request')
})

test('The request of an app that is not registered, with two resources and no known place, is accessible', async () => {
  const unregistered = {
    clientPublisher: 'client.example',
    resources: ['https://api.example.com/', 'https://files.example.com/v1'],
  }
  await show(page, grantor.authUrl, deviceRequestPage({ ...REQUEST, ...unregistered, otherNetwork: '', program: '' }, ENGLISH))
  await expectGoodLooks(page, undefined, TWO_LOOKS)
})

test('The login page for a device and the page after it are accessible', async () => {
  const device = { purpose: 'device', clientName: 'Aurora Notes CLI', clientHost: '', userCode: 'WDJB-MJHT' } as const
  const request = { ...loginRequest(), ...device }
  await show(page, grantor.loginUrl, loginPage({ loginChallenge: 'c', request, now: NOW }, ENGLISH))
  await page.locator('#no-wallet').waitFor()
  await expectGoodLooks(page, 'device-login', TWO_LOOKS)
  await show(
    page,
    grantor.authUrl,
    noticePage({ kind: 'device_allowed', clientName: 'Aurora Notes CLI', clientHost: '' }, ENGLISH),
  )
  await expectGoodLooks(page, undefined, TWO_LOOKS)
  const refused = { kind: 'device_not_allowed', reason: 'complete_device_refused_by_hook', requestId: '4f1c0b7e' } as const
  await show(page, grantor.authUrl, noticePage(refused, ENGLISH))
  await expectGoodLooks(page, 'device-not-allowed')
})
