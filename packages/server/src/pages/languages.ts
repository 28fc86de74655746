/**
 * The languages of the pages. Each page function receives a `Reader`, so that concurrent requests in different languages share no
 * state.
 */
import { parseForm, queryOf } from '../protocol/oauth/form.ts'
import { acceptedLocale, chooseUiLocale, isUiLocale, type UiLocale } from '../protocol/oauth/ui-locales.ts'
import { englishTexts, readTexts, type Texts } from './catalogue.ts'
import { type Look, type LookReply } from './look.ts'

export type Language = {
  /** BCP 47 */
  tag: string
  /** What its readers call it. */
  name: string
  dir: 'ltr' | 'rtl'
  readonly texts: Texts
  /** Formatters are created at the first use: those of all languages hold 9 MiB. */
  formats: () => Formats
}

export type Formats = {
  day: Intl.DateTimeFormat
  /** the day and the time of day */
  minute: Intl.DateTimeFormat
  relative: Intl.RelativeTimeFormat
  number: Intl.NumberFormat
  plural: Intl.PluralRules
  duration: { second: Intl.NumberFormat; minute: Intl.NumberFormat }
}

/** The language of one request. */
export type Reader = Language & {
  /** Path and query of the request, to which the chooser leads; absent if the request cannot be repeated. */
  url?: string | undefined
  /** The look of the operator; if absent, that of Grantor. */
  look?: Look | undefined
}

/**
 * `intl`: the locale for dates and numbers, if it is not `tag`. A day is in UTC, because a request does not contain the reader's time zone.
 * `texts`: if absent, those of `locales`, which are read at the first use.
 */
export function defineLanguage(
  given: Pick<Language, 'tag' | 'name'> & { dir?: 'rtl'; intl?: string; texts?: Texts | undefined },
): Language {
  const { tag, name, dir = 'ltr', intl = tag } = given
  let { texts } = given
  let formats: Formats | undefined
  return {
    tag,
    name,
    dir,
    get texts() {
      return (texts ??= readTexts(tag))
    },
    formats: () => (formats ??= createFormats(intl)),
  }
}

function createFormats(intl: string): Formats {
  const duration = (unit: string) => new Intl.NumberFormat(intl, { style: 'unit', unit, unitDisplay: 'long' })
  return {
    day: new Intl.DateTimeFormat(intl, { dateStyle: 'long', timeZone: 'UTC' }),
    minute: new Intl.DateTimeFormat(intl, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }),
    relative: new Intl.RelativeTimeFormat(intl, { numeric: 'auto' }),
    number: new Intl.NumberFormat(intl),
    plural: new Intl.PluralRules(intl),
    duration: { second: duration('second'), minute: duration('minute') },
  }
}

export const ENGLISH = defineLanguage({ tag: 'en', name: 'English', intl: 'en-GB', texts: englishTexts })

export const languages: Record<UiLocale, Language> = {
  en: ENGLISH,
  es: defineLanguage({ tag: 'es', name: 'Español' }),
  pt: defineLanguage({ tag: 'pt', name: 'Português' }),
  fr: defineLanguage({ tag: 'fr', name: 'Français' }),
  de: defineLanguage({ tag: 'de', name: 'Deutsch' }),
  tr: defineLanguage({ tag: 'tr', name: 'Türkçe' }),
  vi: defineLanguage({ tag: 'vi', name: 'Tiếng Việt' }),
  ja: defineLanguage({ tag: 'ja', name: '日本語' }),
  ko: defineLanguage({ tag: 'ko', name: '한국어' }),
  'zh-Hans': defineLanguage({ tag: 'zh-Hans', name: '简体中文', intl: 'zh-CN' }),
  ar: defineLanguage({ tag: 'ar', name: 'العربية', dir: 'rtl', intl: 'ar-u-nu-latn' }),
}

/** The reply to a request, as Fastify has it. */
export type ReaderReply = LookReply & {
  request: {
    method: string
    url: string
    protocol: string
    host: string
    headers: {
      cookie?: string | undefined
      'accept-language'?: string | undefined
      'sec-fetch-site'?: string | string[] | undefined
      referer?: string | undefined
    }
  }
  header(name: string, value: string): unknown
}

