import { type Catalogue, isPlural } from '../../packages/server/src/pages/catalogue.ts'

export type Comparison = {
  /** one sentence for each */
  faults: string[]
  /** keys without a text: `login.choose` */
  missing: string[]
}

export function compareCatalogues(english: Catalogue, translation: Catalogue, tag: string): Comparison {
  const source = new Map(entriesOf(english))
  const own = new Map(entriesOf(translation))
  const faults = [...own.keys()].filter((key) => !source.has(key)).map((key) => `${key} is not a key of English`)
  const missing: string[] = []
  for (const [key, text] of source) {
    const translated = own.get(key)
    if (translated === undefined) missing.push(key)
    else if (typeof text === 'string' || typeof translated === 'string') faults.push(...faultsOfText(key, text, translated))
    else {
      const compared = compareCounted(key, translated, tag)
      faults.push(...compared.faults)
      missing.push(...compared.missing)
    }
  }
  return { faults, missing }
}

function faultsOfText(key: string, text: string | Catalogue, translated: string | Catalogue): string[] {
  if (typeof text !== 'string' || typeof translated !== 'string') return [`${key} has a count in one of the two languages only`]
  if ((text === '') !== (translated === '')) return [`${key} is empty in one of the two languages only`]
  const [expected, found] = [placeholdersOf(text), placeholdersOf(translated)]
  return expected === found ? [] : [`${key} has the placeholders ${found || '(none)'}, and English ${expected || '(none)'}`]
}

/** Some languages have a category for millions or for zero, which no page shows. */
const COUNTS = Array.from({ length: 200 }, (_, i) => i + 1)

/** A text with a count has one text for each category of Intl.PluralRules that the language has. Only `{n}` may stand in it. */
function compareCounted(key: string, translated: Catalogue, tag: string): Comparison {
  const rules = new Intl.PluralRules(tag)
  const categories: string[] = rules.resolvedOptions().pluralCategories
  const needed = new Set(COUNTS.map((count) => rules.select(count)))
  const unknown = Object.keys(translated).filter((category) => !categories.includes(category))
  const wrong = Object.entries(translated).filter(
    ([, text]) => typeof text !== 'string' || !/^(\{n\})?$/.test(placeholdersOf(text)),
  )
  return {
    faults: [
      ...unknown.map((category) => `${key}.${category} is not a plural category of ${tag}`),
      ...wrong.map(([category]) => `${key}.${category} is no text, or has another placeholder than {n}`),
    ],
    missing: [...needed].filter((category) => !(category in translated)).map((category) => `${key}.${category}`),
  }
}

/** Each text with its path; a text with a count as a whole. */
function entriesOf(texts: Catalogue, path = ''): [key: string, text: string | Catalogue][] {
  return Object.entries(texts).flatMap(([key, value]): [string, string | Catalogue][] =>
    typeof value === 'string' || isPlural(value) ? [[path + key, value]] : entriesOf(value, `${path}${key}.`),
  )
}

function placeholdersOf(text: string): string {
  return (text.match(/\{[a-z]+\}/gi) ?? []).toSorted().join(' ')
}
