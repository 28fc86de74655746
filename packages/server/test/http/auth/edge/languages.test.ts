/** The language of a page over HTTP: what selects it, what remembers it, the chooser, and links that another person sends. */
import { expect } from 'vitest'
import { readerOf } from '../../../../src/pages/languages.ts'
import { compareOn, offerOf, openUrl, signOn } from '../../../support/cross-device.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { type Answer, send } from '../../../support/send.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

const test = base.extend('client', FILE, ({ grantor }) => grantor.createClient())

/** A page that states an error, so that no login is needed. */
const page = (origin: string, { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {}) =>
  send(origin, { path: `/oauth/authorize?client_id=nobody${query}`, headers: { accept: 'text/html', ...headers } })

const languageOf = ({ body, headers }: Answer): string => {
  const [, lang] = /<html lang="([^"]+)" dir="(?:ltr|rtl)">/.exec(body) ?? []
  expect(headers['content-language']).toBe(lang)
  return lang ?? ''
}

test('A page is in the language of ui_locales, otherwise of Accept-Language, otherwise in English (OpenID Connect Core §3.1.2.1)', async ({
  grantor,
}) => {
  const headers = { 'accept-language': 'vi, de;q=0.5' }
  expect(languageOf(await page(grantor.authUrl, { query: '&ui_locales=xx%20tr%20ja', headers }))).toBe('tr')
  expect(languageOf(await page(grantor.authUrl, { headers }))).toBe('vi')
  expect(languageOf(await page(grantor.authUrl, { query: '&ui_locales=xx' }))).toBe('en')
})

const CHOOSER = { 'sec-fetch-site': 'same-origin' }

test('The chosen language is kept in a cookie of this host, and comes before ui_locales', async ({ grantor }) => {
  const chosen = await page(grantor.authUrl, { query: '&lang=ar&ui_locales=de', headers: CHOOSER })
  expect(languageOf(chosen)).toBe('ar')
  expect(chosen.headers['set-cookie']).toEqual([
    expect.stringMatching(/^grantor_language=ar; Path=\/; HttpOnly; SameSite=Lax; Max-Age=31536000/),
  ])
  const later = await page(grantor.authUrl, { query: '&ui_locales=de', headers: { cookie: 'grantor_language=ar' } })
  expect(languageOf(later)).toBe('ar')
  expect(later.headers['set-cookie']).toBeUndefined()
})

test('A language that does not exist is ignored, in the URL and in the cookie', async ({ grantor }) => {
  const headers = { ...CHOOSER, cookie: 'grantor_language="><script>' }
  const answer = await page(grantor.authUrl, { query: '&lang=%22%3E%3Cscript%3E&ui_locales=fr', headers })
  expect(languageOf(answer)).toBe('fr')
  expect(answer.headers['set-cookie']).toBeUndefined()
})

test('No cache keeps a page, and a page names the fields that its language depends on (RFC 9110 §12.5.5)', async ({
  grantor,
}) => {
  const { headers } = await page(grantor.authUrl)
  expect(headers).toMatchObject({ 'cache-control': 'no-store', vary: 'Accept-Language, Cookie, Sec-Fetch-Site, Referer' })
})

test('An error page has the chooser, which repeats every parameter of the request, also a repeated and an empty one', async ({
  grantor,
}) => {
  const { body } = await page(grantor.authUrl, { query: '&state=a%20b&scope=&scope=x&lang=de', headers: CHOOSER })
  const fields = Array.from(body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g), ([, ...pair]) => pair)
  expect(fields).toEqual([
    ['client_id', 'nobody'],
    ['state', 'a b'],
    ['scope', ''],
    ['scope', 'x'],
  ])
  expect(body.match(/name="lang"/g)).toHaveLength(11)
  expect(body).toContain('value="de" lang="de" aria-current="true"')
})

test('A request that a form cannot repeat has no chooser: bytes that are not UTF-8', async ({ grantor }) => {
  expect((await page(grantor.authUrl, { query: '&state=%FF' })).body).not.toContain('id="languages"')
})

test('A page that completes a login has no chooser, because a second request has another result', async ({ grantor }) => {
  const { body } = await send(grantor.authUrl, { path: '/login/complete?login_challenge=x', headers: { accept: 'text/html' } })
  expect(body).toContain('data-notice="broken_link"')
  expect(body).not.toContain('id="languages"')
})

test('The login page has the language of the app’s ui_locales, although its URL does not name it', async ({
  grantor,
  client,
}) => {
  const query = new URLSearchParams(requestOf(client, { ui_locales: 'ko' }) as Record<string, string>)
  const { location } = await send(grantor.authUrl, { path: `/oauth/authorize?${query}`, headers: { accept: 'text/html' } })
  const { pathname, search, origin } = new URL(location)
  const login = await send(origin, { path: `${pathname}${search}`, headers: { accept: 'text/html', 'accept-language': 'fr' } })
  expect(languageOf(login)).toBe('ko')
  expect(login.body).toContain('id="languages"')
})

/** How a browser opens a link: from another site, from a message or a QR code, from a sibling host, and without Fetch Metadata. */
const LINKS = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'none' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', referer: 'https://attacker.example/device' },
  { referer: 'https://attacker.example/device' },
  {},
]

