/** The site of the documents in a browser, as `npm run docs:build` built it. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { expect } from 'vitest'
import { newPage, screenshot, seriousAxeViolations } from '../support/browser.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'

const SITE = join(import.meta.dirname, '../../../../docs/site/dist')
const isAsked = process.env.TEST_DOCS === '1'
if (!isAsked)
  console.log('skipped: the site of the documents; TEST_DOCS=1 after npm run docs:build, see docs/contributing/site.md')
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** The built site, on a server that only reads files. */
async function serveSite() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const file = join(SITE, decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname))
    if (!existsSync(file)) return response.writeHead(404).end()
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    return response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

const test = base.extend(
  'site',
  FILE,
  started(serveSite, (site) => site.close()),
)

test.runIf(isAsked)(
  'A reader of the site of the documents searches for invalid_grant, and finds the section of this error',
  async ({ site, page }) => {
    await page.goto(site.url)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('invalid_grant')
    await page
      .getByRole('option')
      .filter({ hasText: /Errors and reasons.*400 invalid_grant/ })
      .first()
      .click()
    await page.waitForURL(`${site.url}/reference/errors.html#400-invalid_grant`)
    expect(await page.getByRole('heading', { name: '400 invalid_grant' }).isVisible()).toBe(true)
  },
)

const PAGES = isAsked ? ['index', 'guides/builders', 'reference/architecture'] : []

test.for(PAGES)(
  'The page %s of the site is accessible at 1280 and 390 px, light and dark, and does not scroll sideways (WCAG 2.2 AA)',
  async (path, { site, browser }) => {
    for (const width of [1280, 390])
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await newPage(browser, { width, colorScheme })
        await page.goto(`${site.url}/${path}.html`)
        if (path.includes('architecture')) await page.locator('.diagram svg').waitFor()
        expect({ width, colorScheme, found: await seriousAxeViolations(page) }).toMatchObject({ found: [] })
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
        await screenshot(page, `site-${path.replace(/.*\//, '')}-${width}-${colorScheme}`)
        await page.context().close()
      }
  },
)
