import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT_TEMPLATE,
  composeAccountMessage,
  composeEndEverythingMessage,
  END_EVERYTHING_TEMPLATE,
} from '../../../src/protocol/wallet/account-message.ts'
import { readConsent, recapContradicts } from '../../../src/protocol/wallet/read-consent.ts'
import { encodeRecap, translateRecap } from '../../../src/protocol/wallet/recap.ts'
import { processorMs } from '../../support/processor-time.ts'
import { forAll } from '../../support/property.ts'
import { clientNames } from './arbitraries.ts'
import { composeShort, shortFields, thumbprint } from './consent-example.ts'

test('A consent reads as all of its fields and its grants', () => {
  const { template: _template, scopes: _scopes, resources: _resources, ...same } = shortFields
  expect(readConsent(composeShort())).toEqual({
    ...same,
    clientHost: 'app.example.net',
    clientScheme: null,
    grants: [{ resource: 'https://api.example.com/', scopes: ['enhancement'] }],
  })
})

const opener = { redirectUri: 'com.example.app:/cb' }

test('A consent to an app on the device reads back with the scheme that opens the app, and without a host', () => {
  expect(readConsent(composeShort(opener))).toMatchObject({ ...opener, clientScheme: 'com.example.app' })
})

test('A statement about an app on the device is refused for a website, and the other way round', () => {
  const device = composeShort(opener)
  const words = '(an app that opens com.example.app: links)'
  expect(device).toContain(words)
  expect(readConsent(device.replace('opens com.example.app:', 'opens com.example.other:'))).toBeNull()
  expect(readConsent(device.replace(words, 'at app.example.net'))).toBeNull()
  expect(readConsent(composeShort().replace('at app.example.net', words))).toBeNull()
})

const pairs = {
  scopes: ['openid', 'notes.read', 'files.read'],
  resources: ['https://notes.example.com/mcp', 'https://files.example.com/'],
  scopesByResource: {
    'https://notes.example.com/mcp': ['openid', 'notes.read'],
    'https://files.example.com/': ['openid', 'files.read'],
  },
}

test.each([
  ['a website', {}],
  ['an app on the device', opener],
  ['an app that is not registered', { clientId: 'https://app.example.net/client.json' }],
])(
  'A consent to %s whose resources have different scopes reads back with each resource and its own scopes (ERC-5573)',
  (_app, changes) => {
    expect(readConsent(composeShort({ ...changes, ...pairs }))).toMatchObject({
      ...changes,
      grants: [
        { resource: 'https://files.example.com/', scopes: ['files.read', 'openid'] },
        { resource: 'https://notes.example.com/mcp', scopes: ['notes.read', 'openid'] },
      ],
    })
  },
)

test('A text whose sentence pairs the scopes with other resources than its ReCap is no consent', () => {
  const text = composeShort(pairs)
  const swapped = text.replace("'files.read+openid' for", "'notes.read+openid' for")
  expect(readConsent(swapped)).toBeNull()
  expect(recapContradicts(swapped)).toBe(true)
  expect(readConsent(text.replace("'files.read+openid' for", "'openid' for"))).toBeNull()
})

test('A resource without a scope of its own is a defect, and no text is composed', () => {
  const [notes = '', files = ''] = pairs.resources
  for (const scopesByResource of [{ [notes]: ['openid'] }, { [notes]: ['openid'], [files]: [] }])
    expect(() => composeShort({ ...pairs, scopesByResource })).toThrow(RangeError)
})

test('A consent with a key thumbprint reads with it', () => {
  expect(readConsent(composeShort({ keyThumbprint: thumbprint }))?.keyThumbprint).toBe(thumbprint)
})

test('Any other text is not a consent, and reading it never throws', () => {
  const headed = clientNames.map((text) => `${composeShort()}${text}x`)
  forAll(fc.oneof(clientNames, headed), (text) => {
    expect(readConsent(text)).toBeNull()
  })
})

test('A very long text is refused quickly', () => {
  const spent = processorMs(() => {
    for (const filler of [
      "'oauth': '",
      "Allow '",
      '\n',
      'urn:recap:',
      ' I further authorize the stated URI',
      ' Limit: a at most 1 times in all',
      '%41',
      'a',
    ]) {
      const text = composeShort().replace('Allow', `Allow ${filler.repeat(150_000 / filler.length)}`)
      expect(readConsent(text)).toBeNull()
      expect(readConsent(filler.repeat(10_000_000 / filler.length))).toBeNull()
    }
  })
  expect(spent).toBeLessThan(2_000)
})

