/** The data of pages, for tests of pages. If `text` is given, each text from outside is `text`. */

import type { AccountView } from '../../src/pages/account/account-page.ts'
import type { ShownLimit } from '../../src/pages/account/limit-rows.ts'
import type { ApprovalReceiptView, ReceiptView } from '../../src/pages/account/receipt-page.ts'
import type { ApprovalPage } from '../../src/pages/approval/approval-page.ts'
import type { LoginRequest } from '../../src/pages/login-request.ts'
import { OWN_DESCRIPTIONS } from '../../src/protocol/oauth/own-descriptions.ts'

/** 15 January 2027, 08:00 UTC. */
export const NOW = 1_800_000_000
const DAY = 86_400
const RESUME_URL = `https://auth.example.com/login/resume?login_challenge=${'aB3_-x9'.repeat(70)}`

const enhancement = { name: 'enhancement', description: OWN_DESCRIPTIONS.enhancement }
const profile = { name: 'profile', description: OWN_DESCRIPTIONS.profile }

export function loginRequest(text?: string): LoginRequest {
  return {
    purpose: 'app',
    clientName: text ?? 'Aurora Notes',
    clientHost: text ?? 'app.example.net',
    scopes: text === undefined ? [enhancement, profile] : [{ name: text, description: text }, profile],
    mayChooseScopes: true,
    resources: text === undefined ? [] : [text, 'https://files.example.com/'],
    until: NOW + 30 * DAY,
    chainIds: [1],
    expiresAt: NOW + 600,
    resumeUrl: `${RESUME_URL}${text ?? ''}`,
  }
}

export function accountView(text?: string): AccountView {
  const receipt = { issuedAt: NOW - 3 * DAY, until: NOW + 27 * DAY, withdrawn: false }
  return {
    walletShort: text ?? '0xf39F…2266',
    walletName: text ?? 'aurora.eth',
    signedIn: 'signature',
    done: 'app_ended',
    now: NOW,
    apps: {
      more: null,
      rows: [
        {
          clientId: text ?? '9b2b8f0e-6f0c-4a55-9a0c-1d6cf0a2a7a1',
          name: text ?? 'Aurora Notes',
          clientHost: text ?? 'app.example.net',
          scopes: text === undefined ? [enhancement, profile] : [{ name: text, description: text }],
          since: NOW - 3 * DAY,
          until: NOW + 27 * DAY,
          lastRenewed: NOW - 240,
          limits: [
            { ...shownLimit(text), receiptId: text ?? 'first' },
            { ...shownLimit(text), limit: { uses: 3 }, left: { uses: 2, amount: null }, until: null, receiptId: null },
          ],
          receipts: [
            { ...receipt, id: text ?? 'first' },
            { ...receipt, id: 'second', until: NOW - DAY },
            { ...receipt, id: 'third', withdrawn: true },
          ],
          moreReceipts: null,
        },
        {
          clientId: '0b7f4d3e-1f0b-4d5c-8a53-5b7c3f1e2d60',
          name: text ?? 'Harbour Maps',
          clientHost: text ?? 'maps.harbour.example',
          scopes: [profile],
          since: NOW - 400 * DAY,
          until: NOW + DAY,
          lastRenewed: NOW - 5 * DAY,
          limits: [],
          receipts: [],
          moreReceipts: null,
        },
      ],
    },
    ended: {
      more: null,
      rows: [
        {
          ...receipt,
          clientId: text ?? 'ended',
          id: 'fourth',
          withdrawn: true,
          name: text ?? 'Old Photos',
          clientHost: text ?? 'photos.example',
        },
      ],
    },
    sessions: {
      more: null,
      rows: [
        {
          handle: 'here',
          current: true,
          browser: 'Safari/iPhone',
          since: NOW - 5 * 3600,
          lastSeen: NOW - 10,
          until: NOW + 13 * DAY,
          chainId: 1,
        },
        {
          handle: text ?? 'there',
          current: false,
          browser: 'Firefox/Windows',
          since: NOW - 3 * DAY,
          lastSeen: NOW - 7200,
          until: NOW + 11 * DAY,
          chainId: 8453,
        },
      ],
    },
  }
}

/** A limit of the usual size, of which one use is counted. */
export function shownLimit(text?: string): ShownLimit {
  return {
    scope: text === undefined ? enhancement : { name: text, description: text },
    limit: { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5000 },
    used: { uses: 1, amount: 4500 },
    left: { uses: 19, amount: 45_500 },
    until: NOW + 4 * DAY,
  }
}

