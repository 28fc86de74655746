/** Templates 10, 11 and 12: the texts of new challenges, short enough for hardware wallets. */
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { readConsent, recapContradicts } from '../../../src/protocol/wallet/read-consent.ts'
import { describeVerdict } from '../../../src/protocol/wallet/receipt-words.ts'
import { composeShortConsent, type ShortConsentFields } from '../../../src/protocol/wallet/short-consent.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { anyShortConsent, composeShort, longestOrdinary, shortFields, thumbprint, userCode } from './consent-example.ts'
import { parseWithBoth } from './parse-with-both.ts'
import { decodeRecapUri, translate } from './recap-reference.ts'

const device = { template: 11, redirectUri: undefined, userCode }
const twoScreens = { template: 12, userCode }
const metadata = { clientId: 'https://agent.example/client.json', clientName: 'Agent Tools' }
const self = { ...metadata, clientId: `ni:///sha-256;${'A'.repeat(43)}` }
const program = { redirectUri: 'http://127.0.0.1:33418/callback' }
const opener = { redirectUri: 'com.example.app:/cb' }

describe('The short texts never change', () => {
  test('Template 10 names the app, its host, the end, the permissions, and once each the redirect URI and the client', () => {
    expect(composeShort()).toBe(
      [
        'login.example.com wants you to sign in with your Ethereum account:',
        '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
        '',
        "Allow 'MyApp' at app.example.net until 2026-12-20. No gas, no transfer. I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement' for 'https://api.example.com/'.",
        '',
        'URI: https://app.example.net/callback',
        'Version: 1',
        'Chain ID: 1',
        'Nonce: k3J9dQ0vXb2LmN8sTz5RaY',
        'Issued At: 2026-11-20T12:00:00Z',
        'Expiration Time: 2026-12-20T12:00:00Z',
        'Resources:',
        '- urn:uuid:0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
        '- urn:recap:eyJhdHQiOnsiaHR0cHM6Ly9hcGkuZXhhbXBsZS5jb20vIjp7Im9hdXRoL2VuaGFuY2VtZW50Ijpbe31dfX19',
      ].join('\n'),
    )
  })

  test('Template 11 authorizes the client itself, and names the code of the device (RFC 8628 §5.4)', () => {
    const lines = composeShort(device).split('\n')
    expect(lines[3]).toBe(
      "Allow 'MyApp' until 2026-12-20. Gives access to the device that shows the code WDJB-MJHT. No gas, no transfer. I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'enhancement' for 'https://api.example.com/'.",
    )
    expect([lines[5], ...lines.slice(11)]).toEqual([
      'URI: urn:uuid:0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
      'Resources:',
      '- urn:recap:eyJhdHQiOnsiaHR0cHM6Ly9hcGkuZXhhbXBsZS5jb20vIjp7Im9hdXRoL2VuaGFuY2VtZW50Ijpbe31dfX19',
    ])
  })

  test('Template 12 is template 11 with the host of the app, and gives access to a browser', () => {
    expect(composeShort(twoScreens)).toBe(
      composeShort(device)
        .replace("Allow 'MyApp' until", "Allow 'MyApp' at app.example.net until")
        .replace('the device that shows', 'the browser that shows'),
    )
  })

  test('A bound key is the fragment of the client in all three (RFC 7638)', () => {
    for (const parties of [{}, device, twoScreens])
      expect(composeShort({ ...parties, keyThumbprint: thumbprint })).toBe(
        composeShort(parties).replace('5b1c3e9d7a20\n', `5b1c3e9d7a20#${thumbprint}\n`),
      )
  })

  test('The scopes of a resource are one ability, whose form the standard allows, and resources can have different scopes (ERC-5573)', () => {
    const [notes, files] = ['https://notes.example/', 'https://files.example/']
    const text = composeShort({
      scopes: ['wallet', 'openid', 'files.read', 'notes.read'],
      resources: [notes, files],
      scopesByResource: { [notes]: ['wallet', 'notes.read', 'openid'], [files]: ['openid', 'files.read'] },
    })
    expect(text).toContain(
      `behalf: (1) 'oauth': 'files.read+openid' for '${files}'. (2) 'oauth': 'notes.read+openid+wallet' for '${notes}'.`,
    )
    expect(decodeRecapUri(text.split('\n- ').at(-1) ?? '')).toEqual({
      att: { [files]: { 'oauth/files.read+openid': [{}] }, [notes]: { 'oauth/notes.read+openid+wallet': [{}] } },
    })
    expect('oauth/files.read+openid').toMatch(/^[a-zA-Z0-9.*_+-]+\/[a-zA-Z0-9.*_+-]+$/)
  })
})

