/** The pages that are functions from data to HTML, each with data in it. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type AccountView, accountPage } from '../../src/pages/account/account-page.ts'
import { endEverythingPage } from '../../src/pages/account/end-everything-page.ts'
import { approvalReceiptPage, type ReceiptView, receiptPage } from '../../src/pages/account/receipt-page.ts'
import { signOutPage } from '../../src/pages/account/sign-out-page.ts'
import { approvalPage } from '../../src/pages/approval/approval-page.ts'
import { crossDevicePage, deviceCodePage, deviceRequestPage } from '../../src/pages/device/device-page.ts'
import type { Reader } from '../../src/pages/languages.ts'
import { confirmPage } from '../../src/pages/login/confirm-page.ts'
import { loginPage } from '../../src/pages/login/login-page.ts'
import { signByHandPage } from '../../src/pages/login/sign-by-hand-page.ts'
import type { LoginRequest } from '../../src/pages/login-request.ts'
import { movingOnPage } from '../../src/pages/moving-on-page.ts'
import { type NoticeKind, noticePage } from '../../src/pages/notice-page.ts'
import { notices } from '../../src/pages/notices.ts'
import {
  accountView,
  approvalLogin,
  approvalReceiptView,
  approvalsOfAccount,
  approvalView,
  CONSENT_TEXT,
  LONG_HOST,
  LONG_SUMMARY,
  loginRequest,
  NOW,
  receiptView,
} from '../pages/samples.ts'
import type { PageOptions } from '../support/browser.ts'
import { contentOf } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { checkLooks, checkTranslations, LOOKS, type Look, show, TWO_LOOKS } from './looks.ts'

const APP = { clientName: 'Aurora Notes', clientHost: 'app.example.net' }
const CLI = { clientName: 'Aurora Notes CLI', clientHost: '' }
const WALLET = '0xf39F…2266'
const REQUEST_ID = '4f6f5c1e-2f64-4a5c-9e0f-6a0f2b1c7d11'
const API = 'https://api.example.com/'
const NOTES = { uri: 'https://notes.example.com/mcp', name: 'Aurora Notes' }
const FILES = { uri: 'https://files.example.com/a/very/long/address/of/an/interface/v1', name: '' }
const AT_TWO_RESOURCES = [
  { name: 'openid', description: 'know that it is you', resources: [NOTES, FILES] },
  { name: 'notes.read', description: 'read your notes', resources: [NOTES] },
  { name: 'files.write', description: 'change your files', resources: [FILES] },
]
const VIEW = accountView()
const { scopes } = loginRequest()
const OF_NETWORK = { program: 'aurora-cli', otherNetwork: '203.0.113' }
const DEVICE = { action: '/device', sealed: 'grq.0000000000.x', userCode: 'WDJB-MJHT', scopes }
const HAND = { address: testWallet(0).address, chainId: 1, chosen: ['profile'], message: CONSENT_TEXT }
const CONFIRM = { action: '/oauth/confirm', confirmation: 'sealed', ...APP, scopes, walletShort: WALLET }
const LOGIN = { loginChallenge: 'c', request: loginRequest(), now: NOW }
const LONG_ACTION = { summary: LONG_SUMMARY, api: LONG_HOST }
const WITHOUT_APP = { clientName: '', scopes: [], resumeUrl: null }

type Markup = (reader: Reader) => string
const account =
  (change: Partial<AccountView>): Markup =>
  (reader) =>
    accountPage({ ...VIEW, ...change }, reader)
const receipt =
  (change: Partial<ReceiptView>): Markup =>
  (reader) =>
    receiptPage({ ...receiptView(), ...change }, reader)
const login =
  (change: Partial<LoginRequest>): Markup =>
  (reader) =>
    loginPage({ ...LOGIN, request: { ...LOGIN.request, ...change } }, reader)

/** `ready`: what the check waits for, or what opens a part of the page. */
type Options = {
  at?: 'loginUrl'
  looks?: readonly Look[]
  device?: PageOptions
  picture?: null
  ready?: (page: Page) => Promise<unknown>
}
const TWO: Options = { looks: TWO_LOOKS }
const UNSEEN: Options = { ...TWO, picture: null }
const SHOWN_AT_LOGIN: Options = { ...TWO, at: 'loginUrl' }
const waitFor = (selector: string) => (page: Page) => page.locator(selector).first().waitFor()
const click = (text: string) => (page: Page) => page.getByText(text, { exact: true }).click()