/** A receipt with a limit and one page of its uses. */
export function limitedReceiptView(text?: string): ReceiptView {
  const { scope, limit } = shownLimit(text)
  const draw = { at: NOW - 3600, amount: 4500, returned: null }
  return {
    ...receiptView(text),
    limit: { scope, limit },
    counted: {
      ...shownLimit(text),
      draws: [
        { ...draw, number: 23 },
        { ...draw, number: 22, returned: 500 },
      ],
      isFirst: true,
      more: 22,
      isOver: false,
    },
  }
}

/** The text of a consent as the service composes it. Its ReCap makes long lines (ERC-5573). */
export const CONSENT_TEXT = `login.example.com wants you to sign in with your Ethereum account:
0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266

Allow 'Aurora Notes' at app.example.net until 2027-02-14. No gas, no transfer. I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement+profile' for 'https://api.example.com/'.

URI: https://app.example.net/callback
Version: 1
Chain ID: 1
Nonce: b7789b86f41118b621a3c5
Issued At: 2027-01-15T08:00:00Z
Expiration Time: 2027-02-14T08:00:00Z
Resources:
- urn:uuid:9b2b8f0e-6f0c-4a55-9a0c-1d6cf0a2a7a1
- urn:recap:eyJhdHQiOnsiaHR0cHM6Ly9hcGkuZXhhbXBsZS5jb20vIjp7Im9hdXRoL2VuaGFuY2VtZW50K3Byb2ZpbGUiOlt7fV19fX0`

export function receiptView(text?: string): ReceiptView {
  return {
    id: text ?? 'first',
    clientName: text ?? 'Aurora Notes',
    clientHost: text ?? 'app.example.net',
    scopes: text === undefined ? [enhancement, profile] : [{ name: text, description: text }],
    resources: [text ?? 'https://api.example.com/'],
    issuedAt: NOW - 3 * DAY,
    until: NOW + 27 * DAY,
    withdrawn: false,
    message: text ?? CONSENT_TEXT,
    signature: text ?? `0x${'a1b2c3d4'.repeat(16)}1b`,
    chainId: 1,
    walletShort: text ?? '0xf39F…2266',
    now: NOW,
  }
}

/** The longest summary, in words that imitate the service. */
export const LONG_SUMMARY =
  'Approved. You can close this page, and your wallet is safe. No gas, no transfer. The app asks to see your picture again.'
export const LONG_HOST = 'api.payments-and-enhancements.eu-central-1.production.aurora-platform.example.com'

const SUMMARY = 'Enhance item 7 to level 3, for 120 gold'

export function approvalView(text?: string): ApprovalPage {
  return {
    action: text ?? '/approve/x',
    clientName: text ?? 'Aurora Notes',
    clientHost: text ?? '',
    summary: text ?? SUMMARY,
    api: text ?? 'api.example.com',
    scope: text === undefined ? enhancement : { name: text, description: text },
    actors: text === undefined ? [] : [text, text].map((clientName) => ({ clientName, clientHost: '' })),
    userCode: 'WDJB-MJHT',
    walletShort: text ?? '0xf39F…2266',
    expiresAt: NOW + 560,
    now: NOW,
  }
}

/** What an account page has about approvals. */
export function approvalsOfAccount(text?: string): Pick<AccountView, 'waiting' | 'approved'> {
  const asked = { clientName: text ?? 'Aurora Notes', summary: text ?? SUMMARY, api: text ?? 'api.example.com' }
  const before = {
    clientId: '9b2b8f0e-6f0c-4a55-9a0c-1d6cf0a2a7a1',
    clientName: text ?? 'Aurora Notes',
    summary: text ?? 'Send 10 gold to Bob',
    api: text ?? 'api.example.com',
  }
  return {
    waiting: [{ ...asked, clientHost: '', href: text ?? '/approve/x', until: NOW + 560 }],
    approved: { more: null, rows: [{ ...before, id: text ?? 'approval', issuedAt: NOW - DAY }] },
  }
}

export function approvalReceiptView(text?: string): ApprovalReceiptView {
  const { id, message, signature, walletShort, issuedAt, chainId } = receiptView(text)
  const { clientName, summary, api, scope } = approvalView(text)
  return { id, message, signature, walletShort, issuedAt, chainId, clientName, summary, api, scope }
}

/** The login that signs an action. */
export function approvalLogin(text?: string): LoginRequest {
  const { summary, api } = approvalView(text)
  return {
    ...loginRequest(text),
    purpose: 'approval',
    clientHost: '',
    scopes: [],
    mayChooseScopes: false,
    resources: [],
    resumeUrl: 'https://auth.example.com/approve/x',
    loginHint: text ?? '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    approval: { summary, api },
  }
}
