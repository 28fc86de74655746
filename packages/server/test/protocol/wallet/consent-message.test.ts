import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ConsentFields, composeConsentMessage, DEVICE_TEMPLATE } from '../../../src/protocol/wallet/consent-message.ts'
import { isSignableUri } from '../../../src/protocol/wallet/message-grammar.ts'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { clientNames, privateRedirectUris, webRedirectUris } from './arbitraries.ts'
import { anyConsent, composeConsent, exampleFields, thumbprint } from './consent-example.ts'
import { parseWithBoth } from './parse-with-both.ts'
import { decodeRecapUri, translate } from './recap-reference.ts'

test('Consent template 2 never changes its text, so that old receipts can always be read', () => {
  expect(composeConsent()).toBe(
    [
      'login.example.com wants you to sign in with your Ethereum account:',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '',
      "Allow 'MyApp' at app.example.net to do only what follows, until 2026-12-20 (UTC). Signing costs no gas and makes no transfer. I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement' for 'https://api.example.com/'.",
      '',
      'URI: https://app.example.net/callback',
      'Version: 1',
      'Chain ID: 1',
      'Nonce: k3J9dQ0vXb2LmN8sTz5RaY7w',
      'Issued At: 2026-11-20T12:00:00Z',
      'Expiration Time: 2026-12-20T12:00:00Z',
      'Request ID: 7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90',
      'Resources:',
      '- https://app.example.net/callback',
      '- urn:uuid:0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
      '- urn:recap:eyJhdHQiOnsiaHR0cHM6Ly9hcGkuZXhhbXBsZS5jb20vIjp7Im9hdXRoL2VuaGFuY2VtZW50Ijpbe31dfX19',
    ].join('\n'),
  )
})

test('A bound key is one more resource before the ReCap (RFC 9278)', () => {
  expect(composeConsent({ keyThumbprint: thumbprint })).toBe(
    composeConsent().replace('\n- urn:recap:', `\n- urn:ietf:params:oauth:jwk-thumbprint:sha-256:${thumbprint}\n- urn:recap:`),
  )
})

test('Both parsers read every field of any consent back exactly (ERC-4361)', () => {
  forAll(anyConsent, (fields) => {
    const parsed = parseWithBoth(composeConsent(fields))
    expect(parsed).toMatchObject({
      domain: fields.domain,
      address: fields.address,
      uri: fields.redirectUri,
      version: '1',
      chainId: fields.chainId,
      nonce: fields.nonce,
      requestId: fields.requestId,
    })
    expect(Date.parse(parsed.issuedAt) / 1000).toBe(fields.issuedAt)
    expect(Date.parse(parsed.expirationTime ?? '') / 1000).toBe(fields.until)
    expect([parsed.scheme, parsed.notBefore]).toEqual([undefined, undefined])
    const key = fields.keyThumbprint && `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${fields.keyThumbprint}`
    expect(parsed.resources?.slice(0, -1)).toEqual([
      fields.redirectUri,
      `urn:uuid:${fields.clientId}`,
      ...(key === undefined ? [] : [key]),
    ])
  })
})

test('Any consent passes the verification of ERC-5573: its statement ends with the translation of its last resource', () => {
  forAll(anyConsent, (fields) => {
    const { statement = '', resources = [] } = parseWithBoth(composeConsent(fields))
    expect(statement.endsWith(` ${translate(decodeRecapUri(resources.at(-1) ?? ''))}`)).toBe(true)
    expect(resources.filter((resource) => resource.startsWith('urn:recap:'))).toHaveLength(1)
  })
})

const plainWords =
  /^Allow (?:'(?<name>[A-Za-z0-9&+ -]{1,40})'|the app) (?:at (?<host>[A-Za-z0-9.:[\]_-]+)|\(an app on this device that opens (?<scheme>[A-Za-z0-9.+-]+): links\)) to do only what follows, until (?<until>\d{4}-\d\d-\d\d) \(UTC\)\. Signing costs no gas and makes no transfer\. I further authorize /

test("The statement of any consent begins with the app's name, its host or scheme, and the last day", () => {
  forAll(anyConsent, (fields) => {
    const said = plainWords.exec(parseWithBoth(composeConsent(fields)).statement ?? '')?.groups
    expect(said?.name ?? '').toBe(transliterateName(fields.clientName))
    if (fields.template === DEVICE_TEMPLATE) expect(said?.scheme).toBe(fields.clientHost)
    else expect(said?.host).toBe(fields.clientHost.replaceAll(/[^A-Za-z0-9.:[\]-]/g, '_'))
    expect(Date.parse(said?.until ?? '') / 1000).toBe(fields.until - (fields.until % 86_400))
  })
})

