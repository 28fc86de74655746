import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { startChain, type TestChain } from '../support/chain.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { installWallet, type TestWallet } from '../support/wallet.ts'
import { deploying, ownedWallet, owner } from '../support/wallet-contracts.ts'
import { backAtApp, newVisitor, openLogin, wordsIn } from './login-visit.ts'

let browser: Browser
let chain: TestChain
let grantor: Grantor
let client: TestClient
let page: Page
let wallet: TestWallet
const alice = owner('alice')
beforeAll(async () => {
  browser = await launchBrowser()
  chain = await startChain({ chainId: 1 })
  grantor = await startGrantor({ chains: [{ chainId: 1, name: 'Ethereum', rpc: [chain.url], home: true }] })
  client = await grantor.createClient({ name: 'Aurora Notes', consent: 'signed' })
  wallet = { address: await chain.deploy(deploying(ownedWallet(alice.address))), sign: alice.sign }
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
  await chain.close()
})
beforeEach(async () => {
  chain.setFault(null)
  // A minute later, so that the checks of one test do not count against the limit of the next.
  grantor.clock.advance(61)
  page = await newVisitor(browser)
})
afterEach(() => page.context().close())

async function openAndSign(by: TestWallet = wallet): Promise<{ signed: string[] }> {
  const installation = await installWallet(page, by, { name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  return installation
}

test('A contract wallet signs in on the login page as any other wallet does (ERC-1271)', async () => {
  const { signed } = await openAndSign()
  expect((await backAtApp(page)).has('code')).toBe(true)
  expect(signed[0]).toContain(wallet.address)
})

test('A signature that the contract refuses is described as a signature of another account', async () => {
  await openAndSign({ address: wallet.address, sign: owner('mallory').sign })
  expect(await wordsIn(page, 'problem')).toContain('That signature did not come from')
  expect(await page.locator('#sign').innerText()).toBe('Sign with Foxglove')
})

test('While the chain is slow the page says so, and a missing response is never described as a wrong signature', async () => {
  chain.setFault('hang')
  await openAndSign()
  await page.getByText('A wallet that is a contract is checked on its chain').waitFor()
  expect(await wordsIn(page, 'problem')).toContain('We could not check your signature right now. Nothing is lost')
})

test('A signature that could not be checked is kept: when the chain responds, one click sends it again without a new signature', async () => {
  chain.setFault('429')
  const { signed } = await openAndSign()
  expect(await wordsIn(page, 'problem')).toContain('you need not sign again')
  await page.getByRole('button', { name: 'Check my signature again' }).click()
  expect(await wordsIn(page, 'problem')).toContain('We could not check')
  chain.setFault(null)
  await page.getByRole('button', { name: 'Check my signature again' }).click()
  expect((await backAtApp(page)).has('code')).toBe(true)
  expect(signed).toHaveLength(1)
})

test('A kept signature is dropped with its text: another account signs again', async () => {
  chain.setFault('500')
  const installation = await installWallet(page, wallet, { accounts: [wallet, alice], name: 'Foxglove' })
  await openLogin(page, grantor, client)
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  await page.getByRole('button', { name: 'Check my signature again' }).waitFor()
  await page.getByLabel('Account').selectOption({ index: 1 })
  await page.getByRole('button', { name: 'Sign with Foxglove' }).click()
  expect((await backAtApp(page)).has('code')).toBe(true)
  expect(installation.signed).toHaveLength(2)
})

test('Too many checks of one address show the time to wait, and the signature is kept', async () => {
  chain.setFault('500')
  await openAndSign()
  for (let check = 0; check < 31; check++) {
    await page.getByRole('button', { name: 'Check my signature again' }).click()
    if ((await wordsIn(page, 'problem')).includes('too many')) break
  }
  expect(await wordsIn(page, 'problem')).toMatch(/There were too many failed attempts\. Wait (\d+ minute|\d+ seconds), then try/)
  chain.setFault(null)
  grantor.clock.advance(61)
  await page.getByRole('button', { name: 'Check my signature again' }).click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('Without script a signature that could not be checked stays in its field, with an explanation', async () => {
  await page.context().close()
  page = await newVisitor(browser, { javaScriptEnabled: false })
  chain.setFault('hang')
  await openLogin(page, grantor, client)
  await page.locator('#no-script-address').fill(wallet.address)
  await page.locator('#no-script-show').click()
  const signature = wallet.sign(await page.locator('textarea#message').inputValue())
  await page.locator('#signature').fill(signature)
  const answered = page.waitForResponse((response) => response.request().method() === 'POST')
  await page.locator('#sign-in').click()
  expect((await answered).status()).toBe(503)
  expect((await answered).headers()['retry-after']).toBe('5')
  expect(await page.locator('#signature-problem').innerText()).toContain('Nothing is lost and it is still here: wait 5 seconds')
  expect(await page.locator('#signature').inputValue()).toBe(signature)
  chain.setFault(null)
  await page.locator('#sign-in').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})
