import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { newPage, screenshot, seriousAxeViolations } from '../support/browser.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { LIFETIMES } from '../support/start.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import type { Demo } from './start-demo.ts'
import { signInWithWallet, startDemo } from './start-demo.ts'

const test = base.extend(
  'demo',
  FILE,
  started(startDemo, (demo) => demo.close()),
)

const outcome = (page: Page, id: string) => page.locator(`#${id}`).getAttribute('data-outcome')
const wireOf = (page: Page, step: string) => page.locator(`#${step}-step .wire`)

async function signIn(demo: Demo, page: Page, on = page): Promise<void> {
  await installWallet(on, testWallet(0))
  await on.goto(demo.appUrl)
  await on.locator('#start').click()
  await signInWithWallet(on)
  await on.waitForURL(`${demo.appUrl}/`)
}

test('A user clicks through all four phases and sees each message', async ({ demo, page }) => {
  await signIn(demo, page)

  // Phase 1: code, tokens, decoded claims
  expect(await outcome(page, 'code-result')).toBe('done')
  expect(await wireOf(page, 'code').innerText()).toMatch(/code_challenge_method\s+S256[\s\S]*Answered[\s\S]*code\s+\S{8}…/)
  expect(await outcome(page, 'tokens-result')).toBe('done')
  expect(await wireOf(page, 'tokens').innerText()).toMatch(
    new RegExp(`grant_type\\s+authorization_code[\\s\\S]*"token_type": "Bearer"[\\s\\S]*"expires_in": ${LIFETIMES.accessToken}`),
  )
  expect(await page.locator('#claims').innerText()).toMatch(/typ\s+at\+jwt[\s\S]*sub\s+0xf39F…2266/)

  await page.locator('#call-api').click()
  expect(await outcome(page, 'call-api-result')).toBe('done')
  expect(await wireOf(page, 'call-api').innerText()).toMatch(/"wallet": "0xf39F…2266"[\s\S]*"scope": "enhancement"/)

  // Phase 2
  const before = await page.locator('#token-summary').innerText()
  await page.locator('#refresh').click()
  expect(await outcome(page, 'refresh-result')).toBe('done')
  expect(await page.locator('#token-summary').innerText()).not.toBe(before)

  // Phase 3
  await page.locator('#introspect').click()
  expect(await outcome(page, 'introspect-result')).toBe('done')
  expect(await wireOf(page, 'introspect').innerText()).toContain('"active": true')

  // Phase 4
  await page.locator('#revoke').click()
  expect(await outcome(page, 'revoke-result')).toBe('done')
  expect(await wireOf(page, 'revoke').innerText()).toMatch(/200 OK[\s\S]*\{\}/)
  await page.locator('#introspect').click()
  expect(await wireOf(page, 'introspect').innerText()).toMatch(/\{\s*"active": false\s*\}/)
  await page.locator('#call-api').click()
  expect(await outcome(page, 'call-api-result')).toBe('refused')
  expect(await wireOf(page, 'call-api').innerText()).toMatch(/401[\s\S]*error="invalid_token"/)
  await page.locator('#refresh').click()
  expect(await wireOf(page, 'refresh').innerText()).toMatch(/400[\s\S]*"error": "invalid_grant"/)
})

test('The claims auth_time and acr of the access token are explained, with the values of this token', async ({ demo, page }) => {
  await signIn(demo, page)
  const rowOf = (claim: string) => page.locator('#claims tr', { has: page.locator(`code:text-is("${claim}")`) }).innerText()
  expect(await rowOf('auth_time')).toMatch(/\d{10} \(\d\d:\d\d:\d\d UTC\)[\s\S]*when the wallet signed/)
  expect(await rowOf('acr')).toMatch(/urn:grantor:acr:signature[\s\S]*the wallet signed a text/)
})

test('The tabs show the button and the window of an own app, and how to test it, without a sign-in and without scripts', async ({
  demo,
  browser,
}) => {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [320, 'light'],
    [320, 'dark'],
  ] as const) {
    const reader = await newPage(browser, { width, colorScheme, javaScriptEnabled: false })
    await reader.goto(demo.appUrl)
    for (const [label, name, words] of [
      ['In your app', 'in-your-app', 'signInWithPopup'],
      ['For your tests', 'for-your-tests', 'startTestGrantor'],
    ] as const) {
      await reader.getByRole('link', { name: label }).click()
      expect(await reader.locator('[aria-current=page]').innerText()).toBe(label)
      expect(await reader.locator('main').innerText()).toContain(words)
      expect(await seriousAxeViolations(reader)).toEqual([])
      expect(await reader.locator('body').evaluate((body) => body.scrollWidth)).toBeLessThanOrEqual(width)
      await screenshot(reader, `demo-app-${name}-${width}-${colorScheme}`)
    }
    await reader.context().close()
  }
})