const WARNINGS = [
  '/device',
  '/device?user_code=BCDF-GHJK',
  '/login/cross-device?login_challenge=x',
  '/login/resume?login_challenge=x',
]
const OTHERS = [
  '/login/complete?login_challenge=x',
  '/login/cross-device/complete?login_challenge=x',
  '/account/end-everything',
  '/nothing',
]

test.for([...WARNINGS, ...OTHERS])(
  'A link does not select the language of a page, and sets no cookie (RFC 8628 §5.4, RFC 10027): %s',
  async (path, { grantor }) => {
    const chosen = `${path}${path.includes('?') ? '&' : '?'}lang=ko&ui_locales=ko`
    for (const headers of LINKS) {
      const answer = await send(grantor.authUrl, {
        path: chosen,
        headers: { accept: 'text/html', 'accept-language': 'en-US,en', ...headers },
      })
      expect([headers, languageOf(answer)]).toEqual([headers, 'en'])
      expect(answer.headers['set-cookie'] ?? []).toEqual([])
    }
  },
)

test('A link to the login page does not select its language either, and sets no cookie', async ({ grantor, client }) => {
  const challenge = await new Walk(grantor).challenge(requestOf(client))
  for (const headers of LINKS) {
    const path = `/login?login_challenge=${challenge}&lang=ko&ui_locales=ko`
    const answer = await send(grantor.loginUrl, { path, headers: { accept: 'text/html', 'accept-language': 'fr', ...headers } })
    expect([headers, languageOf(answer)]).toEqual([headers, 'fr'])
    expect(answer.headers['set-cookie']).toBeUndefined()
  }
})

test('A browser without Fetch Metadata selects a language with the chooser of the same page, by its Referer', async ({
  grantor,
}) => {
  const host = new URL(grantor.authUrl).host
  const open = (referer: string) => send(grantor.authUrl, { path: '/device?lang=ko', headers: { referer } })
  const chosen = await open(`http://${host}/device`)
  expect(languageOf(chosen)).toBe('ko')
  expect(chosen.headers['set-cookie']).toEqual([expect.stringMatching(/^grantor_language=ko;/)])
  expect(languageOf(await open(`http://${host}/account`))).toBe('en')
  expect(languageOf(await open('not a URL'))).toBe('en')
})

test('A page of this host that leads to the redirect URI of an app does not select the language of the page there', async ({
  grantor,
}) => {
  const headers = { 'sec-fetch-site': 'same-origin', referer: `${grantor.authUrl}/login/complete?login_challenge=x` }
  const answer = await send(grantor.authUrl, { path: '/device?user_code=BCDF-GHJK&lang=ko&code=x&state=x', headers })
  expect(languageOf(answer)).toBe('en')
  expect(answer.headers['set-cookie']).toBeUndefined()
})

test('Over https the cookie has the prefix __Host-, so that a sibling host selects no language (RFC 6265bis §4.1.3.2)', () => {
  const fields: [string, string][] = []
  const request = { method: 'GET', url: '/device?lang=ko', protocol: 'https', host: 'auth.example.com' }
  const header = (name: string, value: string) => fields.push([name, value])
  readerOf({ request: { ...request, headers: CHOOSER }, header })
  expect(Object.fromEntries(fields)['set-cookie']).toMatch(/^__Host-grantor_language=ko; Path=\/; .*; Secure$/)
  const languageWith = (cookie: string) => readerOf({ request: { ...request, url: '/device', headers: { cookie } }, header }).tag
  expect(languageWith('__Host-grantor_language=ko')).toBe('ko')
  expect(languageWith('grantor_language=ko')).toBe('en')
})

test('On another device the login of an app with ui_locales has the language of that device, on every page (RFC 10027)', async ({
  grantor,
  client,
}) => {
  const desktop = new Walk(grantor)
  const challenge = await desktop.challenge(requestOf(client, { ui_locales: 'ko' }))
  const { url } = await offerOf(desktop, challenge)
  const phone = new Walk(grantor)
  expect(languageOf(await openUrl(phone, url))).toBe('en')
  const compared = await compareOn(phone, url)
  expect((await phone.describe(compared)).json()).not.toHaveProperty('ui_locale')
  const { location } = await phone.browse({ path: `/login/resume?login_challenge=${challenge}` })
  const resumed = new URL(location).searchParams.get('login_challenge') ?? ''
  expect((await phone.describe(resumed)).json()).not.toHaveProperty('ui_locale')
  expect(languageOf(await signOn(phone, url))).toBe('en')
})

test('The browser that the app sent to the login returns to the app in the language of ui_locales, and no URL names it', async ({
  grantor,
  client,
}) => {
  const browser = new Walk(grantor)
  const challenge = await browser.challenge(requestOf(client, { ui_locales: 'ko' }))
  expect((await browser.describe(challenge)).json()).toMatchObject({ ui_locale: 'ko' })
  const to = await browser.prove(challenge)
  expect(to).not.toContain('ui_locales')
  expect(languageOf(await browser.complete(to))).toBe('ko')
})
