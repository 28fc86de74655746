/** Pages about an app on the device. Its private-use scheme may look like a host, but is not one (RFC 8252 §7.1). */
import { describe, expect, test } from 'vitest'
import { accountPage } from '../../src/pages/account/account-page.ts'
import { receiptPage } from '../../src/pages/account/receipt-page.ts'
import { signOutPage } from '../../src/pages/account/sign-out-page.ts'
import { ENGLISH } from '../../src/pages/languages.ts'
import { confirmPage } from '../../src/pages/login/confirm-page.ts'
import { loginPage } from '../../src/pages/login/login-page.ts'
import { signByHandPage } from '../../src/pages/login/sign-by-hand-page.ts'
import { movingOnPage } from '../../src/pages/moving-on-page.ts'
import { noticePage } from '../../src/pages/notice-page.ts'
import { accountView, loginRequest, NOW, receiptView } from './samples.ts'

const SCHEME = 'login.bank.example'
const device = { clientHost: '', clientScheme: SCHEME }
const LINE = `<span>An app on this device that opens <bdi>${SCHEME}:</bdi> links</span>`

function pages(clientName: string): Record<string, string> {
  const app = { ...device, clientName }
  const step = { loginChallenge: 'c', request: { ...loginRequest(), ...app }, now: NOW }
  const { apps, ...account } = accountView()
  const rows = apps?.rows.map((row) => ({ ...row, ...device, name: clientName })) ?? []
  return {
    'the login page': loginPage(step, ENGLISH),
    'the page to sign by hand': signByHandPage({ ...step, address: '0x', chainId: 1, chosen: [], message: '' }, ENGLISH),
    'the consent page': confirmPage({ action: '/', confirmation: 'c', ...app, scopes: [], walletShort: '0x' }, ENGLISH),
    'the page that moves on': movingOnPage({ to: `${SCHEME}:/cb`, ...app, outcome: 'signed_in' }, ENGLISH),
    'a notice': noticePage({ kind: 'expired', ...app }, ENGLISH),
    'the account page': accountPage({ ...account, apps: { more: null, rows } }, ENGLISH),
    'a receipt': receiptPage({ ...receiptView(), ...app }, ENGLISH),
  }
}

describe.each(Object.entries(pages('Bank')))('An app on the device in %s', (_, page) => {
  test('A page about an app on the device names the scheme of the links that the app opens (RFC 8252 §7.1)', () =>
    expect(page).toContain(LINE))

  test('A page about an app on the device does not show its scheme as a host (RFC 8252 §7.1)', () => {
    expect(page.replaceAll(LINE, '').replaceAll(`${SCHEME}:/cb`, '')).not.toContain(SCHEME)
  })
})

test('The consent page calls an app an app on this device only if the response goes to this device', () => {
  const page = (place: { clientHost: string; clientScheme?: string }) =>
    confirmPage({ action: '/', confirmation: 'c', clientName: 'Bank', ...place, scopes: [], walletShort: '0x' }, ENGLISH)
  const onDevice = '<bdi>Bank</bdi> is an app on this device.'
  for (const place of [device, { clientHost: 'localhost:5001' }, { clientHost: '127.0.0.1' }, { clientHost: '[::1]:5001' }])
    expect(page(place)).toContain(onDevice)
  expect(page({ clientHost: 'app.example.net' })).not.toContain('on this device')
})

test('An app on the device whose name is invisible is called “an app on this device”, and not by its scheme', () => {
  const all = {
    ...pages('\u3164'),
    'the sign-out page': signOutPage({ action: '/', question: 'q', ...device, walletShort: '0x' }, ENGLISH),
  }
  for (const page of Object.values(all)) {
    expect(page).toContain('<bdi>an app on this device</bdi>')
    expect(page).not.toContain(`<bdi>${SCHEME}</bdi>`)
  }
})
