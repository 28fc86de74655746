/** The generated page of conformance lists for each sentence of a standard the file that implements it and the test that shows it. */
import { describe, expect, test } from 'vitest'
import { citationsIn, lineOfCitation } from '../../../../scripts/conformance/citations.ts'
import { faultsOf } from '../../../../scripts/conformance/faults.ts'
import { conformancePage } from '../../../../scripts/conformance/page.ts'
import type { Held, Requirement, Standard } from '../../../../scripts/conformance/requirement.ts'
import { readTable, readTables } from '../../../../scripts/conformance/tables.ts'
import { hasPassed, type Report, titlesIn } from '../../../../scripts/conformance/titles.ts'

const HERE = 'packages/server/test/docs/conformance.test.ts'
const TITLE = 'Each requirement names a file with a comment that cites its section, and one existing test'

test('Each requirement names a file with a comment that cites its section, and one existing test', () => {
  expect(faultsOf(readTables())).toEqual([])
})

test('The generated page of conformance has a row for each requirement, with the line of the comment that cites the section', () => {
  const standards = readTables()
  const rows = conformancePage(standards).match(/^\| \[§[^]*?\) \|$/gm) ?? []
  expect(rows).toHaveLength(standards.reduce((sum, { requirements }) => sum + requirements.length, 0))
  expect(rows.filter((row) => /\.ts\)/.test(row.split(' | ').at(-2) ?? ''))).toEqual([])
})

test('The tables contain each standard that the service implements, with at least four requirements', () => {
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
    'ERC',
    'ENS',
  ])
  expect(standards.filter(({ requirements }) => requirements.length < 4)).toEqual([])
})

describe('Faults of a row of the conformance tables', () => {
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
          file: 'packages/server/src/domain/tokens/exchange-code.ts',
          shown: { file: HERE, title: TITLE },
          note: undefined,
          ...outcome,
        },
      } satisfies Requirement,
    ],
  })

  test.each<[string, Standard, RegExp]>([
    ['a file that does not exist', row({ file: 'src/grants/no-such-file.ts' }), /no file/],
    ['a section that no comment of its file cites', row({}, '4.1.9'), /no comment/],
    ['a section of which its file cites only a subsection', row({}, '4.1'), /no comment/],
    ['a test that does not exist', row({ shown: { file: HERE, title: 'no such test' } }), /0 tests/],
    [
      'a title that its file contains only as other text',
      row({ shown: { file: HERE, title: 'a file that does not exist' } }),
      /0 tests/,
    ],
    ['a test file that does not exist', row({ shown: { file: 'test/docs/no-such.test.ts', title: TITLE } }), /0 tests/],
  ])('A row that names %s is a fault', (_, standard, fault) => {
    expect(faultsOf([standard])).toEqual([expect.stringMatching(fault)])
  })

  const report = (...results: [title: string, status: string][]): Report => ({
    testResults: [
      {
        name: `/somewhere/${HERE}`,
        assertionResults: results.map(([title, status]) => ({ ancestorTitles: ['a group'], title, status })),
      },
    ],
  })

  test('A row about a deviation is a fault if the test that shows the deviation does not exist', () => {
    const deviation = {
      kind: 'not_held' as const,
      why: 'Grantor does not have this yet.',
      shown: { file: HERE, title: 'no such test' },
    }
    const [requirement] = row({}).requirements
    expect(faultsOf([{ ...row({}), requirements: [{ ...requirement!, outcome: deviation }] }])).toEqual([
      expect.stringMatching(/0 tests/),
    ])
  })

  test('A row is a fault if its test failed, was skipped or did not run', () => {
    expect(faultsOf([row({})], report([TITLE, 'passed']))).toEqual([])
    for (const status of ['failed', 'skipped', 'pending'])
      expect(faultsOf([row({})], report([TITLE, status]))).toEqual([expect.stringMatching(/did not pass/)])
    expect(faultsOf([row({})], report(['another', 'passed']))).toEqual([expect.stringMatching(/did not pass/)])
  })

  test('A title with placeholders has passed only if each of its cases passed, and a named group limits the cases to this group', () => {
    const rows = report(['%s is a, b', 'passed'], ['x is refused', 'passed'], ['y is refused', 'failed'])
    expect(hasPassed(rows, HERE, '%s is refused')).toBe(false)
    expect(hasPassed(report(['x is refused', 'passed']), HERE, 'a group › %s is refused')).toBe(true)
    expect(hasPassed(report(['x is refused', 'passed']), HERE, 'another › %s is refused')).toBe(false)
  })
})

test('A section belongs to the standard that its comment names before it, or else to the standard of the opening comment', () => {
  const source = [
    '/** Codes (RFC 6749 §4.1.2). */',
    "const url = 'https://example.com/§9'",
    '// §4.1.3, then RFC 9700 §2.1 and',
    '// §2.2, of OpenID Connect Core §3.1',
    '/** RFC 7636, appendix B. */',
    '/** RFC 7636, as ENSIP-3, ERC-4361 and §4. */',
  ].join('\n')
  expect([...citationsIn(source)]).toEqual([
    'RFC 6749 §4.1.2',
    'RFC 6749 §4.1.3',
    'RFC 9700 §2.1',
    'RFC 9700 §2.2',
    'OpenID Connect Core §3.1',
    'RFC 7636 §B',
    'ENS §3',
    'ERC §4361',
    'RFC 7636 §4',
  ])
})

test('The line of a section is the line of the comment at the code, or else of the opening comment', () => {
  const source = ['/**', ' * Codes (RFC 6749 §4.1.2, §4.1.3).', ' */', 'const a = 1', '// A replay', '// (§4.1.2).'].join('\n')
  expect(lineOfCitation(source, 'RFC 6749 §4.1.2')).toBe(6)
  expect(lineOfCitation(source, 'RFC 6749 §4.1.3')).toBe(2)
  expect(lineOfCitation(source, 'RFC 6749 §5.2')).toBeUndefined()
})

test('A test is found by its title and by its group with its title', () => {
  const titles = titlesIn(HERE)
  expect(titles).toContain(TITLE)
  expect(titles).toContain(
    'Faults of a row of the conformance tables › A row is a fault if its test failed, was skipped or did not run',
  )
})

test.each([
  ['no name of a standard', 'something'],
  ['no URL of its sections', 'JARM: A\n\n§1 MUST: b.\n  not held: c\n  shown: test/a.test.ts: d'],
  ['a row without a level', 'RFC 1: A\n\n§1 MAY: b.\n  not held: c\n  shown: test/a.test.ts: d'],
  ['a deviation without a test', 'RFC 1: A\n\n§1 MUST: b.\n  not held: c'],
  ['a row without an outcome', 'RFC 1: A\n\n§1 MUST: b.'],
  [
    'a row that is both held and not held',
    'RFC 1: A\n\n§1 MUST: b.\n  held: src/a.ts\n  shown: test/a.test.ts: d\n  not held: c',
  ],
  ['a row without a test', 'RFC 1: A\n\n§1 MUST: b.\n  held: src/a.ts'],
  ['an unknown keyword', 'RFC 1: A\n\n§1 MUST: b.\n  hold: src/a.ts\n  shown: test/a.test.ts: d'],
])('A table with %s is refused, with the file and the line', (_, text) => {
  expect(() => readTable('a.txt', text)).toThrow(/^a\.txt:\d+/)
})
