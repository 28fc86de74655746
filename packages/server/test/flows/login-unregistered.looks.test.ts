/** The login page for an app that is not registered: an agent on this device, and a web app. */
import { expect } from 'vitest'
import { ENGLISH } from '../../src/pages/languages.ts'
import { loginPage } from '../../src/pages/login/login-page.ts'
import { loginRequest, NOW } from '../pages/samples.ts'
import { test as base } from '../support/fixtures.ts'
import { newVisitor } from './login-visit.ts'
import { expectGoodLooks, show, TWO_LOOKS } from './looks.ts'

const test = base.extend('page', ({ browser }) => newVisitor(browser))

test('The page names the host of the metadata document, how the app calls itself, and that the answer stays on this device', async ({
  grantor,
  page,
}) => {
  const place = { clientHost: '127.0.0.1:33418', clientPublisher: 'agent.example', clientName: 'Agent Tools' }
  await show(
    page,
    grantor.loginUrl,
    loginPage({ loginChallenge: 'c', request: { ...loginRequest(), ...place }, now: NOW }, ENGLISH),
  )
  await page.getByText('The answer goes to a program on this device').waitFor()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('agent.example')
  await expectGoodLooks(page, 'unregistered-on-this-device')
})

test('The page names both hosts of an app whose answer goes to another host', async ({ grantor, page }) => {
  const place = { clientHost: 'callback.example.net', clientPublisher: 'agent.example', clientName: '' }
  await show(
    page,
    grantor.loginUrl,
    loginPage({ loginChallenge: 'c', request: { ...loginRequest(), ...place }, now: NOW }, ENGLISH),
  )
  await page.getByText('The answer goes to callback.example.net').waitFor()
  await expectGoodLooks(page, 'unregistered-elsewhere', TWO_LOOKS)
})
