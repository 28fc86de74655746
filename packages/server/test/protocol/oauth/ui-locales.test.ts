import { expect, test } from 'vitest'
import { acceptedLocale, chooseUiLocale } from '../../../src/protocol/oauth/ui-locales.ts'

test.for([
  ['tr en', 'tr'],
  ['xx vi de', 'vi'],
  ['es-MX', 'es'],
  ['PT-br', 'pt'],
  ['zh-CN', 'zh-Hans'],
  ['zh-TW zh-Hant ko', 'ko'],
  ['zh-Hans-HK', 'zh-Hans'],
  ['xx', null],
  ['', null],
  [null, null],
] as const)('ui_locales %s selects %s: the first supported language in the order of the request', ([list, locale]) => {
  expect(chooseUiLocale(list)).toBe(locale)
})

test.for([
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['en;q=0.5, ar;q=0.9', 'ar'],
  ['en;q=0.1, xx, ja; q=0.2', 'ja'],
  ['fr;q=0, es;q=0.001', 'es'],
  ['ko, tr', 'ko'],
  ['*', null],
  ['', null],
  [undefined, null],
] as const)(
  'Accept-Language %s selects %s: the supported language with the highest weight (RFC 9110 §12.5.4)',
  ([field, locale]) => {
    expect(acceptedLocale(field)).toBe(locale)
  },
)

test('A list of any length is read up to a bound', () => {
  expect(acceptedLocale(`${'xx,'.repeat(100_000)}de`)).toBeNull()
  expect(chooseUiLocale(`${'xx '.repeat(100_000)}de`)).toBeNull()
})
