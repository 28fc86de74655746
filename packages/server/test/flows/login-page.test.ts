import { expect } from 'vitest'
import { test as base } from '../support/fixtures.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { backAtApp, openLogin, visitor } from './login-visit.ts'

const wallet = testWallet(0)
const test = base.extend('client', ({ grantor }) => grantor.createClient({ name: 'Aurora Notes' })).extend('page', visitor)

test('A wallet that announces itself signs the user in, over the exact text that the page shows (EIP-6963, ERC-4361)', async ({
  grantor,
  client,
  page,
}) => {
  const { signed } = await installWallet(page, wallet, { name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.getByRole('button', { name: 'Foxglove' }).click()
  await page.getByRole('heading', { name: 'What you are about to sign' }).waitFor()
  const shown = await page.locator('#message').textContent()
  await page.getByRole('button', { name: 'Sign with Foxglove' }).click()
  const answer = await backAtApp(page)
  expect(answer.get('code')).toBeTruthy()
  expect(answer.get('state')).toBe('a state/1')
  expect(signed).toEqual([shown])
  expect(shown).toContain(`localhost:${new URL(grantor.loginUrl).port} wants you to sign in`)
  expect(shown).toContain(wallet.address)
  expect(shown).toContain('Aurora Notes')
})

test('The page says which app asks, at which host, for which permissions, and until when', async ({ grantor, client, page }) => {
  await openLogin(page, grantor, client)
  const text = await page.locator('.slip-head').innerText()
  expect(text).toContain('Sign in to Aurora Notes')
  expect(text).toContain('app.example.net')
  expect(text).toContain('Use the enhancement features for you')
  expect(text).toMatch(/This request is open until \d\d:\d\d/)
})

test('No wallet is called before a click, and no wallet is chosen for the user', async ({ grantor, client, page }) => {
  const first = await installWallet(page, wallet, { name: 'Foxglove' })
  const second = await installWallet(page, testWallet(1), { name: 'Harbour' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').nth(1).waitFor()
  expect(await page.locator('.wallet').allInnerTexts()).toEqual(['Foxglove', 'Harbour'])
  await page.waitForTimeout(600)
  expect([...first.asked, ...second.asked]).toEqual([])

  await page.getByRole('button', { name: 'Harbour' }).click()
  await page.locator('#sign').waitFor()
  expect(first.asked).toEqual([])
  expect(second.asked).not.toContain('personal_sign')
  expect(await page.locator('#message').textContent()).toContain(testWallet(1).address)
})

test('A wallet that announces itself twice, or under a second id, is listed once', async ({ grantor, client, page }) => {
  await installWallet(page, wallet, { name: 'Foxglove', rdns: 'example.foxglove' })
  await installWallet(page, wallet, { name: 'Foxglove again', rdns: 'example.foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').first().waitFor()
  await page.evaluate(() => window.dispatchEvent(new Event('eip6963:requestProvider')))
  expect(await page.locator('.wallet').allInnerTexts()).toEqual(['Foxglove'])
})

test('A wallet that announces itself late comes above the QR code, and the code stays', async ({ grantor, client, page }) => {
  await installWallet(page, wallet, { name: 'Slowcoach', announce: 'late' })
  await openLogin(page, grantor, client)
  await page.getByRole('heading', { name: 'Scan with your phone' }).waitFor()
  await page.getByRole('button', { name: 'Slowcoach' }).waitFor()
  expect(await page.locator('#no-wallet').isVisible()).toBe(false)
  const top = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => element.getBoundingClientRect().top)
  expect(await top('.wallet')).toBeLessThan(await top('.qr'))
  await page.getByRole('button', { name: 'Slowcoach' }).click()
  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('If no wallet announces itself, the wallet at window.ethereum is used', async ({ grantor, client, page }) => {
  await installWallet(page, wallet, { announce: 'legacy' })
  await openLogin(page, grantor, client)
  await page.getByRole('button', { name: 'Wallet in this browser' }).click()
  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('If a wallet announces itself, window.ethereum is not listed beside it', async ({ grantor, client, page }) => {
  await installWallet(page, testWallet(1), { announce: 'legacy' })
  await installWallet(page, wallet, { name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').first().waitFor()
  await page.waitForTimeout(600)
  expect(await page.locator('.wallet').allInnerTexts()).toEqual(['Foxglove'])
})

test('Without a wallet the page shows the QR code, where to find a wallet, and how to continue without one', async ({
  grantor,
  client,
  page,
}) => {
  await openLogin(page, grantor, client)
  expect(await page.locator('#phone .qr').first().isVisible()).toBe(true)
  expect(await page.locator('#no-wallet').innerText()).toMatch(/^No wallet yet\?.*MetaMask.*ethereum\.org$/s)
  await page.getByText('Sign in without a wallet in this browser').click()
  await page.locator('#by-hand-address').fill(wallet.address.toLowerCase())
  await page.getByRole('button', { name: 'Show me the text to sign' }).click()
  const text = await page.locator('textarea#message').inputValue()
  await page.locator('#signature').fill(wallet.sign(text))
  await page.getByRole('button', { name: 'Sign in' }).click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('The name of a wallet is text of limited length, and its icon is an image from a data: URL or a letter', async ({
  grantor,
  client,
  page,
}) => {
  const requested: string[] = []
  page.on('request', (request) => void requested.push(request.url()))
  const evil = '<img src=x onerror=document.title="pwned">'
  const svg = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=\'pwned\'"><script>document.title="pwned"</script></svg>')}`
  await installWallet(page, wallet, { name: `${evil}${'x'.repeat(5_000)}`, icon: 'https://tracker.example/icon.png' })
  await installWallet(page, wallet, { name: '\u202Etellaw\u0000', icon: 'javascript:document.title="pwned"', rdns: 'b.example' })
  await installWallet(page, wallet, { name: 'Drawn', icon: svg, rdns: 'c.example' })
  await installWallet(page, wallet, {
    name: '',
    icon: 'data:text/html,<script>document.title="pwned"</script>',
    rdns: 'd.example',
  })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').nth(3).waitFor()
  const names = await page.locator('.wallet bdi').allTextContents()
  expect(names).toEqual([`${evil.slice(0, 39)}…`, 'tellaw', 'Drawn', 'Wallet in this browser'])
  expect(await page.locator('.wallet img').count()).toBe(1)
  expect(await page.locator('.wallet img').getAttribute('alt')).toBe('')
  expect(await page.title()).not.toContain('pwned')
  expect(requested.filter((url) => !url.startsWith('http://localhost:') && !url.startsWith('data:'))).toEqual([])
})

test('An icon that cannot be drawn is replaced by the first letter of the name', async ({ grantor, client, page }) => {
  await installWallet(page, wallet, { name: 'Foxglove', icon: 'data:image/png;base64,AAAA' })
  await openLogin(page, grantor, client)
  await page.locator('span.wallet-icon').waitFor()
  expect(await page.locator('.wallet-icon').textContent()).toBe('F')
})

test('The user chooses one of several accounts, and each account has a text of its own', async ({ grantor, client, page }) => {
  const { signed } = await installWallet(page, wallet, { accounts: [wallet, testWallet(1)] })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.getByLabel('Account').selectOption({ index: 1 })
  await page.getByText(testWallet(1).address).waitFor()
  await page.locator('#sign').click()
  await backAtApp(page)
  expect(signed).toHaveLength(1)
  expect(signed[0]).toContain(testWallet(1).address)
})

test.for<[chainId: string, line: string]>([
  ['0x2105', 'Chain ID: 8453'],
  ['0x1', 'Chain ID: 1'],
  ['0x89', 'Chain ID: 1'],
  ['nonsense', 'Chain ID: 1'],
])(
  "The text names the wallet's chain if it is accepted, otherwise the first accepted chain: %s",
  async ([chainId, line], { grantor, client, page }) => {
    const { asked } = await installWallet(page, wallet, { chainId })
    await openLogin(page, grantor, client)
    await page.locator('.wallet').click()
    await page.locator('#sign').waitFor()
    expect((await page.locator('#message').textContent())?.split('\n')).toContain(line)
    await page.locator('#sign').click()
    await backAtApp(page)
    // personal_sign works on any chain, so the page does not request a switch of the chain.
    expect(asked).toEqual(['eth_requestAccounts', 'eth_chainId', 'personal_sign'])
  },
)

test('The page can be used with the keyboard alone', async ({ grantor, client, page }) => {
  await installWallet(page, wallet, { name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').waitFor()
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Foxglove')
  await page.keyboard.press('Enter')
  await page.locator('#sign').waitFor()
  // The next step has the focus, so a screen reader begins there.
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('review-title')
  // The text scrolls in its box, also with the keyboard.
  for (const id of ['message', 'sign']) {
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe(id)
  }
  await page.keyboard.press('Space')
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('Cancelling returns to the app with access_denied and the state (RFC 6749 §4.1.2.1)', async ({ grantor, client, page }) => {
  await openLogin(page, grantor, client)
  await page.getByRole('button', { name: 'Cancel and go back to Aurora Notes' }).click()
  const answer = await backAtApp(page)
  expect(answer.get('error')).toBe('access_denied')
  expect(answer.get('state')).toBe('a state/1')
  expect(answer.has('code')).toBe(false)
})