test('The example in docs/guides/users.md is the composed text', () => {
  const page = readFileSync(new URL('../../../../../docs/guides/users.md', import.meta.url), 'utf8')
  expect(page.match(/```\n([^]*?)\n```/)?.[1]).toBe(composeShort({ scopes: ['enhancement', 'openid'] }))
})

const access = 'Gives access to the browser that shows the code WDJB-MJHT. '

test.each<[string, Partial<ShortConsentFields>, string, string]>([
  ['a website', {}, "'MyApp' at app.example.net", ''],
  ['a website on this device', program, "'MyApp' at 127.0.0.1:33418", ''],
  ['a private-use scheme', opener, "'MyApp' (an app that opens com.example.app: links)", ''],
  ['a name without an ASCII form', { clientName: '電話' }, 'the app at app.example.net', ''],
  [
    'a metadata document, with a program on this device',
    { ...metadata, ...program },
    "the app of agent.example (calls itself 'Agent Tools')",
    'Answers go to a program on this device. ',
  ],
  [
    'a metadata document, with a private-use scheme',
    { ...metadata, ...opener },
    "the app of agent.example (calls itself 'Agent Tools')",
    'Answers go to an app that opens com.example.app: links. ',
  ],
  [
    'a metadata document without a name',
    { ...metadata, clientName: '' },
    'the app of agent.example',
    'Answers go to app.example.net. ',
  ],
  [
    'a registration of its own',
    self,
    "an app that registered itself (calls itself 'Agent Tools')",
    'Answers go to app.example.net. ',
  ],
])('Templates 10 and 12 name the app and the destination of the answers, and can be read back: %s', (_, more, app, answers) => {
  const here = composeShort(more)
  expect(here).toContain(`\nAllow ${app} until 2026-12-20. ${answers}No gas, no transfer. I further`)
  const elsewhere = composeShort({ ...more, ...twoScreens })
  expect(elsewhere).toContain(
    `\nAllow ${app} until 2026-12-20. ${access}${answers.replace('this device', 'that device')}No gas, no transfer. I further`,
  )
  const { clientId = shortFields.clientId, redirectUri = shortFields.redirectUri } = more
  expect(readConsent(here)).toMatchObject({ clientId, redirectUri, grants: [{ scopes: ['enhancement'] }] })
  expect(readConsent(elsewhere)).toMatchObject({ clientId, redirectUri: '', userCode, shownBy: 'browser' })
})

test.each<[string, Partial<ShortConsentFields>, string]>([
  ['a registered app', {}, "'MyApp'"],
  ['a name without an ASCII form', { clientName: '電話' }, `the app with the id ${shortFields.clientId}`],
  ['a metadata document', metadata, "the app of agent.example (calls itself 'Agent Tools')"],
  ['a registration of its own', { ...self, clientName: '' }, 'an app that registered itself'],
])('Template 11 names the app, and can be read back: %s', (_, more, app) => {
  const text = composeShort({ ...more, ...device })
  expect(text).toContain(`\nAllow ${app} until 2026-12-20. Gives access to the device that shows the code WDJB-MJHT. No gas,`)
  const { clientId = shortFields.clientId } = more
  expect(readConsent(text)).toMatchObject({ clientId, redirectUri: '', clientHost: '', userCode, shownBy: 'device' })
})

test('Both parsers read every field of any short consent back exactly (ERC-4361)', () => {
  forAll(anyShortConsent, (fields) => {
    const parsed = parseWithBoth(composeShort(fields))
    const { domain, address, chainId, nonce, redirectUri, clientId, keyThumbprint } = fields
    const client = clientId.includes(':') ? clientId : `urn:uuid:${clientId}`
    const party = keyThumbprint === undefined ? client : `${client}#${keyThumbprint}`
    const isToApp = fields.template === 10
    expect(parsed).toMatchObject({ domain, address, chainId, nonce, version: '1', uri: isToApp ? redirectUri : party })
    expect(parsed.resources?.slice(0, -1)).toEqual(isToApp ? [party] : [])
    expect(Date.parse(parsed.issuedAt) / 1000).toBe(fields.issuedAt)
    expect(Date.parse(parsed.expirationTime ?? '') / 1000).toBe(fields.until)
    expect([parsed.scheme, parsed.notBefore, parsed.requestId]).toEqual([undefined, undefined, undefined])
  })
})

