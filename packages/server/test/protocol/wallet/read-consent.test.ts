import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT_TEMPLATE,
  composeAccountMessage,
  composeEndEverythingMessage,
  END_EVERYTHING_TEMPLATE,
} from '../../../src/protocol/wallet/account-message.ts'
import { privateUseScheme } from '../../../src/protocol/wallet/consent-message.ts'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { readConsent, recapContradicts } from '../../../src/protocol/wallet/read-consent.ts'
import { encodeRecap, translateRecap } from '../../../src/protocol/wallet/recap.ts'
import { processorMs } from '../../support/processor-time.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { clientNames } from './arbitraries.ts'
import { anyConsent, composeConsent, exampleFields, thumbprint } from './consent-example.ts'

test('A consent reads as all of its fields and its grants', () => {
  const { template: _template, scopes: _scopes, resources: _resources, ...same } = exampleFields
  expect(readConsent(composeConsent())).toEqual({
    ...same,
    clientScheme: null,
    grants: [{ resource: 'https://api.example.com/', scopes: ['enhancement'] }],
  })
})

test('A consent to an app on the device reads back, with the template of today and with the earlier one', () => {
  const device = { redirectUri: 'com.example.app:/cb', clientHost: 'com.example.app' }
  for (const template of [2, 5]) expect(readConsent(composeConsent({ ...device, template }))).toMatchObject(device)
})

test('A statement about an app on the device is refused for a website, and the other way round', () => {
  const device = composeConsent({ redirectUri: 'com.example.app:/cb', clientHost: 'com.example.app', template: 5 })
  const words = '(an app on this device that opens com.example.app: links)'
  expect(device).toContain(words)
  expect(readConsent(device.replace('opens com.example.app:', 'opens com.example.other:'))).toBeNull()
  expect(readConsent(device.replace(words, 'at app.example.net'))).toBeNull()
  expect(readConsent(composeConsent().replace('at app.example.net', words))).toBeNull()
})

const pairs = {
  template: 7,
  scopes: ['openid', 'notes.read', 'files.read'],
  resources: ['https://notes.example.com/mcp', 'https://files.example.com/'],
  scopesByResource: {
    'https://notes.example.com/mcp': ['openid', 'notes.read'],
    'https://files.example.com/': ['openid', 'files.read'],
  },
}

test.each([
  ['a website', {}],
  ['an app on the device', { redirectUri: 'com.example.app:/cb', clientHost: 'com.example.app' }],
  ['an app that is not registered', { clientId: 'https://app.example.net/client.json' }],
])(
  'A consent to %s whose resources have different scopes reads back with each resource and its own scopes (ERC-5573)',
  (_app, changes) => {
    expect(readConsent(composeConsent({ ...changes, ...pairs }))).toMatchObject({
      ...changes,
      grants: [
        { resource: 'https://files.example.com/', scopes: ['files.read', 'openid'] },
        { resource: 'https://notes.example.com/mcp', scopes: ['notes.read', 'openid'] },
      ],
    })
  },
)

test('A text whose sentence pairs the scopes with other resources than its ReCap is no consent', () => {
  const text = composeConsent(pairs)
  const swapped = text.replace("'files.read', 'openid' for", "'notes.read', 'openid' for")
  expect(readConsent(swapped)).toBeNull()
  expect(recapContradicts(swapped)).toBe(true)
  expect(readConsent(text.replace("'files.read', 'openid' for", "'openid' for"))).toBeNull()
})

test('If all resources have the same scopes, template 7 has the bytes of the other templates', () => {
  const same = { scopes: ['openid'], resources: pairs.resources }
  expect(composeConsent({ ...same, template: 7 })).toBe(composeConsent(same))
})

test('Templates 2, 5 and 6 cannot be composed if the scopes of the resources differ', () => {
  for (const template of [2, 5, 6]) expect(() => composeConsent({ ...pairs, template })).toThrow('template unknown')
})

test('A resource without a scope of its own is a defect, and no text is composed', () => {
  const [notes = '', files = ''] = pairs.resources
  for (const scopesByResource of [{ [notes]: ['openid'] }, { [notes]: ['openid'], [files]: [] }])
    expect(() => composeConsent({ ...pairs, scopesByResource })).toThrow(RangeError)
})

test('A consent with a key thumbprint reads with it', () => {
  expect(readConsent(composeConsent({ keyThumbprint: thumbprint }))?.keyThumbprint).toBe(thumbprint)
})

