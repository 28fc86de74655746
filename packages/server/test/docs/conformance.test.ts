/** The generated page of conformance lists for each sentence of a standard the file that implements it and the test that shows it. */
import { describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../scripts/conformance/faults.ts'
import { conformancePage } from '../../../../scripts/conformance/page.ts'
import type { Held, Requirement, Standard } from '../../../../scripts/conformance/requirement.ts'
import { readTables } from '../../../../scripts/conformance/tables.ts'
import type { Report } from '../../../../scripts/conformance/titles.ts'

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
})
