/** Checks the accessibility of a page in the browser with axe. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import type * as axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'

export type Violation = { rule: string; impact: string; help: string; where: string[] }

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