test('A second sign-in during the session shows no page in between (phase 1, steps 3 to 5 are skipped)', async ({
  demo,
  page,
}) => {
  await signIn(demo, page)
  const seen: string[] = []
  page.on('framenavigated', (frame) => seen.push(new URL(frame.url()).origin))
  await page.locator('#start').click()
  await page.locator('#round-trip').waitFor()
  expect(new Set(seen)).toEqual(new Set([demo.appUrl]))
})

test('After a sign-out of the app the user starts again, and the session at the service continues', async ({ demo, page }) => {
  await signIn(demo, page)
  await page.locator('#sign-out').click()
  expect(await page.locator('h1').innerText()).toContain('without giving it your wallet')
  expect(await page.context().cookies(demo.appUrl)).not.toContainEqual(expect.objectContaining({ name: 'demo_app_session' }))
  await page.locator('#start').click()
  await page.locator('#call-api').waitFor()
})

test('A user who declines on the login page returns to a plain explanation (RFC 6749 §4.1.2.1)', async ({ demo, page }) => {
  await page.goto(demo.appUrl)
  await page.locator('#start').click()
  await page.locator('#cancel').click()
  await page.waitForURL(`${demo.appUrl}/`)
  expect(await page.locator('#notice').innerText()).toMatch(/You declined/)
  expect(await outcome(page, 'notice')).toBe('refused')
  await page.reload()
  expect(await page.locator('#notice').count()).toBe(0)
})

test('No page shows a code, a token or a whole address', async ({ demo, page }) => {
  const secrets: string[] = []
  page.on('request', (request) => {
    const code = new URL(request.url()).searchParams.get('code')
    if (code) secrets.push(code)
  })
  await signIn(demo, page)
  for (const step of ['call-api', 'refresh', 'introspect', 'revoke']) await page.locator(`#${step}`).click()
  const text = await page.content()
  expect(secrets).toHaveLength(1)
  expect(text).not.toContain(secrets[0])
  expect(text).not.toMatch(/eyJ[\w-]{20}/)
  expect(text).not.toMatch(/0x[0-9a-fA-F]{40}/)
  expect(text).not.toContain(demo.client.secret)
})

test('The pages need no script, fit 320 pixels, and pass the accessibility check', async ({ demo, browser, page }) => {
  await signIn(demo, page)
  const cookies = await page.context().cookies()
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [320, 'dark'],
  ] as const) {
    const reader = await newPage(browser, { width, colorScheme, javaScriptEnabled: false })
    await reader.goto(demo.appUrl)
    expect(await seriousAxeViolations(reader)).toEqual([])
    await screenshot(reader, `demo-app-welcome-${width}-${colorScheme}`)
    await reader.context().addCookies(cookies)
    await reader.reload()
    for (const step of ['call-api', 'refresh', 'introspect']) await reader.locator(`#${step}`).click()
    expect(await seriousAxeViolations(reader)).toEqual([])
    await screenshot(reader, `demo-app-steps-${width}-${colorScheme}`)
    expect(await reader.locator('body').evaluate((body) => body.scrollWidth)).toBeLessThanOrEqual(width)
    await reader.context().close()
  }
})

test('A form from another site is refused (CSRF)', async ({ demo, page }) => {
  await signIn(demo, page)
  const cookies = await page.context().cookies(demo.appUrl)
  const session = cookies.find(({ name }) => name === 'demo_app_session')?.value ?? ''
  for (const origin of ['https://evil.example', 'null', undefined]) {
    const headers = { cookie: `demo_app_session=${session}`, ...(origin === undefined ? {} : { origin }) }
    const answer = await fetch(`${demo.appUrl}/revoke`, { method: 'POST', headers, redirect: 'manual' })
    expect(answer.status).toBe(403)
  }
  await page.locator('#introspect').click()
  expect(await wireOf(page, 'introspect').innerText()).toContain('"active": true')
})

test('A response that this browser did not request signs no user in (RFC 6749 §10.12)', async ({ demo, browser, page }) => {
  // An attacker's own answer, planted into the victim's browser
  const attacker = await newPage(browser)
  let planted = ''
  await attacker.route(`${demo.appUrl}/callback?**`, async (route) => {
    planted = route.request().url()
    await route.abort()
  })
  await installWallet(attacker, testWallet(1))
  await attacker.goto(demo.appUrl)
  await attacker.locator('#start').click()
  await signInWithWallet(attacker)
  await expect.poll(() => planted).toContain('code=')
  await attacker.context().close()

  await page.goto(planted)
  expect(await page.locator('h1').innerText()).toBe('This sign-in does not belong here')
  await page.goto(demo.appUrl)
  expect(await page.locator('#call-api').count()).toBe(0)
})
