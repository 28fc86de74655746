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

test.each(kinds)('a notice says what happened and what to do next, with and without an app’s name: %s', (kind) => {
  for (const clientName of ['Aurora', undefined]) {
    const notice = noticePage({ kind, clientName, clientHost: clientName && 'aurora.example' })
    expect(notice).toMatch(/<h1 tabindex="-1">[^<]{5,60}<\/h1>/)
    expect(notice).toMatch(/<p class="next">.{20,}<\/p>/)
    expect(notice).not.toMatch(/\{[a-z]+\}|undefined|null/i)
  }
})

test('no words are left unfilled on the login page', () => {
  const [markup = ''] = page.split('<template')
  expect(markup).not.toMatch(/\{[a-z]+\}|undefined|null/i)
  // the script fills in what it alone knows
  expect(new Set(page.match(/\{[a-z]+\}/g))).toEqual(new Set(['{wallet}', '{account}', '{wait}', '{n}']))
})

test('the page brings every word that its script says, and none that it does not', () => {
  const source = scripts.map(({ body }) => body.toString()).join('\n')
  const brought = Array.from(page.matchAll(/data-word="([^"]+)"/g), ([, word]) => word ?? '')
  for (const word of brought) expect(source).toContain(`'${word}'`)
  for (const key of Object.keys(texts.script)) expect(brought).toContain(key)
})

test('an app that asks for no scope is said to learn the address and nothing else', () => {
  expect(page).toContain('learns your wallet’s address, and nothing else')
})

test('what a browser loads is small: all scripts together under 20 kB, without a library', () => {
  const size = scripts.reduce((sum, { body }) => sum + body.length, 0)
  expect(size).toBeLessThan(20_000)
  for (const { body } of scripts) {
    expect(body.toString()).not.toMatch(/https?:\/\/|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(/)
    for (const [, from] of body.toString().matchAll(/^import .* from '(.*)'$/gm)) expect(from).toMatch(/^\.\/[a-z-]+\.js$/)
  }
})

test('no page has a script or a style of its own, and nothing comes from a third party', () => {
  for (const markup of [page, ...kinds.map((kind) => noticePage({ kind, clientName: 'A' }))]) {
    expect(markup).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?! type="module" src="\/assets\/)/i)
    for (const [, url = ''] of markup.matchAll(/(?:src|<link[^>]*href)="([^"]*)"/g)) expect(url).toMatch(/^\/assets\//)
  }
  expect(readFileSync(new URL('../../src/pages/browser/grantor.css', import.meta.url), 'utf8')).not.toMatch(/@import|url\(/)
})

test('every asset is served with its own type and a tag that changes with it', () => {
  for (const { path, type, etag } of assets) {
    expect(path).toMatch(/^\/assets\/[a-z-]+\.(css|js|svg)$/)
    expect(type).toMatch(/^(text\/css; charset=utf-8|text\/javascript; charset=utf-8|image\/svg\+xml)$/)
    expect(etag).toMatch(/^"[A-Za-z0-9_-]{22}"$/)
  }
})

test('a page’s headers are a fresh object: one reply cannot change the next', () => {
  pageHeaders()['content-security-policy'] = ''
  expect(pageHeaders()['content-security-policy']).toContain("default-src 'none'")
})
