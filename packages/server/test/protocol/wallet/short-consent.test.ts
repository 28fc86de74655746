/** Templates 10 to 12 and 14 to 16: the texts of new challenges, short enough for hardware wallets. */
import { readFileSync } from 'node:fs'
import type { Limit } from '@grantor/protocol/limit'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { readConsent, recapContradicts } from '../../../src/protocol/wallet/read-consent.ts'
import { describeVerdict } from '../../../src/protocol/wallet/receipt-words.ts'
import { composeShortConsent, type ShortConsentFields, shortTemplateOf } from '../../../src/protocol/wallet/short-consent.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { anyShortConsent, composeShort, longestOrdinary, shortFields, thumbprint, userCode } from './consent-example.ts'
import { anyLimit, largestLimit, usualLimit } from './limit-example.ts'
import { parseWithBoth } from './parse-with-both.ts'
import { decodeRecapUri, translate } from './recap-reference.ts'

const device = { template: 11, redirectUri: undefined, userCode }
const twoScreens = { template: 12, userCode }
const metadata = { clientId: 'https://agent.example/client.json', clientName: 'Agent Tools' }
const self = { ...metadata, clientId: `ni:///sha-256;${'A'.repeat(43)}` }
const limited = { template: 14, limit: { resource: 'https://api.example.com/', scope: 'enhancement', limit: usualLimit } }
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
    const isToApp = fields.userCode === undefined
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
    const { clientName, scopes, resources, scopesByResource, redirectUri, keyThumbprint, limit } = fields
    const isToApp = fields.userCode === undefined
    const { address, chainId, domain, nonce, issuedAt, until, clientId } = fields
    const same = { address, chainId, domain, nonce, issuedAt, until, clientId }
    const scopesOf = (resource: string) => scopesByResource?.[resource] ?? scopes
    expect(readConsent(composeShort(fields))).toMatchObject({
      ...same,
      clientName: transliterateName(clientName),
      redirectUri: isToApp ? redirectUri : '',
      grants: resources.toSorted().map((resource) => ({ resource, scopes: scopesOf(resource).toSorted() })),
      ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
      ...(limit === undefined ? {} : { limit }),
      ...(isToApp ? {} : { userCode, shownBy: redirectUri === undefined ? 'device' : 'browser' }),
    })
  })
})

