/** Checks pages in each look (width and colour scheme) and language for accessibility and width, and takes screenshots. */
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import { ENGLISH, type Language, languages } from '../../src/pages/languages.ts'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { newVisitor } from '../flows/login-visit.ts'
import { type PageOptions, screenshot, seriousAxeViolations } from '../support/browser.ts'
import { test as base, FILE } from '../support/fixtures.ts'
import { type Grantor, type StartOptions, startGrantor } from '../support/start.ts'

export const LOOKS = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 320, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const
export type Look = { width: number; colorScheme: 'light' | 'dark' }
/** Each width and each colour scheme once, for pages that differ only in their text. */
export const TWO_LOOKS = [LOOKS[1], LOOKS[2]]

const { de, ar, ja, tr, vi } = languages
/** Languages with long words, right to left, with other letters, and with marks above letters. */
export const TRANSLATIONS = [de, ar, ja, tr, vi]

/** The options of a service. Tests of a file with the same function share one service, which starts with the first of these tests. */
export type Service = () => StartOptions | Promise<StartOptions>
const PLAIN: Service = () => ({})

export type Visit = {
  grantor: Grantor
  browser: Browser
  page: Page
  language: Language
  /** Closes a page after the test. */
  onFinished: (close: () => Promise<void>) => void
  /** what the console of the page has reported as an error */
  errors: string[]
}

type Options = { service?: Service; device?: PageOptions; looks?: readonly Look[]; language?: Language }
/** The name of the pictures, or null for a check without pictures. `page`, `looks`: if they are not those of the test. */
type Check = string | null | { picture: string | null; page?: Page; looks?: readonly Look[] }
type Open = (visit: Visit) => AsyncGenerator<Check>

/** `services` starts a service, or returns the running one. */
// Vitest reads the names of the fixtures from this pattern.
// oxlint-disable-next-line no-empty-pattern
export const test = base.extend('services', FILE, async ({}, { onCleanup }) => {
  const running = new Map<Service, Promise<Grantor>>()
  onCleanup(async () => void (await Promise.all([...running.values()].map(async (each) => (await each).close()))))
  return (service: Service): Promise<Grantor> => {
    const grantor = running.get(service) ?? Promise.resolve(service()).then(startGrantor)
    running.set(service, grantor)
    return grantor
  }
})

/** A test that opens pages one after the other, as `open` does. Each `yield` of `open` checks the page that is then open. */
export function checkLooks(title: string, options: Options, open: Open): void {
  const { service = PLAIN, device, looks = LOOKS, language = ENGLISH } = options
  test(title, async ({ services, browser, onTestFinished }) => {
    const page = await newVisitor(browser, device)
    onTestFinished(() => page.context().close())
    const errors: string[] = []
    page.on('console', (line) => line.type() === 'error' && errors.push(line.text()))
    const visit = { grantor: await services(service), browser, page, language, errors, onFinished: onTestFinished }
    for await (const check of open(visit)) {
      const { picture, ...own } = typeof check === 'object' && check ? check : { picture: check }
      await expectGoodLooks(own.page ?? page, picture, own.looks ?? looks)
    }
    expect(errors.filter((error) => error.includes('Content Security Policy'))).toEqual([])
  })
}

/** The test in each language of `TRANSLATIONS`. */
export function checkTranslations(title: string, open: Open): void {
  for (const language of TRANSLATIONS)
    checkLooks(`In ${language.name}: ${title}`, { language, looks: [de, ar].includes(language) ? LOOKS : TWO_LOOKS }, open)
}

/** Expects no serious axe violation and no sideways scrolling in every look. Takes a screenshot if `name` is given. */
async function expectGoodLooks(page: Page, name: string | null, looks: readonly Look[]): Promise<void> {
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const look = { name, width, colorScheme }
    expect({ ...look, violations: await seriousAxeViolations(page) }).toEqual({ ...look, violations: [] })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    if (name) await screenshot(page, `${name}-${width}-${colorScheme}`)
  }
}

/** Shows `markup` under a server's address, with the headers of real pages. */
export async function show(page: Page, origin: string, markup: string): Promise<void> {
  const address = `${origin}/shown`
  await page.unroute(address)
  await page.route(address, (route) => route.fulfill({ headers: pageHeaders({}), body: markup }))
  await page.goto(address)
}
