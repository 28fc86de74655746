/** Template 9: the text with which a wallet gives access to a device (RFC 8628). */
import { ParsedMessage } from '@spruceid/siwe-parser'
import { describe, expect, test } from 'vitest'
import { parseAddress } from '../../../src/protocol/wallet/address.ts'
import { composeDeviceConsent, type DeviceConsentFields } from '../../../src/protocol/wallet/device-consent.ts'
import { readConsent, recapContradicts } from '../../../src/protocol/wallet/read-consent.ts'

const parsed = parseAddress('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
if (parsed.kind !== 'address') throw new Error('not an address')

const FIELDS: DeviceConsentFields = {
  template: 9,
  domain: 'login.example.com',
  address: parsed.address,
  chainId: 1,
  nonce: '0123456789abcdef0123456789abcdef',
  issuedAt: 1_800_000_000,
  requestId: '11111111-2222-8333-a444-555555555555',
  clientName: 'Acme CLI',
  clientId: '6f9619ff-8b86-4011-b42d-00c04fc964ff',
  userCode: 'WDJB-MJHT',
  scopes: ['profile', 'enhancement'],
  resources: ['https://api.example.com/'],
  until: 1_802_592_000,
}

function compose(more: Partial<DeviceConsentFields> = {}): string {
  return composeDeviceConsent({ ...FIELDS, ...more }) ?? ''
}

describe('The text with which a wallet gives access to a device', () => {
  test('The text that gives access to a device names the app, the end, the code, the scopes and the client, to the letter', () => {
    expect(compose()).toBe(`login.example.com wants you to sign in with your Ethereum account:
0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266

Allow 'Acme CLI' to do only what follows, until 2027-02-14 (UTC). The access goes to the device that shows the code WDJB-MJHT. Signing costs no gas and makes no transfer. I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement', 'profile' for 'https://api.example.com/'.

URI: urn:uuid:6f9619ff-8b86-4011-b42d-00c04fc964ff
Version: 1
Chain ID: 1
Nonce: 0123456789abcdef0123456789abcdef
Issued At: 2027-01-15T08:00:00Z
Expiration Time: 2027-02-14T08:00:00Z
Request ID: 11111111-2222-8333-a444-555555555555
Resources:
- urn:uuid:6f9619ff-8b86-4011-b42d-00c04fc964ff
- urn:recap:eyJhdHQiOnsiaHR0cHM6Ly9hcGkuZXhhbXBsZS5jb20vIjp7Im9hdXRoL2VuaGFuY2VtZW50Ijpbe31dLCJvYXV0aC9wcm9maWxlIjpbe31dfX19`)
  })

  test('Wallets that follow ERC-4361 can parse it', () => {
    expect(new ParsedMessage(compose({ keyThumbprint: 'a'.repeat(43) }))).toMatchObject({
      domain: 'login.example.com',
      uri: 'urn:uuid:6f9619ff-8b86-4011-b42d-00c04fc964ff',
    })
  })

  test('An app that is not registered is named by the host of its metadata document', () => {
    const message = compose({ clientId: 'https://client.example/oauth/client.json' })
    expect(message).toContain(`Allow the app of client.example (it calls itself 'Acme CLI') to do only`)
    expect(message).toContain('URI: https://client.example/oauth/client.json\n')
  })

  test('An app whose name has no ASCII form is named by its id', () => {
    expect(compose({ clientName: '電話' })).toContain(`Allow the app with the id ${FIELDS.clientId} to do only`)
  })

  test.each<Partial<DeviceConsentFields>>([
    {},
    { clientName: '電話' },
    { clientId: 'https://client.example/oauth/client.json' },
    { clientId: 'http://localhost:4100/client.json', clientName: '' },
    { keyThumbprint: 'b'.repeat(43) },
    { scopes: ['openid'], resources: ['https://b.example/', 'https://a.example/'] },
  ])('A text with %j can be read again, and no changed text can', (more) => {
    const message = compose(more)
    expect(readConsent(message)).toMatchObject({ redirectUri: '', userCode: 'WDJB-MJHT', until: FIELDS.until })
    for (const [from, to] of [
      ['WDJB-MJHT', 'WDJB-MJHB'],
      ['WDJB-MJHT', 'wdjb-mjht'],
      ['no gas', 'little gas'],
      ['Resources:', 'Resources: '],
    ] as const) {
      const changed = message.replace(from, to)
      const read = readConsent(changed)
      if (to === 'WDJB-MJHB') expect(read?.userCode).toBe(to)
      else expect(read).toBeNull()
    }
    const otherRecap = compose({ ...more, scopes: ['admin'] })
      .split('\n')
      .at(-1)
    const contradicting = [...message.split('\n').slice(0, -1), otherRecap].join('\n')
    expect([readConsent(contradicting), recapContradicts(contradicting)]).toEqual([null, true])
  })

  test.each(['WDJBMJHT', 'AEIO-UAEI', 'WDJB-MJHT. Extra', ''])('A code such as %j is refused', (userCode) => {
    expect(() => compose({ userCode })).toThrow(RangeError)
  })

  test('Another template number has no text', () => {
    expect(composeDeviceConsent({ ...FIELDS, template: 10 })).toBeNull()
  })
})
