import { expect, test } from 'vitest'
import { englishTexts, readTexts } from '../../src/pages/catalogue.ts'
import { languages } from '../../src/pages/languages.ts'

test('English stands for a text that a language lacks', () => {
  const texts = readTexts('de')
  expect(texts.review.title).toBe('Das werden Sie signieren')
  expect(Object.keys(texts.notices)).toEqual(Object.keys(englishTexts.notices))
})

test('A language is read at its first use, and once', () => {
  const read = Object.getOwnPropertyDescriptor(languages.tr, 'texts')
  expect(read?.get).toBeTypeOf('function')
  expect(languages.tr.texts).toBe(languages.tr.texts)
})
