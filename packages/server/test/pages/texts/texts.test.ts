import { expect, test } from 'vitest'
import { scripts, styles } from '../../../src/pages/inline.ts'
import { ENGLISH } from '../../../src/pages/languages.ts'
import { loginPage } from '../../../src/pages/login/login-page.ts'
import { noticePage } from '../../../src/pages/notice-page.ts'
import { type NoticeKind, notices } from '../../../src/pages/notices.ts'
import { pageHeaders } from '../../../src/pages/page-headers.ts'
import { contentOf, STYLE_OR_SCRIPT } from '../../support/walk.ts'
import { approvalLogin, loginRequest, NOW } from '../samples.ts'

const kinds = Object.keys(notices) as NoticeKind[]
const page = loginPage({ loginChallenge: 'c', request: { ...loginRequest(), scopes: [] }, now: NOW }, ENGLISH)

test.each(kinds)(
  'A notice has a heading and a next step, and no unfilled placeholder, with and without the name of an app: %s',
  (kind) => {
    for (const clientName of ['Aurora', undefined]) {
      const notice = noticePage({ kind, clientName, clientHost: clientName && 'aurora.example' }, ENGLISH)
      expect(notice).toMatch(/<h1 tabindex="-1">[^<]{5,60}<\/h1>/)
      expect(notice).toMatch(/<p class="next">.{20,}<\/p>/)
      expect(notice).not.toMatch(/\{[a-z]+\}|undefined|null/i)
    }
  },
)

test('The login page has no unfilled placeholder except the three that its script fills', () => {
  const [markup = ''] = contentOf(page).split('<template')
  expect(markup).not.toMatch(/\{[a-z]+\}|undefined|null/i)
  // The script fills in the values that only the browser has.
  expect(new Set(contentOf(page).match(/\{[a-z]+\}/g))).toEqual(new Set(['{wallet}', '{account}', '{wait}']))
})

test('The login page contains every text that its script uses, and no other', () => {
  const contained = Array.from(contentOf(page).matchAll(/data-word="([^"]+)"/g), ([, word]) => word ?? '')
  for (const word of contained) expect(scripts.login).toContain(`'${word}'`)
  for (const key of Object.keys(ENGLISH.texts.script)) expect(contained).toContain(key)
})

test('The login page of an approval never says that the user is signed in, or that a sign-in is over', () => {
  const approval = loginPage({ loginChallenge: 'c', request: approvalLogin(), now: NOW }, ENGLISH)
  expect(approval).toContain(`data-word="done">${ENGLISH.texts.movingOn.approving.text}`)
  expect(approval).toMatch(/ended-expired"><article[^]*?data-notice="approval_expired"/)
  expect(approval).toMatch(/ended-already_used"><article[^]*?data-notice="approval_answered"/)
  expect(approval).toContain('{account} cannot sign this, only 0xf39F…2266 can.')
})

test('If an app requests no scope, the login page says that the app learns only the address of the wallet', () => {
  expect(page).toContain('learns your wallet’s address, and nothing else')
})

test('All scripts together are smaller than 25 kB, load no library and write no HTML', () => {
  const all = scripts.login + scripts.formPost
  expect(all.length).toBeLessThan(25_000)
  expect(all).not.toMatch(/https?:\/\/|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(/)
})

test('A script is one module without imports, and neither a script nor a style ends its own element', () => {
  for (const text of [...Object.values(scripts), ...Object.values(styles)])
    expect(text).not.toMatch(/^import |^export |<\/|<!--/m)
})

test('No text in a script has several lines, because pages leave out the indentation', () => {
  for (const script of Object.values(scripts))
    for (const line of script.split('\n')) expect([line, (line.match(/`/g) ?? []).length % 2]).toEqual([line, 0])
})

test('The login page and the notices contain only our scripts and styles, no handlers, and load nothing', () => {
  for (const markup of [page, ...kinds.map((kind) => noticePage({ kind, clientName: 'A' }, ENGLISH))]) {
    for (const [, name, text = ''] of markup.matchAll(STYLE_OR_SCRIPT))
      expect(Object.values(name === 'script' ? scripts : styles)).toContain(text)
    expect(contentOf(markup)).not.toMatch(/<style|<script|\sstyle=|\son[a-z]+=/i)
    for (const [, url = ''] of markup.matchAll(/(?:src|<link[^>]*href)="([^"]*)"/g)) expect(url).toMatch(/^data:image\//)
  }
  expect(styles.page).not.toMatch(/@import|url\(/)
})

test('The headers of a page are a new object, so that one response cannot change the next', () => {
  pageHeaders({})['content-security-policy'] = ''
  expect(pageHeaders({})['content-security-policy']).toContain("default-src 'none'")
})
