/** Template 13: the text with which a wallet approves one action. */
import { readFileSync } from 'node:fs'
import { isSummary } from '@grantor/protocol/approval'
import { digestOfAction } from '@grantor/protocol/canonical-json'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  APPROVAL_TEMPLATE,
  type ApprovalFields,
  apiHostOf,
  composeApproval,
} from '../../../src/protocol/wallet/approval-message.ts'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { approvalContradicts, readApproval } from '../../../src/protocol/wallet/read-approval.ts'
import { readConsent, recapContradicts } from '../../../src/protocol/wallet/read-consent.ts'
import { encodeRecap, translateRecap } from '../../../src/protocol/wallet/recap.ts'
import { processorMs } from '../../support/processor-time.ts'
import { forAll } from '../../support/property.ts'
import { runs } from '../../support/runs.ts'
import { anyApproval, approvalFields, approvedAction, composeAction, summaries, wouldBeSummaries } from './approval-example.ts'
import { clientNames } from './arbitraries.ts'
import { composeShort, longestOrdinary } from './consent-example.ts'
import { parseWithBoth } from './parse-with-both.ts'
import { decodeRecapUri, translate } from './recap-reference.ts'

const metadata = { clientId: 'https://agent.example/client.json', clientName: 'Agent Tools' }
const self = { ...metadata, clientId: `ni:///sha-256;${'A'.repeat(43)}` }

test('Template 13 names the action in the words of the API, the host of the API, the app, the permission and the end, and never changes', () => {
  expect(composeAction()).toBe(
    [
      'login.example.com wants you to sign in with your Ethereum account:',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '',
      "Once: 'Pay EUR 12.50 to Ada Lovelace (order #4711)' (words of bank.example), for 'MyApp'. No gas, no transfer. I further authorize the stated URI to perform the following actions on my behalf: (1) 'oauth': 'payments.make' for 'https://bank.example/'.",
      '',
      'URI: urn:uuid:0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
      'Version: 1',
      'Chain ID: 1',
      'Nonce: k3J9dQ0vXb2LmN8sTz5RaY',
      'Issued At: 2026-11-20T12:00:00Z',
      'Expiration Time: 2026-11-20T12:10:00Z',
      'Resources:',
      '- urn:recap:eyJhdHQiOnsiaHR0cHM6Ly9iYW5rLmV4YW1wbGUvIjp7Im9hdXRoL3BheW1lbnRzLm1ha2UiOlt7ImRpZ2VzdCI6InVKcE03aFN5STJSMUtJdTUtX0xzXzVFTS0tc24teGRZczd2NWxKRGF2TEkifV19fX0',
    ].join('\n'),
  )
})

test('The example in docs/reference/protocol.md is the composed text', () => {
  const page = readFileSync(new URL('../../../../../docs/reference/protocol.md', import.meta.url), 'utf8')
  expect(page).toContain(`\n\`\`\`\n${composeAction()}\n\`\`\`\n`)
})

test('The ReCap limits the scope to the action with the digest, and its translation is the end of the statement (ERC-5573)', () => {
  const { statement = '', resources = [] } = parseWithBoth(composeAction())
  const details = decodeRecapUri(resources[0] ?? '')
  expect(details).toEqual({
    att: { 'https://bank.example/': { 'oauth/payments.make': [{ digest: digestOfAction(approvedAction) }] } },
  })
  expect(statement.endsWith(` ${translate(details)}`)).toBe(true)
})

test.each<[string, Partial<ApprovalFields>, string]>([
  ['a registered app', {}, "'MyApp'"],
  ['a name without an ASCII form', { clientName: '電話' }, `the app with the id ${approvalFields.clientId}`],
  ['a metadata document', metadata, "the app of agent.example (calls itself 'Agent Tools')"],
  ['a metadata document without a name', { ...metadata, clientName: '' }, 'the app of agent.example'],
  ['a registration of its own', self, "an app that registered itself (calls itself 'Agent Tools')"],
  ['a registration of its own without a name', { ...self, clientName: '' }, 'an app that registered itself'],
])('An approval names the app as the text of a device does, and can be read back: %s', (_, more, app) => {
  const text = composeAction(more)
  expect(text).toContain(` (words of bank.example), for ${app}. No gas, no transfer. I further`)
  expect(composeShort({ ...more, template: 11, redirectUri: undefined, userCode: 'WDJB-MJHT' })).toContain(
    `\nAllow ${app} until `,
  )
  expect(readApproval(text)).toMatchObject({
    ...approvalFieldsRead,
    ...more,
    clientName: transliterateName(more.clientName ?? 'MyApp'),
  })
})

