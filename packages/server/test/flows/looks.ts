/** Checks a page in each look (width and colour scheme) for accessibility and width, and takes screenshots. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { screenshot, seriousAxeViolations } from '../support/browser.ts'

export const LOOKS = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 320, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const
export type Look = { width: number; colorScheme: 'light' | 'dark' }
/** Each width and each colour scheme once, for pages that differ only in their text. */
export const TWO_LOOKS = [LOOKS[1], LOOKS[2]]

/** Expects no serious axe violation and no sideways scrolling in every look. Takes a screenshot if `name` is given. */
export async function expectGoodLooks(page: Page, name?: string, looks: readonly Look[] = LOOKS): Promise<void> {
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect({ width, colorScheme, violations: await seriousAxeViolations(page) }).toEqual({ width, colorScheme, violations: [] })
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
