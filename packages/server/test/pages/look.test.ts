/** The look of the operator in the pages. */
import { expect, test } from 'vitest'
import { PLATFORM_LOGO, readLogo } from '../../src/config/look/logo.ts'
import { hashSources, styles } from '../../src/pages/inline.ts'
import { ENGLISH, languages, type Reader } from '../../src/pages/languages.ts'
import { defineLook, fitInto } from '../../src/pages/look.ts'
import { noticePage } from '../../src/pages/notice-page.ts'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { pngLogo } from '../support/pictures.ts'
import { contentOf, STYLE_OR_SCRIPT } from '../support/walk.ts'
import { everyPage } from './every-page.ts'

const LINKS = { helpUrl: 'https://aurora.example/help?a=1&b=2', privacyUrl: 'https://aurora.example/privacy' }
const reader = (values: Parameters<typeof defineLook>[0], language: Reader = ENGLISH): Reader => ({
  ...language,
  look: defineLook(values),
})

test('Every page in every language has the name of the platform in its title and at its top, and no page has the name Grantor there', () => {
  for (const language of Object.values(languages))
    for (const page of everyPage('x', reader({ name: 'Aurora Pay' }, language))) {
      expect(page).toMatch(/<title>[^<]* · Aurora Pay<\/title>/)
      expect(page).toMatch(/<header class="masthead"><img [^>]*><bdi>Aurora Pay<\/bdi><\/header>/)
      const [head = ''] = page.split('<main')
      expect(head).not.toContain('Grantor')
    }
})

test('Without settings, every page has the name and the logo of Grantor, and no links', () => {
  for (const page of everyPage('x', ENGLISH)) {
    expect(page).toContain('<bdi>Grantor</bdi>')
    expect(page).not.toContain('class="platform-links"')
  }
})

test('The links to help and privacy are at the foot of every page, in the language of the reader, and open without access to the page', () => {
  for (const [tag, help, privacy] of [
    ['en', 'Help', 'Privacy'],
    ['de', 'Hilfe', 'Datenschutz'],
    ['ar', 'المساعدة', 'الخصوصية'],
  ] as const)
    for (const page of everyPage('x', reader(LINKS, languages[tag] ?? ENGLISH))) {
      expect(page).toContain(`<a href="https://aurora.example/help?a=1&amp;b=2" target="_blank" rel="noopener">${help}</a>`)
      expect(page).toContain(`<a href="https://aurora.example/privacy" target="_blank" rel="noopener">${privacy}</a>`)
    }
})

test('A name is text: it becomes no markup in a page or in the picture of its first letter', () => {
  const page = noticePage({ kind: 'expired' }, reader({ name: '<b>"&' }))
  expect(page).toContain('<bdi>&lt;b&gt;&quot;&amp;</bdi>')
  const [, icon = ''] = /<link rel="icon" href="data:image\/svg\+xml,([^"]*)">/.exec(page) ?? []
  expect(decodeURIComponent(icon)).toContain('>&lt;</text>')
})

test('The colours of an accent are one more style of a page, which the policy of the page allows by its hash, and no other', () => {
  const look = defineLook({ accentColor: '#0b2a6f' })
  const page = noticePage({ kind: 'expired' }, { ...ENGLISH, look })
  const [own, accent, ...others] = Array.from(page.matchAll(STYLE_OR_SCRIPT), ([, , text = '']) => text)
  expect([own, others]).toEqual([styles.page, []])
  expect(accent).toMatch(/^:root\{--accent:#0b2a6f;/)
  const policy = pageHeaders({ look })['content-security-policy']
  expect(policy).toContain(hashSources({ accent: accent ?? '' }))
  expect(policy).not.toContain('unsafe')
  expect(pageHeaders({})['content-security-policy']).not.toContain(hashSources({ accent: accent ?? '' }))
  expect(contentOf(page)).not.toMatch(/\sstyle=/)
})

test('A logo is loaded from the own origin, and the page reserves its place', () => {
  for (const [size, shown] of [
    [{ width: 400, height: 40 }, 'width="144" height="14"'],
    [{ width: 40, height: 400 }, 'width="3" height="32"'],
    [{ width: 64, height: 64 }, 'width="32" height="32"'],
  ] as const) {
    const read = readLogo(pngLogo(size), PLATFORM_LOGO)
    if ('fault' in read) throw new Error(read.fault)
    const page = noticePage({ kind: 'expired' }, reader({ logo: read.logo }))
    expect(page).toContain(`<img src="/logos/${read.logo.hash}" alt="" ${shown}>`)
    expect(page).toContain(`<link rel="icon" href="/logos/${read.logo.hash}">`)
  }
  expect(fitInto({ width: 144, height: 32 }, { width: 1024, height: 1 })).toEqual({ width: 144, height: 1 })
})

test('Every custom property that a style uses is defined', () => {
  for (const style of Object.values(styles)) {
    const defined = new Set(Array.from(style.matchAll(/(--[\w-]+):/g), ([, name]) => name))
    for (const [, name] of (styles.page + style).matchAll(/var\((--[\w-]+)/g))
      expect(defined.has(name) || styles.page.includes(`${name}:`)).toBe(true)
  }
})