const { template: _, ...approvalFieldsRead } = approvalFields

test.each([
  ['https://BANK.example:443/accounts?x=1', 'bank.example'],
  ['http://127.0.0.1:4001/', '127.0.0.1:4001'],
  ['https://shop.example@bank.example/', 'bank.example'],
  ['urn:example:bank', 'urn:example:bank'],
  ['com.example.bank://shop.example/', 'com.example.bank://shop.example/'],
  ['urn:x),for(y', 'urn:x__for_y'],
])('The API of the resource %s is named as %s', (resource, named) => {
  expect(apiHostOf(resource)).toBe(named)
  expect(readApproval(composeAction({ resource }))).toMatchObject({ resource, apiHost: named })
  expect(composeAction({ resource })).toContain(`' (words of ${named}), for 'MyApp'. No gas`)
})

describe('Reading an approval', () => {
  test('Every approval reads back with the values that it was composed from', () => {
    forAll(anyApproval, ({ template: __, ...fields }) => {
      const text = composeAction(fields)
      expect(readApproval(text)).toEqual({
        ...fields,
        clientName: transliterateName(fields.clientName),
        apiHost: apiHostOf(fields.resource),
      })
      expect(readConsent(text)).toBeNull()
    })
  })

  test('Both parsers read every field of any approval back exactly, and it passes the verification of ERC-5573', () => {
    forAll(anyApproval, (fields) => {
      const parsed = parseWithBoth(composeAction(fields))
      const { domain, address, chainId, nonce, clientId, resource, scope, digest } = fields
      const uri = clientId.includes(':') ? clientId : `urn:uuid:${clientId}`
      expect(parsed).toMatchObject({ domain, address, chainId, nonce, version: '1', uri })
      expect(Date.parse(parsed.issuedAt) / 1000).toBe(fields.issuedAt)
      expect(Date.parse(parsed.expirationTime ?? '') / 1000).toBe(fields.until)
      expect([parsed.scheme, parsed.notBefore, parsed.requestId]).toEqual([undefined, undefined, undefined])
      const details = decodeRecapUri(parsed.resources?.[0] ?? '')
      expect(parsed.resources).toHaveLength(1)
      expect(details).toEqual({ att: { [resource]: { [`oauth/${scope}`]: [{ digest }] } } })
      expect(parsed.statement?.endsWith(` ${translate(details)}`)).toBe(true)
    })
  })

  test('Every changed text is no approval, or reads as an approval that composes to exactly its bytes', () => {
    const edits = fc.record({
      app: fc.constantFrom({}, metadata, self, { clientName: '電話' }),
      at: fc.nat({ max: 900 }),
      removed: fc.nat({ max: 3 }),
      inserted: fc.oneof(fc.constantFrom('', "'", '\n', ' ', 'a', '0', '#', ')'), fc.string({ unit: 'binary', maxLength: 3 })),
    })
    fc.assert(
      fc.property(edits, ({ app, at, removed, inserted }) => {
        const text = composeAction(app)
        const edited = text.slice(0, at) + inserted + text.slice(at + removed)
        const action = readApproval(edited)
        if (action === null || edited === text) return
        expect(composeAction({ ...action, template: APPROVAL_TEMPLATE })).toBe(edited)
      }),
      { numRuns: runs * 10 },
    )
  })

  test('One changed character of the statement gives no approval, or another summary or another name of the app', () => {
    const text = composeAction()
    const start = text.indexOf('Once:')
    for (let at = start; text[at] !== '\n'; at += 1) {
      const action = readApproval(`${text.slice(0, at)}~${text.slice(at + 1)}`)
      if (action !== null)
        expect({ ...action, summary: '' }).toEqual({ ...approvalFieldsRead, apiHost: 'bank.example', summary: '' })
    }
  })

  test.each([
    ['another host of the API', 'words of bank.example', 'words of shop.example'],
    ['another word', 'No gas', 'Some gas'],
    ['another scope', "'payments.make'", "'payments.read'"],
    ['another resource', "for 'https://bank.example/'", "for 'https://shop.example/'"],
    ['two spaces in the summary', 'Pay EUR', 'Pay  EUR'],
    ['an empty summary', 'Pay EUR 12.50 to Ada Lovelace (order #4711)', ''],
    ['a Request ID', '\nResources:', '\nRequest ID: 7f8c1a52\nResources:'],
    ['a resource before the ReCap', '\n- urn:recap', '\n- https://bank.example/\n- urn:recap'],
    ['a key of the app', 'd7a20\n', `d7a20#${'a'.repeat(43)}\n`],
    ['a newline at the end', /$/, '\n'],
    ['carriage returns', /\n/g, '\r\n'],
  ])('A text is not an approval if it differs from one by %s', (__, from, to) => {
    const changed = composeAction().replace(from, to)
    expect(changed).not.toBe(composeAction())
    expect(readApproval(changed)).toBeNull()
  })

  test('An approval whose ReCap allows another scope, or names no digest, is contradictory (ERC-5573)', () => {
    const text = composeAction()
    const { scope, resource, digest } = approvalFields
    const capability = { scopes: [scope], resources: [resource] }
    const own = encodeRecap({ ...capability, digest })
    for (const other of [
      { ...capability, scopes: ['admin'], digest },
      { ...capability, scopes: ['a', scope], digest },
      capability,
    ]) {
      const contradictory = text.replace(own, encodeRecap(other))
      expect([readApproval(contradictory), approvalContradicts(contradictory)]).toEqual([null, true])
    }
    const statement = text.replace(translateRecap(capability), translateRecap({ ...capability, scopes: ['admin'] }))
    expect([readApproval(statement), approvalContradicts(statement)]).toEqual([null, true])
    expect(approvalContradicts(text)).toBe(false)
    expect(approvalContradicts(text.replace('No gas', 'Gas'))).toBe(false)
  })

  test('A consent is not an approval, any other text is neither, and reading it never throws', () => {
    expect([readApproval(composeShort()), approvalContradicts(composeShort()), recapContradicts(composeAction())]).toEqual([
      null,
      false,
      false,
    ])
    const headed = clientNames.map((text) => `${composeAction()}${text}x`)
    const encoded = clientNames.map((text) => composeAction().replace(/urn:recap:.*/, () => `urn:recap:${text}`))
    forAll(fc.oneof(clientNames, headed, encoded), (text) => {
      expect(readApproval(text)).toBeNull()
      expect(typeof approvalContradicts(text)).toBe('boolean')
    })
  })

  test('A very long text is refused quickly', () => {
    const spent = processorMs(() => {
      for (const filler of ["'", "Once: '", '\n', 'urn:recap:', '. No gas, no transfer. ', ' (words of ', ', for ', 'a']) {
        const text = composeAction().replace("for 'MyApp", `for 'MyApp${filler.repeat(150_000 / filler.length)}`)
        expect(readApproval(text)).toBeNull()
        expect(readApproval(filler.repeat(10_000_000 / filler.length))).toBeNull()
      }
    })
    expect(spent).toBeLessThan(2_000)
  })
})

