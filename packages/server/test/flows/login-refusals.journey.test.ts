import { expect } from 'vitest'
import { test as base } from '../support/fixtures.ts'
import { startGrantor } from '../support/start.ts'
import { installWallet, testWallet, type WalletPolicy } from '../support/wallet.ts'
import { backAtApp, openLogin, visitor, wordsIn } from './login-visit.ts'

const wallet = testWallet(0)
const test = base.extend('client', ({ grantor }) => grantor.createClient({ name: 'Aurora Notes' })).extend('page', visitor)

const REFUSALS: [WalletPolicy, string][] = [
  ['reject', 'You refused in Foxglove, so nothing was signed.'],
  ['pending', 'Foxglove still has an earlier request open.'],
  ['malleated', 'That signature did not come from 0xf39f…2266.'],
  ['another_account', 'That signature did not come from 0xf39f…2266.'],
  ['garbage', 'Foxglove could not do this.'],
]

test.for(REFUSALS)(
  'The page stays usable and says what to do, and a retry needs no reload: %s',
  async ([policy, words], { grantor, client, page }) => {
    const installation = await installWallet(page, wallet, { name: 'Foxglove', policy })
    await openLogin(page, grantor, client)
    await page.locator('.wallet').click()
    await page.locator('#sign').click()
    expect(await wordsIn(page, 'problem')).toContain(words)
    installation.policy = 'sign'
    await page.locator('#sign').click()
    expect((await backAtApp(page)).has('code')).toBe(true)
  },
)

test.for([
  ['locked', 'Foxglove is locked or shared no account.'],
  ['disconnected', 'Foxglove lost its connection.'],
] as const)(
  'A wallet without an account is explained, and the next click asks again: %s',
  async ([policy, words], { grantor, client, page }) => {
    const installation = await installWallet(page, wallet, { name: 'Foxglove', policy })
    await openLogin(page, grantor, client)
    await page.locator('.wallet').click()
    expect(await wordsIn(page, 'problem')).toContain(words)
    installation.policy = 'sign'
    await page.locator('.wallet').click()
    await page.locator('#sign').click()
    expect((await backAtApp(page)).has('code')).toBe(true)
  },
)

