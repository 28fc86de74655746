/** `installTestWallet`: a wallet in a page of Playwright, on the real login page. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { test as base, FILE, started } from '../../server/test/support/fixtures.ts'
import { installTestWallet, startTestGrantor, type TestGrantor, type WalletAnswer } from '../src/index.ts'

const APP = 'https://app.example.net/callback'

const test = base.extend(
  'issuer',
  FILE,
  started(
    () => startTestGrantor({ clients: [{ name: 'My app', redirect_uris: [APP] }] }),
    (issuer) => issuer.stop(),
  ),
)

/** Opens the login page of an app, with a wallet that answers in this way, up to the click that asks for the signature. */
async function askToSign(page: Page, issuer: TestGrantor, answer: WalletAnswer) {
  await page.route('https://app.example.net/**', (route) => route.fulfill({ body: 'The app' }))
  const account = issuer.wallets[1] ?? expect.fail('there is no second wallet')
  const wallet = await installTestWallet(page, { account, answer, slowMs: 500 })
  const query = new URLSearchParams({ client_id: issuer.client().clientId, redirect_uri: APP })
  await page.goto(`${issuer.issuer}/oauth/authorize?${query.toString()}`)
  await page.getByRole('button', { name: 'Test Wallet' }).click()
  await page.locator('#sign').click()
  return wallet
}

async function codeAtApp(page: Page): Promise<string | null> {
  await page.waitForURL(`${APP}?**`)
  return new URL(page.url()).searchParams.get('code')
}

test.for(['sign', 'slow'] as const)('A wallet that answers with %s signs a user in', async (answer, { issuer, page }) => {
  const { requested } = await askToSign(page, issuer, answer)
  expect(await codeAtApp(page)).toBeTruthy()
  expect(requested).toHaveLength(1)
  expect(requested[0]).toContain(issuer.wallets[1]?.address)
})

test('A user who refuses sees why nothing happened, and can sign later', async ({ issuer, page }) => {
  const wallet = await askToSign(page, issuer, 'refuse')
  await page.getByText('You refused in Test Wallet, so nothing was signed.').waitFor()
  wallet.answer = 'sign'
  await page.locator('#sign').click()
  expect(await codeAtApp(page)).toBeTruthy()
})

test('A wallet that hangs leaves the page waiting for it', async ({ issuer, page }) => {
  await page.clock.install()
  const { requested } = await askToSign(page, issuer, 'hang')
  await page.getByText('Now confirm in Test Wallet.').waitFor()
  await expect.poll(() => requested).toHaveLength(1)
  await page.clock.fastForward(13_000)
  await page.getByText('Still waiting for Test Wallet.').waitFor()
})

test('Without a wallet in the browser, the forms of the login page sign with a wallet of the issuer', async ({
  issuer,
  page,
}) => {
  await page.route('https://app.example.net/**', (route) => route.fulfill({ body: 'The app' }))
  const query = new URLSearchParams({ client_id: issuer.client().clientId, redirect_uri: APP })
  await page.goto(`${issuer.issuer}/oauth/authorize?${query.toString()}`)
  await page.locator('#development > summary').click()
  await page.locator('#address').fill(issuer.wallets[2]?.address ?? '')
  await page.locator('#sign-in').click()
  await page.locator('#approve').click()
  expect(await codeAtApp(page)).toBeTruthy()
})