/**
 * The language of a page. Any person can send a link, and some pages are the only warning that the reader of the link gets. So the URL of
 * a page does not select the language. A page is in the first of these languages:
 *
 * 1. The choice of the user on this host: the button of the chooser, and afterwards the cookie. `lang` counts only in a request of the
 *    chooser (`isFromChooser`). In any other request it selects nothing and sets no cookie.
 * 2. The language that the app requested with `ui_locales` (OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2): in the URL of the app's
 *    own request, and afterwards in the sealed login, only in the browser that made the request (`uiLocaleOf`). The choice comes before it:
 *    otherwise the chooser would have no effect in a login that names `ui_locales`.
 * 3. `Accept-Language`
 *
 * Also sets `Content-Language`, and the cookie that keeps a choice. The cookie has a language and nothing else.
 *
 * @param uiLocale the language that the app requested in the sealed login
 */
export function readerOf(reply: ReaderReply, uiLocale?: UiLocale | null): Reader {
  const { method, url, headers, protocol } = reply.request
  const chosen = isFromChooser(reply.request) ? chosenIn(url) : null
  const requested =
    chosen ??
    readLanguageCookie(headers.cookie, protocol) ??
    uiLocale ??
    uiLocalesIn(url) ??
    acceptedLocale(headers['accept-language'])
  const language = languages[requested ?? 'en']
  reply.header('content-language', language.tag)
  reply.header('vary', 'Accept-Language, Cookie, Sec-Fetch-Site, Referer')
  if (chosen) reply.header('set-cookie', languageCookie(chosen, protocol))
  return { ...language, url: method === 'GET' && !COMPLETES.test(url) ? url : undefined, look: reply.look }
}

/**
 * Whether the chooser of the same page made the request. A browser sends `Sec-Fetch-Site: same-origin` only if a page of this origin made
 * the request. A link in a message or in a QR code has `none`. A browser without this field, such as Safari before 16.4, must send a
 * `Referer` of this host. A page of this origin may also lead to an address that an app registered, and that address may be on this host:
 * so a `Referer` must also name the same path.
 */
function isFromChooser({ url, host, headers }: ReaderReply['request']): boolean {
  const { 'sec-fetch-site': site, referer = '' } = headers
  const from = URL.canParse(referer) ? new URL(referer) : null
  if (from && from.pathname !== pathOf(url)) return false
  return site === undefined ? from?.host === host : site === 'same-origin'
}

/** A request that completes a login: a second one would have another result. */
const COMPLETES = /^\/login\/[a-z/-]*complete\b/

/** The requests of apps that have `ui_locales`. */
const APP_REQUESTS: ReadonlySet<string> = new Set(['/oauth/authorize', '/oauth/logout'])

/** Seconds. */
const COOKIE_LIFETIME = 365 * 86_400
const COOKIES_AT_MOST = 200

/** `__Host-`: a sibling host must not select the language of a warning. The prefix requires https, so plain-http loopback has no prefix. */
const cookieName = (protocol: string): string => `${protocol === 'https' ? '__Host-' : ''}grantor_language`

function languageCookie(chosen: UiLocale, protocol: string): string {
  const secure = protocol === 'https' ? '; Secure' : ''
  return `${cookieName(protocol)}=${chosen}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${COOKIE_LIFETIME}${secure}`
}

function readLanguageCookie(field = '', protocol: string): UiLocale | null {
  const wanted = cookieName(protocol)
  for (const pair of field.split(';', COOKIES_AT_MOST)) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === wanted) return isUiLocale(value) ? value : null
  }
  return null
}

function chosenIn(url: string): UiLocale | null {
  const chosen = parameterOf(url, 'lang')
  return isUiLocale(chosen) ? chosen : null
}

function uiLocalesIn(url: string): UiLocale | null {
  return APP_REQUESTS.has(pathOf(url)) ? chooseUiLocale(parameterOf(url, 'ui_locales')) : null
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? ''
}

function parameterOf(url: string, name: string): string | null {
  if (!url.includes(`${name}=`)) return null
  return parseForm(queryOf(url)).get(name)?.[0]?.text ?? null
}
