import { expect, test } from 'vitest'
import { transliterateName } from '../../../src/protocol/wallet/plain-words.ts'
import { forAll } from '../../support/property.ts'
import { clientNames } from './arbitraries.ts'

test.each([
  ['MyApp', 'MyApp'],
  ['Müller & Söhne', 'Muller & Sohne'],
  ['Smørrebrød', 'Smorrebrod'],
  ['Straße Æ', 'Strasse Ae'],
  ['Łódź', 'Lodz'],
  ['İstanbul ışık', 'Istanbul isik'],
  ['Яндекс Щука', 'Iandeks Shchuka'],
  ['Ὀδυσσεύς', 'Odysseys'],
  ["O'Reilly", 'OReilly'],
  ['Ｆｕｌｌ　Ｗｉｄｔｈ', 'Full Width'],
  ['C++ Web-3', 'C++ Web-3'],
  ['😀 Smile 🇩🇪', 'Smile'],
])('The app name %j is written as %j in the text to sign', (name, expected) => {
  expect(transliterateName(name)).toBe(expected)
})

test.each(['', '   ', '😀', '支付宝', '支付宝 Pay', 'متجر', '- & +', '\u202e\u200b', '\ud800', '٣'])(
  "The app name %j is omitted as a whole: a part of it could be another app's name",
  (name) => {
    expect(transliterateName(name)).toBe('')
  },
)

test('An app name cannot add a sentence, a host or a quotation mark to the text to sign', () => {
  expect(transliterateName('Evil. No permissions.')).toBe('Evil No permissions')
  expect(transliterateName('Bank at bank.example')).toBe('Bank at bank example')
  expect(transliterateName('Bank at bank。example')).toBe('Bank at bank example')
  expect(transliterateName("Bank' at bank.example to use 'read")).toBe('Bank at bank example to use read')
  expect(transliterateName('Bank’ ‘x')).toBe('Bank x')
  expect(transliterateName('x\nURI: https://bank.example')).toBe('x URI https bank example')
})

test('Cyrillic letters that look like Latin ones are transliterated as Cyrillic letters', () => {
  // U+0421 and U+043E are Cyrillic.
  expect(transliterateName('\u0421\u043einbank')).toBe('Soinbank')
})

test('Direction marks and invisible characters are removed from an app name', () => {
  expect(transliterateName('My\u200bA\u00adpp\u202e\u2066')).toBe('MyApp')
})

test('A very long app name is cut after forty characters', () => {
  expect(transliterateName('a'.repeat(100_000))).toBe('a'.repeat(40))
  expect(transliterateName(`${'a'.repeat(39)} b`)).toBe('a'.repeat(39))
})

test('Any app name becomes at most forty letters, digits, spaces and & + -, and transliterating it again changes nothing', () => {
  forAll(clientNames, (name) => {
    const plain = transliterateName(name)
    expect(plain).toMatch(/^(?:[A-Za-z0-9&+-](?:[A-Za-z0-9&+ -]{0,38}[A-Za-z0-9&+-])?)?$/)
    expect(transliterateName(plain)).toBe(plain)
  })
})
