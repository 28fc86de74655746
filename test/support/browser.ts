/** A real browser for tests: pages of a chosen width and colour scheme, and screenshots of them. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from './chromium.ts'

export { seriousAxeViolations } from './accessibility.ts'

export type PageOptions = {
  /** CSS pixels */
  width?: number
  height?: number
  colorScheme?: 'light' | 'dark'
  javaScriptEnabled?: boolean
  reducedMotion?: 'reduce' | 'no-preference'
}

const ROOT = join(import.meta.dirname, '../..')
const FLAGS = [
  '--no-sandbox', // root, as in a container, has no sandbox; the pages are our own
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // No internet: a page that reaches for a third party fails in every test run, as it would offline
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost',
]

/** A headless browser with an empty profile of its own; the caller closes it. */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, environment } = await findChromium()
  return chromium.launch({ executablePath, args: FLAGS, env: { ...process.env, ...environment } })
}

/**
 * A page of a browser that knows nothing yet: no cookies, no history.
 *
 * Two calls are two people; `page.context().newPage()` is a second tab, and `page.context().close()` closes all of one person's.
 */
export async function newPage(browser: Browser, options: PageOptions = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    colorScheme: options.colorScheme ?? 'light',
    javaScriptEnabled: options.javaScriptEnabled ?? true,
    reducedMotion: options.reducedMotion ?? 'no-preference',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  // A click that waits for what never comes fails before the test's own time limit and names what it waited for. On a busy
  // machine a page may take long.
  context.setDefaultTimeout(60_000)
  return context.newPage()
}

/** Keeps a picture of the whole page in test/.screenshots, and under TEST_KEEP_SCREENSHOTS=1 also in docs/screenshots. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folders = ['test/.screenshots', ...(process.env.TEST_KEEP_SCREENSHOTS === '1' ? ['docs/screenshots'] : [])]
  for (const folder of folders) {
    await mkdir(join(ROOT, folder), { recursive: true })
    await page.screenshot({ path: join(ROOT, folder, `${name}.png`), fullPage: true, animations: 'disabled' })
  }
}
