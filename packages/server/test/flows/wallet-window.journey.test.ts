/** A smart wallet that opens in a window of its own (GRANTOR_WALLET_WINDOW): its owner signs with a passkey of the browser. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { scripts } from '../../src/pages/inline.ts'
import { claimsOf, tokensOf } from '../support/app.ts'
import { seriousAxeViolations } from '../support/browser.ts'
import { chainTest as base, FILE, started } from '../support/fixtures.ts'
import { metaMaskContracts } from '../support/metamask-account.ts'
import { passkey } from '../support/passkey.ts'
import { Walk } from '../support/walk.ts'
import { openWindow, press, signInWindow, startWalletWindow } from '../support/wallet-window.ts'
import { backAtApp, openLogin, visitor, wordsIn } from './login-visit.ts'

const key = passkey('alice')

const test = base
  .extend(
    'site',
    FILE,
    started(startWalletWindow, (site) => site.close()),
  )
  .extend('options', FILE, ({ site }) => ({ walletWindow: site.url, failureLimit: 1_000_000, p256: true }))
  .extend('account', FILE, async ({ home }) => (await metaMaskContracts(home.chain)).accountOf(key))
  .extend('page', async ({ browser, home, site, account }, { onCleanup }) => {
    site.received.length = 0
    site.requested.length = 0
    const page = await visitor({ browser }, { onCleanup })
    await signInWindow(page.context(), site, { account, wrap: account.wrap })
    await openLogin(page, home.grantor, home.client)
    return page
  })

const walletButton = (page: Page) => page.locator('.wallet').filter({ hasText: 'localhost:' })
const choose = (page: Page): Promise<Page> => openWindow(page, () => walletButton(page).click(), key)
const sign = (page: Page): Promise<Page> => openWindow(page, () => page.locator('#sign').click(), key)

test('A passkey in the window of a smart wallet signs in, before the wallet is deployed: the sub is the address of the wallet', async ({
  home,
  page,
  account,
}) => {
  await press(await choose(page), 'allow')
  await page.locator('#review').waitFor()
  expect(await page.locator('#message').textContent()).toContain(account.wallet.address)
  const window = await sign(page)
  await window.locator('#allow').waitFor()
  expect(await window.locator('#request').innerText()).toBe(`${home.grantor.loginUrl} requests personal_sign on chain 1`)
  await press(window, 'allow')
  const code = (await backAtApp(page)).get('code') ?? ''
  const tokens = tokensOf(await new Walk(home.grantor).exchange(home.client, code))
  expect(claimsOf(tokens.access_token).sub).toBe(account.wallet.address)
})

test('The site of the wallet receives no request before the click, and never the login challenge or the address of the page', async ({
  page,
  site,
}) => {
  const challenge = new URL(page.url()).searchParams.get('login_challenge') ?? ''
  await walletButton(page).waitFor()
  expect(site.requested).toEqual([])
  await press(await choose(page), 'allow')
  await page.locator('#review').waitFor()
  await press(await sign(page), 'allow')
  await backAtApp(page)
  expect(site.requested.filter((path) => path.startsWith('/connect'))).toHaveLength(2)
  const all = [...site.received, ...site.requested].join('\n')
  expect(all).toContain('personal_sign')
  expect(challenge).not.toBe('')
  expect(all).not.toContain(challenge)
  expect(all).not.toContain('/login?')
})

test('GET /login/challenge names the home chain, which is the chain of the window', async ({ home, page }) => {
  const challenge = new URL(page.url()).searchParams.get('login_challenge') ?? ''
  expect((await new Walk(home.grantor).describe(challenge)).json()).toMatchObject({ chain_ids: [1, 8453], home_chain_id: 1 })
})

test('A user who refuses in the window, or closes it, reads this and can try again', async ({ page }) => {
  await press(await choose(page), 'refuse')
  expect(await wordsIn(page, 'problem')).toContain('You refused in localhost:')
  await (await choose(page)).close()
  expect(await wordsIn(page, 'problem')).toContain('You refused in localhost:')
  await press(await choose(page), 'allow')
  await page.locator('#review').waitFor()
  await press(await sign(page), 'refuse')
  expect(await wordsIn(page, 'problem')).toContain('You refused in localhost:')
  await press(await sign(page), 'allow')
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('If the window is closed before it says that it has loaded, the user reads that nothing was signed', async ({
  page,
  site,
}) => {
  await page
    .context()
    .route(`${site.url}?*`, (route) => route.fulfill({ contentType: 'text/html', body: 'An error of the site.' }))
  const [window] = await Promise.all([page.waitForEvent('popup'), walletButton(page).click()])
  await window.close()
  expect(await wordsIn(page, 'problem')).toContain('You refused in localhost:')
})

test('If the browser blocks the window, the page says that the wallet did not work', async ({ page }) => {
  await page.evaluate(() => (window.open = () => null))
  await walletButton(page).click()
  expect(await wordsIn(page, 'problem')).toContain('localhost:')
  expect(await page.locator('#choose').isVisible()).toBe(true)
})

test('Messages that do not come from the window are ignored', async ({ page }) => {
  const window = await choose(page)
  await window.locator('#allow').waitFor()
  await page.evaluate(() => globalThis.postMessage({ event: 'PopupUnload' }, '*'))
  await press(window, 'allow')
  await page.locator('#review').waitFor()
})

test('The page with the window of a wallet has no serious accessibility fault, and the script has less than 5 kB', async ({
  page,
}) => {
  await walletButton(page).waitFor()
  expect(await seriousAxeViolations(page)).toEqual([])
  expect(scripts.walletWindow.length).toBeLessThan(5_000)
})
