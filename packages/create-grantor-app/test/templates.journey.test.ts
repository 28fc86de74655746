/** Each template: made, started with its own command, clicked through in a real browser, and tested with its own tests. */
import { spawnSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { screenshot, seriousAxeViolations } from '../../server/test/support/browser.ts'
import { test } from '../../server/test/support/fixtures.ts'
import { installTestWallet } from '../../testing/src/install-test-wallet.ts'
import { type TestWallet, testWallets } from '../../testing/src/wallets.ts'
import { createApp, type NewApp, runDev, runTests } from './project.ts'

const [account] = testWallets() as [TestWallet]
/** Each test starts five programs one after another. Only to end what hangs. */
const TIME_MS = 600_000
const WALLET = account.address

/** Signs in at the login page: with a wallet of the browser, or with a test account. */
async function signIn(page: Page, how: 'wallet' | 'account'): Promise<void> {
  if (how === 'wallet') {
    await page.getByRole('button', { name: 'Test Wallet' }).click()
    await page.locator('#sign').click()
    return
  }
  await page.locator('#development > summary').click()
  await page.locator('#address').fill(WALLET)
  await page.locator('#sign-in').click()
  await page.locator('#approve').click()
}

async function lookAt(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width: 320, height: 600 })
    expect(await seriousAxeViolations(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
    await screenshot(page, `create-app-${name}-320-${colorScheme}`)
  }
}

async function withApp(template: string, use: (app: NewApp) => Promise<void>, options = {}): Promise<void> {
  const app = await createApp(template, options)
  const tests = runTests(app)
  expect([tests.status, tests.output]).toEqual([0, expect.stringMatching(/pass 2|2 passed/)])
  const running = await runDev(app)
  try {
    await use(app)
  } catch (error) {
    throw new Error(running.output(), { cause: error })
  } finally {
    await running.stop()
  }
}

test('The template express signs a user in with a wallet, then with a test account, and out', { timeout: TIME_MS }, async ({
  page,
}) => {
  await withApp('express', async ({ url }) => {
    await page.goto(url)
    await page.locator('#sign-in').click()
    await signIn(page, 'account')
    await page.locator('#wallet', { hasText: WALLET }).waitFor()
    await lookAt(page, 'express-signed-in')
    await page.locator('#sign-out').click()
    await page.locator('#sign-in').waitFor()
    await lookAt(page, 'express')
    await page.context().clearCookies()
    await installTestWallet(page, { account })
    await page.goto(url)
    await page.locator('#sign-in').click()
    await signIn(page, 'wallet')
    await page.locator('#wallet', { hasText: WALLET }).waitFor()
  })
})

test('The template hono signs a user in in a window, calls its API, signs out, and signs in silently after a reload', {
  timeout: TIME_MS,
}, async ({ page }) => {
  await withApp('hono', async ({ url }) => {
    await page.goto(url)
    await page.locator('#sign-in').waitFor()
    await lookAt(page, 'hono')
    const [popup] = await Promise.all([page.context().waitForEvent('page'), page.locator('#sign-in').click()])
    await signIn(popup, 'account')
    await page.locator('#wallet', { hasText: WALLET }).waitFor()
    await page.getByText('This note comes from your API.').waitFor()
    await lookAt(page, 'hono-signed-in')
    await page.reload()
    await page.locator('#wallet', { hasText: WALLET }).waitFor()
    await page.locator('#sign-out').click()
    await page.locator('#sign-in').waitFor()
  })
})

/** These templates need packages of the registries of npm and Python. */
const testDownloads = test.skipIf(process.env.TEST_CLIENTS !== '1')

testDownloads(
  'The template next signs a user in with a test account, and out, and builds',
  { timeout: TIME_MS },
  async ({ page }) => {
    await withApp(
      'next',
      async (app) => {
        await page.goto(app.url)
        await page.getByRole('button', { name: 'Sign in with your wallet' }).waitFor()
        await lookAt(page, 'next')
        await page.getByRole('button', { name: 'Sign in with your wallet' }).click()
        await signIn(page, 'account')
        await page.locator('#wallet', { hasText: WALLET }).waitFor()
        await lookAt(page, 'next-signed-in')
        await page.locator('#sign-out').click()
        await page.getByRole('button', { name: 'Sign in with your wallet' }).waitFor()
        const { status, stdout, stderr } = spawnSync('npm', ['run', 'build'], { cwd: app.folder, env: app.env, encoding: 'utf8' })
        expect([status, stdout + stderr]).toEqual([0, expect.any(String)])
      },
      { downloads: true },
    )
  },
)

testDownloads('The template fastapi signs a user in with a test account, and out', { timeout: TIME_MS }, async ({ page }) => {
  await withApp(
    'fastapi',
    async ({ url }) => {
      await page.goto(url)
      await page.locator('#sign-in').waitFor()
      await lookAt(page, 'fastapi')
      await page.locator('#sign-in').click()
      await signIn(page, 'account')
      await page.locator('#wallet', { hasText: WALLET }).waitFor()
      await page.locator('#sign-out').click()
      await page.locator('#sign-in').waitFor()
    },
    { downloads: true },
  )
})
