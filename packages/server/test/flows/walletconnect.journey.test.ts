/**
 * WalletConnect (GRANTOR_WALLETCONNECT_PROJECT_ID): the real library of apps in the login page, as the package has it, the real library of
 * wallets, and a relay of the tests between them.
 */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { buildWalletConnect } from '../../../walletconnect/build.ts'
import { claimsOf, tokensOf } from '../support/app.ts'
import { seriousAxeViolations } from '../support/browser.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { startRelay } from '../support/walletconnect-relay.ts'
import { backAtApp, openLogin, visitor, wordsIn } from './login-visit.ts'
import { readCode } from './read-qr-code.ts'
import { startWalletApp } from './walletconnect-wallet.ts'

const PROJECT = '0123456789abcdef0123456789abcdef'

const test = base
  .extend(
    'relay',
    FILE,
    started(startRelay, (relay) => relay.close()),
  )
  .extend('options', FILE, async ({ relay }) => {
    const { script } = await buildWalletConnect()
    return { walletConnect: { projectId: PROJECT, relay: relay.url, script }, failureLimit: 1_000_000 }
  })
  .extend('phone', async ({ relay }, { onCleanup }) => {
    const phone = await startWalletApp(relay, PROJECT)
    onCleanup(() => phone.close())
    return phone
  })
  .extend('page', async ({ browser, grantor, client, relay }, { onCleanup }) => {
    relay.received.length = 0
    const page = await visitor({ browser }, { onCleanup })
    await openLogin(page, grantor, client)
    return page
  })
  // The same with a clock that the test moves
  .extend('clockedPage', async ({ browser, grantor, client }, { onCleanup }) => {
    const page = await visitor({ browser }, { onCleanup })
    await page.clock.install()
    await openLogin(page, grantor, client)
    return page
  })

const walletButton = (page: Page) => page.locator('.wallet').filter({ hasText: 'WalletConnect' })

/** Chooses WalletConnect, and returns the link that the page shows. */
async function linkIn(page: Page): Promise<string> {
  await walletButton(page).click()
  await page.locator('dialog[open] a').waitFor()
  return (await page.locator('dialog a').getAttribute('href')) ?? ''
}

test('A wallet app that scans the code signs in with one signature, and the session of WalletConnect then ends on both sides', async ({
  grantor,
  client,
  page,
  phone,
}) => {
  await phone.scan(await linkIn(page))
  await page.locator('#review').waitFor()
  expect(await page.locator('dialog').isVisible()).toBe(false)
  expect(await page.locator('#message').textContent()).toContain(testWallet(0).address)
  expect(phone.site).toMatchObject({ url: grantor.loginUrl, name: await page.title() })
  expect(phone.proposed).toEqual({
    eip155: { chains: ['eip155:1', 'eip155:8453'], methods: ['personal_sign'], events: ['accountsChanged'] },
  })
  await page.locator('#sign').click()
  const code = (await backAtApp(page)).get('code') ?? ''
  const tokens = tokensOf(await new Walk(grantor).exchange(client, code))
  expect(claimsOf(tokens.access_token).sub).toBe(testWallet(0).address)
  expect(phone.asked).toEqual([{ method: 'personal_sign', chainId: 'eip155:1' }])
  await expect.poll(phone.sessions).toBe(0)
})

test('The code contains the link, and the page with the code has no serious accessibility fault', async ({ page }) => {
  const link = await linkIn(page)
  expect(link).toMatch(/^wc:[0-9a-f]{64}@2\?/)
  expect(await readCode(page, 'dialog')).toBe(link)
  expect(await seriousAxeViolations(page)).toEqual([])
})

test('The library is loaded after the click, from the login server; the browser calls no other server than the relay, and stores nothing', async ({
  grantor,
  page,
  phone,
  relay,
}) => {
  const requested: string[] = []
  const blocked: string[] = []
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  // The page polls for a phone too
  const isPoll = (url: string) => url.startsWith(`${grantor.loginUrl}/login/status`)
  session.on('Network.requestWillBeSent', ({ request: { url } }) => void (isPoll(url) || requested.push(url)))
  session.on('Network.webSocketCreated', ({ url }) => void requested.push(url))
  page.on('console', (message) => void (message.type() === 'error' && blocked.push(message.text())))
  await page.reload()
  const before = requested.length
  await walletButton(page).waitFor()
  expect(requested.slice(1).filter((url) => !url.startsWith('data:'))).toEqual([])
  expect(relay.received).toEqual([])

  await phone.scan(await linkIn(page))
  await page.locator('#review').waitFor()
  const origins = requested.slice(before).filter((url) => !url.startsWith('data:'))
  expect(new Set(origins.map((url) => new URL(url).origin))).toEqual(new Set([grantor.loginUrl, relay.url]))
  expect(origins[0]).toMatch(/\/login\/walletconnect-[0-9a-f]{16}\.js$/)
  expect(blocked).toEqual([])
  expect(await page.evaluate(async () => [localStorage.length, sessionStorage.length, await indexedDB.databases()])).toEqual([
    0,
    0,
    [],
  ])
})

