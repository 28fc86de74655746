/** The languages of the pages, as tags of BCP 47, and the choice of one of them. */
export const UI_LOCALES = ['en', 'es', 'pt', 'fr', 'de', 'tr', 'vi', 'ja', 'ko', 'zh-Hans', 'ar'] as const

export type UiLocale = (typeof UI_LOCALES)[number]

/** Of `ui_locales` and of `Accept-Language`. A browser sends fewer than ten languages. */
const LONGEST_LIST = 200
const TAGS_AT_MOST = 20

export function isUiLocale(tag: unknown): tag is UiLocale {
  return UI_LOCALES.some((locale) => locale === tag)
}

/** The first supported language of `ui_locales`, in the order of the request (OpenID Connect Core §3.1.2.1). Null if none is supported. */
export function chooseUiLocale(uiLocales: string | null): UiLocale | null {
  return firstSupported((uiLocales ?? '').slice(0, LONGEST_LIST).split(' ', TAGS_AT_MOST))
}

/** The supported language with the highest weight in an `Accept-Language` field (RFC 9110 §12.5.4). The field is read once, up to a bound. */
export function acceptedLocale(field: string | undefined): UiLocale | null {
  const ranges = (field ?? '').slice(0, LONGEST_LIST).split(',', TAGS_AT_MOST).map(readRange)
  const wanted = ranges.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight)
  return firstSupported(wanted.map(({ tag }) => tag))
}

function readRange(range: string): { tag: string; weight: number } {
  const [tag = '', parameter = ''] = range.split(';', 2).map((part) => part.trim())
  const [, weight = '1'] = /^q=([01](?:\.\d{0,3})?)$/i.exec(parameter) ?? []
  return { tag, weight: Number(weight) }
}

function firstSupported(tags: string[]): UiLocale | null {
  for (const tag of tags) {
    const locale = supportedFor(tag.toLowerCase())
    if (locale) return locale
  }
  return null
}

/** `es-MX` is answered in `es` (RFC 4647 §3.4). Chinese is supported in the simplified script only: a reader of `zh-TW` may prefer another language. */
function supportedFor(tag: string): UiLocale | undefined {
  const [language = '', ...subtags] = tag.split('-')
  if (language === 'zh')
    return subtags.some((subtag) => TRADITIONAL.has(subtag)) && !subtags.includes('hans') ? undefined : 'zh-Hans'
  return UI_LOCALES.find((locale) => locale === language)
}

const TRADITIONAL = new Set(['hant', 'tw', 'hk', 'mo'])
