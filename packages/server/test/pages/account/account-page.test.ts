import { expect, test } from 'vitest'
import { accountPage } from '../../../src/pages/account/account-page.ts'
import { endEverythingPage } from '../../../src/pages/account/end-everything-page.ts'
import { receiptPage } from '../../../src/pages/account/receipt-page.ts'
import { ENGLISH } from '../../../src/pages/languages.ts'
import { contentOf } from '../../support/walk.ts'
import { accountView, receiptView } from '../samples.ts'

const page = accountPage(accountView(), ENGLISH)
const pages = [
  page,
  receiptPage(receiptView(), ENGLISH),
  endEverythingPage({ action: '/account/end-everything', account: null }, ENGLISH),
]

test('Each action of the account page that ends something is a form with method POST, so that prefetching a link ends nothing', () => {
  const forms = Array.from(page.matchAll(/<form method="(\w+)" action="([^"]*)"/g), ([, method, action]) => [method, action])
  expect(forms).toEqual([
    ['post', '/account/sign-out'],
    ['post', '/account/apps/end'],
    ['post', '/account/apps/end'],
    ['post', '/account/sessions/end'],
    ['post', '/account/sessions/end-others'],
  ])
  const links = Array.from(page.matchAll(/<a [^>]*href="([^"]*)"/g), ([, href]) => href)
  expect(links).toEqual([
    ...['first', 'second', 'third', 'fourth'].flatMap((id) => [`/account/receipts/${id}`, `/account/receipts/${id}.json`]),
    '/account/end-everything',
  ])
})

test('The account page marks an expired receipt as over and a withdrawn receipt as withdrawn', () => {
  const tags = Array.from(page.matchAll(/<span class="tag">([^<]*)</g), ([, tag]) => tag)
  expect(tags).toEqual(['over', 'withdrawn', 'withdrawn'])
})

test('The account page offers no receipts to a user for whom the login server vouched', () => {
  expect(accountPage({ ...accountView(), signedIn: 'vouched' }, ENGLISH)).not.toMatch(/receipts\/|What you signed/)
})

test('The account page ends the current session by signing out only, and each other session by a form with the handle of that session', () => {
  expect(page.match(/name="session" value="[^"]*"/g)).toEqual(['name="session" value="there"'])
  const alone = { ...accountView(), sessions: { rows: accountView().sessions?.rows.slice(0, 1) ?? [], more: null } }
  expect(accountPage(alone, ENGLISH)).not.toContain('end-others')
})

test('A session is named by its browser and system, as far as the sign-in named them', () => {
  const rows = accountView().sessions?.rows ?? []
  const titleOf = (browser: string, current: boolean) => {
    const sessions = { rows: rows.slice(0, 1).map((row) => ({ ...row, browser, current })), more: null }
    const [, title = '', line = ''] =
      /<h3>((?:(?!<h3>)[^])*)<\/h3>\n<p class="fine">([^]*?)Last seen/.exec(
        accountPage({ ...accountView(), sessions }, ENGLISH),
      ) ?? []
    return [title, line].map((text) => text.replaceAll(/<svg[^]*?<\/svg>|<[^>]*>/g, '').trim())
  }
  expect(titleOf('Firefox/Windows', false)).toEqual(['Firefox on Windows', ''])
  expect(titleOf('Firefox/', false)).toEqual(['Firefox', ''])
  expect(titleOf('/Windows', false)).toEqual(['Another browser on Windows', ''])
  expect(titleOf('', false)).toEqual(['Another browser', ''])
  expect(titleOf('Safari/iPhone', true)).toEqual(['This browser', 'Safari on iPhone.'])
  expect(titleOf('', true)).toEqual(['This browser', ''])
})

test('The account pages have no unfilled placeholder, no script, no inline style and no address of another origin', () => {
  for (const markup of pages) {
    const content = contentOf(markup)
    expect(content).not.toMatch(/\{[a-z]+\}|undefined|null|NaN|Invalid/)
    expect(content).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=/i)
    for (const [, url = ''] of markup.matchAll(/(?:src|href)="([^"]*)"/g)) expect(url).toMatch(/^(\/account\b|data:image\/svg)/)
  }
})

test('The receipt page shows the signed text byte for byte, including a line break at its start', () => {
  const message = '\nfirst line is empty\n\n  and so on'
  const [, shown] =
    /<pre class="paper" id="message"[^>]*>([\s\S]*?)<\/pre>/.exec(receiptPage({ ...receiptView(), message }, ENGLISH)) ?? []
  // HTML drops a line break directly after <pre>, so the page adds one.
  expect(shown).toBe(`\n${message}`)
})

test('The receipt page calls an app without name and host “the app”', () => {
  expect(receiptPage({ ...receiptView(), clientName: '', clientHost: '' }, ENGLISH)).toContain('You allowed <bdi>the app</bdi>')
})
