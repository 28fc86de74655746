import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { assets } from '../../src/pages/assets.ts'
import { loginPage } from '../../src/pages/login-page.ts'
import { noticePage } from '../../src/pages/notice-page.ts'
import { type NoticeKind, noticeTexts } from '../../src/pages/notice-texts.ts'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { texts } from '../../src/pages/texts.ts'
import { loginRequest, NOW } from './samples.ts'

const kinds = Object.keys(noticeTexts) as NoticeKind[]
const page = loginPage({ loginChallenge: 'c', request: { ...loginRequest(), scopes: [] }, now: NOW })
const scripts = assets.filter(({ path }) => path.endsWith('.js'))

test.each(kinds)(
  'A notice has a heading and a next step, and no unfilled placeholder, with and without the name of an app: %s',
  (kind) => {
    for (const clientName of ['Aurora', undefined]) {
      const notice = noticePage({ kind, clientName, clientHost: clientName && 'aurora.example' })
      expect(notice).toMatch(/<h1 tabindex="-1">[^<]{5,60}<\/h1>/)
      expect(notice).toMatch(/<p class="next">.{20,}<\/p>/)
      expect(notice).not.toMatch(/\{[a-z]+\}|undefined|null/i)
    }
  },
)

test('The login page has no unfilled placeholder except the four that its script fills', () => {
  const [markup = ''] = page.split('<template')
  expect(markup).not.toMatch(/\{[a-z]+\}|undefined|null/i)
  // The script fills in the values that only the browser has.
  expect(new Set(page.match(/\{[a-z]+\}/g))).toEqual(new Set(['{wallet}', '{account}', '{wait}', '{n}']))
})

test('The login page contains every text that its script uses, and no other', () => {
  const source = scripts.map(({ body }) => body.toString()).join('\n')
  const contained = Array.from(page.matchAll(/data-word="([^"]+)"/g), ([, word]) => word ?? '')
  for (const word of contained) expect(source).toContain(`'${word}'`)
  for (const key of Object.keys(texts.script)) expect(contained).toContain(key)
})

test('If an app requests no scope, the login page says that the app learns only the address of the wallet', () => {
  expect(page).toContain('learns your wallet’s address, and nothing else')
})

test('All scripts together are smaller than 20 kB, load no library and write no HTML', () => {
  const size = scripts.reduce((sum, { body }) => sum + body.length, 0)
  expect(size).toBeLessThan(20_000)
  for (const { body } of scripts) {
    expect(body.toString()).not.toMatch(/https?:\/\/|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(/)
    for (const [, from] of body.toString().matchAll(/^import .* from '(.*)'$/gm)) expect(from).toMatch(/^\.\/[a-z-]+\.js$/)
  }
})

test('The login page and the notices have no inline script or style and load nothing from another origin', () => {
  for (const markup of [page, ...kinds.map((kind) => noticePage({ kind, clientName: 'A' }))]) {
    expect(markup).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?! type="module" src="\/assets\/)/i)
    for (const [, url = ''] of markup.matchAll(/(?:src|<link[^>]*href)="([^"]*)"/g)) expect(url).toMatch(/^\/assets\//)
  }
  expect(readFileSync(new URL('../../src/pages/browser/grantor.css', import.meta.url), 'utf8')).not.toMatch(/@import|url\(/)
})

test('Every asset has a path below /assets, a content type and an ETag', () => {
  for (const { path, type, etag } of assets) {
    expect(path).toMatch(/^\/assets\/[a-z-]+\.(css|js|svg)$/)
    expect(type).toMatch(/^(text\/css; charset=utf-8|text\/javascript; charset=utf-8|image\/svg\+xml)$/)
    expect(etag).toMatch(/^"[A-Za-z0-9_-]{22}"$/)
  }
})

test('The headers of a page are a new object, so that one response cannot change the next', () => {
  pageHeaders()['content-security-policy'] = ''
  expect(pageHeaders()['content-security-policy']).toContain("default-src 'none'")
})
