/** The fields of a consent: the names, redirect URIs and permissions that its text can contain. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hostOf, privateUseScheme, publisherOf } from '../../../src/protocol/wallet/app-place.ts'
import { isSignableUri } from '../../../src/protocol/wallet/message-grammar.ts'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import type { ShortConsentFields } from '../../../src/protocol/wallet/short-consent.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { clientNames, privateRedirectUris, webRedirectUris } from './arbitraries.ts'
import { anyShortConsent, composeShort } from './consent-example.ts'
import { parseWithBoth } from './parse-with-both.ts'

const plainWords =
  /^Allow (?:'(?<name>[A-Za-z0-9&+ -]{1,40})'|the app) (?:at (?<host>[A-Za-z0-9.:[\]_-]+)|\(an app that opens (?<scheme>[A-Za-z0-9.+-]+): links\)) until (?<until>\d{4}-\d\d-\d\d)\. (?:Limit: [A-Za-z0-9._-]+ at most [A-Za-z0-9., ]+\. )?(?:Gives access to the browser that shows the code WDJB-MJHT\. )?No gas, no transfer\. I further authorize /

test("The statement of any consent to a registered app with a redirect URI begins with the app's name, its host or scheme, and the last day", () => {
  const named = anyShortConsent.filter(({ clientId, redirectUri }) => redirectUri !== undefined && publisherOf(clientId) === null)
  forAll(named, (fields) => {
    const { clientName, redirectUri = '', until } = fields
    const said = plainWords.exec(parseWithBoth(composeShort(fields)).statement ?? '')?.groups
    const scheme = privateUseScheme(redirectUri)
    expect(said?.name ?? '').toBe(transliterateName(clientName))
    expect(said?.scheme).toBe(scheme ?? undefined)
    if (scheme === null) expect(said?.host).toBe(hostOf(redirectUri).replaceAll(/[^A-Za-z0-9.:[\]-]/g, '_'))
    expect(Date.parse(said?.until ?? '') / 1000).toBe(until - (until % 86_400))
  })
})

test('The order of scopes and resources does not change the text of a consent', () => {
  const scopes = ['read', 'write', 'enhancement']
  const resources = ['https://b.example/', 'https://a.example/']
  expect(composeShort({ scopes: scopes.toReversed(), resources: resources.toReversed() })).toBe(
    composeShort({ scopes, resources }),
  )
})

test('An app whose name has no Latin form is named by its host only', () => {
  expect(parseWithBoth(composeShort({ clientName: '支付宝' })).statement).toMatch(/^Allow the app at app\.example\.net until /)
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
      expect(parseWithBoth(composeShort({ redirectUri })).uri).toBe(redirectUri)
    })
  })

  test.each([
    ['https://APP.example.net:443/cb', 'at app.example.net'],
    ['http://[::1]:8080/cb', 'at [::1]:8080'],
    ['https://a%2eb.example/', 'at a.b.example'],
    ["https://it's.example/", 'at it_s.example'],
    ['https://a.example:000080/', 'at a.example:80'],
    ['com.example.app:/cb', '(an app that opens com.example.app: links)'],
    ['com.example.app:///cb', '(an app that opens com.example.app: links)'],
  ])('A consent for redirect URI %s names the app in its statement as one %s', (redirectUri, named) => {
    expect(parseWithBoth(composeShort({ redirectUri })).statement).toContain(` ${named} until `)
  })

  test.each(['com.example.app://u@bank.example/', 'com.example.app:/a[b]', 'com.example.app:?q', 'com.example.app://'])(
    'The redirect URI %s cannot stand in a consent',
    (uri) => {
      expect(isSignableUri(uri)).toBe(false)
    },
  )
})

describe('Consent fields that the grammar does not allow', () => {
  const unfit: [keyof ShortConsentFields, unknown[]][] = [
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
      expect(() => composeShort({ [field]: content })).toThrow(RangeError)
    },
  )

  test('Any app name can be composed into a consent', () => {
    forAll(clientNames, (clientName) => {
      expect(composeShort({ clientName })).toMatch(/^login\.example\.com wants you to sign in/)
    })
  })
})