test('The order of scopes and resources does not change the text of a consent', () => {
  const scopes = ['read', 'write', 'enhancement']
  const resources = ['https://b.example/', 'https://a.example/']
  expect(composeConsent({ scopes: scopes.toReversed(), resources: resources.toReversed() })).toBe(
    composeConsent({ scopes, resources }),
  )
})

test('A consent with an unknown template number gives no text', () => {
  for (const template of [0, 1, 3, 4, -1, 1.5, Number.NaN, '2', '__proto__', undefined]) {
    expect(composeConsentMessage({ ...exampleFields, template: template as number })).toBeNull()
  }
})

test('Template 5 never changes its text; it differs from template 2 in the words for an app on the device (RFC 8252 §7.1)', () => {
  const device = { redirectUri: 'login.bank.example:/callback', clientHost: 'login.bank.example' }
  const text = composeConsent({ ...device, template: 5 })
  expect(text.split('\n')[3]).toBe(
    "Allow 'MyApp' (an app on this device that opens login.bank.example: links) to do only what follows, until 2026-12-20 (UTC). Signing costs no gas and makes no transfer. I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement' for 'https://api.example.com/'.",
  )
  expect(text).not.toContain(' at login.bank.example')
  const older = composeConsent({ ...device, template: 2 })
  expect(older.split('\n').toSpliced(3, 1)).toEqual(text.split('\n').toSpliced(3, 1))
})

test('Template 5 gives no text for a website', () => {
  expect(composeConsentMessage({ ...exampleFields, template: 5 })).toBeNull()
})

test('An app whose name has no Latin form is named by its host only', () => {
  expect(parseWithBoth(composeConsent({ clientName: '支付宝' })).statement).toMatch(/^Allow the app at app\.example\.net to do /)
})

describe('Redirect URIs in a consent', () => {
  test('Every redirect URI of a web app that can be registered can stand in a consent', () => {
    fc.assert(
      fc.property(webRedirectUris, (uri) => isSignableUri(uri)),
      { numRuns: runs * 3 },
    )
  })

  test("Both parsers accept a consent with any native app's redirect URI that counts as signable", () => {
    forAll(privateRedirectUris.filter(isSignableUri), (redirectUri) => {
      const clientHost = redirectUri.slice(0, redirectUri.indexOf(':'))
      for (const template of [2, 5])
        expect(parseWithBoth(composeConsent({ template, redirectUri, clientHost })).uri).toBe(redirectUri)
    })
  })

  test.each([
    ['https://APP.example.net:443/cb', 'app.example.net', 'app.example.net'],
    ['http://[::1]:8080/cb', '[::1]:8080', '[::1]:8080'],
    ['https://a%2eb.example/', 'a.b.example', 'a.b.example'],
    ["https://it's.example/", "it's.example", 'it_s.example'],
    ['https://a.example:000080/', 'a.example:80', 'a.example:80'],
    ['com.example.app:/cb', 'com.example.app', 'com.example.app'],
    ['com.example.app:///cb', 'com.example.app', 'com.example.app'],
  ])('A consent for redirect URI %s has the host %s in its statement', (redirectUri, clientHost, named) => {
    expect(parseWithBoth(composeConsent({ redirectUri, clientHost })).statement).toContain(` at ${named} to do `)
  })

  test.each(['com.example.app://u@bank.example/', 'com.example.app:/a[b]', 'com.example.app:?q', 'com.example.app://'])(
    'The redirect URI %s cannot stand in a consent',
    (uri) => {
      expect(isSignableUri(uri)).toBe(false)
    },
  )
})

describe('Consent fields that the grammar does not allow', () => {
  const unfit: [keyof ConsentFields, unknown[]][] = [
    ['clientHost', ['', 'bank.example', 'app.example.net:443', 'APP.example.net']],
    ['clientId', ['', 'app', '0f8c9a3e4f0b4c8e9a515b1c3e9d7a20', '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20\n']],
    ['redirectUri', ['', '/cb', 'https://app.example.net/\n', 'https://app.example.net/é', 'https://u@app.example.net/']],
    ['scopes', [[], ['a b'], ["a'"]]],
    ['resources', [[], ['/a'], ["https://a.example/'"]]],
    ['keyThumbprint', ['', 'a'.repeat(42), `${'a'.repeat(42)}=`]],
    ['until', [-1, 0.5, Number.NaN, 253_402_300_800]],
    ['address', ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', `0x${'0'.repeat(40)}`]],
    ['nonce', ['', 'a'.repeat(21)]],
  ]

  test.each(unfit.flatMap(([field, contents]) => contents.map((content) => [field, content] as const)))(
    'Composing a consent throws a RangeError for the field %s: %j',
    (field, content) => {
      expect(() => composeConsent({ [field]: content })).toThrow(RangeError)
    },
  )

  test('Any app name can be composed into a consent', () => {
    forAll(clientNames, (clientName) => {
      expect(composeConsent({ clientName })).toMatch(/^login\.example\.com wants you to sign in/)
    })
  })
})