describe('The summary of an action', () => {
  test.each([
    'x',
    'Pay EUR 12.50 to Ada Lovelace (order #4711)',
    'a'.repeat(120),
    '!$&()*+,;=-._~:/?#[]@',
    'Send 5 to 0xf39F...2266; fee: 0',
  ])('A summary may be: %s', (summary) => {
    expect(isSummary(summary)).toBe(true)
    expect(readApproval(composeAction({ summary }))?.summary).toBe(summary)
  })

  test.each([
    ['empty', ''],
    ['longer than 120 characters', 'a'.repeat(121)],
    ['with a quote', "it's"],
    ['with a double quote', 'a "b"'],
    ['with a percent sign', '5% off'],
    ['with angle brackets', '<b>'],
    ['with a backslash', 'a\\b'],
    ['with a newline', 'a\nb'],
    ['with a newline at the end', 'a\n'],
    ['with a tab', 'a\tb'],
    ['with a space in front', ' a'],
    ['with a space at the end', 'a '],
    ['of one space', ' '],
    ['with two spaces', 'a  b'],
    ['outside of ASCII', 'Zoë'],
    ['with an invisible mark', 'a\u200bb'],
    ['with a no-break space', 'a\u00a0b'],
  ])('No summary is %s, and no text is composed with it', (__, summary) => {
    expect(isSummary(summary)).toBe(false)
    expect(() => composeAction({ summary })).toThrow(RangeError)
  })

  test('Whatever a summary contains, the API, the app, the scope and the resource of the text stay the same', () => {
    forAll(summaries, (summary) => {
      const { statement = '' } = parseWithBoth(composeAction({ summary }))
      // As a person reads it: the summary ends at the second quote.
      const [before, quoted, ...after] = statement.split("'")
      expect([before, quoted]).toEqual(['Once: ', summary])
      expect(after.join("'")).toBe(
        ` (words of bank.example), for 'MyApp'. No gas, no transfer. ${translateRecap({ scopes: [approvalFields.scope], resources: [approvalFields.resource] })}`,
      )
    })
  })

  test('A text that is no summary is in no text to sign', () => {
    forAll(wouldBeSummaries, (summary) => {
      if (isSummary(summary)) expect(readApproval(composeAction({ summary }))?.summary).toBe(summary)
      else expect(() => composeAction({ summary })).toThrow(RangeError)
    })
  })
})