test('Any short consent passes the verification of ERC-5573: its statement ends with the translation of its last resource', () => {
  forAll(anyShortConsent, (fields) => {
    const { statement = '', resources = [] } = parseWithBoth(composeShort(fields))
    expect(statement.endsWith(` ${translate(decodeRecapUri(resources.at(-1) ?? ''))}`)).toBe(true)
    expect(resources.filter((resource) => resource.startsWith('urn:recap:'))).toHaveLength(1)
  })
})

test('Every short consent reads back with the values that it was composed from', () => {
  forAll(anyShortConsent, (fields) => {
    const { clientName, scopes, resources, scopesByResource, template, redirectUri, keyThumbprint } = fields
    const { address, chainId, domain, nonce, issuedAt, until, clientId } = fields
    const same = { address, chainId, domain, nonce, issuedAt, until, clientId }
    const scopesOf = (resource: string) => scopesByResource?.[resource] ?? scopes
    expect(readConsent(composeShort(fields))).toMatchObject({
      ...same,
      clientName: transliterateName(clientName),
      redirectUri: template === 10 ? redirectUri : '',
      grants: resources.toSorted().map((resource) => ({ resource, scopes: scopesOf(resource).toSorted() })),
      ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
      ...(template === 10 ? {} : { userCode, shownBy: template === 11 ? 'device' : 'browser' }),
    })
  })
})

test('Every changed short text is no consent, or reads as a consent that composes to exactly its bytes', () => {
  const edits = fc.record({
    parties: fc.constantFrom({}, device, twoScreens, { ...metadata, ...program }, { ...metadata, ...program, ...twoScreens }),
    at: fc.nat({ max: 1000 }),
    removed: fc.nat({ max: 3 }),
    inserted: fc.oneof(fc.constantFrom('', "'", '\n', ' ', 'a', '0', '#', '+'), fc.string({ unit: 'binary', maxLength: 3 })),
  })
  fc.assert(
    fc.property(edits, ({ parties, at, removed, inserted }) => {
      const fields = { ...shortFields, ...parties, scopes: ['a', 'b'], keyThumbprint: thumbprint }
      const text = composeShort(fields)
      const edited = text.slice(0, at) + inserted + text.slice(at + removed)
      const consent = readConsent(edited)
      if (consent === null || edited === text) return
      const { grants, redirectUri, clientHost, ...read } = consent
      const place = redirectUri || (consent.shownBy === 'browser' ? `https://${clientHost || '127.0.0.1'}/` : undefined)
      const { resource = '', scopes = [] } = grants[0] ?? {}
      // An edit can remove the `#` before the key: the text then names no key.
      const { keyThumbprint } = consent
      expect(composeShort({ ...fields, ...read, keyThumbprint, redirectUri: place, scopes, resources: [resource] })).toBe(edited)
    }),
    {
      numRuns: runs * 10,
      examples: [[{ parties: { ...metadata, ...program, ...twoScreens }, at: 480, removed: 2, inserted: '' }]],
    },
  )
})

test.each([
  ['another host', 'at app.example.net', 'at bank.example'],
  ['another day', 'until 2026-12-20', 'until 2026-12-21'],
  ['another order of scopes', "'enhancement+openid'", "'openid+enhancement'"],
  ['scopes in the older form', "'enhancement+openid'", "'enhancement', 'openid'"],
  ['a Request ID', '\nResources:', '\nRequest ID: 7f8c1a52\nResources:'],
  ['a second resource before the ReCap', '\n- urn:recap', '\n- https://bank.example/\n- urn:recap'],
  ['an empty key', 'd7a20\n', 'd7a20#\n'],
  ['another word', 'No gas', 'Some gas'],
])('A short text is not a consent if it differs from one by %s', (_, from, to) => {
  const text = composeShort({ scopes: ['enhancement', 'openid'] })
  expect(text).toContain(from)
  expect(readConsent(text.replace(from, to))).toBeNull()
})

