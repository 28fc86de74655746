/** The language of a page over HTTP: what selects it, what remembers it, and the chooser. */
import { expect } from 'vitest'
import { test as base, FILE } from '../../support/fixtures.ts'
import { type Answer, send } from '../../support/send.ts'
import { requestOf } from '../../support/walk.ts'

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

test('The chosen language is kept in a cookie of this host, and comes before ui_locales', async ({ grantor }) => {
  const chosen = await page(grantor.authUrl, { query: '&lang=ar&ui_locales=de' })
  expect(languageOf(chosen)).toBe('ar')
  expect(chosen.headers['set-cookie']).toEqual([
    expect.stringMatching(/^grantor_language=ar; Path=\/; HttpOnly; SameSite=Lax; Max-Age=31536000/),
  ])
  const later = await page(grantor.authUrl, { query: '&ui_locales=de', headers: { cookie: 'grantor_language=ar' } })
  expect(languageOf(later)).toBe('ar')
  expect(later.headers['set-cookie']).toBeUndefined()
})

test('A language that does not exist is ignored, in the URL and in the cookie', async ({ grantor }) => {
  const headers = { cookie: 'grantor_language="><script>' }
  const answer = await page(grantor.authUrl, { query: '&lang=%22%3E%3Cscript%3E&ui_locales=fr', headers })
  expect(languageOf(answer)).toBe('fr')
  expect(answer.headers['set-cookie']).toBeUndefined()
})

test('No cache keeps a page, and a page names the fields that its language depends on (RFC 9110 §12.5.5)', async ({
  grantor,
}) => {
  const { headers } = await page(grantor.authUrl)
  expect(headers).toMatchObject({ 'cache-control': 'no-store', vary: 'Accept-Language, Cookie' })
})

test('An error page has the chooser, which repeats every parameter of the request, also a repeated and an empty one', async ({
  grantor,
}) => {
  const { body } = await page(grantor.authUrl, { query: '&state=a%20b&scope=&scope=x&lang=de' })
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
