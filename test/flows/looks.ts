/** How a page looks: checked by axe and for width in each look, and photographed. */
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
export type Look = (typeof LOOKS)[number]
/** Each width and each scheme once: enough for the pages that differ in words only. */
export const TWO_LOOKS = [LOOKS[1], LOOKS[2]]

/** In every look: nothing serious for axe, nothing to scroll sideways; a picture where `name` says so. */
export async function expectGoodLooks(page: Page, name?: string, looks: readonly Look[] = LOOKS): Promise<void> {
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect({ width, colorScheme, violations: await seriousAxeViolations(page) }).toEqual({ width, colorScheme, violations: [] })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    if (name) await screenshot(page, `${name}-${width}-${colorScheme}`)
  }
}

/** Shows a page of the catalogue under a server's address, with the headers it is sent with. */
export async function show(page: Page, origin: string, markup: string): Promise<void> {
  const address = `${origin}/shown`
  await page.unroute(address)
  await page.route(address, (route) => route.fulfill({ headers: pageHeaders(), body: markup }))
  await page.goto(address)
}