test('Every consent that can be composed reads back with the values that it was composed from', () => {
  forAll(anyConsent, ({ template, clientName, scopes, resources, keyThumbprint, ...same }) => {
    const text = composeConsent({ ...same, template, clientName, scopes, resources, keyThumbprint })
    expect(readConsent(text)).toEqual({
      ...same,
      clientName: transliterateName(clientName),
      clientScheme: privateUseScheme(same.redirectUri),
      grants: resources.toSorted().map((resource) => ({ resource, scopes: scopes.toSorted() })),
      ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
    })
  })
})

test('Every text that reads as a consent composes to exactly the same bytes, so that it has one reading', () => {
  const edits = fc.record({
    at: fc.nat({ max: 1200 }),
    removed: fc.nat({ max: 3 }),
    inserted: fc.oneof(fc.constant(''), fc.string({ unit: 'binary', maxLength: 3 }), fc.constantFrom("'", '\n', ' ', 'a', '0')),
  })
  fc.assert(
    fc.property(edits, ({ at, removed, inserted }) => {
      const text = composeConsent()
      const edited = text.slice(0, at) + inserted + text.slice(at + removed)
      const consent = readConsent(edited)
      if (consent === null) return
      const { grants, ...fields } = consent
      expect(
        composeConsent({ ...fields, scopes: grants[0]?.scopes ?? [], resources: grants.map(({ resource }) => resource) }),
      ).toBe(edited)
    }),
    { numRuns: runs * 10 },
  )
})

test('Any other text is not a consent, and reading it never throws', () => {
  const headed = clientNames.map((text) => `${composeConsent()}${text}x`)
  forAll(fc.oneof(clientNames, headed), (text) => {
    expect(readConsent(text)).toBeNull()
  })
})

test('A very long text is refused quickly', () => {
  const spent = processorMs(() => {
    for (const filler of ["'oauth': '", "Allow '", '\n', 'urn:recap:', ' I further authorize the stated URI', '%41', 'a']) {
      const text = composeConsent().replace('Allow', `Allow ${filler.repeat(150_000 / filler.length)}`)
      expect(readConsent(text)).toBeNull()
      expect(readConsent(filler.repeat(10_000_000 / filler.length))).toBeNull()
    }
  })
  expect(spent).toBeLessThan(2_000)
})

test('The texts of the other templates are not consents', () => {
  const expiresAt = exampleFields.until
  const uri = exampleFields.redirectUri
  for (const [template, compose] of [
    [ACCOUNT_TEMPLATE, composeAccountMessage],
    [END_EVERYTHING_TEMPLATE, composeEndEverythingMessage],
  ] as const) {
    const text = compose({ ...exampleFields, template, loginUrl: uri, expiresAt })
    expect(text).toContain(' wants you to sign in with your Ethereum account:')
    expect(readConsent(text ?? '')).toBeNull()
  }
})

describe('Changed lines of a consent', () => {
  const text = composeConsent()
  const lines = text.split('\n')

  test.each(lines.map((line, i) => [i, line]))(
    'A consent with line %i removed, doubled or swapped with the next one is not a consent: %s',
    (i) => {
      expect(readConsent(lines.toSpliced(i, 1).join('\n'))).toBeNull()
      expect(readConsent(lines.toSpliced(i, 0, lines[i] ?? '').join('\n'))).toBeNull()
      const swapped = lines.toSpliced(i, 2, lines[i + 1] ?? 'x', lines[i] ?? '').join('\n')
      expect(readConsent(swapped)).toBeNull()
    },
  )

  test.each([
    ['a carriage return', text.replaceAll('\n', '\r\n')],
    ['a newline at the end', `${text}\n`],
    ['a newline in front', `\n${text}`],
    ['a byte order mark', `\ufeff${text}`],
    ['two spaces', text.replace('Chain ID: ', 'Chain ID:  ')],
    ['a space at the end', `${text} `],
    ['a no-break space', text.replace('Chain ID: ', 'Chain ID:\u00a0')],
    ['a tab', text.replace('Nonce: ', 'Nonce:\t')],
    ['an invisible space', text.replace('MyApp', 'My\u200bApp')],
    ['a Cyrillic а', text.replace("'MyApp' at app", "'MyApp' at аpp")],
    ['a Cyrillic А in the name', text.replace('MyApp', 'MyАpp')],
    ['a full-width digit', text.replace('Chain ID: 1', 'Chain ID: １')],
    ['a full-width colon', text.replace('Nonce:', 'Nonce：')],
    ['a line separator', text.replace('\nVersion', '\u2028Version')],
    ['a right-to-left override', text.replace('app.example.net to', '\u202eapp.example.net to')],
    ['a lower-case address', text.replace(exampleFields.address, exampleFields.address.toLowerCase())],
    ['a wrong checksum', text.replace('0xf39Fd', '0xF39Fd')],
    ['a chain id with a zero in front', text.replace('Chain ID: 1', 'Chain ID: 01')],
    ['a chain id in other digits', text.replace('Chain ID: 1', 'Chain ID: 0x1')],
    ['a time with milliseconds', text.replace('T12:00:00Z', 'T12:00:00.000Z')],
    ['a time in another zone', text.replace('Issued At: 2026-11-20T12:00:00Z', 'Issued At: 2026-11-20T13:00:00+01:00')],
    ['a scheme', `https://${text}`],
    ['Not Before', text.replace('\nRequest ID', '\nNot Before: 2026-11-20T12:00:00Z\nRequest ID')],
    ['a further resource', text.replace('\n- urn:recap', '\n- https://bank.example/\n- urn:recap')],
    ['a second ReCap', `${text}\n${text.split('\n').at(-1)}`],
    ['base64 padding', `${text}=`],
  ])('A text is not a consent if it differs from one by %s', (_, other) => {
    expect(other).not.toBe(text)
    expect(readConsent(other)).toBeNull()
  })
})

