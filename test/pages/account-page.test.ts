import { expect, test } from 'vitest'
import { accountPage } from '../../src/pages/account-page.ts'
import { endEverythingPage } from '../../src/pages/end-everything-page.ts'
import { receiptPage } from '../../src/pages/receipt-page.ts'
import { accountView, receiptView } from './samples.ts'

const page = accountPage(accountView())
const pages = [page, receiptPage(receiptView()), endEverythingPage({ action: '/account/end-everything', walletShort: null })]

test('everything that ends something is a form that posts, never a link that is followed by what prefetches', () => {
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
    ...['first', 'second', 'third'].flatMap((id) => [`/account/receipts/${id}`, `/account/receipts/${id}.json`]),
    '/account/end-everything',
  ])
})

test('a receipt that counts no more says so in words', () => {
  const tags = Array.from(page.matchAll(/<span class="tag">([^<]*)</g), ([, tag]) => tag)
  expect(tags).toEqual(['over', 'withdrawn'])
})

test('who was vouched for is offered no receipt', () => {
  expect(accountPage({ ...accountView(), signedIn: 'vouched' })).not.toMatch(/receipts\/|What you signed/)
})

test('this browser’s own session is ended by signing out, and others by their names in the form', () => {
  expect(page.match(/name="session" value="[^"]*"/g)).toEqual(['name="session" value="there"'])
  const alone = { ...accountView(), sessions: { rows: accountView().sessions?.rows.slice(0, 1) ?? [], more: null } }
  expect(accountPage(alone)).not.toContain('end-others')
})

test('no words are left unfilled, no script runs, and nothing comes from elsewhere', () => {
  for (const markup of pages) {
    expect(markup).not.toMatch(/\{[a-z]+\}|undefined|null|NaN|Invalid/)
    expect(markup).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=/i)
    for (const [, url = ''] of markup.matchAll(/(?:src|href)="([^"]*)"/g)) expect(url).toMatch(/^\/(assets|account)\b/)
  }
})

test('the signed text on a receipt is the text, byte for byte, leading line break included', () => {
  const message = '\nfirst line is empty\n\n  and so on'
  const [, shown] =
    /<pre class="paper" id="message"[^>]*>([\s\S]*?)<\/pre>/.exec(receiptPage({ ...receiptView(), message })) ?? []
  // HTML drops one line break after <pre>: it is ours
  expect(shown).toBe(`\n${message}`)
})

test('a receipt without an app left to name still reads', () => {
  expect(receiptPage({ ...receiptView(), clientName: '', clientHost: '' })).toContain('You allowed <bdi>the app</bdi>')
})
