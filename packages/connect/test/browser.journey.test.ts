/** `@grantor/connect` in pages of a real browser, as it is published, against the service with its opener policy. */

import { installTestWallet, startTestGrantor } from '@grantor/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { screenshot, seriousAxeViolations } from '../../server/test/support/browser.ts'
import { test as base, FILE } from '../../server/test/support/fixtures.ts'
import type * as Connect from '../src/index.ts'
import { bundle, frameworkFiles, GUIDE, startApp } from './app.ts'
import { downloadProject, makeProject, type Project } from './package.ts'

/** The issuer and the page of the app, which share the registration of a public client. */
async function startSite(
  filesOf?: (project: Project) => Record<string, string>,
  project = makeProject(['react', 'react-dom', 'scheduler']),
) {
  const script = await bundle(project, filesOf?.(project))
  project.remove()
  let issuer: Awaited<ReturnType<typeof startTestGrantor>> | undefined
  const app = await startApp(script, async (url) => {
    issuer = await startTestGrantor({
      clients: [{ name: 'My app', type: 'public', redirect_uris: [`${url}/callback`], scopes: ['openid', 'wallet'] }],
    })
    return { issuer: issuer.issuer, clientId: issuer.client().clientId }
  })
  if (!issuer) throw new Error('the issuer has not started')
  const { stop } = issuer
  return { url: app.url, issuer, stop: () => stop().finally(app.close) }
}

const test = base
  .extend('site', FILE, async ({ browser }, { onCleanup }) => {
    // The browser starts first, so that it ends after the site.
    expect(browser.isConnected()).toBe(true)
    const site = await startSite()
    onCleanup(site.stop)
    return site
  })
  .extend('wallet', async ({ page, site }) => {
    const [account] = site.issuer.wallets
    if (!account) throw new Error('there is no wallet')
    const installed = await installTestWallet(page.context(), { account })
    return Object.assign(installed, { address: account.address })
  })

const button = (page: Page) => page.getByRole('button')
const status = (page: Page, text: RegExp) => page.locator('#status', { hasText: text }).waitFor()

/** Clicks the button of the app, and resolves with the window that opens. */
async function openPopup(page: Page): Promise<Page> {
  const [popup] = await Promise.all([page.context().waitForEvent('page'), button(page).click()])
  return popup
}

async function sign(popup: Page): Promise<void> {
  await popup.getByRole('button', { name: 'Test Wallet' }).click()
  await popup.locator('#sign').click()
  await popup.waitForEvent('close')
}

type OnPage = { connect: typeof Connect & { connection: Connect.Connection } }

test('A user signs in in a window of its own, which closes, although the opener policy separates the two windows', async ({
  site,
  page,
  wallet,
}) => {
  await page.goto(site.url)
  await status(page, /^signed_out/)
  await page.evaluate(() => {
    const { open } = window
    window.open = (...values) => ((globalThis as unknown as { popup: Window | null }).popup = open.apply(window, values))
  })
  const popup = await openPopup(page)
  await popup.getByRole('button', { name: 'Test Wallet' }).waitFor()
  expect(await popup.evaluate(() => window.opener)).toBeNull()
  expect(await page.evaluate(() => (globalThis as unknown as { popup: Window | null }).popup?.closed)).toBe(true)
  await status(page, /^waiting/)
  await sign(popup)
  await status(page, new RegExp(`^signed_in ${wallet.address}`))
  expect(await button(page).innerText()).toBe(`Sign out ${wallet.address.slice(0, 6)}…${wallet.address.slice(-4)}`)

  await button(page).click()
  await status(page, /^signed_out/)
})

test('A user who closed the window opens it again with the same button, and a response to the first request is not accepted', async ({
  site,
  page,
  wallet,
}) => {
  await page.goto(site.url)
  const first = await openPopup(page)
  await first.getByRole('button', { name: 'Test Wallet' }).waitFor()
  const second = await openPopup(page)
  await first.getByRole('button', { name: 'Test Wallet' }).click()
  await first.locator('#sign').click()
  await first.locator('#result', { hasText: 'no_page_waits' }).waitFor()
  await status(page, /^waiting/)
  await sign(second)
  await status(page, new RegExp(`^signed_in ${wallet.address}`))
})

test('A user who refuses at the service leads to the state failed with the error of OAuth, and the button tries again', async ({
  site,
  page,
}) => {
  await page.goto(site.url)
  const popup = await openPopup(page)
  await popup.locator('#cancel').click()
  await status(page, /^failed refused access_denied/)
  expect(await button(page).innerText()).toBe('Try again')
})

test('A browser that opens no window is reported as popup_blocked', async ({ site, page }) => {
  await page.goto(site.url)
  await status(page, /^signed_out/)
  await page.evaluate(() => (window.open = () => null))
  await button(page).click()
  await status(page, /^failed popup_blocked/)
})

