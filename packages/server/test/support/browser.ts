/** A real browser for tests: pages of a chosen width and colour scheme, and screenshots of them. */
import { existsSync } from 'node:fs'
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
  /** a phone: touch, and no mouse */
  isPhone?: boolean
  reducedMotion?: 'reduce' | 'no-preference'
}

const ROOT = join(import.meta.dirname, '../../../..')
const FLAGS = [
  '--no-sandbox', // Root, as in a container, has no sandbox. The pages are those of this repository.
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // No internet: a page that loads a resource of a third party fails in every test run.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost',
]

/** A headless browser with an empty profile of its own; the caller closes it. */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, environment } = await findChromium()
  return chromium.launch({ executablePath, args: FLAGS, env: { ...process.env, ...environment } })
}

/**
 * A page in a new browser context, without cookies or history.
 *
 * Each call is another user. `page.context().newPage()` opens a second tab of the same user, and `page.context().close()` closes all.
 */
export async function newPage(browser: Browser, options: PageOptions = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    colorScheme: options.colorScheme ?? 'light',
    javaScriptEnabled: options.javaScriptEnabled ?? true,
    isMobile: options.isPhone ?? false,
    hasTouch: options.isPhone ?? false,
    reducedMotion: options.reducedMotion ?? 'no-preference',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  // A click that waits in vain fails before the test's own timeout, and names what it waited for. On a busy machine a page may
  // take long.
  context.setDefaultTimeout(60_000)
  return context.newPage()
}

/** Writes a screenshot of the whole page to packages/server/test/.screenshots. With TEST_KEEP_SCREENSHOTS=1, replaces a picture of the documents too. */
export async function screenshot(page: Page, name: string): Promise<void> {
  await mkdir(join(ROOT, 'packages/server/test/.screenshots'), { recursive: true })
  const picture = join(ROOT, 'docs/screenshots', `${name}.png`)
  const isShown = process.env.TEST_KEEP_SCREENSHOTS === '1' && existsSync(picture)
  const paths = [join(ROOT, 'packages/server/test/.screenshots', `${name}.png`), ...(isShown ? [picture] : [])]
  // Chromium switches touch off while it takes a picture of more than the window, so the window of a phone becomes as high as the page
  const window = page.viewportSize()
  const phone = await page.evaluate(() => matchMedia('(hover: none)').matches && document.documentElement.scrollHeight)
  if (window && phone) await page.setViewportSize({ ...window, height: phone })
  for (const path of paths) await page.screenshot({ path, fullPage: phone === false, animations: 'disabled' })
  if (window && phone) await page.setViewportSize(window)
}