test('Template 13 gives no text for another template', () => {
  for (const template of [0, 3, 4, 10, 11, 12, 14, -1, 13.5, Number.NaN])
    expect(composeApproval({ ...approvalFields, template })).toBeNull()
})

test.each<Partial<ApprovalFields>>([
  { clientId: 'app' },
  { clientId: 'https://agent.example/client.json#key' },
  { scope: '' },
  { scope: 'a b' },
  { scope: 'a+b' },
  { resource: '' },
  { resource: "https://bank.example/'" },
  { resource: 'https://bank.example/%41' },
  { digest: '' },
  { digest: 'a'.repeat(42) },
  { digest: `${'a'.repeat(43)}=` },
  { until: 0.5 },
  { nonce: 'a'.repeat(21) },
  { domain: 'login.example.com/' },
  { address: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266' },
])('Composing an approval throws a RangeError for %j', (changes) => {
  expect(() => composeAction(changes)).toThrow(RangeError)
})

test.each<[string, Partial<ApprovalFields>]>([
  ['a registered app', { clientName: 'n'.repeat(longestOrdinary.name) }],
  ['a registered app without an ASCII name', { clientName: '電話' }],
  [
    'a metadata document',
    { clientId: `https://${host(longestOrdinary.host)}/client.json`, clientName: 'n'.repeat(longestOrdinary.name) },
  ],
  ['a registration of its own', { ...self, clientName: 'n'.repeat(longestOrdinary.name) }],
])('An approval with the longest summary and ordinary long names has at most 1,024 bytes: %s', (__, app) => {
  const text = composeAction({
    domain: host(longestOrdinary.domain),
    chainId: longestOrdinary.chainId,
    scope: 'n'.repeat(longestOrdinary.scopes / 2),
    resource: `https://${host(longestOrdinary.resource - 'https://'.length)}`,
    summary: 'n'.repeat(120),
    ...app,
  })
  expect(Buffer.byteLength(text)).toBe(text.length)
  expect(text.length).toBeLessThanOrEqual(1024)
})

function host(length: number): string {
  return `${'n'.repeat(length - '.example'.length)}.example`
}
