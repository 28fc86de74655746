/** The login page for an app that is not registered: an agent on this device, and a web app. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { loginPage } from '../../src/pages/login-page.ts'
import { loginRequest, NOW } from '../pages/samples.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { newVisitor } from './login-visit.ts'
import { expectGoodLooks, show, TWO_LOOKS } from './looks.ts'

let browser: Browser
let page: Page
let grantor: Grantor

beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor()
})
beforeEach(async () => {
  page = await newVisitor(browser)
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
})

test('The page names the host of the metadata document, how the app calls itself, and that the answer stays on this device', async () => {
  const place = { clientHost: '127.0.0.1:33418', clientPublisher: 'agent.example', clientName: 'Agent Tools' }
  await show(page, grantor.loginUrl, loginPage({ loginChallenge: 'c', request: { ...loginRequest(), ...place }, now: NOW }))
  await page.getByText('The answer goes to a program on this device').waitFor()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('agent.example')
  await expectGoodLooks(page, 'unregistered-on-this-device')
})

test('The page names both hosts of an app whose answer goes to another host', async () => {
  const place = { clientHost: 'callback.example.net', clientPublisher: 'agent.example', clientName: '' }
  await show(page, grantor.loginUrl, loginPage({ loginChallenge: 'c', request: { ...loginRequest(), ...place }, now: NOW }))
  await page.getByText('The answer goes to callback.example.net').waitFor()
  await expectGoodLooks(page, 'unregistered-elsewhere', TWO_LOOKS)
})
