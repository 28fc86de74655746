/**
 * How long a person waits for the pages, in Chromium with a processor four times as slow and on slow 4G. Each visit is the first of its
 * browser: nothing is cached. The test prints the times, and holds what does not depend on the machine: requests and bytes.
 */
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import { newPage } from '../support/browser.ts'
import { test } from '../support/fixtures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { openAccount } from './account-visit.ts'
import { openLogin } from './login-visit.ts'

/** The presets of Chromium's developer tools. The latency, in milliseconds, delays each request; the throughputs are bytes a second. */
const SLOW_PROCESSOR = 4
const SLOW_4G = { offline: false, latency: 562.5, downloadThroughput: 180_000, uploadThroughput: 84_375 }
const PHONE = { width: 412, height: 915 }
const VISITS = 3

/** Milliseconds from the start of the navigation; requests, and bytes with their headers. */
type Visit = { painted: number; interactive: number; requests: number; bytes: number }

/** Opens `url` as a new visitor `VISITS` times. `after` continues on the page and returns milliseconds. */
async function visit(browser: Browser, url: string, cookies: Cookies = [], after?: (page: Page) => Promise<number>) {
  const visits: (Visit & { after: number })[] = []
  for (let count = 0; count < VISITS; count++) {
    const page = await newPage(browser, PHONE)
    await page.context().addCookies(cookies)
    await installWallet(page, testWallet(0))
    await page.addInitScript(noteLongTasks)
    const session = await page.context().newCDPSession(page)
    let [requests, bytes] = [0, 0]
    session.on('Network.requestWillBeSent', ({ request }) => void (request.url.startsWith('http') && requests++))
    session.on('Network.loadingFinished', ({ encodedDataLength }) => void (bytes += encodedDataLength))
    await session.send('Network.enable')
    await session.send('Network.emulateNetworkConditions', SLOW_4G)
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW_PROCESSOR })
    await page.goto(url, { waitUntil: 'load' })
    // A long task that follows the load still counts.
    await page.waitForTimeout(500)
    const loaded = { ...(await page.evaluate(readTimes)), requests, bytes }
    visits.push({ ...loaded, after: (await after?.(page)) ?? 0 })
    await page.context().close()
  }
  const middle = (read: (one: (typeof visits)[number]) => number): number =>
    Math.round(visits.map(read).toSorted((a, b) => a - b)[VISITS >> 1] ?? Number.NaN)
  return {
    painted: middle(({ painted }) => painted),
    interactive: middle(({ interactive }) => interactive),
    after: middle((one) => one.after),
    requests: middle(({ requests }) => requests),
    bytes: middle(({ bytes }) => bytes),
  }
}

type Cookies = Awaited<ReturnType<ReturnType<Page['context']>['cookies']>>

/** Runs in the page: notes the end of the last task that took over 50 ms. */
function noteLongTasks(): void {
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) Object.assign(window, { lastLongTask: startTime + duration })
  }).observe({ type: 'longtask', buffered: true })
}

/** Runs in the page. Its scripts have run before `domContentLoadedEventEnd`. */
function readTimes(): Pick<Visit, 'painted' | 'interactive'> {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const painted = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN
  const { lastLongTask = 0 } = window as { lastLongTask?: number }
  return { painted, interactive: Math.max(painted, navigation?.domContentLoadedEventEnd ?? Number.NaN, lastLongTask) }
}

/** Milliseconds from the choice of the wallet until the frame after the one that shows the text to sign. */
function chooseWallet(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const started = performance.now()
    const shown = new Promise<void>((resolve) => {
      const review = document.getElementById('review')
      if (review) new MutationObserver(() => !review.hidden && resolve()).observe(review, { attributes: true })
    })
    document.querySelector<HTMLElement>('.wallet')?.click()
    await shown
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    return performance.now() - started
  })
}

test('The page to sign in is one request of less than 60 kB, and the test prints how long a person waits for it', async ({
  browser,
  grantor,
}) => {
  const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement', 'profile'], consent: 'signed' })
  const page = await newPage(browser)
  await openLogin(page, grantor, client, { scope: 'enhancement profile' })
  const { painted, interactive, after, requests, bytes } = await visit(browser, page.url(), [], chooseWallet)
  await page.context().close()
  console.info(`sign in: painted ${painted} ms, interactive ${interactive} ms, ${bytes} bytes; text to sign after ${after} ms`)
  expect(requests).toBe(1)
  expect(bytes).toBeLessThan(60_000)
})

test('The account page is one request of less than 25 kB, and the test prints how long a person waits for it', async ({
  browser,
  grantor,
}) => {
  const page = await newPage(browser)
  await openAccount(page, grantor, testWallet(0))
  const cookies = await page.context().cookies()
  const { painted, interactive, requests, bytes } = await visit(browser, page.url(), cookies)
  await page.context().close()
  console.info(`account: painted ${painted} ms, interactive ${interactive} ms, ${bytes} bytes`)
  expect(requests).toBe(1)
  expect(bytes).toBeLessThan(25_000)
})
