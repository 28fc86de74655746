import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENGLISH } from '../../src/pages/languages.ts'
import { confirmPage } from '../../src/pages/login/confirm-page.ts'
import { movingOnPage } from '../../src/pages/moving-on-page.ts'
import { noticePage } from '../../src/pages/notice-page.ts'
import { runs } from '../support/runs.ts'
import { contentOf } from '../support/walk.ts'
import { everyPage } from './every-page.ts'

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' autofocus onfocus=alert(1) x='",
  '</title><script>alert(1)</script>',
  '</textarea><script>alert(1)</script>',
  '</template><script>alert(1)</script>',
  '<!--',
  '{app}{host}{wallet}',
  '$& $1 $`',
]

test.each(HOSTILE)('A hostile name, host, scope, address or challenge does not become markup on any page: %s', (text) => {
  const harmless = everyPage('harmless', ENGLISH).map(tags)
  expect(everyPage(text, ENGLISH).map(tags)).toEqual(harmless)
})

test('Arbitrary text from outside does not change the elements of any page', () => {
  const harmless = everyPage('harmless', ENGLISH).map(tags)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
      expect(everyPage(`x${text}`, ENGLISH).map(tags)).toEqual(harmless)
    }),
    { numRuns: Math.ceil(runs / 3) },
  )
})

test('Direction marks are removed from the name of an app, and the name is isolated, so that it cannot reorder the text of a page', () => {
  const page = noticePage({ kind: 'expired', clientName: 'Safe\u202Eelgoog\u2066' }, ENGLISH)
  expect(page).toContain('<bdi>Safeelgoog</bdi>')
  expect(page).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/)
})

test.each(['\u3164', '\u2800\u2800', '\u115f\u1160', '\uffa0', '\ufe0f', '\u{1d159}', ' \u00a0\u3000'])(
  'An invisible name of an app is replaced by its host, and an invisible description of a scope by the name of the scope: %j',
  (name) => {
    const scopes = [{ name: 'profile', description: name }]
    const names = { clientName: name, clientHost: 'bank.example' }
    const page = confirmPage({ action: '/', confirmation: 'c', ...names, scopes, walletShort: '0x' }, ENGLISH)
    expect(page).toMatch(/<h1>[^]*?<bdi>bank\.example<\/bdi>[^]*?<\/h1>/)
    expect(page).toContain('<span><bdi>profile</bdi> <code>profile</code></span>')
    expect(noticePage({ kind: 'expired', ...names }, ENGLISH)).toContain('Go back to <bdi>bank.example</bdi>')
  },
)

test('An emoji in the name of an app keeps its variation selector', () => {
  expect(noticePage({ kind: 'expired', clientName: 'Heart \u2764\ufe0f' }, ENGLISH)).toContain('<bdi>Heart \u2764\ufe0f</bdi>')
})

test('A very long name of an app is shortened to 59 characters and an ellipsis', () => {
  const page = noticePage({ kind: 'expired', clientName: '🦊'.repeat(5_000) }, ENGLISH)
  expect(page).toContain(`<bdi>${'🦊'.repeat(59)}…</bdi>`)
  expect(contentOf(page).length).toBeLessThan(5_000)
})

test('The page that moves on uses the app’s redirect URI byte for byte, and refuses a URI of a scheme that can run script or read files', () => {
  const names = { clientName: 'A', clientHost: 'a.example', outcome: 'signed_in' } as const
  const to = 'com.example.app:/cb?b=%7E&a=1%20+&state=%C3%A9'
  const escaped = to.replaceAll('&', '&amp;')
  const page = movingOnPage({ to, ...names }, ENGLISH)
  expect(page).toContain(`content="0;url=${escaped}"`)
  expect(page).toContain(`href="${escaped}"`)
  for (const script of ['javascript:alert(1)', ' JaVaScRiPt:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd']) {
    expect(() => movingOnPage({ to: script, ...names }, ENGLISH)).toThrow(TypeError)
  }
})

/** The elements of a page with the names of their attributes. Hostile text that becomes markup changes them. */
function tags(page: string): string[] {
  return Array.from(page.matchAll(/<[^>]*>/g), ([tag]) => tag.replaceAll(/"[^"]*"/g, '""'))
}