const PAGES: [name: string, markup: Markup, options?: Options][] = [
  ['account', account({}), { ready: click('What you signed: 3 receipts') }],
  [
    'account-empty',
    account({
      apps: { rows: [], more: null },
      sessions: { rows: VIEW.sessions?.rows.slice(0, 1) ?? [], more: null },
      done: undefined,
    }),
    UNSEEN,
  ],
  ['account-vouched', account({ signedIn: 'vouched' }), UNSEEN],
  ['account-long-names', account({ ...accountView('x'.repeat(200)), walletShort: WALLET }), UNSEEN],
  [
    'account-resources',
    account({
      apps: {
        rows: VIEW.apps?.rows.map((app, index) => (index === 0 ? { ...app, scopes: AT_TWO_RESOURCES } : app)) ?? [],
        more: null,
      },
    }),
    TWO,
  ],
  ['receipt', receipt({}), { ...TWO, ready: click('How to check it without us') }],
  ['receipt-withdrawn', receipt({ withdrawn: true }), UNSEEN],
  ['receipt-expired', receipt({ until: NOW }), UNSEEN],
  ['receipt-resources', receipt({ scopes: AT_TWO_RESOURCES }), TWO],
  ['approve', (reader) => approvalPage(approvalView(), reader)],
  ['approve-long', (reader) => approvalPage({ ...approvalView(), ...LONG_ACTION }, reader)],
  [
    'approve-unbroken',
    (reader) =>
      approvalPage(
        {
          ...approvalView(),
          clientName: 'x'.repeat(60),
          summary: 'x'.repeat(120),
          api: 'x'.repeat(200),
          scope: { name: 'x'.repeat(64), description: '' },
        },
        reader,
      ),
    UNSEEN,
  ],
  ['account-waiting', account({ ...approvalsOfAccount(), done: undefined })],
  ['receipt-approval', (reader) => approvalReceiptPage(approvalReceiptView(), reader), TWO],
  ['approve-login', login({ ...approvalLogin(), approval: LONG_ACTION }), { ...SHOWN_AT_LOGIN, ready: waitFor('#login') }],
  ['end-everything', (reader) => endEverythingPage({ action: '/', account: { walletShort: WALLET } }, reader), TWO],
  ['end-everything-signed-out', (reader) => endEverythingPage({ action: '/', account: null }, reader), UNSEEN],
  ['sign-out', (reader) => signOutPage({ action: '/', question: 'q', walletShort: WALLET, ...APP }, reader)],
  ['device-code', (reader) => deviceCodePage({ action: '/device' }, reader), TWO],
  ['device-code-wrong', (reader) => deviceCodePage({ action: '/device', wrongCode: 'WDJB-MJHX' }, reader)],
  ['device-request', (reader) => deviceRequestPage({ ...DEVICE, ...CLI, ...OF_NETWORK, resources: [API] }, reader)],
  [
    'device-request-unregistered',
    (reader) =>
      deviceRequestPage(
        {
          ...DEVICE,
          ...CLI,
          clientPublisher: 'client.example',
          resources: [API, 'https://files.example.com/v1'],
          otherNetwork: '',
          program: '',
        },
        reader,
      ),
    UNSEEN,
  ],
  ['device-allowed', (reader) => noticePage({ kind: 'device_allowed', ...CLI }, reader), UNSEEN],
  [
    'device-not-allowed',
    (reader) =>
      noticePage({ kind: 'device_not_allowed', reason: 'complete_device_refused_by_hook', requestId: REQUEST_ID }, reader),
  ],
  ['device-login', login({ purpose: 'device', ...CLI, userCode: 'WDJB-MJHT' }), { ...SHOWN_AT_LOGIN, ready: waitFor('#login') }],
  [
    'login-for-account',
    login({ purpose: 'account', ...WITHOUT_APP }),
    { ...SHOWN_AT_LOGIN, picture: null, ready: waitFor('#login') },
  ],
  [
    'login-to-end-everything',
    login({ purpose: 'end_everything', ...WITHOUT_APP }),
    { ...SHOWN_AT_LOGIN, picture: null, ready: waitFor('#login') },
  ],
  ['phone-panel', login({}), { ...SHOWN_AT_LOGIN, ready: waitFor('#phone') }],
  [
    'wallet-apps',
    login({}),
    { ...SHOWN_AT_LOGIN, device: { width: 320, isPhone: true }, looks: [LOOKS[2]], picture: null, ready: waitFor('.wallet-app') },
  ],
  [
    'no-scope-left',
    (reader) => loginPage({ ...LOGIN, chosen: [] }, reader),
    { ...SHOWN_AT_LOGIN, device: { javaScriptEnabled: false }, picture: null, ready: waitFor('#scopes-problem') },
  ],
  [
    'signature-not-checked',
    (reader) =>
      signByHandPage({ ...LOGIN, ...HAND, problem: { kind: 'could_not_check', signature: '0xab', retryAfter: 5 } }, reader),
    { ...SHOWN_AT_LOGIN, device: { javaScriptEnabled: false }, picture: null, ready: waitFor('#signature-problem') },
  ],
  [
    'device-app',
    (reader) =>
      confirmPage({ ...CONFIRM, clientHost: '', clientScheme: 'com.example.aurora.notes.for.the.whole.family' }, reader),
  ],
  ['confirm', (reader) => confirmPage({ ...CONFIRM, clientHost: 'localhost' }, reader), TWO],
  [
    'unregistered-on-this-device',
    login({ clientHost: '127.0.0.1:33418', clientPublisher: 'agent.example', clientName: 'Agent Tools' }),
    {
      at: 'loginUrl',
      ready: async (page) => {
        await page.getByText('The answer goes to a program on this device').waitFor()
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('agent.example')
      },
    },
  ],
  [
    'unregistered-elsewhere',
    login({ clientHost: 'callback.example.net', clientPublisher: 'agent.example', clientName: '' }),
    { ...SHOWN_AT_LOGIN, ready: (page) => page.getByText('The answer goes to callback.example.net').waitFor() },
  ],
  ...(Object.keys(notices) as NoticeKind[]).map((kind): [string, Markup, Options] => {
    const retryUrl = kind === 'unavailable' ? '/login?login_challenge=C' : undefined
    const requestId = kind === 'defect' ? REQUEST_ID : undefined
    return [
      kind === 'expired' ? 'notice' : `notice-${kind}`,
      (reader) => noticePage({ kind, ...APP, retryUrl, requestId }, reader),
      kind === 'expired' ? TWO : UNSEEN,
    ]
  }),
]

