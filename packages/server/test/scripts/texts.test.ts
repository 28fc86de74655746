import { expect, test } from 'vitest'
import { compareCatalogues } from '../../../../scripts/texts/compare.ts'

const english = {
  title: 'Sign in to {app}',
  place: '',
  account: { receipts: { one: 'One receipt', other: '{n} receipts' }, end: 'End' },
}

test('A translation without a key of English is complete enough, and the key is listed', () => {
  expect(compareCatalogues(english, { title: 'Bei {app} anmelden', account: { end: 'Beenden' } }, 'de')).toEqual({
    faults: [],
    missing: ['place', 'account.receipts'],
  })
})

test('A key that English lacks, another placeholder and an empty text are faults of a translation', () => {
  const german = { title: 'Bei {host} anmelden', login: { looking: 'Suche' }, account: { end: '' } }
  expect(compareCatalogues(english, german, 'de').faults).toEqual([
    'login.looking is not a key of English',
    'title has the placeholders {host}, and English {app}',
    'account.end is empty in one of the two languages only',
  ])
})

test('A text with a count has the plural categories of its language, and no other placeholder than the count', () => {
  const of = (receipts: Record<string, string> | string) =>
    compareCatalogues({ account: english.account }, { account: { receipts, end: 'x' } }, 'ko')
  expect(of({ other: '영수증 {n}개' })).toEqual({ faults: [], missing: [] })
  expect(of({ one: '{app}', other: '영수증 {n}개' }).faults).toEqual([
    'account.receipts.one is not a plural category of ko',
    'account.receipts.one is no text, or has another placeholder than {n}',
  ])
  expect(of('영수증').faults).toEqual(['account.receipts has a count in one of the two languages only'])
})
