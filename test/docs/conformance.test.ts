/** docs/evidence/conformance.md says of each sentence of a standard where it is held, and which test shows it. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { citationsIn, lineOfCitation } from '../../scripts/conformance/citations.ts'
import { faultsOf } from '../../scripts/conformance/faults.ts'
import { conformancePage, withoutLineNumbers } from '../../scripts/conformance/page.ts'
import type { Held, Requirement, Standard } from '../../scripts/conformance/requirement.ts'
import { readTable, readTables } from '../../scripts/conformance/tables.ts'
import { passed, type Report, titlesIn } from '../../scripts/conformance/titles.ts'

const HERE = 'test/docs/conformance.test.ts'
const TITLE = 'each requirement has a file whose comment names it, and one test of the title it gives'

test('each requirement has a file whose comment names it, and one test of the title it gives', () => {
  expect(faultsOf(readTables())).toEqual([])
})

test('docs/evidence/conformance.md is what its tables make; otherwise run: npm run conformance', () => {
  const page = readFileSync(new URL('../../docs/evidence/conformance.md', import.meta.url), 'utf8')
  expect(withoutLineNumbers(page)).toBe(withoutLineNumbers(conformancePage(readTables())))
})

test('the standards of the service are there, each with its requirements, and what is not held says why', () => {
  const standards = readTables()
  expect(standards.map(({ name }) => name)).toEqual([
    ...[
      '6749',
      '6750',
      '7009',
      '7591',
      '7636',
      '7662',
      '8414',
      '8628',
      '8693',
      '8707',
      '9068',
      '9126',
      '9207',
      '9449',
      '9470',
      '9700',
      '9728',
    ].map((rfc) => `RFC ${rfc}`),
    'Client ID Metadata Document',
    ...['Core', 'Discovery', 'RP-Initiated Logout', 'Back-Channel Logout'].map((name) => `OpenID Connect ${name}`),
    'FAPI 2.0 Message Signing',
    'JARM',
    'OAuth 2.0 Form Post Response Mode',
  ])
  expect(standards.filter(({ requirements }) => requirements.length < 4)).toEqual([])
})

describe('a row that promises what nothing shows is a fault', () => {
  const row = (outcome: Partial<Held>, section = '4.1.2'): Standard => ({
    name: 'RFC 6749',
    title: 'The OAuth 2.0 Authorization Framework',
    sections: 'https://www.rfc-editor.org/rfc/rfc6749#section-',
    requirements: [
      {
        section,
        level: 'MUST',
        words: 'something.',
        outcome: {
          kind: 'held',
          file: 'src/domain/tokens/exchange-code.ts',
          shown: { file: HERE, title: TITLE },
          note: undefined,
          ...outcome,
        },
      } satisfies Requirement,
    ],
  })

  test.each<[string, Standard, RegExp]>([
    ['a file that is gone', row({ file: 'src/grants/no-such-file.ts' }), /no file/],
    ['a section that the file does not name', row({}, '4.1.9'), /no comment/],
    ['a section of which it names only a part', row({}, '4.1'), /no comment/],
    ['a test that is gone', row({ shown: { file: HERE, title: 'no such test' } }), /0 tests/],
    ['a title that is there only as words', row({ shown: { file: HERE, title: 'a file that is gone' } }), /0 tests/],
    ['a file of tests that is gone', row({ shown: { file: 'test/docs/no-such.test.ts', title: TITLE } }), /0 tests/],
  ])('%s', (_, standard, fault) => {
    expect(faultsOf([standard])).toEqual([expect.stringMatching(fault)])
  })

  const report = (...told: [title: string, status: string][]): Report => ({
    testResults: [
      {
        name: `/somewhere/${HERE}`,
        assertionResults: told.map(([title, status]) => ({ ancestorTitles: ['a group'], title, status })),
      },
    ],
  })

  test('a test that failed, was skipped, or did not run', () => {
    expect(faultsOf([row({})], report([TITLE, 'passed']))).toEqual([])
    for (const status of ['failed', 'skipped', 'pending'])
      expect(faultsOf([row({})], report([TITLE, status]))).toEqual([expect.stringMatching(/did not pass/)])
    expect(faultsOf([row({})], report(['another', 'passed']))).toEqual([expect.stringMatching(/did not pass/)])
  })

  test('of a title with places to fill in, each row must have passed, and those of the named group alone count', () => {
    const rows = report(['%s is a, b', 'passed'], ['x is refused', 'passed'], ['y is refused', 'failed'])
    expect(passed(rows, HERE, '%s is refused')).toBe(false)
    expect(passed(report(['x is refused', 'passed']), HERE, 'a group › %s is refused')).toBe(true)
    expect(passed(report(['x is refused', 'passed']), HERE, 'another › %s is refused')).toBe(false)
  })
})

test('a section belongs to the standard named before it in its comment, else to those the file opens with', () => {
  const source = [
    '/** Codes (RFC 6749 §4.1.2). */',
    "const url = 'https://example.com/§9'",
    '// §4.1.3, then RFC 9700 §2.1 and',
    '// §2.2, of OpenID Connect Core §3.1',
    '/** RFC 7636, appendix B. */',
  ].join('\n')
  expect([...citationsIn(source)]).toEqual([
    'RFC 6749 §4.1.2',
    'RFC 6749 §4.1.3',
    'RFC 9700 §2.1',
    'RFC 9700 §2.2',
    'OpenID Connect Core §3.1',
    'RFC 7636 §B',
  ])
})

test('the line of a section is that of a comment beside the code, or else that of the opening comment', () => {
  const source = ['/**', ' * Codes (RFC 6749 §4.1.2, §4.1.3).', ' */', 'const a = 1', '// A replay', '// (§4.1.2).'].join('\n')
  expect(lineOfCitation(source, 'RFC 6749 §4.1.2')).toBe(6)
  expect(lineOfCitation(source, 'RFC 6749 §4.1.3')).toBe(2)
  expect(lineOfCitation(source, 'RFC 6749 §5.2')).toBeUndefined()
})

test('a test is found by its title, and by its group where titles repeat', () => {
  const titles = titlesIn(HERE)
  expect(titles).toContain(TITLE)
  expect(titles).toContain('a row that promises what nothing shows is a fault › a test that failed, was skipped, or did not run')
})

test.each([
  ['no standard', 'something'],
  ['no address of its sections', 'JARM: A\n\n§1 MUST: b.\n  not held: c'],
  ['a row without a level', 'RFC 1: A\n\n§1 MAY: b.\n  not held: c'],
  ['a row without an outcome', 'RFC 1: A\n\n§1 MUST: b.'],
  ['a row that is held and is not', 'RFC 1: A\n\n§1 MUST: b.\n  held: src/a.ts\n  shown: test/a.test.ts: d\n  not held: c'],
  ['a row without a test', 'RFC 1: A\n\n§1 MUST: b.\n  held: src/a.ts'],
  ['a word that means nothing', 'RFC 1: A\n\n§1 MUST: b.\n  hold: src/a.ts\n  shown: test/a.test.ts: d'],
])('a table with %s is refused, with file and line', (_, text) => {
  expect(() => readTable('a.txt', text)).toThrow(/^a\.txt:\d+/)
})
