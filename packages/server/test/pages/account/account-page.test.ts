import { expect, test } from 'vitest'
import { type AccountView, accountPage } from '../../../src/pages/account/account-page.ts'
import { endEverythingPage } from '../../../src/pages/account/end-everything-page.ts'
import { receiptPage } from '../../../src/pages/account/receipt-page.ts'
import { ENGLISH } from '../../../src/pages/languages.ts'
import { contentOf } from '../../support/walk.ts'
import { accountView, approvalsOfAccount, receiptView } from '../samples.ts'

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
    '/account/receipts/first#uses',
    ...['first', 'second', 'third', 'fourth'].flatMap((id) => [`/account/receipts/${id}`, `/account/receipts/${id}.json`]),
    '/account/end-everything',
  ])
})

test('The account page marks an expired receipt as over and a withdrawn receipt as withdrawn', () => {
  const tags = Array.from(page.matchAll(/<span class="tag">([^<]*)</g), ([, tag]) => tag)
  expect(tags).toEqual(['over', 'withdrawn', 'withdrawn'])
})

test('The account page offers no receipts to a user for whom the login server vouched', () => {
  const { apps, ...account } = accountView()
  const rows = apps?.rows.map((app) => ({ ...app, limits: app.limits.map((limit) => ({ ...limit, receiptId: null })) })) ?? []
  const view = { ...account, apps: { rows, more: null }, signedIn: 'vouched' as const }
  expect(accountPage(view, ENGLISH)).not.toMatch(/receipts\/|What you signed/)
})

test('The account page ends the current session by signing out only, and each other session by a form with the handle of that session', () => {
  expect(page.match(/name="session" value="[^"]*"/g)).toEqual(['name="session" value="there"'])
  const alone = { ...accountView(), sessions: { rows: accountView().sessions?.rows.slice(0, 1) ?? [], more: null } }
  expect(accountPage(alone, ENGLISH)).not.toContain('end-others')
})

const at = (issuedAt: number, id: string) => ({ id, issuedAt, until: issuedAt + 86_400, withdrawn: false })

test('The fourth receipt of an app and older ones are folded, and the time of day is shown only for receipts of the same day', () => {
  const [app] = accountView().apps?.rows ?? []
  const noon = Date.UTC(2026, 10, 20, 12) / 1000
  const receipts = [at(noon, 'a'), at(noon - 3600, 'b'), at(noon - 86_400, 'c'), at(noon - 2 * 86_400, 'd')]
  const view = { ...accountView(), apps: { rows: app ? [{ ...app, receipts }] : [], more: null } }
  const [, signed = ''] = /<div class="signed">([^]*?)<\/tbody>/.exec(accountPage(view, ENGLISH)) ?? []
  const [shown = '', folded = ''] = signed.split('<summary>Older receipts</summary>')
  const daysOf = (text: string) => Array.from(text.matchAll(/Signed <time[^>]*>([^<]*)</g), ([, day]) => day)
  expect(daysOf(shown)).toEqual(['20 November 2026 at 12:00 UTC', '20 November 2026 at 11:00 UTC', '19 November 2026'])
  expect(daysOf(folded)).toEqual(['18 November 2026'])
})

test('What was approved is shown with its app, and in a list of its own if the app is not on the page', () => {
  const { approved } = approvalsOfAccount()
  const [row] = approved?.rows ?? []
  if (!row) throw new Error('no approval in the sample')
  const rows = [row, { ...row, id: 'of-another', clientId: 'another', clientName: 'Gone' }]
  const shown = accountPage({ ...accountView(), approved: { rows, more: null } }, ENGLISH)
  const [apps = '', others = ''] = shown.split('id="approved-title"')
  expect([apps.includes(`/receipts/${row.id}"`), apps.includes('/receipts/of-another')]).toEqual([true, false])
  expect([others.includes(`/receipts/${row.id}"`), others.includes('/receipts/of-another')]).toEqual([false, true])
})

test('The message about an ended app stands in place of its row, and the one about a session in place of its row', () => {
  const orderOf = (change: Partial<AccountView>) =>
    Array.from(
      accountPage({ ...accountView(), ...change }, ENGLISH).matchAll(
        /id="(app-\d|done|sessions-title)"|<h3>(?:Safari|Firefox|<bdi>Safari|<bdi>Firefox)/g,
      ),
      ([whole, id]) => id ?? whole.replace(/<[^>]*>/g, ''),
    )
  expect(orderOf({ done: 'app_ended', at: 1 })).toEqual(['app-0', 'done', 'app-1', 'sessions-title', 'Safari', 'Firefox'])
  expect(orderOf({ done: 'session_ended', at: 2 })).toEqual(['app-0', 'app-1', 'sessions-title', 'Safari', 'Firefox', 'done'])
})

test('A session is named by its browser and system, as far as the sign-in named them', () => {
  const rows = accountView().sessions?.rows ?? []
  const titleOf = (browser: string, current: boolean) => {
    const sessions = { rows: rows.slice(0, 1).map((row) => ({ ...row, browser, current })), more: null }
    const [, title = ''] =
      /<h3>((?:(?!<h3>)[^])*)<\/h3>\n<p class="fine">Last seen/.exec(accountPage({ ...accountView(), sessions }, ENGLISH)) ?? []
    return title.replaceAll(/<[^>]*>/g, '').trim()
  }
  expect(titleOf('Firefox/Windows', false)).toBe('Firefox on Windows')
  expect(titleOf('Firefox/', false)).toBe('Firefox')
  expect(titleOf('/Windows', false)).toBe('Another browser on Windows')
  expect(titleOf('', false)).toBe('Another browser')
  expect(titleOf('Safari/iPhone', true)).toBe('Safari on iPhone This browser')
  expect(titleOf('', true)).toBe('This browser')
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
