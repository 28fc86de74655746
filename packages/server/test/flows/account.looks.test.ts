import { expect } from 'vitest'
import { accountPage } from '../../src/pages/account/account-page.ts'
import { endEverythingPage } from '../../src/pages/account/end-everything-page.ts'
import { receiptPage } from '../../src/pages/account/receipt-page.ts'
import { ENGLISH } from '../../src/pages/languages.ts'
import { movingOnPage } from '../../src/pages/moving-on-page.ts'
import { accountView, receiptView } from '../pages/samples.ts'
import { test } from '../support/fixtures.ts'
import { contentOf } from '../support/markup.ts'
import { expectGoodLooks, show, TWO_LOOKS } from './looks.ts'

test('The account page is accessible at 320 px and on a desktop, light and dark (WCAG 2.2 AA)', async ({ grantor, page }) => {
  await show(page, grantor.authUrl, accountPage(accountView(), ENGLISH))
  await page.getByText('What you signed: 3 receipts').click()
  await expectGoodLooks(page, 'account')
})

test('The account page is accessible when it is empty, and for a user whom the login server vouched for', async ({
  grantor,
  page,
}) => {
  const rows = accountView().sessions?.rows.slice(0, 1) ?? []
  const nothing = { ...accountView(), apps: { rows: [], more: null }, sessions: { rows, more: null }, done: undefined }
  await show(page, grantor.authUrl, accountPage(nothing, ENGLISH))
  await expectGoodLooks(page, undefined, TWO_LOOKS)
  await show(page, grantor.authUrl, accountPage({ ...accountView(), signedIn: 'vouched' }, ENGLISH))
  await expectGoodLooks(page, undefined, TWO_LOOKS)
})

test('Long names, scopes and hosts do not break the account page', async ({ grantor, page }) => {
  await show(page, grantor.authUrl, accountPage({ ...accountView('x'.repeat(200)), walletShort: '0xf39F…2266' }, ENGLISH))
  await expectGoodLooks(page, undefined, TWO_LOOKS)
})

test('A valid, a withdrawn and an expired receipt are accessible', async ({ grantor, page }) => {
  await show(page, grantor.authUrl, receiptPage(receiptView(), ENGLISH))
  await page.getByText('How to check it without us').click()
  await expectGoodLooks(page, 'receipt', TWO_LOOKS)
  for (const state of [{ withdrawn: true }, { until: receiptView().now }]) {
    await show(page, grantor.authUrl, receiptPage({ ...receiptView(), ...state }, ENGLISH))
    await expectGoodLooks(page, undefined, TWO_LOOKS)
  }
})

const AT_TWO = [
  {
    name: 'openid',
    description: 'know that it is you',
    resources: [
      { uri: 'https://notes.example.com/mcp', name: 'Aurora Notes' },
      { uri: 'https://files.example.com/a/very/long/address/of/an/interface/v1', name: '' },
    ],
  },
  {
    name: 'notes.read',
    description: 'read your notes',
    resources: [{ uri: 'https://notes.example.com/mcp', name: 'Aurora Notes' }],
  },
  {
    name: 'files.write',
    description: 'change your files',
    resources: [{ uri: 'https://files.example.com/a/very/long/address/of/an/interface/v1', name: '' }],
  },
]

test('On the account page and on a receipt, scopes that belong to different resources are shown in groups, accessibly', async ({
  grantor,
  page,
}) => {
  const view = accountView()
  const rows = view.apps?.rows.map((app, index) => (index === 0 ? { ...app, scopes: AT_TWO } : app)) ?? []
  await show(page, grantor.authUrl, accountPage({ ...view, apps: { rows, more: null } }, ENGLISH))
  await expectGoodLooks(page, 'account-resources', TWO_LOOKS)
  await show(page, grantor.authUrl, receiptPage({ ...receiptView(), scopes: AT_TWO }, ENGLISH))
  await expectGoodLooks(page, 'receipt-resources', TWO_LOOKS)
})

test('The page before everything is ended is accessible, with a session and without', async ({ grantor, page }) => {
  const action = '/account/end-everything'
  await show(page, grantor.authUrl, endEverythingPage({ action, account: { walletShort: '0xf39F…2266' } }, ENGLISH))
  await expectGoodLooks(page, 'end-everything', TWO_LOOKS)
  await show(page, grantor.authUrl, endEverythingPage({ action, account: null }, ENGLISH))
  await expectGoodLooks(page, undefined, TWO_LOOKS)
})

test('The page that moves on without an app is accessible and does not mention an app', async ({ grantor, page }) => {
  await page.route('https://silent.example.net/**', (route) => route.fulfill({ status: 204 }))
  const to = 'https://silent.example.net/account'
  for (const purpose of ['account', 'end_everything'] as const) {
    for (const outcome of ['signed_in', 'denied', 'to_sign'] as const) {
      const markup = movingOnPage({ to, clientName: '', clientHost: 'auth.example.com', outcome, purpose }, ENGLISH)
      expect(contentOf(markup)).not.toMatch(/the app|learned nothing|back to/)
      await show(page, grantor.authUrl, markup)
      await expectGoodLooks(page, undefined, TWO_LOOKS)
    }
  }
})