test('Every changed short text is no consent, or reads as a consent that composes to exactly its bytes', () => {
  const edits = fc.record({
    parties: fc.constantFrom<Partial<ShortConsentFields>>(
      {},
      limited,
      { ...limited, ...twoScreens, template: 16 },
      device,
      twoScreens,
      { ...metadata, ...program },
      { ...metadata, ...program, ...twoScreens },
    ),
    at: fc.nat({ max: 1000 }),
    removed: fc.nat({ max: 3 }),
    inserted: fc.oneof(fc.constantFrom('', "'", '\n', ' ', 'a', '0', '#', '+'), fc.string({ unit: 'binary', maxLength: 3 })),
  })
  fc.assert(
    fc.property(edits, ({ parties, at, removed, inserted }) => {
      const fields = { ...shortFields, ...parties, scopes: ['enhancement', 'b'], keyThumbprint: thumbprint }
      const text = composeShort(fields)
      const edited = text.slice(0, at) + inserted + text.slice(at + removed)
      const consent = readConsent(edited)
      if (consent === null || edited === text) return
      const { grants, redirectUri, clientHost, ...read } = consent
      const place = redirectUri || (consent.shownBy === 'browser' ? `https://${clientHost || '127.0.0.1'}/` : undefined)
      const { resource = '', scopes = [] } = grants[0] ?? {}
      // An edit can remove the `#` before the key: the text then names no key.
      const { keyThumbprint } = consent
      expect(
        composeShort({
          ...fields,
          limit: undefined,
          ...read,
          template: shortTemplateOf({ ...read, redirectUri: place }) ?? 0,
          keyThumbprint,
          redirectUri: place,
          scopes,
          resources: [resource],
        }),
      ).toBe(edited)
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
  for (const parties of [
    {},
    device,
    twoScreens,
    limited,
    { ...device, ...limited, template: 15 },
    { ...twoScreens, ...limited, template: 16 },
  ])
    for (const template of [0, 1, 2, 3, 4, 9, 10, 11, 12, 13, 14, 15, 16, 17, -1, 1.5, Number.NaN].filter(
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
  { ...limited, scopes: ['openid'] },
  { ...limited, resources: ['https://other.example/'] },
  // People would take the limit for that of both resources.
  { ...limited, resources: ['https://api.example.com/', 'https://other.example/'] },
  { ...limited, limit: { ...limited.limit, limit: { ...usualLimit, uses: 0 } } },
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

describe('A text with a limit', () => {
  const scopes = ['enhancement', 'openid', 'wallet']

  test('Templates 14, 15 and 16 are 10, 11 and 12 with one sentence more, and with an ability of its own for the scope', () => {
    for (const [parties, template] of [
      [{}, 14],
      [device, 15],
      [twoScreens, 16],
    ] as const) {
      const [text, without] = [composeShort({ scopes, ...parties, ...limited, template }), composeShort({ scopes, ...parties })]
      const withLimit = without
        .replace(
          'until 2026-12-20. ',
          'until 2026-12-20. Limit: enhancement at most 20 times a week, 50.00 NESO each, 500.00 a week. ',
        )
        .replace("'enhancement+openid+wallet'", "'enhancement', 'openid+wallet'")
      expect(text.replace(/urn:recap:.*$/, '')).toBe(withLimit.replace(/urn:recap:.*$/, ''))
      expect(text).toContain(' Limit: ')
      expect(JSON.stringify(decodeRecapUri(text.split('\n- ').at(-1) ?? ''))).toBe(
        '{"att":{"https://api.example.com/":{"oauth/enhancement":[{"limit":{"amount":50000,"decimals":2,"each":5000,"per":"week","unit":"NESO","uses":20}}],"oauth/openid+wallet":[{}]}}}',
      )
      expect(readConsent(text)).toMatchObject({ grants: [{ scopes }], limit: limited.limit })
    }
  })

  test('Both parsers accept every limit that can be registered, and it reads back', () => {
    fc.assert(
      fc.property(anyLimit, (limit) => {
        const own = { ...limited.limit, limit }
        const text = composeShort({ ...limited, limit: own })
        expect(parseWithBoth(text).resources?.at(-1)).toMatch(/^urn:recap:/)
        expect(readConsent(text)?.limit).toEqual(own)
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    ['a digit of another script', ' 20 times', ' ٢٠ times'],
    ['a minus sign', ' 50.00 NESO', ' -50.00 NESO'],
    ['an exponent', ' 500.00 a', ' 5e2 a'],
    ['fewer decimals', ' 50.00 NESO', ' 50 NESO'],
    ['other decimals of one amount', ' 500.00 a', ' 500.0 a'],
    ['a leading zero', ' 20 times', ' 020 times'],
    ['grouping', ' 500.00 a', ' 500,00 a'],
    ['a second limit', ' Limit: enh', ' Limit: enhancement at most 9 times a week. Limit: enh'],
    ['a second number of uses', ' a week, 50.00', ' a week, at most 90 times a week, 50.00'],
    ['another period of the amount', '500.00 a week.', '500.00 a day.'],
    ['another singular', '20 times', '20 time'],
    ['a scope that no resource has', 'Limit: enhancement', 'Limit: payments'],
    ['no limit in its sentence', /Limit: .*? a week\. /, ''],
  ])('A text is not a consent if its limit differs by %s', (_, from, to) => {
    const text = composeShort({ ...limited, scopes })
    const changed = text.replace(from, to)
    expect(changed).not.toBe(text)
    expect(readConsent(changed)).toBeNull()
  })

  const recapOf = (text: string) => text.split('\n- ').at(-1) ?? ''

  test.each<[string, Partial<Limit>]>([
    ['more uses', { uses: 21 }],
    ['another period', { per: 'day' }],
    ['another unit', { unit: 'USD' }],
    ['a larger amount', { amount: 50_001 }],
    ['a larger amount of one use', { each: 5_001 }],
  ])('A text whose ReCap has %s is contradictory', (_, changes) => {
    const text = composeShort({ ...limited, scopes })
    const limit = { ...limited.limit, limit: { ...usualLimit, ...changes } }
    const contradictory = text.replace(recapOf(text), recapOf(composeShort({ ...limited, scopes, limit })))
    expect([readConsent(contradictory), recapContradicts(contradictory)]).toEqual([null, true])
  })

  test.each([
    ['a member twice', '"uses":20', '"uses":20,"uses":20'],
    ['another spelling of a number', '"uses":20', '"uses":2e1'],
    ['a text in place of a number', '"uses":20', '"uses":"20"'],
    ['a further member', '"uses":20', '"uses":20,"zone":1'],
    ['two restrictions', '"uses":20}}', '"uses":20}},{}'],
    ['no restriction', /\{"limit":\{[^}]*\}\}/, '{}'],
    ['the limit on the other scopes too', '"oauth/openid+wallet":[{}]', '"oauth/openid+wallet":[{"limit":{"uses":20}}]'],
  ])('A text whose ReCap has %s is contradictory', (_, from, to) => {
    const text = composeShort({ ...limited, scopes })
    const json = Buffer.from(recapOf(text).slice('urn:recap:'.length), 'base64url').toString()
    const changed = json.replace(from, to)
    expect(changed).not.toBe(json)
    const contradictory = text.replace(recapOf(text), `urn:recap:${Buffer.from(changed).toString('base64url')}`)
    expect([readConsent(contradictory), recapContradicts(contradictory)]).toEqual([null, true])
  })

  test('The words about a receipt name the limit as the word of the wallet', () => {
    const consent = readConsent(composeShort(limited))
    if (!consent) throw new Error('the text cannot be read')
    const verdict = { kind: 'holds', signed: { kind: 'consent', ...consent }, expired: false, wallet: 'ordinary' } as const
    const { facts, remarks } = describeVerdict(verdict, { callsChain: false })
    expect(facts).toContainEqual([
      'Limit',
      'enhancement at https://api.example.com/: at most 20 times a week, 50.00 NESO each, 500.00 a week',
    ])
    expect(remarks.at(-1)).toContain('The limit is the word of the wallet, which signed it.')
  })
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

  test.each([
    ['one scope with the largest limit', ['a'], largestLimit],
    ['three scopes with a usual limit', ['a', 'b', 'c'], usualLimit],
  ])('Templates 14 to 16 have at most 1,024 bytes with %s at one resource, and ordinary long names', (_, letters, limit) => {
    const [resource = ''] = ordinary.resources ?? []
    const scopes = letters.map((letter) => letter.padEnd(longestOrdinary.scopes / 4, 'n'))
    const own = { scopes, resources: [resource], limit: { resource, scope: scopes[0] ?? '', limit } }
    for (const parties of [limited, { ...device, template: 15 }, { ...twoScreens, template: 16 }]) {
      const text = composeShort({ ...ordinary, ...parties, ...own })
      expect(text.length).toBeLessThanOrEqual(1024)
    }
  })
})