for (const [name, markup, { at = 'authUrl', ready, picture, ...options } = {}] of PAGES)
  checkLooks(
    `The page ${name} is accessible in each width and colour scheme (WCAG 2.2 AA)`,
    options,
    async function* ({ grantor, page, language }) {
      await show(page, grantor[at], markup(language))
      await ready?.(page)
      yield picture === null ? null : name
    },
  )

checkLooks(
  'The reason and the request id of a request that cannot be used are the last line of the page, and readable in every look',
  {},
  async function* ({ grantor, page, language }) {
    const notice = { kind: 'unknown_client', reason: 'client_unknown_or_disabled', requestId: REQUEST_ID } as const
    await show(page, grantor.authUrl, noticePage(notice, language))
    yield 'request-refused'
    for (const { width } of LOOKS) {
      await page.setViewportSize({ width, height: 800 })
      const line = page.locator('.slip-body > :last-child')
      await line.scrollIntoViewIfNeeded()
      expect(await line.innerText()).toBe(`Reason: client_unknown_or_disabled · Number of this request: ${REQUEST_ID}`)
      const box = await line.boundingBox()
      expect(box && box.x >= 0 && box.x + box.width <= width).toBe(true)
    }
  },
)

checkLooks(
  'The page that moves on is accessible for every outcome, and without an app it does not mention an app',
  { looks: TWO_LOOKS },
  async function* ({ grantor, page, language }) {
    // 204: an app that answers nothing to show, so that the page stays
    await page.route('https://silent.example.net/**', (route) => route.fulfill({ status: 204 }))
    const to = 'https://silent.example.net/callback?code=x'
    for (const outcome of ['signed_in', 'denied', 'allowed', 'failed'] as const) {
      await show(page, grantor.loginUrl, movingOnPage({ to, ...APP, outcome }, language))
      yield null
    }
    for (const purpose of ['account', 'end_everything'] as const)
      for (const outcome of ['signed_in', 'denied', 'to_sign'] as const) {
        const markup = movingOnPage({ to, clientName: '', clientHost: 'auth.example.com', outcome, purpose }, language)
        expect(contentOf(markup)).not.toMatch(/the app|learned nothing|back to/)
        await show(page, grantor.authUrl, markup)
        yield null
      }
  },
)

checkTranslations('The pages are accessible (WCAG 2.2 AA)', async function* ({ grantor, page, language }) {
  const reader = { ...language, url: '/account' }
  const asking = { ...DEVICE, ...APP, ...OF_NETWORK, resources: [] }
  const pages = {
    account: accountPage(VIEW, reader),
    approve: approvalPage(approvalView(), reader),
    'account-waiting': accountPage({ ...VIEW, ...approvalsOfAccount() }, reader),
    receipt: receiptPage(receiptView(), reader),
    device: deviceRequestPage(asking, reader),
    'cross-device': crossDevicePage(asking, reader),
    notice: noticePage({ kind: 'expired', ...APP, reason: 'expired', requestId: '4f1c0b7e' }, reader),
  }
  for (const [name, markup] of Object.entries(pages)) {
    await show(page, grantor.authUrl, markup)
    if (name === 'notice') await page.locator('#languages summary').click()
    yield `${language.tag}-${name}`
  }
})
