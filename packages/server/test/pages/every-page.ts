import { accountPage } from '../../src/pages/account/account-page.ts'
import { endEverythingPage } from '../../src/pages/account/end-everything-page.ts'
import { approvalReceiptPage, receiptPage } from '../../src/pages/account/receipt-page.ts'
import { signOutPage } from '../../src/pages/account/sign-out-page.ts'
import { approvalPage } from '../../src/pages/approval/approval-page.ts'
import { crossDevicePage, deviceCodePage, deviceRequestPage } from '../../src/pages/device/device-page.ts'
import type { Reader } from '../../src/pages/languages.ts'
import { confirmPage } from '../../src/pages/login/confirm-page.ts'
import { loginPage } from '../../src/pages/login/login-page.ts'
import { signByHandPage } from '../../src/pages/login/sign-by-hand-page.ts'
import { movingOnPage } from '../../src/pages/moving-on-page.ts'
import { noticePage, plainNoticePage } from '../../src/pages/notice-page.ts'
import { type NoticeKind, notices } from '../../src/pages/notices.ts'
import { OWN_DESCRIPTIONS } from '../../src/protocol/oauth/own-descriptions.ts'
import {
  accountView,
  approvalLogin,
  approvalReceiptView,
  approvalsOfAccount,
  approvalView,
  limitedReceiptView,
  loginRequest,
  NOW,
  receiptView,
} from './samples.ts'

const PURPOSES = ['app', 'device', 'cross_device', 'account', 'end_everything'] as const
const OUTCOMES = ['signed_in', 'denied', 'allowed', 'failed', 'signed_out', 'to_sign', 'answered'] as const

function crossDeviceOffer(text: string) {
  return { url: `https://x.example/?${text}`, code: text, continueUrl: `https://x.example/?${text}`, signed: false }
}

/** Every page, with the same text in each place that has text from outside. */
export function everyPage(text: string, reader: Reader): string[] {
  const own = Object.entries(OWN_DESCRIPTIONS).map(([name, description]) => ({ name, description }))
  const scopes = [{ name: text, description: text }, ...own]
  const step = { loginChallenge: text, request: loginRequest(text), now: NOW }
  const problem = { kind: 'could_not_check', signature: text, retryAfter: 5 } as const
  const place = { clientName: text, clientHost: text }
  const asking = { action: text, sealed: text, userCode: text, ...place, scopes, resources: [text, text] }
  const device = { ...asking, otherNetwork: text, program: text }
  const steps = PURPOSES.flatMap((purpose) => {
    const request = { ...step.request, purpose, userCode: text, loginHint: text, crossDevice: crossDeviceOffer(text) }
    return [
      loginPage({ ...step, request }, reader),
      signByHandPage({ ...step, request, address: text, chainId: 1, message: text }, reader),
      ...OUTCOMES.map((outcome) => movingOnPage({ to: `https://x.example/?${text}`, ...place, purpose, outcome }, reader)),
    ]
  })
  return [
    ...steps,
    deviceCodePage({ action: text, wrongCode: text }, reader),
    deviceRequestPage(device, reader),
    deviceRequestPage({ ...device, otherNetwork: '', scopes: [] }, reader),
    crossDevicePage(device, reader),
    crossDevicePage({ ...device, otherNetwork: '', scopes: [] }, reader),
    signOutPage({ action: text, question: text, ...place, walletShort: text }, reader),
    confirmPage(
      { action: text, confirmation: text, clientName: text, clientHost: '', clientScheme: text, scopes: [], walletShort: text },
      reader,
    ),
    receiptPage({ ...receiptView(text), withdrawn: true, scopes: [] }, reader),
    receiptPage({ ...receiptView(text), until: 0 }, reader),
    ...(Object.keys(notices) as NoticeKind[]).flatMap((kind) => {
      const notice = { kind, clientName: text, clientHost: text, retryUrl: text, requestId: text }
      return [noticePage(notice, reader), plainNoticePage(notice, reader)]
    }),
    confirmPage(
      { action: text, confirmation: text, clientName: text, clientHost: text, scopes, walletShort: text, walletName: text },
      reader,
    ),
    movingOnPage({ to: `https://x.example/?${text}`, clientName: text, clientHost: text, outcome: 'signed_in' }, reader),
    loginPage({ ...step, developmentAccounts: [{ address: text, label: text }], refusedAddress: text }, reader),
    loginPage({ ...step, request: { ...step.request, purpose: 'account', resumeUrl: null }, chosen: [] }, reader),
    signByHandPage({ ...step, address: text, chainId: 1, chosen: [text], message: text, problem }, reader),
    accountPage(accountView(text), reader),
    accountPage({ ...accountView(text), signedIn: 'vouched' }, reader),
    receiptPage(receiptView(text), reader),
    receiptPage(limitedReceiptView(text), reader),
    receiptPage({ ...limitedReceiptView(text), counted: 'unknown' }, reader),
    endEverythingPage({ action: text, account: { walletShort: text } }, reader),
    approvalPage(approvalView(text), reader),
    approvalReceiptPage(approvalReceiptView(text), reader),
    accountPage({ ...accountView(text), ...approvalsOfAccount(text) }, reader),
    loginPage({ ...step, request: approvalLogin(text) }, reader),
    loginPage({ ...step, request: approvalLogin(text), refusedAddress: text, refusal: 'another_wallet' }, reader),
    signByHandPage({ ...step, request: approvalLogin(text), address: text, chainId: 1, message: text }, reader),
    ...OUTCOMES.map((outcome) =>
      movingOnPage({ to: `https://x.example/?${text}`, ...place, purpose: 'approval', outcome }, reader),
    ),
  ]
}
