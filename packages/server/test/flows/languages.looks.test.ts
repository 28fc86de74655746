/** Pictures and accessibility of the pages in languages with long words, other letters, marks above letters, and right to left. */
import { expect } from 'vitest'
import { accountPage } from '../../src/pages/account/account-page.ts'
import { receiptPage } from '../../src/pages/account/receipt-page.ts'
import { crossDevicePage, deviceRequestPage } from '../../src/pages/device/device-page.ts'
import { languages } from '../../src/pages/languages.ts'
import { noticePage } from '../../src/pages/notice-page.ts'
import { accountView, loginRequest, receiptView } from '../pages/samples.ts'
import { test as base } from '../support/fixtures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { openLogin, visitor } from './login-visit.ts'
import { expectGoodLooks, LOOKS, show, TWO_LOOKS } from './looks.ts'

const test = base
  .extend('client', ({ grantor }) =>
    grantor.createClient({ name: 'Aurora Notes', consent: 'signed', scopes: ['enhancement', 'profile'] }),
  )
  .extend('page', visitor)

const { de, ar, ja, tr, vi } = languages

test.for([de, ar, ja, tr, vi])('The pages in $name are accessible (WCAG 2.2 AA)', async (language, { grantor, client, page }) => {
  const { tag } = language
  const looks = tag === 'ar' || tag === 'de' ? LOOKS : TWO_LOOKS
  const reader = { ...language, url: '/account' }
  await installWallet(page, testWallet(0), { name: 'Foxglove' })
  await openLogin(page, grantor, client, { scope: 'enhancement profile', ui_locales: tag })
  await page.locator('.wallet').waitFor()
  await expectGoodLooks(page, `${tag}-login`, looks)
  await page.locator('.wallet').click()
  await page.locator('#translated p').first().waitFor()
  expect(await page.locator('#message').getAttribute('lang')).toBe('en')
  await expectGoodLooks(page, `${tag}-login-text`, looks)

  const app = { clientName: 'Aurora Notes', clientHost: 'app.example.net' }
  const { scopes } = loginRequest()
  const asking = { action: '/', sealed: 's', userCode: 'WDJB-MJHT', ...app, scopes, resources: [], program: 'aurora-cli' }
  const place = { otherNetwork: '203.0.113' }
  const pages = {
    account: accountPage(accountView(), reader),
    receipt: receiptPage(receiptView(), reader),
    device: deviceRequestPage({ ...asking, ...place }, reader),
    'cross-device': crossDevicePage({ ...asking, ...place }, reader),
    notice: noticePage({ kind: 'expired', ...app, reason: 'expired', requestId: '4f1c0b7e' }, reader),
  }
  for (const [name, markup] of Object.entries(pages)) {
    await show(page, grantor.authUrl, markup)
    if (name === 'notice') await page.locator('#languages summary').click()
    await expectGoodLooks(page, `${tag}-${name}`, looks)
  }
})
