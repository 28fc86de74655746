/** Helpers for tests of the login page. The app is only a name and an address. */
import type { Browser, Page } from 'playwright-core'
import { newPage, type PageOptions } from '../support/browser.ts'
import type { Grantor, TestClient } from '../support/start.ts'
import { encode } from '../support/walk.ts'

const APP = 'https://app.example.net/callback'

/** A desktop, a phone, and a small phone. */
export const WINDOWS = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
  { width: 320, height: 640 },
]

type Parameters = Record<string, string | string[]>

/** A page in a new browser context, in which the app's address is served. */
export async function newVisitor(browser: Browser, options: PageOptions = {}): Promise<Page> {
  const page = await newPage(browser, options)
  await page.route('https://app.example.net/**', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>The app</h1>' }))
  return page
}

/** Opens the login page through the authorization endpoint, as an app does. */
export async function openLogin(page: Page, grantor: Grantor, client: TestClient, more: Parameters = {}): Promise<void> {
  const query = encode({ client_id: client.id, redirect_uri: APP, state: 'a state/1', ...more })
  await page.goto(`${grantor.authUrl}/oauth/authorize?${query}`)
  if (new URL(page.url()).origin !== grantor.loginUrl) throw new Error(`no login page, but ${page.url()}`)
}

/** Waits until the browser is back at the app, and returns the parameters of the response. */
export async function backAtApp(page: Page): Promise<URLSearchParams> {
  await page
    .waitForURL((url) => url.origin === 'https://app.example.net')
    .catch(async (cause) => Promise.reject(new Error(`the browser shows "${await page.title()}"`, { cause })))
  return new URL(page.url()).searchParams
}

/** Waits until the status or the alert of the page has a text, and returns the text. */
export async function wordsIn(page: Page, region: 'progress' | 'problem'): Promise<string> {
  const place = page.locator(`#${region}:not(:empty)`)
  await place.waitFor()
  return (await place.textContent()) ?? ''
}

/** Whether the whole element is in the window, and is what the user sees and touches there. */
export function isInView(page: Page, selector: string): Promise<boolean> {
  return page.locator(selector).evaluate((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect()
    const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
    const isInWindow = top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth
    return isInWindow && (element === seen || element.contains(seen))
  })
}

/** The value of a `page` fixture: a page of a new visitor, for one test. */
export async function visitor(
  { browser }: { browser: Browser },
  { onCleanup }: { onCleanup: (close: () => Promise<void>) => void },
): Promise<Page> {
  const page = await newVisitor(browser)
  onCleanup(() => page.context().close())
  return page
}
