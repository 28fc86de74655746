/** Template 6: the text for an app that no operator registered. */
import { expect, test } from 'vitest'
import { composeConsentMessage, METADATA_TEMPLATE, WEBSITE_TEMPLATE } from '../../../src/protocol/wallet/consent-message.ts'
import { readConsent } from '../../../src/protocol/wallet/read-consent.ts'
import { describeVerdict } from '../../../src/protocol/wallet/receipt-words.ts'

const FIELDS = {
  template: METADATA_TEMPLATE,
  domain: 'login.example.com',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  chainId: 1,
  nonce: 'a'.repeat(32),
  issuedAt: 1_790_000_000,
  requestId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  clientName: 'Agent Tools',
  clientHost: '127.0.0.1:33418',
  clientId: 'https://agent.example/oauth/client.json',
  redirectUri: 'http://127.0.0.1:33418/callback',
  scopes: ['openid', 'wallet'],
  resources: ['https://mcp.example.com/mcp'],
  until: 1_792_592_000,
} as const

const HASH = `ni:///sha-256;${'A'.repeat(43)}`
const at = (redirectUri: string, clientHost: string) => ({ redirectUri, clientHost })

test.each([
  ['an agent on this device', {}, "the app of agent.example (it calls itself 'Agent Tools')", 'a program on this device'],
  ['without a name', { clientName: '' }, 'the app of agent.example', 'a program on this device'],
  [
    'a web app',
    at('https://agent.example/cb', 'agent.example'),
    "the app of agent.example (it calls itself 'Agent Tools')",
    'agent.example',
  ],
  [
    'a scheme',
    at('com.example.app:/cb', 'com.example.app'),
    "the app of agent.example (it calls itself 'Agent Tools')",
    'an app on this device that opens com.example.app: links',
  ],
  [
    'self-registered',
    { clientId: HASH },
    "an app that registered itself (it calls itself 'Agent Tools')",
    'a program on this device',
  ],
] as const)(
  'The text names the publisher, the name and the destination of the answer, and can be read back: %s',
  (_, more, app, to) => {
    const fields = { ...FIELDS, ...more }
    const message = composeConsentMessage(fields) ?? ''
    expect(message).toContain(
      `\nAllow ${app} to do only what follows, until 2026-10-21 (UTC). The answer goes to ${to}. Signing costs no gas`,
    )
    expect(readConsent(message)).toMatchObject({
      clientId: fields.clientId,
      clientName: fields.clientName,
      redirectUri: fields.redirectUri,
      grants: [{ resource: 'https://mcp.example.com/mcp', scopes: ['openid', 'wallet'] }],
    })
  },
)

test('A text is not read if one word differs: another publisher, another destination, or the words of a registered app', () => {
  const message = composeConsentMessage(FIELDS) ?? ''
  for (const changed of [
    message.replace('agent.example (', 'bank.example ('),
    message.replace('a program on this device', 'agent.example'),
    message.replace("the app of agent.example (it calls itself 'Agent Tools')", "'Agent Tools' at 127.0.0.1:33418"),
  ]) {
    expect(changed).not.toBe(message)
    expect(readConsent(changed)).toBeNull()
  }
})

test('No text of a registered app is composed for a client id that is a URL', () => {
  expect(() => composeConsentMessage({ ...FIELDS, template: WEBSITE_TEMPLATE })).toThrow(RangeError)
  expect(composeConsentMessage({ ...FIELDS, clientId: '7c9e6679-7425-40de-944b-e07fc1f90ae7' })).toBeNull()
})

test('The words about a receipt name the publisher and say that the name is the app’s own', () => {
  const consent = readConsent(composeConsentMessage(FIELDS) ?? '')
  if (!consent) throw new Error('the text cannot be read')
  const { facts } = describeVerdict({ kind: 'holds', consent, expired: false, wallet: 'ordinary' }, { callsChain: false })
  expect(facts).toContainEqual(['Allowed', "the app of agent.example, which calls itself 'Agent Tools'"])
})
