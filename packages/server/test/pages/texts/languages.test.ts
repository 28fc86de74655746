import { expect, test } from 'vitest'
import type { Texts } from '../../../src/pages/catalogue.ts'
import { defineLanguage, ENGLISH, languages } from '../../../src/pages/languages.ts'
import { loginPage } from '../../../src/pages/login/login-page.ts'
import { countOf } from '../../../src/pages/words.ts'
import { OWN_DESCRIPTIONS } from '../../../src/protocol/oauth/own-descriptions.ts'
import { STANDARD_SCOPES } from '../../../src/protocol/oauth/standard-scopes.ts'
import { contentOf } from '../../support/walk.ts'
import { everyPage } from '../every-page.ts'
import { loginRequest, NOW } from '../samples.ts'

type Tree = { [key: string]: string | Tree }

/** A language in which every letter of the catalogue is replaced. A letter of a-z on a page is then not of the catalogue. */
function pseudo(tree: object): Tree {
  const entries = Object.entries(tree).map(([key, value]) => [key, typeof value === 'string' ? hide(value) : pseudo(value)])
  return Object.fromEntries(entries)
}

function hide(text: string): string {
  return text.replace(/\{[a-z]+\}|[a-z]/gi, (part) => (part.length > 1 ? part : 'ж'))
}

const PSEUDO = {
  ...defineLanguage({ tag: 'ja', name: '日本語', texts: pseudo(ENGLISH.texts) as unknown as Texts }),
  url: '/4711',
}

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

const SAME_EVERYWHERE = /Grantor|Ethereum|UTC|NESO|0x/g

function latinWords(page: string): string[] {
  const text = visible(page)
    .replaceAll(/<!doctype[^>]*>|<[^>]*>/g, ' ')
    .replaceAll(/\{[a-z]+\}|&#?\w+;/g, ' ')
  return text.replaceAll(SAME_EVERYWHERE, '').match(/[a-z]{2,}/gi) ?? []
}

test('A count has the form that the language has for its number (Unicode plural rules)', () => {
  const write = (count: number) => countOf(languages.ar.texts.account.receipts, count, languages.ar)
  expect([2, 3, 11].map(write)).toEqual(['ما وقّعت عليه: إيصالان', 'ما وقّعت عليه: 3 إيصالات', 'ما وقّعت عليه: 11 إيصالًا'])
  expect(countOf(languages.ja.texts.account.receipts, 1, languages.ja)).toBe('署名した内容：控え 1 件')
})

test.each(translations)('A page in $name has the tag and the direction of the language', (language) => {
  for (const page of everyPage('4711', language)) {
    expect(page).toContain(`<html lang="${language.tag}" dir="${language.dir}">`)
    expect(contentOf(page)).not.toMatch(/undefined|null/)
  }
})
