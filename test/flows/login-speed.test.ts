import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { newVisitor, openLogin } from './login-visit.ts'

const LOADS = 9

/** Milliseconds from the last byte of the page to the first moment at which a wallet can be chosen (Navigation Timing). */
async function timeToUsable(page: Page): Promise<number> {
  await page.locator('.wallet').waitFor()
  return page.evaluate(() => {
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    return (window as any).usableAt - (navigation?.responseEnd ?? 0)
  })
}

test('The login page becomes usable after its bytes arrive, and the test prints the time', async ({ browser, grantor }) => {
  const page = await newVisitor(browser)
  await installWallet(page, testWallet(0))
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.wallet')) return
      Object.assign(window, { usableAt: performance.now() })
      observer.disconnect()
    }).observe(document, { childList: true, subtree: true })
  })
  const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement', 'profile'], consent: 'signed' })
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  const times: number[] = []
  for (let load = 0; load < LOADS; load++) {
    await page.reload()
    times.push(Math.round(await timeToUsable(page)))
  }
  const [median = Number.NaN] = times.toSorted((a, b) => a - b).slice(LOADS >> 1)
  console.info(`login page usable ${median} ms after its last byte (median of ${times.join(', ')})`)
  expect(median).toBeGreaterThan(0)
})