test('A wallet that does not respond leaves the other wallets and ways usable', async ({ grantor, client, page }) => {
  await page.clock.install()
  await installWallet(page, wallet, { name: 'Foxglove', policy: 'hang' })
  await installWallet(page, testWallet(1), { name: 'Harbour' })
  await openLogin(page, grantor, client)
  await page.getByRole('button', { name: 'Foxglove' }).click()
  await page.locator('#sign').click()
  expect(await wordsIn(page, 'progress')).toContain('Now confirm in Foxglove.')
  await page.clock.fastForward(13_000)
  await page.getByText('Still waiting for Foxglove.').waitFor()
  await page.getByRole('button', { name: 'Another wallet' }).click()
  await page.getByRole('button', { name: 'Harbour' }).click()
  await page.getByRole('button', { name: 'Sign with Harbour' }).click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('A change of the account leads to a new text, and a signature over the old text is not sent', async ({
  grantor,
  client,
  page,
}) => {
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
  })
  const { signed } = await installWallet(page, wallet, { name: 'Foxglove', policy: 'switches' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.getByText('You switched to another account, so here is a new text.').waitFor()
  expect(await page.locator('#message').textContent()).toContain(testWallet(2).address)
  expect(sent).toEqual(['/login/message', '/login/message'])

  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
  expect(signed.map((text) => text.split('\n')[1])).toEqual([wallet.address, testWallet(2).address])
})

test('A wallet that is locked while the text is shown leads back to the choice of a wallet', async ({
  grantor,
  client,
  page,
}) => {
  const installation = await installWallet(page, wallet, { name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  await installation.switchTo([])
  expect(await wordsIn(page, 'problem')).toContain('Foxglove is locked or shared no account.')
  expect(await page.locator('#review').isVisible()).toBe(false)
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('choose-title')
})

test('An expired sign-in says so, and how to start again, on the open page and at its address', async ({
  grantor,
  client,
  page,
}) => {
  await installWallet(page, wallet)
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  grantor.clock.advance(3_600)
  await page.locator('#sign').click()
  await page.getByRole('heading', { name: 'This sign-in has run out of time' }).waitFor()
  expect(await page.locator('.next').innerText()).toContain('Go back to Aurora Notes and sign in again.')
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1')

  const response = await page.reload()
  expect(response?.status()).toBe(410)
  await page.getByRole('heading', { name: 'This sign-in has run out of time' }).waitFor()
})

test('An open page announces by itself that it has expired', async ({ grantor, client, page }) => {
  await page.clock.install()
  await installWallet(page, wallet)
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  await page.clock.fastForward(11 * 60_000)
  await page.getByRole('heading', { name: 'This sign-in has run out of time' }).waitFor()
  expect(await page.locator('#sign').count()).toBe(0)
})

test('A sign-in that was finished in another tab says so, and starts nothing', async ({ grantor, client, page }) => {
  await installWallet(page, wallet)
  await openLogin(page, grantor, client)
  const other = await page.context().newPage()
  await other.route('https://app.example.net/**', (route) => route.fulfill({ body: 'The app' }))
  await installWallet(other, wallet)
  await other.goto(page.url())
  await other.locator('.wallet').click()
  await other.locator('#sign').click()
  await backAtApp(other)

  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.getByRole('heading', { name: 'This sign-in is already finished' }).waitFor()
  expect(await page.locator('.next').innerText()).toContain('Go back to Aurora Notes.')
})

test('A link that was cut or changed is explained', async ({ grantor, client, page }) => {
  await openLogin(page, grantor, client)
  const response = await page.goto(page.url().slice(0, -5))
  expect(response?.status()).toBe(400)
  await page.getByRole('heading', { name: 'This sign-in link does not work' }).waitFor()
})

test('Too many failed attempts show the time to wait', async ({ page }) => {
  const strict = await startGrantor({ failureLimit: 1 })
  const app = await strict.createClient({ name: 'Aurora Notes' })
  await installWallet(page, wallet, { policy: 'another_account' })
  await openLogin(page, strict, app)
  await page.locator('.wallet').click()
  for (let attempt = 0; attempt < 3; attempt++) {
    await page.locator('#sign').click()
    await page.locator('#progress:empty').waitFor({ state: 'attached' })
  }
  expect(await wordsIn(page, 'problem')).toMatch(
    /There were too many failed attempts\. Wait (\d+ minute|\d+ seconds), then try again\./,
  )
  await strict.close()
})

test('An auth service that stops in between is explained, and the sign-in continues when it is back', async ({ page }) => {
  const fragile = await startGrantor()
  const app = await fragile.createClient({ name: 'Aurora Notes' })
  await installWallet(page, wallet)
  await openLogin(page, fragile, app)
  await page.locator('.wallet').click()
  await page.locator('#sign').waitFor()
  await fragile.authServer.close()
  await page.locator('#sign').click()
  expect(await wordsIn(page, 'problem')).toContain('We could not check your signature right now. Nothing is lost')

  const { clock, databasePath, ports } = fragile
  await fragile.loginServer.close()
  await page.locator('#sign').click()
  await page.getByText('We could not reach this site. Check your internet connection').waitFor()

  const again = await startGrantor({ clock, databasePath, ports })
  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
  await again.close()
  await fragile.close()
})

test('The login page offers a retry while the auth service is down', async ({ page }) => {
  const fragile = await startGrantor()
  const app = await fragile.createClient({ name: 'Aurora Notes' })
  await openLogin(page, fragile, app)
  await fragile.authServer.close()
  const response = await page.reload()
  expect(response?.status()).toBe(503)
  await page.getByRole('heading', { name: 'We cannot sign you in right now' }).waitFor()
  expect(new URL((await page.locator('#retry').getAttribute('href')) ?? '', page.url()).href).toBe(page.url())
  await fragile.close()
})
