import { expect, test } from 'vitest'
import { OWN_DESCRIPTIONS } from '../../../src/oauth/own-descriptions.ts'
import { STANDARD_SCOPES } from '../../../src/oauth/standard-scopes.ts'
import { defineLanguage, ENGLISH, type Language, languages } from '../../../src/pages/languages.ts'
import { loginPage } from '../../../src/pages/login/login-page.ts'
import { english, type Texts } from '../../../src/pages/texts/english.ts'
import { countOf } from '../../../src/pages/words.ts'
import { contentOf } from '../../support/markup.ts'
import { everyPage } from '../every-page.ts'
import { loginRequest, NOW } from '../samples.ts'

type Tree = { [key: string]: string | Tree }

/** Each text with its path: `login.choose`. */
function leaves(tree: object, path = ''): [path: string, text: string][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'string' ? [[`${path}${key}`, value] as [string, string]] : leaves(value, `${path}${key}.`),
  )
}

/** A language in which every letter of the catalogue is replaced. A letter of a-z on a page is then not of the catalogue. */
function pseudo(tree: object): Tree {
  const entries = Object.entries(tree).map(([key, value]) => [key, typeof value === 'string' ? hide(value) : pseudo(value)])
  return Object.fromEntries(entries)
}

function hide(text: string): string {
  return text.replace(/\{[a-z]+\}|[a-z]/gi, (part) => (part.length > 1 ? part : 'ж'))
}

const PSEUDO = { ...defineLanguage({ tag: 'ja', name: '日本語', texts: pseudo(english) as unknown as Texts }), url: '/4711' }

const translations = Object.values(languages).filter(({ tag }) => tag !== 'en')

test('No page has a text outside of the catalogue: with a catalogue without Latin letters, no Latin letters are left', () => {
  for (const page of everyPage('4711', PSEUDO)) expect(latinWords(page)).toEqual([])
})

test.each(translations)(
  'A page in $name describes each scope of the service in that language, and shows a description of the operator as it is',
  (language) => {
    const own = Object.entries(OWN_DESCRIPTIONS).map(([name, description]) => ({ name, description }))
    const ofOperator = { name: 'profile', description: 'see your medals' }
    const page = loginPage(
      { loginChallenge: 'c', now: NOW, request: { ...loginRequest(), scopes: [...own, ofOperator] } },
      language,
    )
    for (const words of Object.values(language.texts.scopes)) expect(page).toContain(words)
    for (const { description } of own) expect(page).not.toContain(description)
    expect(page).toContain('<bdi>see your medals</bdi>')
  },
)

test('Each scope that the service defines has a description for users', () => {
  expect(Object.keys(OWN_DESCRIPTIONS)).toEqual(expect.arrayContaining([...STANDARD_SCOPES]))
})

test('No attribute that is shown or read aloud has a text outside of the catalogue', () => {
  for (const page of everyPage('4711', PSEUDO))
    for (const [, text] of visible(page).matchAll(/\s(?:aria-label|alt|title|placeholder)="([^"]*)"/g))
      expect(text === 'XXXX-XXXX' ? '' : text).not.toMatch(/[a-z]{2}/i)
})

/** Names and links that are the same in every language, and what is English in every language: the parts for developers. */
function visible(page: string): string {
  return contentOf(page)
    .replaceAll(/<(\w+)(?: [^>]*)? lang="en"[^]*?<\/\1>/g, '')
    .replaceAll(/<(code|pre|bdi|button class="quiet-link" name="lang")[ >][^]*?<\/(code|pre|bdi|button)>/g, '')
    .replaceAll(/<li><a class="wallet-app"[^]*?<\/a>/g, '')
}

const SAME_EVERYWHERE = /Grantor|Ethereum|UTC|0x/g

function latinWords(page: string): string[] {
  const text = visible(page)
    .replaceAll(/<!doctype[^>]*>|<[^>]*>/g, ' ')
    .replaceAll(/\{[a-z]+\}|&#?\w+;/g, ' ')
  return text.replaceAll(SAME_EVERYWHERE, '').match(/[a-z]{2,}/gi) ?? []
}

/** A text with a count has one leaf for each category of Intl.PluralRules that whole numbers up to 200 have. */
function keysOf({ texts, formats }: Language): string[] {
  const categories = [...new Set(Array.from({ length: 200 }, (_, i) => formats().plural.select(i + 1)))]
  const keys = leaves(texts).map(([path]) => path)
  return keys
    .filter((path) => !/\.(tone|builder)$/.test(path))
    .map((path) => (COUNTED.test(path) && categories.some((category) => path.endsWith(`.${category}`)) ? counted(path) : path))
    .sort()
}

const COUNTED = /\.(receipts|newestReceipts)\.\w+$/
const counted = (path: string): string => path.replace(/\.\w+$/, '.*')

test.each(translations)('The catalogue of $name has the keys of the English one, and no other', (language) => {
  const categories = new Set(Array.from({ length: 200 }, (_, i) => language.formats().plural.select(i + 1)))
  expect([...new Set(keysOf(language))]).toEqual([...new Set(keysOf(ENGLISH))])
  expect(Object.keys(language.texts.account.receipts).sort()).toEqual([...categories].sort())
  expect(Object.keys(language.texts.account.newestReceipts).sort()).toEqual([...categories].sort())
})

test.each(translations)('Each text of $name has the placeholders of the English text, and no text is empty', ({ texts }) => {
  const own = new Map(leaves(texts))
  for (const [path, sentence] of leaves(ENGLISH.texts)) {
    if (/\.(tone|builder)$/.test(path) || COUNTED.test(path)) continue
    expect([path, placeholders(own.get(path))]).toEqual([path, placeholders(sentence)])
    expect([path, own.get(path) === '']).toEqual([path, sentence === ''])
  }
})

test('A count has the form that the language has for its number (Unicode plural rules)', () => {
  const write = (count: number) => countOf(languages.ar.texts.account.receipts, count, languages.ar)
  expect([2, 3, 11].map(write)).toEqual(['ما وقّعت عليه: إيصالان', 'ما وقّعت عليه: 3 إيصالات', 'ما وقّعت عليه: 11 إيصالًا'])
  expect(countOf(languages.ja.texts.account.receipts, 1, languages.ja)).toBe('署名した内容：控え 1 件')
})

function placeholders(sentence = ''): string[] {
  return (sentence.match(/\{[a-z]+\}/gi) ?? []).sort()
}

test.each(translations)('A page in $name has the tag and the direction of the language', (language) => {
  for (const page of everyPage('4711', language)) {
    expect(page).toContain(`<html lang="${language.tag}" dir="${language.dir}">`)
    expect(contentOf(page)).not.toMatch(/undefined|null/)
  }
})
