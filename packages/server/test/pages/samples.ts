/** The data of pages, for tests of pages. If `text` is given, each text from outside is `text`. */

import type { AccountView } from '../../src/pages/account/account-page.ts'
import type { ReceiptView } from '../../src/pages/account/receipt-page.ts'
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
          lastUsed: NOW - 240,
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
          lastUsed: NOW - 5 * DAY,
          receipts: [],
          moreReceipts: null,
        },
      ],
    },
    ended: {
      more: null,
      rows: [{ ...receipt, id: 'fourth', withdrawn: true, name: text ?? 'Old Photos', clientHost: text ?? 'photos.example' }],
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
