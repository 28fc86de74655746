import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { signOutPage } from '../../src/pages/account/sign-out-page.ts'
import { ENGLISH } from '../../src/pages/languages.ts'
import { loginPage } from '../../src/pages/login/login-page.ts'
import { signByHandPage } from '../../src/pages/login/sign-by-hand-page.ts'
import { CONSENT_TEXT, loginRequest, NOW } from '../pages/samples.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor, openLogin } from './login-visit.ts'
import { expectGoodLooks, show, TWO_LOOKS } from './looks.ts'

let browser: Browser
let grantor: Grantor
let page: Page
const login = { loginChallenge: 'c', request: loginRequest(), now: NOW }
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

test('The choice of scopes is accessible, with the text below that lists the remaining scopes', async () => {
  const resources = ['https://api.example.com/', 'https://files.example.com/v1']
  const scopes = ['enhancement', 'profile']
  const client = await grantor.createClient({ name: 'Aurora Notes', scopes, resources, consent: 'signed' })
  await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, grantor, client, { scope: scopes.join(' '), resource: resources })
  await page.locator('.wallet').click()
  await page.getByRole('switch', { name: 'See your profile' }).uncheck()
  await page.getByText('You changed what you allow').waitFor()
  await expectGoodLooks(page, 'scope-choice', TWO_LOOKS)
})

test('Scopes that belong to different resources are shown in groups, each under the names of its resources, and the choice is accessible', async () => {
  const [notes, files] = [
    'https://notes.example.com/mcp',
    'https://files.example.com/a/very/long/address/of/an/interface/that/wraps/v1',
  ]
  for (const [uri, name, scope, description] of [
    [notes, 'Aurora Notes', 'notes.read', 'read your notes'],
    [files, 'Harbour Files', 'files.write', 'change and delete your files'],
  ] as const)
    await grantor.store.resources.insertResource({
      uri,
      name,
      scopes: [{ name: scope, description }],
      openTo: ['registered'],
      createdAt: 1,
    })
  await grantor.noticeChanges()
  const scopes = ['openid', 'notes.read', 'files.write']
  const client = await grantor.createClient({ name: 'Aurora', scopes, resources: [notes, files], consent: 'signed' })
  await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, grantor, client, { scope: scopes.join(' '), response_type: 'code', resource: [notes, files] })
  await page.locator('.wallet').click()
  await page.getByText("'files.write+openid' for").waitFor()
  await expectGoodLooks(page, 'resource-choice')
  await page.getByRole('switch', { name: 'change and delete your files' }).uncheck()
  await page.getByText('You changed what you allow').waitFor()
  expect(await page.locator('#message').textContent()).not.toContain('files.write')
})

test('A scope that cannot be switched off and the expected account are accessible; the script does not free the switch', async () => {
  grantor.deps.settings.scopeDescriptions.openid = 'Know that it is you, by your wallet’s address'
  const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['openid', 'profile'], consent: 'signed' })
  await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, grantor, client, { scope: 'openid profile', response_type: 'code', login_hint: testWallet(1).address })
  await page.getByText('expects 0x7099…79C8').waitFor()
  await page.locator('.wallet').click()
  await page.getByRole('switch', { name: 'See your profile' }).uncheck()
  await page.getByText('You changed what you allow').waitFor()
  expect(await page.getByRole('switch', { name: 'openid' }).isDisabled()).toBe(true)
  expect(await page.locator('#message').textContent()).toContain("'openid' for")
  await expectGoodLooks(page, 'openid-choice', TWO_LOOKS)
})

test('The question whether to sign out is accessible', async () => {
  const view = { action: '/oauth/logout/confirm', question: 'q', walletShort: '0xf39F…2266' }
  await show(page, grantor.authUrl, signOutPage({ ...view, clientName: 'Aurora Notes', clientHost: 'app.example.net' }, ENGLISH))
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await expectGoodLooks(page, 'sign-out')
})

test('The panel with the code for a phone is accessible', async () => {
  await show(page, grantor.loginUrl, loginPage(login, ENGLISH))
  await page.getByText('Use a wallet on your phone', { exact: true }).click()
  await expectGoodLooks(page, 'phone-panel', TWO_LOOKS)
})

test('The list of wallet apps on a phone is accessible', async () => {
  await page.context().close()
  const context = await browser.newContext({ viewport: { width: 320, height: 800 }, isMobile: true, hasTouch: true })
  page = await context.newPage()
  await show(page, grantor.loginUrl, loginPage(login, ENGLISH))
  await page.locator('.wallet-app').first().waitFor()
  await expectGoodLooks(page, undefined, TWO_LOOKS.slice(1))
})

test('A sign-in without an app is accessible: to the account page, and to end everything', async () => {
  for (const purpose of ['account', 'end_everything'] as const) {
    const request = { ...login.request, purpose, clientName: '', scopes: [], resumeUrl: null }
    await show(page, grantor.loginUrl, loginPage({ ...login, request }, ENGLISH))
    await page.locator('#no-wallet').waitFor()
    await expectGoodLooks(page, undefined, TWO_LOOKS)
  }
})

test('Errors without script are accessible: no scope left, a signature that could not be checked', async () => {
  await page.context().close()
  page = await newVisitor(browser, { javaScriptEnabled: false })
  await show(page, grantor.loginUrl, loginPage({ ...login, chosen: [] }, ENGLISH))
  await page.locator('#scopes-problem').waitFor()
  await expectGoodLooks(page, undefined, TWO_LOOKS)
  const problem = { kind: 'could_not_check', signature: '0xab', retryAfter: 5 } as const
  const step = { ...login, address: testWallet(0).address, chainId: 1, chosen: ['profile'], message: CONSENT_TEXT, problem }
  await show(page, grantor.loginUrl, signByHandPage(step, ENGLISH))
  await page.locator('#signature-problem').waitFor()
  await expectGoodLooks(page, undefined, TWO_LOOKS)
})