test.each([
  ['another publisher', 'agent.example (', 'bank.example ('],
  ['another destination of the answers', 'a program on this device', 'agent.example'],
  ['the words of a registered app', "the app of agent.example (calls itself 'Agent Tools')", "'Agent Tools' at 127.0.0.1:33418"],
])('A text for an app that is not registered is not a consent if it differs from one by %s', (_, from, to) => {
  const text = composeShort({ ...metadata, ...program })
  expect(text).toContain(from)
  expect(readConsent(text.replace(from, to))).toBeNull()
})

test('A short text whose ReCap allows more than its statement is contradictory (ERC-5573)', () => {
  for (const parties of [{}, device, twoScreens]) {
    const recapOf = (text: string) => text.split('\n').at(-1) ?? ''
    const text = composeShort(parties)
    const contradictory = text.replace(recapOf(text), recapOf(composeShort({ ...parties, scopes: ['admin'] })))
    expect([readConsent(contradictory), recapContradicts(contradictory)]).toEqual([null, true])
  }
})

test('A template gives no text for the fields of another template', () => {
  for (const parties of [{}, device, twoScreens])
    for (const template of [0, 1, 2, 3, 4, 9, 10, 11, 12, 13, -1, 1.5, Number.NaN].filter(
      (each) => each !== { ...shortFields, ...parties }.template,
    ))
      expect(composeShortConsent({ ...shortFields, ...parties, template })).toBeNull()
  expect(composeShortConsent({ ...shortFields, redirectUri: undefined })).toBeNull()
})

test.each<Partial<ShortConsentFields>>([
  { clientId: 'app' },
  { clientId: 'https://agent.example/client.json#key' },
  { redirectUri: 'https://u@app.example.net/' },
  { redirectUri: '' },
  { scopes: [] },
  { scopes: ['a+b'] },
  { resources: ["https://a.example/'"] },
  { keyThumbprint: 'a'.repeat(42) },
  { ...device, userCode: 'AEIO-UAEI' },
  { ...twoScreens, userCode: 'WDJB-MJHT. Extra' },
  { nonce: 'a'.repeat(21) },
])('Composing a short consent throws a RangeError for %j', (changes) => {
  expect(() => composeShort(changes)).toThrow(RangeError)
})

test('The words about a receipt say to what the access goes', () => {
  const factsOf = (parties: Partial<ShortConsentFields>) => {
    const consent = readConsent(composeShort(parties))
    if (!consent) throw new Error('the text cannot be read')
    const signed = { kind: 'consent', ...consent } as const
    return describeVerdict({ kind: 'holds', signed, expired: false, wallet: 'ordinary' }, { callsChain: false }).facts
  }
  expect(factsOf({})).toContainEqual(['Answers go to', 'https://app.example.net/callback'])
  expect(factsOf(device)).toContainEqual(['Access goes to', 'the device that showed the code WDJB-MJHT'])
  expect(factsOf(twoScreens)).toContainEqual(['Access goes to', 'the browser that showed the code WDJB-MJHT'])
  expect(factsOf(twoScreens)).toContainEqual(['Allowed', "'MyApp' at app.example.net"])
  expect(factsOf(metadata)).toContainEqual(['Allowed', "the app of agent.example, which calls itself 'Agent Tools'"])
  expect(factsOf({ ...opener, ...twoScreens })).toContainEqual([
    'Allowed',
    "'MyApp' (an app on the device that opens com.example.app: links)",
  ])
})

describe('The length of a text with four scopes at two resources, and with a key', () => {
  const letters = (length: number) => 'n'.repeat(length)
  const host = (length: number) => `${letters(length - 8)}.example`
  const ordinary: Partial<ShortConsentFields> = {
    domain: host(longestOrdinary.domain),
    clientName: letters(longestOrdinary.name),
    redirectUri: `https://${host(longestOrdinary.host)}/`.padEnd(longestOrdinary.redirectUri, 'n'),
    chainId: longestOrdinary.chainId,
    scopes: ['a', 'b', 'c', 'd'].map((letter) => letter.padEnd(longestOrdinary.scopes / 4, 'n')),
    resources: ['https://a', 'https://b'].map((uri) => uri.padEnd(longestOrdinary.resource, 'n')),
    keyThumbprint: thumbprint,
  }

  test.each([
    ['10', {}],
    ['11', device],
    ['12', twoScreens],
  ])('Template %s has at most 1,024 bytes with ordinary long names', (_, parties) => {
    const text = composeShort({ ...ordinary, ...parties })
    expect(Buffer.byteLength(text)).toBe(text.length)
    expect(text.length).toBeLessThanOrEqual(1024)
  })
})
