/** A real browser for tests: pages of a chosen width and colour scheme, their screenshots, and their accessibility, which axe checks. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type * as axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from './chromium.ts'

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

type Violation = { rule: string; impact: string; help: string; where: string[] }

/** The violations on the present page that axe calls serious or critical. */
export async function seriousAxeViolations(page: Page): Promise<Violation[]> {
  const results = (await runsScript(page)) ? await runAxe(page) : await runAxeOnCopy(page)
  return results.violations.map(summarize).filter(({ impact }) => impact === 'serious' || impact === 'critical')
}

async function runAxe(page: Page): Promise<axe.AxeResults> {
  // The debugger protocol evaluates outside the page's Content-Security-Policy, which still applies to the page itself.
  const debug = await page.context().newCDPSession(page)
  await debug.send('Runtime.evaluate', { expression: axeSource })
  await debug.detach()
  return page.evaluate(() =>
    // Target size (WCAG 2.2 AA) is a rule that axe does not check by default.
    (globalThis as unknown as { axe: typeof axe }).axe.run({ rules: { 'target-size': { enabled: true } } }),
  )
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** axe cannot run in a page without script, so axe checks a copy: the same elements and styles at the same address. */
async function runAxeOnCopy(page: Page): Promise<axe.AxeResults> {
  const elements = (await page.content()).replace(/<script\b.*?<\/script>/gs, '').replace(/<(\/?)noscript/g, '<$1div')
  const browser = page.context().browser() as Browser
  const settings = await page.evaluate(() => ({ dark: matchMedia('(prefers-color-scheme: dark)').matches }))
  const context = await browser.newContext({ viewport: page.viewportSize(), colorScheme: settings.dark ? 'dark' : 'light' })
  try {
    const copy = await context.newPage()
    await copy.route(page.url(), (route) => route.fulfill({ contentType: 'text/html; charset=utf-8', body: elements }))
    await copy.goto(page.url())
    return await runAxe(copy)
  } finally {
    await context.close()
  }
}

/** Timers fire only if a page may run script. */
async function runsScript(page: Page): Promise<boolean> {
  await page.evaluate(() => {
    setTimeout(() => Object.assign(globalThis, { timerFired: true }))
  })
  await pause(50)
  return page.evaluate(() => 'timerFired' in globalThis)
}

function summarize({ id, impact, help, nodes }: axe.Result): Violation {
  return { rule: id, impact: impact ?? 'unknown', help, where: nodes.map((node) => node.target.join(' ')) }
}