test('The texts of the other templates are not consents', () => {
  const expiresAt = shortFields.until
  const uri = shortFields.redirectUri
  for (const [template, compose] of [
    [ACCOUNT_TEMPLATE, composeAccountMessage],
    [END_EVERYTHING_TEMPLATE, composeEndEverythingMessage],
  ] as const) {
    const text = compose({ ...shortFields, template, loginUrl: uri ?? '', expiresAt, requestId: 'a' })
    expect(text).toContain(' wants you to sign in with your Ethereum account:')
    expect(readConsent(text ?? '')).toBeNull()
  }
})

describe('Changed lines of a consent', () => {
  const text = composeShort()
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
    ['a right-to-left override', text.replace('app.example.net until', '\u202eapp.example.net until')],
    ['a lower-case address', text.replace(shortFields.address, shortFields.address.toLowerCase())],
    ['a wrong checksum', text.replace('0xf39Fd', '0xF39Fd')],
    ['a chain id with a zero in front', text.replace('Chain ID: 1', 'Chain ID: 01')],
    ['a chain id in other digits', text.replace('Chain ID: 1', 'Chain ID: 0x1')],
    ['a time with milliseconds', text.replace('T12:00:00Z', 'T12:00:00.000Z')],
    ['a time in another zone', text.replace('Issued At: 2026-11-20T12:00:00Z', 'Issued At: 2026-11-20T13:00:00+01:00')],
    ['a scheme', `https://${text}`],
    ['Not Before', text.replace('\nResources:', '\nNot Before: 2026-11-20T12:00:00Z\nResources:')],
    ['a further resource', text.replace('\n- urn:recap', '\n- https://bank.example/\n- urn:recap')],
    ['a second ReCap', `${text}\n${text.split('\n').at(-1)}`],
    ['base64 padding', `${text}=`],
  ])('A text is not a consent if it differs from one by %s', (_, other) => {
    expect(other).not.toBe(text)
    expect(readConsent(other)).toBeNull()
  })
})

describe('Consents with a contradiction', () => {
  const text = composeShort()
  const narrow = { ...shortFields, abilities: 'joined' } as const
  const wide = { ...narrow, scopes: ['enhancement', 'payments'] }

  test('A text is not a consent if its statement names another host than its URI', () => {
    expect(readConsent(text.replace('at app.example.net', 'at bank.example'))).toBeNull()
  })

  test('A text is not a consent if its statement names another day than Expiration Time', () => {
    expect(readConsent(text.replace('until 2026-12-20', 'until 2026-11-21'))).toBeNull()
  })

  test('A text is not a consent if its URI and its statement name different redirect URIs', () => {
    expect(readConsent(text.replace('URI: https://app.example.net/', 'URI: https://bank.example/'))).toBeNull()
  })

  test('A text is not a consent if its statement allows more scopes on one resource than on another', () => {
    const sentence = translateRecap({ ...narrow, resources: ['https://api.example.com/', 'urn:b'] })
    const uneven = sentence.replace("'enhancement' for 'urn:b'", "'enhancement+payments' for 'urn:b'")
    expect(readConsent(text.replace(translateRecap(narrow), uneven))).toBeNull()
  })

  test('A ReCap that allows more than the statement is not a consent, and is reported as contradictory (ERC-5573)', () => {
    const contradictory = text.replace(encodeRecap(narrow), encodeRecap(wide))
    expect(readConsent(contradictory)).toBeNull()
    expect(recapContradicts(contradictory)).toBe(true)
  })

  test('A statement that allows more than the ReCap is not a consent, and is reported as contradictory (ERC-5573)', () => {
    const contradictory = text.replace(translateRecap(narrow), translateRecap(wide))
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
    expect(readConsent(text.replace(encodeRecap(narrow), uri))).toBeNull()
  })

  test('A text is not a consent if its ReCap has the same content in another JSON notation', () => {
    const spaced = Buffer.from('{"att": {"https://api.example.com/": {"oauth/enhancement": [{}]}}}').toString('base64url')
    expect(readConsent(text.replace(/urn:recap:.*$/, `urn:recap:${spaced}`))).toBeNull()
  })
})
