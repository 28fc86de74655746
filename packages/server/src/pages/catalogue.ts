/**
 * The texts of the pages, one file of data for each language in `locales`. English is the source: its keys are the type of every
 * catalogue, so a key that the code names and English lacks does not compile. `npm run check:texts` checks the other languages.
 */
import { readFileSync } from 'node:fs'
import english from '../../locales/en.json' with { type: 'json' }

/**
 * A text with a count: one text for each category of Intl.PluralRules that the language has. `other` stands for a category without a
 * text.
 */
export type Plural = { readonly other: string } & { readonly [Category in Intl.LDMLPluralRule]?: string }

/** The keys of English, with any text. */
export type Texts = Translated<typeof english>

type Translated<T> = T extends string
  ? string
  : T extends { one: string; other: string }
    ? Plural
    : { readonly [Key in keyof T]: Translated<T[Key]> }

/** Texts with their keys, before they are known to have all of them. */
export type Catalogue = { readonly [key: string]: string | Catalogue }

export const englishTexts: Texts = english

/** The texts of a language. English stands for a text that the language lacks. */
export function readTexts(tag: string): Texts {
  return withFallback(english, readCatalogue(tag)) as Texts
}

/** The texts of a language as its file has them. */
export function readCatalogue(tag: string): Catalogue {
  return JSON.parse(readFileSync(new URL(`../../locales/${tag}.json`, import.meta.url), 'utf8')) as Catalogue
}

const CATEGORIES = new Set(['zero', 'one', 'two', 'few', 'many', 'other'])

/** Whether this is a text with a count. It has the categories of its own language, so it is replaced as a whole. */
export function isPlural(texts: Catalogue): boolean {
  return Object.keys(texts).every((key) => CATEGORIES.has(key))
}

function withFallback(source: Catalogue, translation: Catalogue): Catalogue {
  const entries = Object.entries(source).map(([key, text]) => {
    const translated = translation[key]
    if (typeof text === 'string' || typeof translated === 'string' || !translated || isPlural(text))
      return [key, translated ?? text]
    return [key, withFallback(text, translated)]
  })
  return Object.fromEntries(entries) as Catalogue
}