describe('Consents with a contradiction', () => {
  const text = composeConsent()
  const wide = { scopes: ['enhancement', 'payments'], resources: exampleFields.resources }

  test('A text is not a consent if its statement names another host than its URI', () => {
    expect(readConsent(text.replace('at app.example.net', 'at bank.example'))).toBeNull()
  })

  test('A text is not a consent if its statement names another day than Expiration Time', () => {
    expect(readConsent(text.replace('until 2026-12-20', 'until 2026-11-21'))).toBeNull()
  })

  test('A text is not a consent if its URI and its Resources name different redirect URIs', () => {
    expect(readConsent(text.replace('- https://app.example.net/callback', '- https://app.example.net/other'))).toBeNull()
  })

  test('A text is not a consent if its statement allows more scopes on one resource than on another', () => {
    const sentence = translateRecap({ scopes: ['enhancement'], resources: ['https://api.example.com/', 'urn:b'] })
    const uneven = sentence.replace("'enhancement' for 'urn:b'", "'enhancement', 'payments' for 'urn:b'")
    expect(readConsent(text.replace(translateRecap(exampleFields), uneven))).toBeNull()
  })

  test('A ReCap that allows more than the statement is not a consent, and is reported as contradictory (ERC-5573)', () => {
    const contradictory = text.replace(encodeRecap(exampleFields), encodeRecap(wide))
    expect(readConsent(contradictory)).toBeNull()
    expect(recapContradicts(contradictory)).toBe(true)
  })

  test('A statement that allows more than the ReCap is not a consent, and is reported as contradictory (ERC-5573)', () => {
    const contradictory = text.replace(translateRecap(exampleFields), translateRecap(wide))
    expect(readConsent(contradictory)).toBeNull()
    expect(recapContradicts(contradictory)).toBe(true)
  })

  test('A consent without a contradiction is not reported as contradictory, nor is any other text', () => {
    expect(recapContradicts(text)).toBe(false)
    expect(recapContradicts(text.replace('MyApp', 'MyАpp'))).toBe(false)
    expect(recapContradicts('')).toBe(false)
  })

  test.each([
    ['an additional key', { att: { 'https://api.example.com/': { 'oauth/enhancement': [{}] } }, prf: [] }],
    ['a restriction', { att: { 'https://api.example.com/': { 'oauth/enhancement': [{ limit: 1 }] } } }],
    ['an empty list of restrictions', { att: { 'https://api.example.com/': { 'oauth/enhancement': [] } } }],
    ['another namespace', { att: { 'https://api.example.com/': { 'crud/enhancement': [{}] } } }],
  ])('A text is not a consent if its ReCap has %s', (_, details) => {
    const uri = `urn:recap:${Buffer.from(JSON.stringify(details)).toString('base64url')}`
    expect(readConsent(text.replace(encodeRecap(exampleFields), uri))).toBeNull()
  })

  test('A text is not a consent if its ReCap has the same content in another JSON notation', () => {
    const spaced = Buffer.from('{"att": {"https://api.example.com/": {"oauth/enhancement": [{}]}}}').toString('base64url')
    expect(readConsent(text.replace(/urn:recap:.*$/, `urn:recap:${spaced}`))).toBeNull()
  })
})