test('A silent sign-in yields null without a session, and the wallet with a session', async ({ site, page, wallet }) => {
  await page.goto(`${site.url}/?silent`)
  await status(page, /^signed_out/)
  await sign(await openPopup(page))
  await status(page, /^signed_in/)
  await page.goto(`${site.url}/?silent`)
  await status(page, new RegExp(`^signed_in ${wallet.address}`))
})

test('A redirect signs the user in without a second window, and the code does not stay in the address', async ({
  site,
  page,
  wallet,
}) => {
  await page.goto(site.url)
  await status(page, /^signed_out/)
  await page.evaluate(() => {
    const { connect } = globalThis as unknown as OnPage
    void connect.signInWithRedirect(connect.connection)
  })
  await page.getByRole('button', { name: 'Test Wallet' }).click()
  await page.locator('#sign').click()
  await page.locator('#result', { hasText: wallet.address }).waitFor()
  expect(page.url()).toBe(`${site.url}/callback`)
})

test('A response with another iss, another state or a foreign code is refused', async ({ site, page }) => {
  await page.goto(site.url)
  await status(page, /^signed_out/)
  /** Answers the next sign-in with these parameters, in place of the service. */
  const outcome = (change: Record<string, string>) =>
    page.evaluate(
      async ([change, issuer]) => {
        const { connect } = globalThis as unknown as OnPage
        const popup = { location: { replace: (_url: string): void => undefined }, close() {} }
        window.open = () => popup as unknown as Window
        const url = new Promise<string>((resolve) => (popup.location.replace = resolve))
        const signedIn = connect.signInWithPopup(connect.connection, { timeoutMs: 3000 }).then(
          () => 'signed in',
          ({ reason, error }: Connect.SignInError) => `${reason} ${error}`,
        )
        const state = new URL(await url).searchParams.get('state') ?? ''
        const response = new URLSearchParams({ state, iss: issuer, code: 'forged', ...change }).toString()
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has one origin
        new BroadcastChannel('grantor-connect').postMessage({ kind: 'response', state: change.state ?? state, response })
        return signedIn
      },
      [change, site.issuer.issuer] as const,
    )
  expect(await outcome({ iss: 'https://other.example' })).toBe('response_invalid null')
  expect(await outcome({ state: 'of another request' })).toBe('timed_out null')
  expect(await outcome({})).toBe('refused invalid_grant')
})

test('The blocks of docs/guides/connect-package.md sign a user in with React, and without', async ({ page }) => {
  const site = await startSite(() => GUIDE)
  const [account] = site.issuer.wallets
  if (!account) throw new Error('there is no wallet')
  await installTestWallet(page.context(), { account })
  await page.goto(`${site.url}/plain`)
  await page.locator('#wallet', { hasText: 'nobody' }).waitFor()
  await sign(await openPopup(page))
  await page.locator('#wallet', { hasText: account.address }).waitFor()
  await page.goto(site.url)
  await page.getByText(`Signed in with ${account.address}`).waitFor()
  await site.stop()
})

// `npm ci` does not install the two frameworks.
test.skipIf(process.env.TEST_CLIENTS !== '1')(
  'The components of docs/guides/connect-package.md sign a user in and out with Vue and with Svelte',
  { timeout: 180_000 },
  async ({ page }) => {
    const site = await startSite(frameworkFiles, downloadProject(['vue@3.5.45', 'svelte@5.57.3']))
    const [account] = site.issuer.wallets
    if (!account) throw new Error('there is no wallet')
    await installTestWallet(page.context(), { account })
    const [signIn, signOut] = ['Sign in with your wallet', `Sign out ${account.address}`].map((name) =>
      page.getByRole('button', { name }),
    )
    for (const framework of ['vue', 'svelte']) {
      await page.context().clearCookies()
      await page.goto(`${site.url}/${framework}`)
      await (await openPopup(page)).locator('#cancel').click()
      await page.getByRole('alert').filter({ hasText: 'That did not work' }).waitFor()
      await sign(await openPopup(page))
      await signOut?.waitFor()
      // The browser has a session now, so the page signs in silently.
      await page.reload()
      await signOut?.click()
      await signIn?.waitFor()
    }
    await site.stop()
  },
)

test.for(['light', 'dark'] as const)(
  'The button is readable in each state with the colour scheme %s',
  async (colorScheme, { site, page }) => {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width: 320, height: 480 })
    await page.goto(`${site.url}/?states`)
    await button(page).nth(4).waitFor()
    expect(await seriousAxeViolations(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
    await screenshot(page, `connect-button-320-${colorScheme}`)
  },
)