test('The relay receives neither the login challenge nor the text nor the account nor the name of the app, and the page sends it no signature', async ({
  page,
  phone,
  relay,
}) => {
  const challenge = new URL(page.url()).searchParams.get('login_challenge') ?? ''
  const sentByPage: string[] = []
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.webSocketFrameSent', ({ response }) => void sentByPage.push(response.payloadData))
  await phone.scan(await linkIn(page))
  await page.locator('#review').waitFor()
  const [request] = await Promise.all([
    page.waitForRequest((each) => each.method() === 'POST' && each.url().endsWith('/login')),
    page.locator('#sign').click(),
  ])
  await backAtApp(page)
  const { signature } = request.postDataJSON() as { signature: string }
  const all = relay.received.join('\n').toLowerCase()
  expect(all).toContain('personal_sign')
  for (const secret of [challenge, testWallet(0).address.slice(2), 'wants you to sign in', 'myapp'])
    expect(all).not.toContain(secret.toLowerCase())
  expect(sentByPage.length).toBeGreaterThan(2)
  expect(sentByPage.join('\n')).not.toContain(signature)
})

test('A user who refuses in the wallet app reads this and can try again', async ({ page, phone }) => {
  phone.policy = 'reject_connection'
  await phone.scan(await linkIn(page))
  expect(await wordsIn(page, 'problem')).toContain('You refused in WalletConnect')
  expect(await page.locator('dialog').isVisible()).toBe(false)

  phone.policy = 'reject'
  await phone.scan(await linkIn(page))
  await page.locator('#sign').click()
  expect(await wordsIn(page, 'problem')).toContain('You refused in WalletConnect')
  phone.policy = 'sign'
  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('A user who closes the code can choose another way, and the code then connects no wallet', async ({ page, phone }) => {
  const link = await linkIn(page)
  await page.locator('dialog .close').click()
  expect(await wordsIn(page, 'problem')).toContain('nothing was signed')
  await phone.scan(link)
  await expect.poll(() => phone.proposed).toBeTruthy()
  expect(await page.locator('#choose').isVisible()).toBe(true)
  expect(await linkIn(page)).not.toBe(link)
})

test('Two clicks begin two attempts, and the link of the second one connects', async ({ page, phone }) => {
  await walletButton(page).dblclick()
  await page.locator('dialog[open] a').waitFor()
  await phone.scan((await page.locator('dialog a').getAttribute('href')) ?? '')
  await page.locator('#review').waitFor()
})

test('If the relay is away, the user reads this and can try again when the relay is back', async ({
  clockedPage: page,
  phone,
  relay,
}) => {
  await relay.stop()
  await walletButton(page).click()
  await expect
    .poll(() => page.clock.runFor(1_000).then(() => page.locator('#problem').textContent()))
    .toContain('We could not reach the server between this page and your wallet')
  await relay.restart()
  await phone.scan(await linkIn(page))
  await page.locator('#review').waitFor()
})

test('If the relay goes away while the wallet is connected, the connection is made again and the signature arrives', async ({
  page,
  phone,
  relay,
}) => {
  await phone.scan(await linkIn(page))
  await page.locator('#review').waitFor()
  await relay.stop()
  await relay.restart()
  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test.for(['no_method', 'no_chain'] as const)(
  'A wallet that cannot sign a text on an allowed chain is named as the reason, and is not connected: %s',
  async (policy, { page, phone }) => {
    phone.policy = policy
    await phone.scan(await linkIn(page))
    expect(await wordsIn(page, 'problem')).toContain('Your wallet cannot sign a text')
    await expect.poll(phone.sessions).toBe(0)
  },
)

test('If no wallet answers within five minutes, the code disappears and the user reads that nothing was signed', async ({
  clockedPage: page,
}) => {
  await linkIn(page)
  await page.clock.runFor(5 * 60_000 + 10_000)
  expect(await wordsIn(page, 'problem')).toContain('No wallet answered in time')
  expect(await page.locator('dialog').isVisible()).toBe(false)
})

test('If the user chooses another account in the wallet app, the page shows a text for this account', async ({ page, phone }) => {
  phone.accounts = [testWallet(0), testWallet(1)]
  await phone.scan(await linkIn(page))
  await page.locator('#review').waitFor()
  await phone.switchTo(testWallet(1))
  await expect.poll(() => page.locator('#progress').textContent()).toContain('You switched to another account')
  expect(await page.locator('#message').textContent()).toContain(testWallet(1).address)
  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test('If the wallet ends the session instead of signing, or signs with another account, the page says so and stays usable', async ({
  page,
  phone,
}) => {
  phone.policy = 'disconnect'
  await phone.scan(await linkIn(page))
  await page.locator('#sign').click()
  expect(await wordsIn(page, 'problem')).toContain('WalletConnect lost its connection')

  phone.policy = 'another_account'
  await page.locator('#back').click()
  await phone.scan(await linkIn(page))
  await page.locator('#sign').click()
  expect(await wordsIn(page, 'problem')).toContain('That signature did not come from')
  await page.locator('#back').click()
  expect(await page.locator('#choose').isVisible()).toBe(true)
})

test('If the library cannot be loaded, the user reads this and can try again', async ({ page, phone }) => {
  await page.route('**/login/walletconnect-*', (route) => route.abort())
  await walletButton(page).click()
  expect(await wordsIn(page, 'problem')).toContain('We could not reach this site')
  await page.unroute('**/login/walletconnect-*')
  await phone.scan(await linkIn(page))
  await page.locator('#review').waitFor()
})
